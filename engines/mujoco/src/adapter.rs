//! The adapter: what MuJoCo can do, and how its worlds are stepped.

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

const WARNINGS: [(&str, usize); 7] = [
    ("inertia", c::mjtWarning::mjWARN_INERTIA as usize),
    ("contact_full", c::mjtWarning::mjWARN_CONTACTFULL as usize),
    ("constraint_full", c::mjtWarning::mjWARN_CNSTRFULL as usize),
    ("bad_qpos", c::mjtWarning::mjWARN_BADQPOS as usize),
    ("bad_qvel", c::mjtWarning::mjWARN_BADQVEL as usize),
    ("bad_qacc", c::mjtWarning::mjWARN_BADQACC as usize),
    ("bad_ctrl", c::mjtWarning::mjWARN_BADCTRL as usize),
];

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
                shapes: ["box", "sphere", "capsule"].map(String::from).to_vec(),
                hinges: true,
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
        let data = || self.worlds.iter().map(|w| w.ffi());
        let sum = |f: fn(&c::mjData) -> i32| data().map(|d| u64::try_from(f(d)).unwrap_or(0)).sum();
        let warned = |kind: usize| -> u64 {
            data().map(|d| u64::try_from(d.warning[kind].number).unwrap_or(0)).sum()
        };
        let iterations = |d: &c::mjData| d.solver_niter.iter().copied().max().unwrap_or(0);
        let warnings = WARNINGS.iter().map(|(name, kind)| ((*name).to_owned(), warned(*kind)));
        Counters {
            contacts: Some(sum(|d| d.ncon)),
            constraints: Some(sum(|d| d.nefc)),
            solver_iterations: data().map(|d| u64::try_from(iterations(d)).unwrap_or(0)).max(),
            overflow: Some(warned(WARNINGS[1].1) + warned(WARNINGS[2].1)),
            // Automatic resets are disabled, so a diverged state stays and fails the gates.
            resets: None,
            warnings: warnings.filter(|(_, n)| *n > 0).collect(),
            awake_bodies: None,
            // The world itself is a body.
            simulated_bodies: Some(sum(|d| d.nbody_awake - 1)),
        }
    }

    fn settings(&self) -> BTreeMap<String, SettingValue> {
        let o = self.option();
        let model = self.worlds[0].model().ffi();
        let off = |bit: c::mjtDisableBit| SettingValue::Bool(o.disableflags & bit as i32 == 0);
        // SAFETY: geom_solref and geom_solimp hold 2 and 5 numbers a geom, and there is one.
        let (solref, solimp) = unsafe {
            (
                std::slice::from_raw_parts(model.geom_solref, 2),
                std::slice::from_raw_parts(model.geom_solimp, 5),
            )
        };
        let text = |numbers: &[f64]| {
            SettingValue::Text(numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" "))
        };
        let integrator = match o.integrator {
            0 => "Euler",
            1 => "RK4",
            2 => "implicit",
            _ => "implicitfast",
        };
        let solver = ["PGS", "CG", "Newton"].get(o.solver as usize).copied().unwrap_or("unknown");
        let cone = if o.cone == 0 { "pyramidal" } else { "elliptic" };
        let int = |n: i32| SettingValue::Integer(n.into());
        BTreeMap::from([
            ("arena_bytes".into(), SettingValue::Integer(self.arena.bytes as i64)),
            ("arena_automatic".into(), self.arena.automatic.into()),
            ("autoreset".into(), off(c::mjtDisableBit::mjDSBL_AUTORESET)),
            ("ccd_iterations".into(), int(o.ccd_iterations)),
            ("cone".into(), cone.into()),
            ("disableflags".into(), int(o.disableflags)),
            ("enableflags".into(), int(o.enableflags)),
            ("impratio".into(), o.impratio.into()),
            ("integrator".into(), integrator.into()),
            ("islands".into(), off(c::mjtDisableBit::mjDSBL_ISLAND)),
            ("iterations".into(), int(o.iterations)),
            ("jacobian".into(), int(o.jacobian)),
            ("ls_iterations".into(), int(o.ls_iterations)),
            ("ls_tolerance".into(), o.ls_tolerance.into()),
            ("noslip_iterations".into(), int(o.noslip_iterations)),
            ("sleeping".into(), false.into()),
            ("solimp".into(), text(solimp)),
            ("solref".into(), text(solref)),
            ("solver".into(), solver.into()),
            ("threads_used".into(), 1.into()),
            ("timestep".into(), o.timestep.into()),
            ("tolerance".into(), o.tolerance.into()),
            ("worlds".into(), "serial".into()),
        ])
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
