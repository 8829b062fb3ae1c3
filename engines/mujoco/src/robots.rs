//! Robots: MuJoCo's own loader on the model of the scene, one task of a thread pool a world.

use crate::readings::{counters, settings};
use crate::solver::Solver;
use crate::worlds::{Arena, World, allocate, compile_text, with_arena};
use mujoco_rs::mujoco_c as c;
use mujoco_rs::prelude::*;
use rayon::prelude::*;
use sim_engine_harness::{EngineError, Simulation};
use sim_engine_protocol::{
    Approximation, Counters, Job, Pose, Robot, SettingValue, Translation, Velocity,
};
use std::collections::BTreeMap;

/// Name of the keyframe that a robot starts in.
const START: &str = "start";

/// Compiles the model and allocates the worlds. The model's options are its own, but for what the
/// job sets.
pub(crate) fn build(
    robot: &Robot,
    solver: Solver,
    job: &Job,
) -> Result<Box<dyn Simulation>, EngineError> {
    let model = compile_text(&robot.model).map(|mut model| {
        solver.impose(job, model.opt_mut());
        model
    });
    let (worlds, arena) = with_arena(allocate(model, job.worlds)?, true);
    let model = worlds[0].model();
    if model.opt().enableflags & (c::mjtEnableBit::mjENBL_SLEEP as i32) != 0 {
        return Err(EngineError::failed("sleeping is on although nothing asked for it"));
    }
    let find = |kind, name: &str| {
        let id = model.name_to_id(kind, name);
        id.ok_or_else(|| EngineError::failed(format!("the robot's model has no {name}")))
    };
    let start = find(MjtObjBase::mjOBJ_KEY, START)?;
    let links = robot.links.iter().map(|link| find(MjtObjBase::mjOBJ_BODY, &link.name));
    let links = links.collect::<Result<_, _>>()?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(job.threads as usize)
        .build()
        .map_err(|e| EngineError::failed(format!("no pool of {} threads: {e}", job.threads)))?;
    Ok(Box::new(Robots { worlds, arena, start, links, pool }))
}

/// All worlds of a job.
struct Robots {
    worlds: Vec<World>,
    arena: Arena,
    /// Number of the keyframe.
    start: usize,
    /// Number in the model of each link.
    links: Vec<usize>,
    pool: rayon::ThreadPool,
}

impl Simulation for Robots {
    fn reset(&mut self) -> Result<(), EngineError> {
        for world in &mut self.worlds {
            world
                .reset_keyframe(self.start)
                .map_err(|e| EngineError::failed(format!("keyframe {START}: {e}")))?;
            // Derived quantities (poses, contacts) of the start state, for whoever reads them.
            world.forward();
        }
        Ok(())
    }

    fn step(&mut self, steps: u64) -> Result<(), EngineError> {
        let worlds = &mut self.worlds;
        self.pool.install(|| {
            worlds.par_iter_mut().with_max_len(1).for_each(|world| {
                for _ in 0..steps {
                    world.step();
                }
            });
        });
        Ok(())
    }

    fn poses(&mut self, world: u32, out: &mut Vec<Pose>) -> Result<(), EngineError> {
        let world = &mut self.worlds[world as usize];
        // A step leaves body poses at the state before its last integration.
        world.kinematics();
        let (xpos, xquat) = (world.xpos(), world.xquat());
        out.extend(self.links.iter().map(|&b| Pose { position: xpos[b], orientation: xquat[b] }));
        Ok(())
    }

    fn velocities(&mut self, world: u32, out: &mut Vec<Velocity>) -> Result<(), EngineError> {
        let world = &mut self.worlds[world as usize];
        world.kinematics();
        world.com_pos();
        world.com_vel();
        out.extend(self.links.iter().map(|&body| {
            let v = world.object_velocity(MjtObjBase::mjOBJ_BODY, body, false);
            Velocity { linear: [v[3], v[4], v[5]], angular: [v[0], v[1], v[2]] }
        }));
        Ok(())
    }

    fn counters(&self) -> Counters {
        counters(&self.worlds)
    }

    fn settings(&self) -> BTreeMap<String, SettingValue> {
        let threads = self.pool.current_num_threads();
        let mut all = settings(&self.worlds[0], self.arena, "one task each", threads);
        // Each geom has its own; the first is the floor's.
        all.remove("solimp");
        all.insert("contacts".into(), "as the model says, geom by geom".into());
        all.insert("robots".into(), "MuJoCo's own MJCF loader".into());
        all
    }

    fn translation(&self) -> Translation {
        let exact = [
            "links, inertias, joints, limits, armature and joint friction, as joint coordinates",
            "collision primitives and the floor, as a plane",
            "position servos: kp·(target − q) − kv·q̇ within their force range",
            "gravity, timestep, start coordinates",
            "no contact of a robot with itself, no sleeping",
        ];
        let approximate =
            |what: &str, how: &str| Approximation { what: what.into(), how: how.into() };
        let o = self.worlds[0].model().opt();
        let cone = if o.cone == 0 { "pyramid of four sides" } else { "elliptic" };
        let approximated = vec![
            approximate("contact", "soft constraint with the model's solref and solimp"),
            approximate("friction of a pair", "the larger coefficient, or the geom's of priority"),
            approximate("friction cone", &format!("{cone}, softened as the contact is")),
            approximate("joint limits and joint friction", "soft constraints, default solref"),
        ];
        Translation { exact: exact.map(String::from).to_vec(), approximated, dropped: vec![] }
    }
}
