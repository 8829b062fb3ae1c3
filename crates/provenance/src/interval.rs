//! Repeats compared: geometric means with 95 % intervals, and the ratio of two of them.
//!
//! Times and sizes are positive and spread by factors, so everything is computed over logarithms:
//! Student's t for one side, Welch's form of it for the ratio, whose degrees of freedom follow Welch
//! and Satterthwaite. The interval of one comparison covers its ratio in 95 of 100 repetitions of the
//! whole experiment, so of a hundred comparisons without any difference about five show one.

use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// How intervals are made, for people.
pub const METHOD: &str = "geometric means; 95 % intervals by Student's t over the logarithms of the \
                          repeats, of the ratio by Welch's; none from a single repeat";

/// The repeats of one side.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Side {
    /// Number of repeats.
    pub n: u64,
    /// Their geometric mean.
    pub mean: f64,
    /// Lower end of the 95 % interval; absent for a single repeat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// The second side over the first.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ratio {
    /// Ratio of the geometric means.
    pub ratio: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

struct Logs {
    n: f64,
    mean: f64,
    /// Variance of the mean; absent for a single value.
    variance: Option<f64>,
}

fn logs(values: &[f64]) -> Option<Logs> {
    if values.is_empty() || values.iter().any(|v| !(v.is_finite() && *v > 0.0)) {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().map(|v| v.ln()).sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v.ln() - mean).powi(2)).sum();
    let variance = (values.len() > 1).then(|| squares / (n - 1.0) / n);
    Some(Logs { n, mean, variance })
}

/// The 97.5 % quantile of Student's t.
fn quantile(freedom: f64) -> Option<f64> {
    StudentsT::new(0.0, 1.0, freedom).ok().map(|t| t.inverse_cdf(0.975))
}

/// The summary of one side; `None` where it is empty or holds a value that is not positive.
pub fn side(values: &[f64]) -> Option<Side> {
    let l = logs(values)?;
    let half = l.variance.and_then(|v| Some(quantile(l.n - 1.0)? * v.sqrt()));
    Some(Side {
        n: values.len() as u64,
        mean: l.mean.exp(),
        low: half.map(|h| (l.mean - h).exp()),
        high: half.map(|h| (l.mean + h).exp()),
    })
}

/// The ratio of `b` to `a`; `None` where a side has fewer than two values or one is not positive.
pub fn ratio(a: &[f64], b: &[f64]) -> Option<Ratio> {
    let (x, y) = (logs(a)?, logs(b)?);
    let (v, w) = (x.variance?, y.variance?);
    let sum = v + w;
    let difference = y.mean - x.mean;
    let half = if sum > 0.0 {
        let freedom = sum.powi(2) / (v.powi(2) / (x.n - 1.0) + w.powi(2) / (y.n - 1.0));
        quantile(freedom)? * sum.sqrt()
    } else {
        0.0
    };
    Some(Ratio {
        ratio: difference.exp(),
        low: (difference - half).exp(),
        high: (difference + half).exp(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a / b - 1.0).abs() < 1e-6, "{a} is not {b}");
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, t) in
            [(1.0, 12.706_205), (2.0, 4.302_653), (10.0, 2.228_139), (100.0, 1.983_972)]
        {
            close(quantile(freedom).expect("a quantile"), t);
        }
    }

    /// Against quantiles found by integrating the density of Student's t numerically.
    #[test]
    fn intervals_are_those_of_an_independent_computation() {
        let (a, b) = ([1.0, 1.1, 0.9, 1.05], [1.3, 1.5, 1.35]);
        let s = side(&a).expect("a side");
        close(s.mean, 1.009_732_008_0);
        close(s.low.expect("low"), 0.880_586_708_1);
        close(s.high.expect("high"), 1.157_817_530_9);
        let r = ratio(&a, &b).expect("a ratio");
        close(r.ratio, 1.367_466_418_2);
        close(r.low, 1.167_742_391_7);
        close(r.high, 1.601_350_107_9);
    }

    #[test]
    fn where_no_interval_can_be_made_there_is_none() {
        let one = side(&[2.0]).expect("a side");
        assert_eq!((one.n, one.low, one.high), (1, None, None));
        close(one.mean, 2.0);
        assert_eq!(side(&[]), None);
        assert_eq!(side(&[1.0, 0.0]), None);
        assert_eq!(ratio(&[1.0], &[1.0, 2.0]), None);
        let equal = ratio(&[2.0, 2.0], &[3.0, 3.0]).expect("no spread at all");
        close(equal.low, 1.5);
        close(equal.high, 1.5);
    }
}
