//! A buffer of fixed size, as engines have that drop what finds no room.

use sim_engine_harness::EngineError;
use sim_engine_protocol::{
    BufferUse, CAPACITY_SAMPLES_FORMAT, CapacitySamples, Counters, Job, Mode,
};
use std::collections::BTreeMap;

/// The buffer's name.
pub const PAIRS: &str = "pairs";

/// When the buffer is asked for ten times as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crowd {
    /// Never.
    Never,
    /// In the last step of every run but a calibration.
    AtTheEnd,
    /// In the fifth step of a capture.
    Briefly,
}

/// The buffer of one job. A step asks for one pair a body and world, and every fourth for three more a
/// world; it holds twice the calibrated peak.
pub(crate) struct Room {
    crowd: Crowd,
    bodies: u64,
    worlds: u64,
    mode: Mode,
    last: u64,
    capacity: u64,
    demands: Vec<u64>,
}

impl Room {
    pub(crate) fn new(crowd: Crowd, bodies: u64, job: &Job) -> Result<Self, EngineError> {
        let chosen = job.calibrated.as_ref().map(|c| c.choose().map_err(EngineError::refused));
        let peak = chosen.transpose()?.and_then(|s| s.peaks.get(PAIRS).copied()).unwrap_or(0);
        let worlds = u64::from(job.worlds);
        let capacity = 2 * peak * worlds;
        let (mode, last) = (job.mode, job.steps);
        Ok(Self { crowd, bodies, worlds, mode, last, capacity, demands: Vec::new() })
    }

    pub(crate) fn reset(&mut self) {
        self.demands.clear();
    }

    pub(crate) fn step(&mut self, steps: u64) {
        for _ in 0..steps {
            let step = self.demands.len() as u64 + 1;
            let usual = self.bodies + if step.is_multiple_of(4) { 3 } else { 0 };
            let crowded = match self.crowd {
                Crowd::Never => false,
                Crowd::AtTheEnd => step == self.last && self.mode != Mode::Calibrate,
                Crowd::Briefly => step == 5 && self.mode == Mode::Capture,
            };
            self.demands.push(self.worlds * usual * if crowded { 10 } else { 1 });
        }
    }

    /// The largest demand since the reset, in one world.
    pub(crate) fn peaks(&self) -> BTreeMap<String, u64> {
        let peak = self.demands.iter().copied().max().unwrap_or(0);
        BTreeMap::from([(PAIRS.to_owned(), peak / self.worlds)])
    }

    pub(crate) fn samples(&self) -> CapacitySamples {
        CapacitySamples {
            format: CAPACITY_SAMPLES_FORMAT,
            capacities: BTreeMap::from([(PAIRS.to_owned(), self.capacity)]),
            demands: BTreeMap::from([(PAIRS.to_owned(), self.demands.clone())]),
        }
    }

    pub(crate) fn count(&self, counters: &mut Counters) {
        if self.mode == Mode::Calibrate {
            return;
        }
        let demand = self.demands.last().copied().unwrap_or(0);
        let used = BufferUse { capacity: self.capacity, demand };
        counters.overflow = Some(used.overflow());
        counters.buffers.insert(PAIRS.to_owned(), used);
    }
}
