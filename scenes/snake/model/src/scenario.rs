//! What is asked for in a scenario of the snake's protocol.

use crate::mjcf::Scene;
use serde::{Deserialize, Serialize};
use sim_protocol::Gate;

/// A rollout, and what must hold of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name.
    pub name: String,
    /// Where it happens. In the obstacle course the controller follows the route.
    pub scene: Scene,
    /// Duration, s.
    pub duration_s: f64,
    /// The terminal heading is estimated over so much of the end, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading_window_s: Option<f64>,
    /// What goes wrong with the rays' readings. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// When somebody resets the controller, s. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_at_s: Option<f64>,
    /// Absolute gates beside those of every scenario.
    #[serde(default)]
    pub gates: Vec<Gate>,
}

/// A fault that begins at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// First moment, s.
    pub from_s: f64,
    /// First moment after it, s. Default: it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_s: Option<f64>,
    /// What it is.
    pub kind: FaultKind,
    /// Which ray, in their order. Default 0.
    #[serde(default)]
    pub ray: usize,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The ray reads no number.
    NanRay,
    /// The ray gives nothing.
    MissingRay,
    /// The ray reads more than its range.
    OutOfRange,
    /// Readings keep the time at which the fault began.
    FrozenClock,
}

impl sim_protocol::Scenario for Scenario {
    fn name(&self) -> &str {
        &self.name
    }

    fn gates(&self) -> &[Gate] {
        &self.gates
    }

    fn driven(&self) -> Self {
        Self { heading_window_s: None, gates: Vec::new(), ..self.clone() }
    }

    fn check(&self) -> Result<(), String> {
        if !(self.duration_s.is_finite() && self.duration_s > 0.0) {
            return Err(format!("duration_s is {}, not a positive number", self.duration_s));
        }
        match self.heading_window_s {
            Some(w) if !(w > 0.0 && w <= self.duration_s) => {
                Err(format!("heading_window_s is {w}, not a part of {} s", self.duration_s))
            }
            _ => Ok(()),
        }
    }
}
