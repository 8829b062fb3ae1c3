//! What the engine can do.

use crate::choice::{Choice, SETTINGS};
use crate::mjcf::text;
use crate::worlds::{Start, Worlds};
use sim_batch::mujoco::{Compiled, Kind};
use sim_batch::{Model, ModelError, Options};
use sim_engine_harness::{Engine, EngineError, Simulation};
use sim_engine_protocol::{
    Capabilities, Description, Job, Limits, Mode, PROTOCOL, Precision, Repeatability, Scene,
};
use std::sync::Arc;

/// Most bodies of a world, a floor included: matrices are packed triangles of all dofs, and a pile couples them.
const MOST_BODIES: u64 = 201;
/// Name of the keyframe that a robot starts in.
const START: &str = "start";

/// The world-batched engine, on the CPU.
pub struct BatchAdapter;

impl Engine for BatchAdapter {
    fn describe(&self) -> Description {
        let modes = [Mode::Timed, Mode::Memory, Mode::Capture, Mode::Probe, Mode::Profile];
        Description {
            protocol: PROTOCOL,
            engine: "batch".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            backends: vec!["cpu".into()],
            precision: Precision::Single,
            capabilities: Capabilities {
                modes: modes.to_vec(),
                shapes: ["box", "sphere", "capsule", "cylinder"].map(String::from).to_vec(),
                hinges: true,
                robots: true,
                mpm: false,
                worlds: "batched".into(),
                threads: false,
                settings: SETTINGS.map(String::from).to_vec(),
                device_timestamps: false,
                repeatability: Repeatability::Bitwise,
            },
            limits: Limits { bodies: Some(MOST_BODIES), ..Limits::default() },
        }
    }

    fn build(&self, scene: &Scene, job: &Job) -> Result<Box<dyn Simulation>, EngineError> {
        let choice = Choice::of(job)?;
        let compile = |xml: &str| {
            Compiled::from_text(xml)
                .map_err(|e| EngineError::failed(format!("MuJoCo cannot compile the scene: {e}")))
        };
        let (compiled, start) = match &scene.robot {
            Some(robot) => {
                let mut compiled = compile(&robot.model)?;
                if let Some(n) = choice.iterations {
                    compiled.set_option("iterations", f64::from(n));
                }
                if let Some(name) = choice.integrator {
                    let number = if name == "Euler" { 0.0 } else { 3.0 };
                    compiled.set_option("integrator", number);
                }
                let start = Start::robot(&compiled, robot, key(&compiled)?)?;
                (compiled, start)
            }
            None => {
                let compiled = compile(&text(scene, &choice))?;
                let start = Start::scene(&compiled, scene);
                (compiled, start)
            }
        };
        let bodies = compiled.size("nbody") - 1;
        if bodies as u64 > MOST_BODIES {
            let reason = format!("{bodies} bodies; at most {MOST_BODIES}");
            return Err(EngineError::unsupported(reason));
        }
        let model = Model::new(compiled).map_err(|e| match e {
            ModelError::Unsupported(_) => EngineError::unsupported(e.to_string()),
            ModelError::Compile(_) => EngineError::failed(e.to_string()),
        })?;
        let options = Options {
            lanes: choice.lanes,
            threads: job.threads as usize,
            contact_row_cap: choice.rows.unwrap_or((64 * bodies).max(256)),
            ..Options::default()
        };
        let worlds = Worlds::new(Arc::new(model), job.worlds, &options, start, scene)?;
        Ok(Box::new(worlds))
    }
}

fn key(compiled: &Compiled) -> Result<usize, EngineError> {
    let key = compiled.id(Kind::Key, START);
    key.ok_or_else(|| EngineError::failed(format!("the robot's model has no keyframe {START}")))
}
