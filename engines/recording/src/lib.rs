//! A plant's run as a capture: scene, poses, and a result of mode `capture`, in the formats of
//! `engines/protocol`, so that the kind `render` draws it like any other.

use sim_engine_protocol::capture::{CaptureHeader, CaptureReport, StateComparison};
use sim_engine_protocol::{
    BodyKind, Counters, EngineId, JobResult, Mode, Outcome, PROTOCOL, Phases, Precision, Scene,
    SceneFacts, Status, Translation,
};
use std::collections::BTreeMap;

/// What was recorded.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a> {
    /// What is in it. Its step is that of all recordings that are shown together.
    pub scene: &'a Scene,
    /// Name that the recording is shown under.
    pub name: &'a str,
    /// Version of the simulator.
    pub version: &'a str,
    /// Poses of all moving bodies, frame after frame: x, y, z, m, and a quaternion, real part first.
    pub poses: &'a [f32],
    /// Physics steps between two frames.
    pub steps_per_frame: u32,
    /// Physics step, s.
    pub timestep: f64,
    /// Physics steps that were made.
    pub steps: u64,
    /// Seed that the run records.
    pub seed: u64,
}

/// Name and contents of a recording's files.
pub type Files = [(&'static str, Vec<u8>); 3];

impl Recording<'_> {
    /// Its files. The error says what cannot be written.
    pub fn files(&self) -> Result<Files, String> {
        let wrong = |e: serde_json::Error| format!("the recording cannot be written as JSON: {e}");
        let scene = serde_json::to_vec_pretty(self.scene).map_err(wrong)?;
        let is_dynamic = |kind: BodyKind| kind == BodyKind::Dynamic;
        let bodies = self.scene.bodies.iter().filter(|b| is_dynamic(b.kind)).count() as u64;
        let frame = 7 * bodies as usize;
        if frame == 0 || self.poses.is_empty() || !self.poses.len().is_multiple_of(frame) {
            let n = self.poses.len();
            return Err(format!("{n} numbers are no frames of {bodies} bodies"));
        }
        let frames = (self.poses.len() / frame) as u64;
        let steps_per_frame = u64::from(self.steps_per_frame);
        let header = CaptureHeader { bodies, frames, steps_per_frame, timestep: self.timestep };
        let mut capture = header.to_bytes().to_vec();
        capture.extend(self.poses.iter().flat_map(|v| v.to_le_bytes()));
        let result = JobResult {
            protocol: PROTOCOL,
            engine: EngineId { name: self.name.to_owned(), version: self.version.to_owned() },
            backend: "cpu".to_owned(),
            precision: Precision::Double,
            mode: Mode::Capture,
            outcome: Outcome { status: Status::Ok, reason: None },
            scene: Some(SceneFacts {
                name: self.scene.name.clone(),
                digest: blake3::hash(&scene).to_hex().to_string(),
                dynamic_bodies: bodies,
                static_bodies: self.scene.bodies.len() as u64 - bodies,
                hinges: self.scene.hinges.len() as u64,
                timestep: self.scene.timestep,
            }),
            worlds: 1,
            steps: self.steps,
            warmup_steps: 0,
            threads: 1,
            seed: self.seed,
            phases: Phases::default(),
            ms_per_step: None,
            world_steps_per_second: None,
            settings: BTreeMap::new(),
            translation: Translation::default(),
            counters: Counters::default(),
            gates: Vec::new(),
            accuracy: Vec::new(),
            final_state_digest: None,
            world0_state_digest: None,
            memory: None,
            gpu_memory: None,
            calibration: None,
            capture: Some(CaptureReport {
                capacities: None,
                file: "capture.bin".to_owned(),
                frames,
                bodies,
                steps_per_frame,
                interval_s: self.timestep * f64::from(self.steps_per_frame),
                final_state: StateComparison::NotCompared {
                    reason: "a plant's run is its own capture".to_owned(),
                },
            }),
            profile: None,
        };
        let result = serde_json::to_vec_pretty(&result).map_err(wrong)?;
        Ok([("scene.json", scene), ("capture.bin", capture), ("result.json", result)])
    }
}
