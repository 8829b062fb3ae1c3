//! What an adapter is asked to do: one job, one process.

use crate::PROTOCOL;
use crate::calibration::Calibrated;
use crate::check::{FieldError, FieldErrors};
use crate::scene::Scene;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Simulated time after which a robot is judged, s (P271).
pub const ROBOT_SECONDS: f64 = 1.0;

/// One run of one scene by one engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Protocol version, [`PROTOCOL`].
    pub protocol: u32,
    /// What the run is for.
    pub mode: Mode,
    /// Path of the scene file, relative to the job file's folder, without `..`.
    pub scene: String,
    /// Copies of the scene that are stepped.
    pub worlds: u32,
    /// Physics steps of each world in the rollout.
    pub steps: u64,
    /// Least number of warm-up steps; the warm-up is never shorter than the rollout.
    pub warmup: u64,
    /// Worker threads the engine may use.
    pub threads: u32,
    /// Seed the scene was made with; recorded, and used by engines that need one.
    pub seed: u64,
    /// Backend of the engine, such as `cpu`.
    pub backend: String,
    /// Thresholds of the physical checks.
    #[serde(default)]
    pub gates: Gates,
    /// Target interval of the memory sampler, ms.
    #[serde(default = "ten")]
    pub sample_interval_ms: u32,
    /// Simulated time between two frames of a capture, s.
    #[serde(default = "sixtieth")]
    pub capture_interval_s: f64,
    /// What a capture must end in where the engine repeats bit for bit: the digest of the final
    /// state of world 0 of the timed run that it replays, [`crate::JobResult::world0_state_digest`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_state: Option<String>,
    /// What a calibration found of the job's scenario, for engines whose buffers have fixed sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<Calibrated>,
    /// Engine settings that differ from the adapter's; a name it does not know is refused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, SettingValue>,
}

fn ten() -> u32 {
    10
}

fn sixtieth() -> f64 {
    1.0 / 60.0
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The timing sample.
    Timed,
    /// The same run with a memory sampler; never a timing sample.
    Memory,
    /// World 0 with its poses kept at a fixed cadence.
    Capture,
    /// Two steps: does this engine run this scene on this machine at all?
    Probe,
    /// Device timestamps; on CPU backends only the answer that there are none.
    Profile,
    /// Finding the buffer sizes an engine needs.
    Calibrate,
}

impl Mode {
    /// As written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Timed => "timed",
            Mode::Memory => "memory",
            Mode::Capture => "capture",
            Mode::Probe => "probe",
            Mode::Profile => "profile",
            Mode::Calibrate => "calibrate",
        }
    }
}

/// Thresholds of the physical checks. They are broad sanity checks, no certificate of accuracy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Gates {
    /// Deepest that the lowest point of a dynamic body may lie below z = 0, m.
    pub floor_penetration_m: f64,
    /// Farthest that a hinged body's anchor may lie from its point in the world, m.
    pub anchor_drift_m: f64,
    /// How far a quaternion's norm may be from one, dimensionless.
    pub quaternion_norm: f64,
    /// Factor on the tolerance of the free-fall gate, dimensionless. The tolerance itself is
    /// g·dt·t + n·ε·(|p0| + |v0|·t + g·t²/2) with n steps and the precision's ε.
    pub free_fall_scale: f64,
    /// Lowest height that a robot's base may end at, m. Needed by scenes with a robot, as are
    /// the next three; of no effect elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_height_min_m: Option<f64>,
    /// Greatest height that a robot's base may end at, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_height_max_m: Option<f64>,
    /// Farthest that a robot's base may end from its start, horizontally, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_drift_m: Option<f64>,
    /// Least cosine of the tilt of a robot's base from upright, dimensionless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_upright: Option<f64>,
}

impl Default for Gates {
    fn default() -> Self {
        Gates {
            floor_penetration_m: 0.15,
            anchor_drift_m: 0.08,
            quaternion_norm: 1.0e-3,
            free_fall_scale: 1.0,
            base_height_min_m: None,
            base_height_max_m: None,
            base_drift_m: None,
            base_upright: None,
        }
    }
}

