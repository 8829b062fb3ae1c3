//! The compiled model, its worlds and their start state.

use crate::arena;
use crate::mjcf::{mjcf, to_body};
use mujoco_rs::prelude::*;
use sim_engine_harness::EngineError;
use sim_engine_protocol::{Pose, Scene, Status};
use std::rc::Rc;

/// One world.
pub type World = MjData<Rc<MjModel>>;

/// Compiles the model of a scene. `arena` is the size of the arena in bytes; without it MuJoCo
/// chooses. The compiler allocates one world for its own checks, so it is the first to notice
/// an arena that cannot be had.
pub fn compile(scene: &Scene, iterations: i64, arena: Option<u64>) -> Result<MjModel, EngineError> {
    MjModel::from_xml_string(&mjcf(scene, iterations, arena)).map_err(|e| {
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
    iterations: i64,
    worlds: u32,
) -> Result<(Vec<World>, Arena), EngineError> {
    match allocate(compile(scene, iterations, None), worlds) {
        Err(e) if e.status == Status::OutOfMemory => {
            let list = allocate(compile(scene, iterations, Some(arena::cap())), worlds)?;
            Ok(with_arena(list, false))
        }
        list => Ok(with_arena(list?, true)),
    }
}

fn with_arena(worlds: Vec<World>, automatic: bool) -> (Vec<World>, Arena) {
    let bytes = worlds.first().map_or(0, arena_bytes);
    (worlds, Arena { bytes, automatic })
}

fn arena_bytes(world: &World) -> u64 {
    u64::try_from(world.model().ffi().narena).unwrap_or(u64::MAX)
}

fn allocate(model: Result<MjModel, EngineError>, worlds: u32) -> Result<Vec<World>, EngineError> {
    let model = Rc::new(model?);
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
    joints: Vec<Joint>,
}

#[derive(Clone, Copy)]
enum Joint {
    /// Seven positions from here.
    Free(usize),
    /// A hinge: the pose has to be computed. The body's number.
    Hinge(usize),
}

impl Start {
    /// Positions are the model's own reference; only velocities are left to say. MuJoCo takes a
    /// free joint's linear velocity in the world and its angular velocity in the body frame.
    pub fn new(scene: &Scene) -> Self {
        let mut axes = vec![None; scene.bodies.len()];
        for hinge in &scene.hinges {
            axes[hinge.body] = Some(hinge.axis);
        }
        let (mut qvel, mut joints, mut position) = (Vec::new(), Vec::new(), 0);
        for (k, (index, body)) in scene.dynamic_bodies().enumerate() {
            match axes[index] {
                Some(axis) => {
                    let spin = (0..3).map(|i| axis[i] * body.angular_velocity[i]).sum();
                    qvel.push(spin);
                    joints.push(Joint::Hinge(k + 1));
                    position += 1;
                }
                None => {
                    qvel.extend(body.linear_velocity);
                    qvel.extend(to_body(body.orientation, body.angular_velocity));
                    joints.push(Joint::Free(position));
                    position += 7;
                }
            }
        }
        Start { qvel, joints }
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
        if self.joints.iter().any(|j| matches!(j, Joint::Hinge(_))) {
            // A step leaves body poses at the state before its last integration.
            world.kinematics();
        }
        let (qpos, xpos, xquat) = (world.qpos(), world.xpos(), world.xquat());
        out.extend(self.joints.iter().map(|joint| match *joint {
            Joint::Free(at) => Pose {
                position: std::array::from_fn(|i| qpos[at + i]),
                orientation: std::array::from_fn(|i| qpos[at + 3 + i]),
            },
            Joint::Hinge(body) => Pose { position: xpos[body], orientation: xquat[body] },
        }));
    }
}
