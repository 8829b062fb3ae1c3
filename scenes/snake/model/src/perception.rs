//! Readings of the rays, and when they must not be believed.

use crate::spec::Spec;
use std::fmt;

/// A reading of all rays.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// When it was taken, s.
    pub stamp_s: f64,
    /// By ray, in the order of the specification, m. −range where a ray met nothing; `None` where the
    /// sensor gave nothing.
    pub ranges: Vec<Option<f64>>,
}

/// Why a reading is not believed.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A sensor gave nothing.
    Missing {
        /// Its name.
        ray: String,
    },
    /// There are not as many values as rays.
    Count {
        /// How many there are.
        found: usize,
    },
    /// Neither a distance within range nor the mark of a ray that met nothing.
    Value {
        /// Its sensor's name.
        ray: String,
        /// What it says, m.
        value: f64,
    },
    /// Older than a reading may be, or of a time that has not come.
    Stale {
        /// How old it is, s.
        age_s: f64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { ray } => write!(f, "{ray} gave no value"),
            Self::Count { found } => write!(f, "{found} rays were read"),
            Self::Value { ray, value } => write!(f, "{ray} reads {value} m"),
            Self::Stale { age_s } => write!(f, "the rays' reading is {age_s} s old"),
        }
    }
}

/// What is wrong with a reading at a time, s.
pub fn fault(spec: &Spec, time_s: f64, reading: &Reading) -> Option<Fault> {
    let age_s = time_s - reading.stamp_s;
    // Half a physics step, for what rounds.
    let slack = 0.5 * spec.simulation.timestep_s;
    if !(age_s >= -slack && age_s <= spec.perception.stale_after_s + slack) {
        return Some(Fault::Stale { age_s });
    }
    if reading.ranges.len() != spec.rays.len() {
        return Some(Fault::Count { found: reading.ranges.len() });
    }
    let range = spec.perception.range_m;
    spec.rays.iter().zip(&reading.ranges).find_map(|(ray, value)| match value {
        None => Some(Fault::Missing { ray: ray.name.clone() }),
        #[expect(clippy::float_cmp, reason = "a mark, not a measure")]
        Some(value) if *value == -range || (0.0..=range).contains(value) => None,
        Some(value) => Some(Fault::Value { ray: ray.name.clone(), value: *value }),
    })
}