impl Gates {
    /// The limits that a scene with a robot needs, by name.
    pub fn of_robots(&self) -> [(&'static str, Option<f64>); 4] {
        [
            ("base_height_min_m", self.base_height_min_m),
            ("base_height_max_m", self.base_height_max_m),
            ("base_drift_m", self.base_drift_m),
            ("base_upright", self.base_upright),
        ]
    }
}

/// A setting's exact value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum SettingValue {
    /// A switch.
    Bool(bool),
    /// A count.
    Integer(i64),
    /// A measure.
    Number(f64),
    /// A name.
    Text(String),
}

impl From<bool> for SettingValue {
    fn from(v: bool) -> Self {
        SettingValue::Bool(v)
    }
}

impl From<i64> for SettingValue {
    fn from(v: i64) -> Self {
        SettingValue::Integer(v)
    }
}

impl From<f64> for SettingValue {
    fn from(v: f64) -> Self {
        SettingValue::Number(v)
    }
}

impl From<&str> for SettingValue {
    fn from(v: &str) -> Self {
        SettingValue::Text(v.to_owned())
    }
}

impl Job {
    /// Length of the warm-up: a full trajectory over the measured horizon at least.
    pub fn warmup_steps(&self) -> u64 {
        self.warmup.max(self.steps)
    }

    /// Whether this job may be done with that scene; all that speaks against it.
    ///
    /// A robot has to show that it rises and stands: its base starts below its standing height,
    /// it is judged after one simulated second or more, and by limits of its own. A probe of two
    /// steps judges no stance and may be shorter. Material points are run in one world (P205).
    pub fn suits(&self, scene: &Scene) -> Result<(), Vec<FieldError>> {
        FieldErrors::of(|e| {
            if scene.mpm.is_some() && self.worlds != 1 {
                e.add("worlds", self.worlds, "material points are run in one world");
            }
            let Some(robot) = &scene.robot else { return };
            let height = robot.base().map_or(0.0, |base| base.position[2]);
            if height >= robot.standing_height {
                let problem = format!(
                    "the base must start below its standing height of {} m, so that it rises",
                    robot.standing_height
                );
                e.add("scene.robot.links[0].position", height, problem);
            }
            let seconds = self.steps as f64 * scene.timestep;
            if self.mode != Mode::Probe && seconds < ROBOT_SECONDS {
                let least = (ROBOT_SECONDS / scene.timestep).ceil();
                let problem = format!(
                    "a robot is judged after {ROBOT_SECONDS} simulated second: {least} steps of \
                     {} s or more",
                    scene.timestep
                );
                e.add("steps", self.steps, problem);
            }
            for (name, limit) in self.gates.of_robots() {
                if limit.is_none() {
                    e.add(format!("gates.{name}"), "absent", "a scene with a robot needs it");
                }
            }
        })
    }

    /// Everything wrong with the job, each problem with its field.
    pub fn validate(&self) -> Result<(), Vec<FieldError>> {
        let mut e = FieldErrors::default();
        if self.protocol != PROTOCOL {
            e.add("protocol", self.protocol, format!("this speaks protocol {PROTOCOL}"));
        }
        check_path(&self.scene, &mut e);
        let mut count = |path: &str, value: u64, low: u64, high: u64| {
            if !(low..=high).contains(&value) {
                e.add(path, value, format!("must be from {low} to {high}"));
            }
        };
        count("worlds", self.worlds.into(), 1, 1 << 20);
        count("steps", self.steps, 1, 1 << 40);
        count("warmup", self.warmup, 0, 1 << 40);
        count("threads", self.threads.into(), 1, 4096);
        count("sample_interval_ms", self.sample_interval_ms.into(), 1, 60_000);
        if self.backend.is_empty() || self.backend.len() > 64 {
            e.add("backend", &self.backend, "must have 1 to 64 bytes");
        }
        let hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        if let Some(digest) = &self.timed_state
            && !(digest.len() == 64 && digest.chars().all(hex))
        {
            e.add("timed_state", digest, "must be a BLAKE3 digest of 64 hexadecimal digits");
        }
        e.within("capture_interval_s", self.capture_interval_s, 1.0e-6, 3600.0);
        let g = &self.gates;
        e.within("gates.floor_penetration_m", g.floor_penetration_m, 0.0, 1.0e3);
        e.within("gates.anchor_drift_m", g.anchor_drift_m, 0.0, 1.0e3);
        e.within("gates.quaternion_norm", g.quaternion_norm, 0.0, 1.0);
        e.within("gates.free_fall_scale", g.free_fall_scale, 0.0, 1.0e3);
        for (name, limit) in g.of_robots() {
            if let Some(limit) = limit {
                e.within(&format!("gates.{name}"), limit, -1.0, 1.0e3);
            }
        }
        if let Some(calibrated) = &self.calibrated {
            calibrated.check(&mut e);
        }
        for (name, value) in &self.settings {
            if let SettingValue::Number(x) = value {
                e.finite(&format!("settings.{name}"), *x);
            }
        }
        e.finish()
    }
}

