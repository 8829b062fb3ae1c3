//! What a step costs, phase by phase: operations counted by a lane type that counts, and time by a clock that is
//! read where phases change. Compiled with the feature `roofline` only; the engine itself carries none of it.

use crate::engine::{BatchedEngine, EngineError};
use crate::kernel::{self, Lanes};
use std::ffi::c_long;

/// The phases, in the order of `kernels/roofline.h`.
pub const PHASES: [&str; 14] = [
    "kinematics",
    "mass matrix, bias, smooth forces",
    "smooth accelerations",
    "broad and narrow phases",
    "rows",
    "matrix and Jacobian products",
    "gradient",
    "stiffness and rows of H",
    "factor of H",
    "solves",
    "line search",
    "rest of Newton's loop",
    "integration",
    "rest",
];

/// Operations of one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Operations {
    /// Additions and subtractions.
    pub add: f64,
    /// Multiplications.
    pub mul: f64,
    /// Fused multiply-adds.
    pub fma: f64,
    /// Divisions.
    pub div: f64,
    /// Square roots.
    pub sqrt: f64,
    /// Comparisons, selections, least and most, signs: no floating-point operations in the usual count.
    pub other: f64,
}

impl Operations {
    /// Floating-point operations; a fused multiply-add is two.
    pub fn flops(&self) -> f64 {
        self.add + self.mul + 2.0 * self.fma + self.div + self.sqrt
    }
}

/// What an engine's kernels do beside a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Count what one world takes, worlds one by one.
    CountAlone,
    /// Count what all lanes of a block execute, sixteen worlds side by side.
    CountBlock,
    /// Read the clock where phases change, sixteen worlds side by side.
    Clock,
}

const KINDS: usize = 6;

unsafe extern "C" {
    fn batch_roofline_one_counted(out: *mut f64);
    fn batch_roofline_sixteen_counted(out: *mut f64);
    fn batch_roofline_sixteen_timed(out: *mut f64);
    fn batch_peak_sixteen_timed(turns: c_long) -> f32;
}

impl BatchedEngine {
    /// Makes the engine step with kernels that count or read the clock. They do so in memory of the whole
    /// process: one engine with one thread at a time.
    pub fn probe(&mut self, probe: Probe) -> Result<(), EngineError> {
        let due = if probe == Probe::CountAlone { Lanes::One } else { Lanes::Sixteen };
        if self.lanes() != due || self.threads() != 1 {
            let (lanes, threads) = (self.lanes().width(), self.threads());
            return Err(EngineError(format!(
                "{probe:?} takes {} lanes and one thread; this engine has {lanes} and {threads}",
                due.width()
            )));
        }
        self.set_kernel(kernel::probe(probe));
        Ok(())
    }
}

/// Operations by phase since the last call.
pub fn operations(probe: Probe) -> Vec<Operations> {
    let mut out = vec![0.0; PHASES.len() * KINDS];
    // SAFETY: as many numbers as the kernels' phases and kinds.
    unsafe {
        match probe {
            Probe::CountAlone => batch_roofline_one_counted(out.as_mut_ptr()),
            _ => batch_roofline_sixteen_counted(out.as_mut_ptr()),
        }
    }
    out.chunks_exact(KINDS)
        .map(|k| Operations { add: k[0], mul: k[1], fma: k[2], div: k[3], sqrt: k[4], other: k[5] })
        .collect()
}

/// Ticks of the processor's clock by phase since the last call.
pub fn ticks() -> Vec<f64> {
    let mut out = vec![0.0; PHASES.len()];
    // SAFETY: as many numbers as the kernels' phases.
    unsafe { batch_roofline_sixteen_timed(out.as_mut_ptr()) };
    out
}

/// Twelve chains of fused multiply-adds over sixteen lanes, `turns` each: 384 operations a turn.
pub fn peak(turns: usize) -> f32 {
    // SAFETY: computes in registers.
    unsafe { batch_peak_sixteen_timed(turns as c_long) }
}
