//! A value that must hold, as reports write it.

use crate::protocol::Op;
use serde::{Deserialize, Serialize};

/// A value that must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Unique within what is judged.
    pub id: String,
    /// What is compared; its unit is in its name.
    pub metric: String,
    /// How value and limit compare, see [`Op::text`].
    pub operator: String,
    /// What it is compared with.
    pub limit: f64,
    /// Absent where it could not be computed; the check then fails.
    pub value: Option<f64>,
    /// Whether it holds.
    pub passed: bool,
}

impl Check {
    /// Compares. What is not a number is no value, as JSON has none for it, and fails.
    pub fn of(id: String, metric: &str, op: Op, limit: f64, value: Option<f64>) -> Self {
        let value = value.filter(|v| v.is_finite());
        let passed = value.is_some_and(|v| op.holds(v, limit));
        Self { id, metric: metric.to_owned(), operator: op.text().to_owned(), limit, value, passed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_fails() {
        let of = |value| Check::of("a".into(), "m", Op::AtMost, 1.0, value);
        assert!(of(Some(1.0)).passed && !of(Some(1.1)).passed);
        for none in [None, Some(f64::NAN), Some(f64::NEG_INFINITY)] {
            assert_eq!((of(none).value, of(none).passed), (None, false));
        }
    }
}
