//! The adapter: what Rapier can do, and which build of it does what.
//!
//! Rapier is built twice. With its feature `parallel` a world's step is spread over threads, which is
//! how rigid bodies run. Without it a world has one thread and no cost of the other way, and
//! robots run as one task a world; the first program hands them over to the second.

use sim_engine_harness::{Engine, EngineError, Simulation};
use sim_engine_protocol::{
    Capabilities, Description, Job, Limits, Mode, PROTOCOL, Precision, Repeatability, Scene,
    SettingValue,
};

/// Rapier, native Rust, single precision.
pub struct Rapier;

/// The program of the build without `parallel`, beside the other.
pub const SERIAL: &str = "sim-adapter-rapier-serial";

impl Engine for Rapier {
    fn describe(&self) -> Description {
        let modes = [Mode::Timed, Mode::Memory, Mode::Capture, Mode::Probe, Mode::Profile];
        Description {
            protocol: PROTOCOL,
            engine: "rapier".into(),
            version: env!("RAPIER3D_VERSION").into(),
            backends: vec!["cpu".into()],
            precision: Precision::Single,
            capabilities: Capabilities {
                modes: modes.to_vec(),
                shapes: ["box", "sphere", "capsule", "cylinder"].map(String::from).to_vec(),
                hinges: true,
                robots: true,
                mpm: false,
                worlds: "serial".into(),
                threads: true,
                settings: vec!["substeps".into()],
                device_timestamps: false,
                repeatability: Repeatability::Bitwise,
            },
            limits: Limits::default(),
        }
    }

    #[cfg(feature = "parallel")]
    fn build(&self, scene: &Scene, job: &Job) -> Result<Box<dyn Simulation>, EngineError> {
        if scene.robot.is_some() {
            return Err(EngineError::failed(format!("robots are run by {SERIAL}")));
        }
        crate::rigid::worlds(scene, job)
    }

    #[cfg(not(feature = "parallel"))]
    fn build(&self, scene: &Scene, job: &Job) -> Result<Box<dyn Simulation>, EngineError> {
        match &scene.robot {
            Some(robot) => crate::robots::worlds(scene, robot, job),
            None => Err(EngineError::failed(format!("{SERIAL} runs robots alone"))),
        }
    }
}

/// Solver substeps of a step: what the job asks for, or the usual.
pub(crate) fn substeps(job: &Job, usual: i64) -> Result<i64, EngineError> {
    match job.settings.get("substeps") {
        None => Ok(usual),
        Some(SettingValue::Integer(n @ 1..=10_000)) => Ok(*n),
        Some(other) => Err(EngineError::refused(format!("substeps = {other:?}: 1 to 10000"))),
    }
}
