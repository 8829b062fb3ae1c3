//! Order statistics of small samples.
//!
//! The quantile is NumPy's default (`linear`, type 7 of Hyndman and Fan): for a sorted sample
//! x[0..n] and a fraction p, the value at position (n - 1)·p, interpolated linearly between its two
//! neighbours. Non-finite values never enter a sample; the caller drops them and says so.

/// Median, quartiles, extremes and count of one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    /// Number of values.
    pub(crate) n: usize,
    /// Smallest value.
    pub(crate) min: f64,
    /// First quartile.
    pub(crate) q1: f64,
    /// Median.
    pub(crate) median: f64,
    /// Third quartile.
    pub(crate) q3: f64,
    /// Largest value.
    pub(crate) max: f64,
}

impl Summary {
    /// The summary of a sample; `None` where it is empty.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        Some(Self {
            n: sorted.len(),
            min,
            q1: quantile(&sorted, 0.25),
            median: quantile(&sorted, 0.5),
            q3: quantile(&sorted, 0.75),
            max,
        })
    }
}

/// The quantile at fraction `p` of a sorted, non-empty sample.
pub(crate) fn quantile(sorted: &[f64], p: f64) -> f64 {
    let position = (sorted.len() - 1) as f64 * p;
    let below = position.floor();
    let low = sorted[below as usize];
    let high = sorted[position.ceil() as usize];
    low + (high - low) * (position - below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_those_of_numpy_percentile() {
        let s = Summary::of([4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((s.q1, s.median, s.q3), (1.75, 2.5, 3.25));
        let s = Summary::of([7.0, 15.0, 36.0, 39.0, 40.0, 41.0]).unwrap();
        assert_eq!((s.q1, s.median, s.q3), (20.25, 37.5, 39.75));
        let s = Summary::of([3.0, 1.0, 2.0]).unwrap();
        assert_eq!((s.q1, s.median, s.q3, s.n), (1.5, 2.0, 2.5, 3));
    }

    #[test]
    fn one_value_is_its_own_band_and_none_has_no_summary() {
        let s = Summary::of([0.3]).unwrap();
        assert_eq!((s.min, s.q1, s.median, s.q3, s.max), (0.3, 0.3, 0.3, 0.3, 0.3));
        assert_eq!(Summary::of([]), None);
        assert_eq!(Summary::of([f64::NAN, f64::INFINITY]), None);
    }
}
