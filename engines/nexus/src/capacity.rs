//! Sizes of Nexus's buffers: generous and growing while calibrating, fixed in everything measured.
//!
//! Under its fixed policy Nexus drops what finds no room and says nothing, but its counters count on past
//! the capacity; and with all policies fixed it reads nothing back between steps (P028, P030).

use nexus3d::prelude::NexusCapacities;
use nexus3d::rbd::pipeline::RbdResizePolicy;
use sim_engine_harness::EngineError;
use sim_engine_protocol::{CalibratedSize, Job, Mode};

/// Pairs of colliders whose bounds touch.
pub const PAIRS: &str = "pairs";
/// Slots of the contacts of multibodies: one a normal and two for friction, for each point.
pub const SLOTS: &str = "contact_slots";
/// Colours of constraints: those of one colour share no body and are solved together.
pub const COLORS: &str = "colors";

/// P039: what is held ready of every calibrated peak.
const MARGIN: f64 = 1.5 * 1.25;
/// P039.
const LEAST_PAIRS: u64 = 64;
/// P040.
const SPARE_COLORS: u64 = 4;
/// P034: the engine's own default, from which colours grow while calibrating.
const FIRST_COLORS: u32 = 8;
/// Pairs a collider that a calibration starts with: a box in a dense pile touches some twenty others.
const GENEROUS_PAIRS: u64 = 32;
/// Contact slots that a calibration starts with, for each collider: eight points of three slots.
const GENEROUS_SLOTS: u64 = 24;
/// The least of either that a calibration starts with.
const GENEROUS: u64 = 4096;

/// How buffers are sized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capacity {
    pub(crate) pairs: u32,
    pub(crate) slots: u32,
    pub(crate) colors: u32,
    pub(crate) fixed: bool,
}

impl Capacity {
    /// What a job's mode asks for. `colliders` is the number in one world.
    pub(crate) fn of(job: &Job, colliders: usize) -> Result<Self, EngineError> {
        match (&job.calibrated, job.mode) {
            (_, Mode::Calibrate) | (None, Mode::Probe) => Self::generous(colliders as u64),
            (Some(calibrated), _) => {
                let chosen = calibrated.choose().map_err(EngineError::refused)?;
                Self::fixed(chosen)
            }
            (None, _) => Err(EngineError::refused("no calibration of this scene")),
        }
    }

    /// Room for everything, and policies that grow.
    fn generous(colliders: u64) -> Result<Self, EngineError> {
        Ok(Self {
            pairs: entries(PAIRS, (GENEROUS_PAIRS * colliders).max(GENEROUS))?,
            slots: entries(SLOTS, (GENEROUS_SLOTS * colliders).max(GENEROUS))?,
            colors: FIRST_COLORS,
            fixed: false,
        })
    }

    /// P039, P040.
    fn fixed(chosen: &CalibratedSize) -> Result<Self, EngineError> {
        let peak = |name: &str| {
            chosen.peaks.get(name).copied().ok_or_else(|| {
                EngineError::refused(format!(
                    "the calibration of size {} has no {name}",
                    chosen.size
                ))
            })
        };
        let margin = |peak: u64| (MARGIN * peak as f64).ceil() as u64;
        Ok(Self {
            pairs: entries(PAIRS, margin(peak(PAIRS)?).max(LEAST_PAIRS))?,
            slots: entries(SLOTS, margin(peak(SLOTS)?).max(1))?,
            colors: entries(COLORS, peak(COLORS)? + SPARE_COLORS)?,
            fixed: true,
        })
    }

    /// As Nexus takes it.
    pub(crate) fn capacities(self) -> NexusCapacities {
        let policy = if self.fixed { RbdResizePolicy::Fixed } else { RbdResizePolicy::Grow };
        let mut capacities = NexusCapacities::default()
            .rbd_collisions(self.pairs)
            .rbd_mb_contact_constraints(self.slots)
            .rbd_resize_policy(policy);
        capacities.rbd.solver_colors = self.colors;
        capacities.rbd.solver_colors_resize_policy = policy;
        capacities
    }
}

fn entries(name: &str, count: u64) -> Result<u32, EngineError> {
    u32::try_from(count)
        .map_err(|_| EngineError::refused(format!("{count} {name}: Nexus counts them in 32 bits")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn job(mode: Mode, calibrated: Option<serde_json::Value>) -> Job {
        let mut job = serde_json::json!({
            "protocol": 1, "mode": mode, "scene": "s", "worlds": 1, "steps": 1, "warmup": 0,
            "threads": 1, "seed": 0, "backend": "cpu"
        });
        if let Some(calibrated) = calibrated {
            job["calibrated"] = calibrated;
        }
        serde_json::from_value(job).unwrap()
    }

    fn peaks(pairs: u64, slots: u64, colors: u64) -> serde_json::Value {
        let peaks = BTreeMap::from([(PAIRS, pairs), (SLOTS, slots), (COLORS, colors)]);
        serde_json::json!({"size": 9, "sizes": [{"size": 9, "peaks": peaks}]})
    }

    /// P030, P039, P040.
    #[test]
    fn what_is_measured_has_fixed_sizes_with_the_margins_of_the_calibration() {
        let of = |p, s, c| Capacity::of(&job(Mode::Timed, Some(peaks(p, s, c))), 10).unwrap();
        // 1.5 · 1.25 · 100 = 187.5, and 1.875 · 1001 = 1876.875.
        let fixed = Capacity { pairs: 188, slots: 1877, colors: 12, fixed: true };
        assert_eq!(of(100, 1001, 8), fixed);
        // 1.875 · 10 = 18.75: at least 64 pairs.
        let least = Capacity { pairs: 64, slots: 1, colors: 9, fixed: true };
        assert_eq!(of(10, 0, 5), least);
        let taken = fixed.capacities().rbd;
        assert_eq!((taken.collisions_capacity, taken.solver_colors), (188, 12));
        assert_eq!(taken.collisions_resize_policy, RbdResizePolicy::Fixed);
        assert_eq!(taken.solver_colors_resize_policy, RbdResizePolicy::Fixed);
    }

    /// P033, P034.
    #[test]
    fn a_calibration_starts_generous_and_grows() {
        let found = Capacity::of(&job(Mode::Calibrate, None), 1000).unwrap();
        assert_eq!(found, Capacity { pairs: 32_000, slots: 24_000, colors: 8, fixed: false });
        let taken = found.capacities().rbd;
        assert_eq!(taken.collisions_resize_policy, RbdResizePolicy::Grow);
        assert_eq!(taken.solver_colors_resize_policy, RbdResizePolicy::Grow);
        assert_eq!(Capacity::of(&job(Mode::Calibrate, None), 2).unwrap().pairs, 4096);
    }

    /// P041.
    #[test]
    fn nothing_is_measured_without_a_calibration_or_above_its_range() {
        assert!(Capacity::of(&job(Mode::Memory, None), 1).is_err());
        let mut above = peaks(1, 1, 1);
        above["size"] = 10.into();
        let refused = Capacity::of(&job(Mode::Capture, Some(above)), 1).unwrap_err();
        assert!(refused.reason.contains("size 10 lies above"), "{refused}");
    }
}
