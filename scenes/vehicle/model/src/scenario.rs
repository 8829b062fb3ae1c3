//! What is driven in a scenario of the vehicle's protocol.

use serde::{Deserialize, Serialize};
use sim_protocol::Gate;
use std::f64::consts::TAU;

/// What is driven, and what must hold of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name.
    pub name: String,
    /// Duration, s.
    pub duration_s: f64,
    /// The steady window begins at the sample nearest to this, s. Default 1.
    #[serde(default = "one")]
    pub steady_from_s: f64,
    /// How far the vehicle is lifted at the start, m. Default 0.
    #[serde(default)]
    pub lift_m: f64,
    /// How far it is rolled about x at the start, degrees. Default 0.
    #[serde(default)]
    pub roll_deg: f64,
    /// When the acceleration begins and ends, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceleration_window_s: Option<[f64; 2]>,
    /// Samples in which steering is compared with its command, end excluded, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_window_s: Option<[f64; 2]>,
    /// When the brakes are on, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub braking_window_s: Option<[f64; 2]>,
    /// Where statistics of the stress begin, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stress_from_s: Option<f64>,
    /// What is asked for, by time; nothing elsewhere.
    #[serde(default)]
    pub actions: Vec<Action>,
    /// Absolute gates beside those of every scenario.
    #[serde(default)]
    pub gates: Vec<Gate>,
}

fn one() -> f64 {
    1.0
}

/// What is asked for from `from_s` on, before `to_s`. Times are those of control steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// First moment, s.
    pub from_s: f64,
    /// First moment after it, s.
    pub to_s: f64,
    /// Steering angle, rad.
    #[serde(default)]
    pub steering: f64,
    /// Longitudinal acceleration, m/s².
    #[serde(default)]
    pub acceleration: f64,
    /// Steering as a sine that begins with the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steering_sine: Option<Sine>,
    /// Acceleration that holds a speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_speed: Option<HoldSpeed>,
}

/// `amplitude · sin(2π·(t − from)/period)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sine {
    /// rad.
    pub amplitude: f64,
    /// s.
    pub period_s: f64,
}

/// `gain · (target − v)`, clipped; v is the longitudinal velocity at the rear axle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HoldSpeed {
    /// m/s.
    pub target: f64,
    /// 1/s.
    pub gain: f64,
    /// Least acceleration, m/s².
    pub least: f64,
    /// Most acceleration, m/s².
    pub most: f64,
}

impl sim_protocol::Scenario for Scenario {
    fn name(&self) -> &str {
        &self.name
    }

    fn gates(&self) -> &[Gate] {
        &self.gates
    }

    fn driven(&self) -> Self {
        Self {
            steady_from_s: 1.0,
            acceleration_window_s: None,
            command_window_s: None,
            braking_window_s: None,
            stress_from_s: None,
            gates: Vec::new(),
            ..self.clone()
        }
    }
}

impl Scenario {
    /// What is asked for at the control step that begins at `time`, as steering angle, rad, and
    /// acceleration, m/s². `speed` is the longitudinal velocity at the rear axle, m/s.
    pub fn action(&self, time: f64, speed: f64) -> [f64; 2] {
        // Times are multiples of the control step, up to rounding.
        let after = |moment: f64| time > moment - 1e-9;
        let Some(a) = self.actions.iter().find(|a| after(a.from_s) && !after(a.to_s)) else {
            return [0.0, 0.0];
        };
        let steering = a
            .steering_sine
            .as_ref()
            .map_or(a.steering, |s| s.amplitude * (TAU * (time - a.from_s) / s.period_s).sin());
        let acceleration = a
            .hold_speed
            .as_ref()
            .map_or(a.acceleration, |h| (h.gain * (h.target - speed)).clamp(h.least, h.most));
        [steering, acceleration]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vehicle;
    use sim_protocol::Protocol;

    const TEXT: &str = include_str!("../../m1.toml");

    #[test]
    fn what_is_driven_when() {
        let p: Protocol<Scenario> = Protocol::parse::<Vehicle>(TEXT).expect("a protocol");
        let of = |name: &str| p.scenarios.iter().find(|s| s.name == name).expect("a scenario");
        let straight = of("straight");
        // Control steps are at multiples of 0.05 s, which doubles are not.
        assert_eq!(straight.action(19.0 * 0.05, 0.0), [0.0, 0.0]);
        assert_eq!(straight.action(20.0 * 0.05, 0.0), [0.0, 2.0]);
        assert_eq!(straight.action(79.0 * 0.05, 0.0), [0.0, 2.0]);
        assert_eq!(straight.action(80.0 * 0.05, 0.0), [0.0, 0.0]);
        assert_eq!(of("steer_right").action(4.5, 0.0), [-0.2, 0.0]);
        let stress = of("contact_stress");
        assert_eq!(stress.action(1.95, 3.0), [0.0, 0.0]);
        let [steer, accelerate] = stress.action(3.0, 3.0);
        assert!((steer - 0.2).abs() < 1e-15, "a quarter of 4 s after 2 s");
        assert_eq!(accelerate, 3.0, "2·(8 − 3), clipped");
        assert_eq!(stress.action(3.0, 12.0)[1], -6.0);
        assert_eq!(stress.action(3.0, 7.5)[1], 1.0);
    }

    #[test]
    fn gates_of_a_scenario_take_the_place_of_those_of_all() {
        let p: Protocol<Scenario> = Protocol::parse::<Vehicle>(TEXT).expect("a protocol");
        let of = |name: &str| p.scenarios.iter().find(|s| s.name == name).expect("a scenario");
        let limit = |name: &str, metric: &str| {
            let found: Vec<f64> =
                p.gates_of(of(name)).filter(|g| g.metric == metric).map(|g| g.limit).collect();
            assert_eq!(found.len(), 1, "{name} {metric}");
            found[0]
        };
        assert_eq!(limit("rest", "minimum_steady_wheel_contact_coverage"), 0.98);
        assert_eq!(limit("contact_stress", "minimum_steady_wheel_contact_coverage"), 0.75);
        assert_eq!(limit("drop_settle", "maximum_penetration_m"), 0.01);
        let all: usize = p.scenarios.iter().map(|s| p.gates_of(s).count() + 1).sum();
        let converge: usize = p.convergence.iter().map(|c| c.limits.len()).sum();
        assert_eq!(all + p.symmetry.len() + converge, 172);
    }

    #[test]
    fn mistakes_are_named() {
        for (from, to, said) in [
            ("reference_s = 0.002", "reference_s = 0.001", "reference_s = 0.001 is none"),
            ("repeats = 3", "repeats = 0", "repeats is 0"),
            ("metric = \"finite\"", "metric = \"finit\"", "there is no metric `finit`"),
            ("op = \"==\"", "op = \"=\"", "unknown variant `=`"),
            ("left = \"steer_left\"", "left = \"steer\"", "there is no scenario `steer`"),
            ("{ steady_z_difference_m", "{ z", "there is no quantity `z`"),
            ("name = \"brake\"", "name = \"rest\"", "two scenarios are called `rest`"),
            ("lift_m = 0.02", "lift = 0.02", "unknown field `lift`"),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let error = Protocol::<Scenario>::parse::<Vehicle>(&TEXT.replacen(from, to, 1))
                .expect_err(from);
            assert!(error.contains(said), "{from}: {error}");
        }
    }
}