fn check_path(path: &str, e: &mut FieldErrors) {
    let mut parts = path.split('/');
    if path.is_empty() || path.len() > 4096 || path.contains('\0') {
        e.add("scene", path, "must be a path");
    } else if path.starts_with('/') || path.contains('\\') {
        e.add("scene", path, "must be relative, with forward slashes");
    } else if parts.any(|p| p == "..") {
        e.add("scene", path, "must stay below the job's folder");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        serde_json::from_str(
            r#"{"protocol":1,"mode":"timed","scene":"scene.json","worlds":2,"steps":480,
                "warmup":10,"threads":1,"seed":7,"backend":"cpu"}"#,
        )
        .unwrap()
    }

    fn paths(job: &Job) -> Vec<String> {
        job.validate().unwrap_err().into_iter().map(|e| e.path).collect()
    }

    #[test]
    fn a_short_job_takes_the_published_defaults() {
        let job = job();
        assert_eq!(job.validate(), Ok(()));
        assert_eq!(job.gates.floor_penetration_m, 0.15);
        assert_eq!(job.gates.anchor_drift_m, 0.08);
        assert_eq!(job.sample_interval_ms, 10);
        assert_eq!(job.warmup_steps(), 480);
        assert_eq!(Job { warmup: 1000, ..job }.warmup_steps(), 1000);
    }

    #[test]
    fn an_unknown_field_is_an_error() {
        let text = r#"{"protocol":1,"mode":"timed","scene":"s","worlds":1,"steps":1,"warmup":0,
            "threads":1,"seed":0,"backend":"cpu","gates":{"floor_penetration":1.0}}"#;
        let problem = serde_json::from_str::<Job>(text).unwrap_err().to_string();
        assert!(problem.contains("unknown field `floor_penetration`"), "{problem}");
    }

    #[test]
    fn every_bad_field_is_named() {
        let bad = Job {
            protocol: 2,
            scene: "../../etc/passwd".into(),
            worlds: 0,
            steps: 0,
            threads: 0,
            backend: String::new(),
            timed_state: Some("none".into()),
            gates: Gates { anchor_drift_m: f64::NAN, ..Gates::default() },
            ..job()
        };
        let named = ["protocol", "scene", "worlds", "steps", "threads", "backend", "timed_state"];
        assert_eq!(paths(&bad), [&named[..], &["gates.anchor_drift_m"]].concat());
        assert_eq!(paths(&Job { scene: "/etc/passwd".into(), ..job() }), ["scene"]);
    }

    #[test]
    fn settings_keep_their_type() {
        let text = r#"{"a":true,"b":4,"c":0.5,"d":"newton"}"#;
        let map: BTreeMap<String, SettingValue> = serde_json::from_str(text).unwrap();
        assert_eq!(map["b"], 4.into());
        assert_eq!(map["c"], 0.5.into());
        assert_eq!(serde_json::to_string(&map).unwrap(), text);
    }
}
