//! Statistics over samples.

/// The `q`-quantile (0 to 1) with linear interpolation between order statistics: NumPy's default, type 7
/// of Hyndman and Fan (1996). NaN for no samples.
pub fn quantile(samples: impl Iterator<Item = f64>, q: f64) -> f64 {
    let mut sorted: Vec<f64> = samples.collect();
    if sorted.is_empty() || sorted.iter().any(|x| x.is_nan()) {
        return f64::NAN;
    }
    sorted.sort_unstable_by(f64::total_cmp);
    let at = q * (sorted.len() - 1) as f64;
    let (low, part) = (at.floor() as usize, at.fract());
    let high = (low + 1).min(sorted.len() - 1);
    let (a, b) = (sorted[low], sorted[high]);
    // As NumPy does, from the nearer end, so that the same bits come out.
    if part >= 0.5 { b - (b - a) * (1.0 - part) } else { a + (b - a) * part }
}

/// The 99 % quantile.
pub fn p99(samples: impl Iterator<Item = f64>) -> f64 {
    quantile(samples, 0.99)
}

/// The largest sample; NaN for none or where one is not a number.
pub fn max(samples: impl Iterator<Item = f64>) -> f64 {
    let larger = |a: f64, b: f64| if a.is_nan() || b <= a { a } else { b };
    samples.reduce(larger).unwrap_or(f64::NAN)
}

/// The smallest sample; as [`max`].
pub fn min(samples: impl Iterator<Item = f64>) -> f64 {
    -max(samples.map(|x| -x))
}

/// The arithmetic mean; NaN for no samples.
pub fn mean(samples: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for x in samples {
        sum += x;
        n += 1.0;
    }
    sum / n
}

/// The root of the mean of squares; NaN for no samples.
pub fn rms(samples: impl Iterator<Item = f64>) -> f64 {
    mean(samples.map(|x| x * x)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy() {
        // numpy.percentile([3, 1, 2, 10], [0, 50, 99, 100])
        let x = || [3.0, 1.0, 2.0, 10.0].into_iter();
        assert_eq!(quantile(x(), 0.0), 1.0);
        assert_eq!(quantile(x(), 0.5), 2.5);
        assert!((p99(x()) - 9.79).abs() < 1e-14);
        assert_eq!(quantile(x(), 1.0), 10.0);
        assert!(quantile(std::iter::empty(), 0.5).is_nan());
        assert!(p99([1.0, f64::NAN].into_iter()).is_nan());
    }

    #[test]
    fn extremes_means_and_what_is_no_number() {
        assert_eq!(max([1.0, 3.0, 2.0].into_iter()), 3.0);
        assert_eq!(min([1.0, -3.0, 2.0].into_iter()), -3.0);
        assert!(max([1.0, f64::NAN, 2.0].into_iter()).is_nan());
        assert!(max(std::iter::empty()).is_nan() && mean(std::iter::empty()).is_nan());
        assert_eq!(mean([1.0, 2.0, 6.0].into_iter()), 3.0);
        assert_eq!(rms([3.0, -4.0].into_iter()), 12.5_f64.sqrt());
    }
}
