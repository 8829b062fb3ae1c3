//! Buffers of fixed size: what a calibration found that a scene asks of them, and what a run asked.
//!
//! An engine that drops what does not fit its buffers takes their sizes from a calibration: the mode
//! `calibrate` runs a scene with room to spare and gives the peaks of the engine's own counters. Which
//! capacity follows from a peak is the adapter's business.

use crate::check::FieldErrors;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of [`CapacitySamples`].
pub const CAPACITY_SAMPLES_FORMAT: u32 = 1;
/// Name of the file in the output folder.
pub const CAPACITY_SAMPLES_FILE: &str = "capacity-samples.json";

/// What a calibration run found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CalibrationReport {
    /// The largest demand of any step, in one world, by buffer.
    pub peaks: BTreeMap<String, u64>,
    /// Steps whose demand was read.
    pub steps: u64,
}

/// What is known of a job's scenario: the sizes at which it was calibrated, and the job's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Calibrated {
    /// Size of the job's scene, in the scenario's own terms.
    pub size: u64,
    /// Calibrated sizes, ascending; empty where the scenario could not be calibrated.
    pub sizes: Vec<CalibratedSize>,
    /// Why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The peaks of one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CalibratedSize {
    /// The size.
    pub size: u64,
    /// The largest demand of any run, in one world, by buffer.
    pub peaks: BTreeMap<String, u64>,
}

impl Calibrated {
    /// The smallest calibrated size that is no smaller than the job's (P038). Above the range there is
    /// none, and nothing is extrapolated (P041); the error says so.
    pub fn choose(&self) -> Result<&CalibratedSize, String> {
        if let Some(reason) = &self.reason
            && self.sizes.is_empty()
        {
            return Err(format!("the scenario could not be calibrated: {reason}"));
        }
        let fits = self.sizes.iter().filter(|s| s.size >= self.size);
        fits.min_by_key(|s| s.size).ok_or_else(|| match self.sizes.iter().map(|s| s.size).max() {
            Some(most) => format!(
                "size {} lies above the calibrated range, which ends at {most}; nothing is \
                 extrapolated",
                self.size
            ),
            None => format!("no size was calibrated, so none serves size {}", self.size),
        })
    }

    pub(crate) fn check(&self, e: &mut FieldErrors) {
        for (i, pair) in self.sizes.windows(2).enumerate() {
            if pair[0].size >= pair[1].size {
                let at = format!("calibrated.sizes[{}].size", i + 1);
                e.add(at, pair[1].size, "sizes must ascend");
            }
        }
    }
}

/// A buffer of fixed size at the end of a run, over all worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BufferUse {
    /// Entries it holds.
    pub capacity: u64,
    /// Entries that the final step asked for; it may be more.
    pub demand: u64,
}

impl BufferUse {
    /// Entries that found no room.
    pub fn overflow(self) -> u64 {
        self.demand.saturating_sub(self.capacity)
    }
}

/// The demand of every step of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CapacitySamples {
    /// [`CAPACITY_SAMPLES_FORMAT`].
    pub format: u32,
    /// Capacity of each buffer, over all worlds.
    pub capacities: BTreeMap<String, u64>,
    /// Demand after each step, by buffer: as many numbers as steps.
    pub demands: BTreeMap<String, Vec<u64>>,
}

/// What a capture says of its samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CapacityReport {
    /// File in the output folder, [`CAPACITY_SAMPLES_FILE`].
    pub file: String,
    /// Steps that were read.
    pub steps: u64,
    /// Largest demand of any step beside the capacity, by buffer.
    pub peaks: BTreeMap<String, BufferUse>,
}

impl CapacitySamples {
    /// The peaks over `steps` steps, or what is wrong with the samples.
    pub fn report(&self, steps: u64) -> Result<CapacityReport, String> {
        if self.format != CAPACITY_SAMPLES_FORMAT {
            return Err(format!("format {}: this knows {CAPACITY_SAMPLES_FORMAT}", self.format));
        }
        if !self.capacities.keys().eq(self.demands.keys()) || self.capacities.is_empty() {
            return Err("capacities and demands are not of the same buffers".to_owned());
        }
        let mut peaks = BTreeMap::new();
        for (name, demands) in &self.demands {
            if demands.len() as u64 != steps {
                return Err(format!("{} demands of {name} for {steps} steps", demands.len()));
            }
            let demand = demands.iter().copied().max().unwrap_or(0);
            peaks.insert(name.clone(), BufferUse { capacity: self.capacities[name], demand });
        }
        Ok(CapacityReport { file: CAPACITY_SAMPLES_FILE.into(), steps, peaks })
    }
}

impl CapacityReport {
    /// The first buffer that had too little room in some step, as a sentence (P044).
    pub fn overflow(&self) -> Option<String> {
        let full = self.peaks.iter().find(|(_, used)| used.overflow() > 0);
        full.map(|(name, used)| {
            format!("a step asked for {} {name} of {}", used.demand, used.capacity)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibrated(size: u64) -> Calibrated {
        let entry = |size| CalibratedSize { size, peaks: BTreeMap::from([("pairs".into(), size)]) };
        Calibrated { size, sizes: vec![entry(10), entry(100)], reason: None }
    }

    /// P038, P041.
    #[test]
    fn the_smallest_size_that_is_large_enough_serves_and_none_above_the_range() {
        let chosen = |size| calibrated(size).choose().map(|s| s.size);
        assert_eq!((chosen(1), chosen(10)), (Ok(10), Ok(10)));
        assert_eq!((chosen(11), chosen(100)), (Ok(100), Ok(100)));
        let reason = chosen(101).unwrap_err();
        assert!(reason.contains("size 101") && reason.contains("ends at 100"), "{reason}");
        let none = Calibrated { size: 1, sizes: vec![], reason: Some("no hinges".into()) };
        assert!(none.choose().unwrap_err().contains("no hinges"));
        let empty = Calibrated { reason: None, ..none };
        assert!(empty.choose().unwrap_err().contains("no size was calibrated"));
    }

    #[test]
    fn sizes_that_do_not_ascend_are_named() {
        let mut twice = calibrated(1);
        twice.sizes[1].size = 10;
        let problems = FieldErrors::of(|e| twice.check(e)).unwrap_err();
        assert_eq!(problems[0].path, "calibrated.sizes[1].size");
    }

    /// P044.
    #[test]
    fn every_step_counts_and_the_largest_decides() {
        let samples = CapacitySamples {
            format: CAPACITY_SAMPLES_FORMAT,
            capacities: BTreeMap::from([("pairs".into(), 64)]),
            demands: BTreeMap::from([("pairs".into(), vec![3, 70, 5])]),
        };
        let report = samples.report(3).unwrap();
        assert_eq!(report.peaks["pairs"], BufferUse { capacity: 64, demand: 70 });
        assert_eq!(report.overflow().unwrap(), "a step asked for 70 pairs of 64");
        assert!(samples.report(4).unwrap_err().contains("3 demands of pairs for 4 steps"));
        let mut other = samples.clone();
        other.capacities.insert("slots".into(), 1);
        assert!(other.report(3).unwrap_err().contains("same buffers"));
    }
}
