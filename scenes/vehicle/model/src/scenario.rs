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

impl Scenario {
    /// Actions alone, from the reference on, with nothing that must hold.
    pub fn of_actions(name: &str, duration_s: f64, actions: Vec<Action>) -> Self {
        Self {
            name: name.to_owned(),
            duration_s,
            steady_from_s: one(),
            lift_m: 0.0,
            roll_deg: 0.0,
            acceleration_window_s: None,
            command_window_s: None,
            braking_window_s: None,
            stress_from_s: None,
            actions,
            gates: Vec::new(),
        }
    }
}

/// Longest scenario, s.
const MOST_SECONDS: f64 = 3600.0;

impl sim_protocol::Scenario for Scenario {
    fn name(&self) -> &str {
        &self.name
    }

    fn gates(&self) -> &[Gate] {
        &self.gates
    }

    fn check(&self) -> Result<(), String> {
        let whole = self.duration_s;
        if !(whole.is_finite() && (0.1..=MOST_SECONDS).contains(&whole)) {
            return Err(format!("duration_s is {whole}: from 0.1 to {MOST_SECONDS}"));
        }
        if !(self.lift_m.is_finite() && self.roll_deg.is_finite()) {
            return Err("lift_m and roll_deg are numbers".to_owned());
        }
        // A window must hold samples, or its metrics would be of something else.
        let stress = self.stress_from_s.map(|from| ("stress_from_s", [from, whole]));
        let windows = [
            ("acceleration_window_s", self.acceleration_window_s),
            ("command_window_s", self.command_window_s),
            ("braking_window_s", self.braking_window_s),
        ];
        let windows = windows.into_iter().filter_map(|(name, w)| Some((name, w?)));
        let steady = ("steady_from_s", [self.steady_from_s, whole]);
        for (name, [from, to]) in windows.chain(stress).chain([steady]) {
            if !(from >= 0.0 && to <= whole && to - from >= 0.1) {
                return Err(format!(
                    "{name}: {from} to {to} s is no window of 0.1 s and more within 0 to {whole} s"
                ));
            }
        }
        for a in &self.actions {
            let hold = a.hold_speed.as_ref();
            let numbers = [a.from_s, a.to_s, a.steering, a.acceleration]
                .into_iter()
                .chain(a.steering_sine.iter().flat_map(|s| [s.amplitude, s.period_s]))
                .chain(hold.into_iter().flat_map(|h| [h.target, h.gain, h.least, h.most]));
            let odd = numbers.into_iter().any(|x| !x.is_finite());
            let still = a.steering_sine.as_ref().is_some_and(|s| s.period_s <= 0.0);
            if odd || still || a.from_s >= a.to_s || hold.is_some_and(|h| h.least > h.most) {
                return Err(format!(
                    "the action from {} to {} s: times in order, finite numbers, a period above 0, \
                     least at most most",
                    a.from_s, a.to_s
                ));
            }
        }
        Ok(())
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

    /// Names that would be paths, windows outside the run, limits that are no numbers, checks of nothing.
    #[test]
    fn what_says_nothing_is_refused() {
        for (from, to, said) in [
            ("name = \"rest\"", "name = \"rest/../../x\"", "a name is 1 to 64"),
            ("name = \"rest\"", "name = \"\"", "a name is 1 to 64"),
            ("limit = 0.1\n", "limit = inf\n", "the limit is inf"),
            ("limit = 1e-12", "limit = nan", "the limit is NaN"),
            ("position_rmse_m = 0.05", "position_rmse_m = inf", "the limit is inf"),
            ("duration_s = 10.0", "duration_s = -1.0", "duration_s is -1"),
            ("duration_s = 10.0", "duration_s = 1e9", "duration_s is 1000000000"),
            ("steady_from_s = 1.2", "steady_from_s = 1000.0", "steady_from_s: 1000 to 2 s"),
            ("stress_from_s = 5.0", "stress_from_s = 1e300", "stress_from_s"),
            ("braking_window_s = [5.0, 7.0]", "braking_window_s = [7.0, 5.0]", "braking_window_s"),
            ("least = -6.0, most = 3.0", "least = 3.0, most = -6.0", "least at most most"),
            ("repeats = 3", "repeats = 1", "something to compare"),
            ("repeats = 3", "repeats = 4294967295", "repeats is 4294967295"),
            ("[0.010, 0.005, 0.002]", "[0.005, 0.005, 0.002]", "0.005 twice"),
            ("right = \"steer_right\"", "right = \"steer_left\"", "its own mirror image"),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let error = Protocol::parse::<Vehicle>(&TEXT.replacen(from, to, 1));
            let error = error.expect_err(to);
            assert!(error.contains(said), "{to}: {error}");
        }
        let twice = format!(
            "{TEXT}\n[[convergence]]\nscenario = \"rest\"\nlimits = {{ steady_z_difference_m = 1.0 }}\n"
        );
        assert!(Protocol::parse::<Vehicle>(&twice).expect_err("twice").contains("called `rest."));
    }

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
