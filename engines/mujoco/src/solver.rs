//! What a job may choose of MuJoCo's solver.

use mujoco_rs::mujoco_c as c;
use sim_engine_harness::EngineError;
use sim_engine_protocol::{Job, SettingValue};

/// Names of the settings that a job may change.
pub(crate) const SETTINGS: [&str; 3] = ["cone", "integrator", "iterations"];

const INTEGRATORS: [&str; 4] = ["Euler", "RK4", "implicit", "implicitfast"];
const CONES: [&str; 2] = ["pyramidal", "elliptic"];

/// Integrator, friction cone and the most solver iterations of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solver {
    /// As MJCF spells it.
    pub integrator: &'static str,
    /// As MJCF spells it.
    pub cone: &'static str,
    /// Most iterations of Newton's method.
    pub iterations: i64,
}

impl Default for Solver {
    /// The benchmark's: Euler, pyramidal cones, 50 iterations.
    fn default() -> Self {
        Solver { integrator: "Euler", cone: "pyramidal", iterations: 50 }
    }
}

impl Solver {
    /// What a job asks for; a value that MuJoCo does not have is refused.
    pub(crate) fn of(job: &Job) -> Result<Self, EngineError> {
        let mut solver = Solver::default();
        for (name, value) in &job.settings {
            let refuse = |known: &str| {
                Err(EngineError::refused(format!("{name} = {value:?}: it takes {known}")))
            };
            let choose = |known: &[&'static str]| match value {
                SettingValue::Text(text) => known.iter().copied().find(|k| k == text),
                _ => None,
            };
            match name.as_str() {
                "integrator" => match choose(&INTEGRATORS) {
                    Some(known) => solver.integrator = known,
                    None => return refuse(&INTEGRATORS.join(", ")),
                },
                "cone" => match choose(&CONES) {
                    Some(known) => solver.cone = known,
                    None => return refuse(&CONES.join(", ")),
                },
                "iterations" => match value {
                    SettingValue::Integer(n @ 1..=100_000) => solver.iterations = *n,
                    _ => return refuse("1 to 100000"),
                },
                // The harness has refused what SETTINGS does not hold.
                _ => return refuse("nothing, there is no such setting"),
            }
        }
        Ok(solver)
    }

    /// Writes what a job asks for into the options of a compiled model that has its own.
    pub(crate) fn impose(&self, job: &Job, option: &mut c::mjOption) {
        let place = |list: &[&str], name: &str| list.iter().position(|l| *l == name);
        for name in job.settings.keys() {
            match name.as_str() {
                "integrator" => {
                    option.integrator = place(&INTEGRATORS, self.integrator).unwrap_or(0) as i32;
                }
                "cone" => option.cone = place(&CONES, self.cone).unwrap_or(0) as i32,
                _ => option.iterations = self.iterations as i32,
            }
        }
    }
}
