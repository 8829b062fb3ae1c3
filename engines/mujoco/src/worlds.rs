//! The compiled model, its worlds and their start state.

use crate::arena;
use crate::mjcf::{hinges, mjcf, tree_order};
use crate::solver::Solver;
use mujoco_rs::prelude::*;
use sim_engine_harness::EngineError;
use sim_engine_protocol::{Pose, Scene, Status, Velocity};
use std::sync::Arc;

/// One world.
pub type World = MjData<Arc<MjModel>>;

/// Compiles the model of a scene. `arena` is the size of the arena in bytes; without it MuJoCo
/// chooses. The compiler allocates one world for its own checks, so it is the first to notice
/// an arena that cannot be had.
pub fn compile(scene: &Scene, solver: Solver, arena: Option<u64>) -> Result<MjModel, EngineError> {
    compile_text(&mjcf(scene, solver, arena))
}

/// Compiles MJCF.
pub(crate) fn compile_text(text: &str) -> Result<MjModel, EngineError> {
    MjModel::from_xml_string(text).map_err(|e| {
        let reason = format!("MuJoCo does not compile the scene: {e}");
        if reason.to_lowercase().contains("could not allocate") {
            EngineError::out_of_memory(reason)
        } else {
            EngineError::failed(reason)
        }
    })
}

/// Compiles the model and allocates the worlds. The arena keeps its automatic size unless that
/// cannot be allocated; then it is capped. Its size never changes results unless it runs out,
/// which the overflow counter would show.
pub(crate) fn build(
    scene: &Scene,
    solver: Solver,
    worlds: u32,
) -> Result<(Vec<World>, Arena), EngineError> {
    match allocate(compile(scene, solver, None), worlds) {
        Err(e) if e.status == Status::OutOfMemory => {
            let list = allocate(compile(scene, solver, Some(arena::cap())), worlds)?;
            Ok(with_arena(list, false))
        }
        list => Ok(with_arena(list?, true)),
    }
}

pub(crate) fn with_arena(worlds: Vec<World>, automatic: bool) -> (Vec<World>, Arena) {
    let bytes = worlds.first().map_or(0, arena_bytes);
    (worlds, Arena { bytes, automatic })
}

fn arena_bytes(world: &World) -> u64 {
    u64::try_from(world.model().ffi().narena).unwrap_or(u64::MAX)
}

pub(crate) fn allocate(
    model: Result<MjModel, EngineError>,
    worlds: u32,
) -> Result<Vec<World>, EngineError> {
    let model = Arc::new(model?);
    let bytes = u64::try_from(model.ffi().narena).unwrap_or(u64::MAX);
    let mut list = Vec::with_capacity(worlds as usize);
    for world in 0..worlds {
        // Asked first, because MuJoCo may end the process where an allocation fails.
        if !arena::can_allocate(bytes) {
            let reason = format!("no arena of {bytes} bytes for world {world}");
            return Err(EngineError::out_of_memory(reason));
        }
        let data = MjData::try_new(model.clone())
            .map_err(|e| EngineError::out_of_memory(format!("world {world}: {e}")))?;
        list.push(data);
    }
    Ok(list)
}

/// The arena of each world.
#[derive(Clone, Copy)]
pub(crate) struct Arena {
    pub(crate) bytes: u64,
    pub(crate) automatic: bool,
}

/// The start state of a scene in MuJoCo's coordinates, and where each body's lie.
pub struct Start {
    qvel: Vec<f64>,
    /// For each dynamic body, in scene order.
    places: Vec<Place>,
}

/// Where a dynamic body's state lies.
#[derive(Clone, Copy)]
struct Place {
    /// Its number in the model.
    body: usize,
    /// Where the seven positions of its free joint begin; none for a hinge, whose pose is computed.
    free: Option<usize>,
}

impl Start {
    /// Positions are the model's own reference; only velocities are left to say. MuJoCo takes a
    /// free joint's linear velocity in the world and its angular velocity in the body frame, and a
    /// hinge's as the turn against what it hangs on.
    pub fn new(scene: &Scene) -> Self {
        let hinges = hinges(scene);
        let (mut qvel, mut position) = (Vec::new(), 0);
        let mut of_body = vec![None; scene.bodies.len()];
        for (k, index) in tree_order(scene).into_iter().enumerate() {
            let body = &scene.bodies[index];
            let free = match hinges[index] {
                Some(hinge) => {
                    let base = hinge.parent.map_or([0.0; 3], |p| scene.bodies[p].angular_velocity);
                    let turn = |i: usize| hinge.axis[i] * (body.angular_velocity[i] - base[i]);
                    qvel.push((0..3).map(turn).sum());
                    position += 1;
                    None
                }
                None => {
                    qvel.extend(body.linear_velocity);
                    qvel.extend(body.pose().to_local(body.angular_velocity));
                    position += 7;
                    Some(position - 7)
                }
            };
            of_body[index] = Some(Place { body: k + 1, free });
        }
        Start { qvel, places: of_body.into_iter().flatten().collect() }
    }

    /// Puts a world into the start state: everything reset, warm start and warnings included.
    pub fn reset(&self, world: &mut World) {
        world.reset();
        world.qvel_mut().copy_from_slice(&self.qvel);
        // Derived quantities (poses, contacts) of the start state, for whoever reads them.
        world.forward();
    }

    /// The poses of the dynamic bodies after the last step.
    pub(crate) fn poses(&self, world: &mut World, out: &mut Vec<Pose>) {
        if self.places.iter().any(|p| p.free.is_none()) {
            // A step leaves body poses at the state before its last integration.
            world.kinematics();
        }
        let (qpos, xpos, xquat) = (world.qpos(), world.xpos(), world.xquat());
        out.extend(self.places.iter().map(|place| match place.free {
            Some(at) => Pose {
                position: std::array::from_fn(|i| qpos[at + i]),
                orientation: std::array::from_fn(|i| qpos[at + 3 + i]),
            },
            None => Pose { position: xpos[place.body], orientation: xquat[place.body] },
        }));
    }

    /// The velocities of the dynamic bodies after the last step.
    pub(crate) fn velocities(&self, world: &mut World, out: &mut Vec<Velocity>) {
        // A step leaves them at the state before its last integration, as it does poses.
        world.kinematics();
        world.com_pos();
        world.com_vel();
        out.extend(self.places.iter().map(|place| {
            // Turning first, then moving, of the centre of mass, in the world's axes.
            let v = world.object_velocity(MjtObjBase::mjOBJ_BODY, place.body, false);
            Velocity { linear: [v[3], v[4], v[5]], angular: [v[0], v[1], v[2]] }
        }));
    }
}
