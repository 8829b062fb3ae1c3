//! The adapter: what MuJoCo can do, and how its worlds are stepped.

use crate::readings::{counters, settings};
use crate::robots;
use crate::solver::{SETTINGS, Solver};
use crate::worlds::{Arena, Start, World, build};
use mujoco_rs::mujoco_c::{self as c, mj_version};
use sim_engine_harness::{Engine, EngineError, Simulation};
use sim_engine_protocol::{
    Approximation, Capabilities, Counters, Description, Job, Limits, Mode, PROTOCOL, Pose,
    Precision, Repeatability, Scene, SettingValue, Translation, Velocity,
};
use std::collections::BTreeMap;

/// MuJoCo, the native library, double precision.
pub struct Mujoco;

impl Engine for Mujoco {
    fn describe(&self) -> Description {
        // SAFETY: reads a constant of the library.
        let v = unsafe { mj_version() };
        let version = format!("{}.{}.{}", v / 1_000_000, v / 1000 % 1000, v % 1000);
        let modes = [Mode::Timed, Mode::Memory, Mode::Capture, Mode::Probe, Mode::Profile];
        Description {
            protocol: PROTOCOL,
            engine: "mujoco".into(),
            version,
            backends: vec!["cpu".into()],
            precision: Precision::Double,
            capabilities: Capabilities {
                modes: modes.to_vec(),
                shapes: ["box", "sphere", "capsule", "cylinder"].map(String::from).to_vec(),
                hinges: true,
                robots: true,
                mpm: false,
                worlds: "serial".into(),
                threads: false,
                settings: SETTINGS.map(String::from).to_vec(),
                device_timestamps: false,
                repeatability: Repeatability::Bitwise,
            },
            limits: Limits::default(),
        }
    }

    fn build(&self, scene: &Scene, job: &Job) -> Result<Box<dyn Simulation>, EngineError> {
        keep_logs_off_disk();
        let solver = Solver::of(job)?;
        if let Some(robot) = &scene.robot {
            return robots::build(robot, solver, job);
        }
        let (worlds, arena) = build(scene, solver, job.worlds)?;
        let simulation = Serial { worlds, arena, start: Start::new(scene), scene: scene.clone() };
        if simulation.option().enableflags & (c::mjtEnableBit::mjENBL_SLEEP as i32) != 0 {
            return Err(EngineError::failed("sleeping is on although nothing asked for it"));
        }
        Ok(Box::new(simulation))
    }
}

/// MuJoCo writes warnings and errors to a file in the current folder unless told not to; the
/// console keeps them.
fn keep_logs_off_disk() {
    use mujoco_rs::wrappers::mj_logging::{log_config, set_log_config};
    // SAFETY: called before any model or world exists, from the only thread that uses MuJoCo.
    unsafe { set_log_config(log_config().with_logto_file(false)) };
}

/// All worlds of a job, stepped one after the other.
struct Serial {
    worlds: Vec<World>,
    arena: Arena,
    start: Start,
    scene: Scene,
}

impl Serial {
    fn option(&self) -> &c::mjOption {
        &self.worlds[0].model().ffi().opt
    }
}

impl Simulation for Serial {
    fn reset(&mut self) -> Result<(), EngineError> {
        self.worlds.iter_mut().for_each(|world| self.start.reset(world));
        Ok(())
    }

    fn step(&mut self, steps: u64) -> Result<(), EngineError> {
        for world in &mut self.worlds {
            for _ in 0..steps {
                world.step();
            }
        }
        Ok(())
    }

    fn poses(&mut self, world: u32, out: &mut Vec<Pose>) -> Result<(), EngineError> {
        self.start.poses(&mut self.worlds[world as usize], out);
        Ok(())
    }

    fn velocities(&mut self, world: u32, out: &mut Vec<Velocity>) -> Result<(), EngineError> {
        self.start.velocities(&mut self.worlds[world as usize], out);
        Ok(())
    }

    fn counters(&self) -> Counters {
        counters(&self.worlds)
    }

    fn settings(&self) -> BTreeMap<String, SettingValue> {
        settings(&self.worlds[0], self.arena, "serial", 1)
    }

    fn translation(&self) -> Translation {
        let approximate =
            |what: &str, how: &str| Approximation { what: what.into(), how: how.into() };
        let o = self.option();
        let cone = if o.cone == 0 { "pyramid of four sides" } else { "elliptic" };
        // MuJoCo keeps a contact's time constant at two steps or more (its `refsafe`).
        let constant = (2.0 * o.timestep).max(0.02);
        let mut approximated = vec![
            approximate(
                "contact",
                &format!("soft constraint, time constant {constant:.4} s, default solimp"),
            ),
            approximate("friction of a pair", "the larger of the two coefficients"),
            approximate("friction cone", &format!("{cone}, softened as the contact is")),
        ];
        let mut exact: Vec<String> = [
            "shapes and sizes",
            "mass and diagonal inertia",
            "gravity and timestep",
            "start positions and orientations",
            "start velocities (angular ones turned into the body frame)",
            "zero damping, no sleeping",
        ]
        .map(String::from)
        .to_vec();
        if !self.scene.hinges.is_empty() {
            exact.push("hinges, as joint coordinates: anchors cannot drift".into());
            approximated.push(approximate(
                "start velocity of hinged bodies",
                "the part about the hinge axis; a hinge allows no other",
            ));
        }
        Translation { exact, approximated, dropped: vec![] }
    }
}
