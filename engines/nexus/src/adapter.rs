//! The adapter: what Nexus can do.

use crate::capacity::{COLORS, PAIRS, SLOTS};
use crate::{device, worlds};
use sim_engine_harness::{Engine, EngineError, Simulation};
use sim_engine_protocol::{
    Capabilities, Description, Job, Limits, Mode, PROTOCOL, Precision, Repeatability, Scene,
    SettingValue,
};

/// Nexus, native Rust, compute shaders on a processor or a device, single precision.
pub struct Nexus;

impl Engine for Nexus {
    fn describe(&self) -> Description {
        let modes =
            [Mode::Timed, Mode::Memory, Mode::Capture, Mode::Probe, Mode::Profile, Mode::Calibrate];
        Description {
            protocol: PROTOCOL,
            engine: "nexus".into(),
            version: env!("NEXUS3D_VERSION").into(),
            backends: device::built(),
            precision: Precision::Single,
            capabilities: Capabilities {
                modes: modes.to_vec(),
                shapes: ["box", "sphere", "capsule", "cylinder"].map(String::from).to_vec(),
                hinges: true,
                robots: true,
                worlds: "batched".into(),
                threads: false,
                settings: vec!["substeps".into()],
                device_timestamps: true,
                repeatability: Repeatability::Varies {
                    reason:
                        "contacts of all environments share one list, in the order in which they \
                             were found"
                            .into(),
                },
            },
            limits: Limits {
                calibrated: [PAIRS, SLOTS, COLORS].map(String::from).to_vec(),
                absent_backends: device::absent(),
                ..Limits::default()
            },
        }
    }

    fn build(&self, scene: &Scene, job: &Job) -> Result<Box<dyn Simulation>, EngineError> {
        Ok(Box::new(worlds::Worlds::new(scene, job)?))
    }
}

/// Solver substeps of a step: what the job asks for, or the usual.
pub(crate) fn substeps(job: &Job, usual: i64) -> Result<u32, EngineError> {
    match job.settings.get("substeps") {
        None => Ok(usual as u32),
        Some(SettingValue::Integer(n @ 1..=10_000)) => Ok(*n as u32),
        Some(other) => Err(EngineError::refused(format!("substeps = {other:?}: 1 to 10000"))),
    }
}
