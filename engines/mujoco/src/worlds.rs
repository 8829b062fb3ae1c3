//! The compiled model, its worlds and their start state.

use crate::arena;
use crate::mjcf::{mjcf, to_body};
use mujoco_rs::prelude::*;
use sim_engine_harness::EngineError;
use sim_engine_protocol::{Pose, Scene};
use std::rc::Rc;

/// One world.
pub type World = MjData<Rc<MjModel>>;

/// Compiles the model of a scene.
pub fn compile(scene: &Scene, iterations: i64) -> Result<MjModel, EngineError> {
    MjModel::from_xml_string(&mjcf(scene, iterations))
        .map_err(|e| EngineError::failed(format!("MuJoCo does not compile the scene: {e}")))
}

/// Allocates the worlds; says which arena size was taken.
pub(crate) fn allocate(
    mut model: MjModel,
    worlds: u32,
) -> Result<(Vec<World>, Arena), EngineError> {
    let automatic = u64::try_from(model.ffi().narena).unwrap_or(u64::MAX);
    let bytes = arena::choose(automatic, arena::physical_memory())?;
    if bytes != automatic {
        let bytes = MjSize::try_from(bytes)
            .map_err(|_| EngineError::out_of_memory(format!("an arena of {bytes} bytes")))?;
        // SAFETY: narena is only the size of the block that mj_makeData will allocate.
        unsafe { model.ffi_mut().narena = bytes };
    }
    let model = Rc::new(model);
    let mut list = Vec::with_capacity(worlds as usize);
    for world in 0..worlds {
        if world > 0 && arena::choose(bytes, Some(0)) != Ok(bytes) {
            let reason = format!("no arena of {bytes} bytes for world {world}");
            return Err(EngineError::out_of_memory(reason));
        }
        let data = MjData::try_new(model.clone())
            .map_err(|e| EngineError::out_of_memory(format!("world {world}: {e}")))?;
        list.push(data);
    }
    Ok((list, Arena { bytes, automatic: bytes == automatic }))
}

type MjSize = mujoco_rs::mujoco_c::mjtSize;

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
