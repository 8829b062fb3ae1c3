//! What a job may choose.

use sim_batch::Lanes;
use sim_engine_harness::EngineError;
use sim_engine_protocol::{Job, SettingValue};

/// Names of the settings that a job may change.
pub(crate) const SETTINGS: [&str; 4] = ["contact_row_cap", "integrator", "iterations", "lanes"];

/// The choices of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    /// `Euler` or `implicitfast`; none: Euler, or a robot model's own.
    pub(crate) integrator: Option<&'static str>,
    /// Most iterations of the solver; none: 50, or a robot model's own.
    pub(crate) iterations: Option<u32>,
    /// Most contact rows of a world; none: 64 a body and at least 256.
    pub(crate) rows: Option<usize>,
    /// Worlds side by side; none: as many as the machine can, fewer for few worlds.
    pub(crate) lanes: Option<Lanes>,
}

impl Choice {
    /// What a job asks for; a value that the engine does not have is refused.
    pub(crate) fn of(job: &Job) -> Result<Self, EngineError> {
        let mut choice = Choice::default();
        for (name, value) in &job.settings {
            let refuse = |known: &str| {
                Err(EngineError::refused(format!("{name} = {value:?}: it takes {known}")))
            };
            let number = match value {
                SettingValue::Integer(n @ 1..=100_000) => Some(*n as usize),
                _ => None,
            };
            match name.as_str() {
                "integrator" => match value {
                    SettingValue::Text(t) if t == "Euler" => choice.integrator = Some("Euler"),
                    SettingValue::Text(t) if t == "implicitfast" => {
                        choice.integrator = Some("implicitfast");
                    }
                    _ => return refuse("Euler, implicitfast"),
                },
                "iterations" | "contact_row_cap" if number.is_none() => {
                    return refuse("1 to 100000");
                }
                "iterations" => choice.iterations = number.map(|n| n as u32),
                "contact_row_cap" => choice.rows = number,
                "lanes" => {
                    let all = Lanes::available();
                    let found = all.into_iter().find(|l| Some(l.width()) == number);
                    match found {
                        Some(lanes) => choice.lanes = Some(lanes),
                        None => return refuse("what this machine has of 1, 8, 16"),
                    }
                }
                // The harness has refused what SETTINGS does not hold.
                _ => return refuse("nothing, there is no such setting"),
            }
        }
        Ok(choice)
    }
}
