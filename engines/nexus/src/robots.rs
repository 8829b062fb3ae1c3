//! A robot in one environment of Nexus: Rapier's MJCF loader on the model of the scene, joints in reduced
//! coordinates.

use crate::rigid;
use nexus3d::prelude::NexusState;
use nexus3d::rapier::prelude::*;
use rapier3d_mjcf::{ContactFilterMode, MjcfLoaderOptions, MjcfMultibodyOptions, MjcfRobot};
use sim_engine_harness::EngineError;
use sim_engine_protocol::{Robot, Scene};

/// Name of the keyframe that a robot starts in.
const START: &str = "start";
/// Solver substeps of a step (P264).
pub(crate) const SUBSTEPS: i64 = 1;
/// Iterations of the biased pass of each (P264).
pub(crate) const ITERATIONS: u32 = 4;
/// Most degrees of freedom of a multibody in Nexus.
const MOST_DOFS: usize = 64;

/// What every environment is built from.
pub(crate) struct Recipe {
    loaded: MjcfRobot,
    /// Place of each link among the loader's bodies.
    links: Vec<usize>,
}

impl Recipe {
    pub(crate) fn new(robot: &Robot) -> Result<Self, EngineError> {
        let options = MjcfLoaderOptions {
            // Nexus has no half-spaces: the floor is the scene's static body.
            skip_plane_geoms: true,
            // contype against conaffinity as MuJoCo has it, so the robot does not meet itself.
            contact_filter_mode: ContactFilterMode::Asymmetric,
            rigid_body_blueprint: RigidBodyBuilder::dynamic()
                .can_sleep(false)
                .linear_damping(0.0)
                .angular_damping(0.0),
            // MuJoCo takes the larger coefficient of a pair.
            collider_blueprint: ColliderBuilder::ball(1.0)
                .density(0.0)
                .restitution(0.0)
                .friction_combine_rule(CoefficientCombineRule::Max),
            ..MjcfLoaderOptions::default()
        };
        let (loaded, _) = MjcfRobot::from_str(&robot.model, options, ".").map_err(|e| {
            EngineError::failed(format!("the loader does not read the robot: {e:#}"))
        })?;
        let place = |name: &str| {
            let found = loaded.body_name_to_idx.get(name).copied();
            found.ok_or_else(|| EngineError::failed(format!("the robot's model has no {name}")))
        };
        let links = robot.links.iter().map(|l| place(&l.name)).collect::<Result<_, _>>()?;
        if loaded.actuators.iter().any(|a| a.joint_index.is_none()) {
            return Err(EngineError::failed("a servo of the robot drives no joint"));
        }
        Ok(Recipe { loaded, links })
    }

    /// Colliders of one environment.
    pub(crate) fn colliders(&self, robot: &Robot, scene: &Scene) -> usize {
        robot.links.iter().map(|l| l.shapes.len()).sum::<usize>() + scene.bodies.len()
    }

    /// Fills an environment with the robot in its start state and the scene's static bodies; gives the
    /// handles of its links.
    pub(crate) fn insert(
        &self,
        scene: &Scene,
        state: &mut NexusState,
        env: usize,
    ) -> Result<Vec<RigidBodyHandle>, EngineError> {
        let robot = &self.loaded;
        let physics = state.rbd_world_mut(env);
        let handles = robot.clone().insert_using_multibody_joints(
            &mut physics.bodies,
            &mut physics.colliders,
            &mut physics.multibody_joints,
            &mut physics.impulse_joints,
            MjcfMultibodyOptions::DISABLE_SELF_CONTACTS,
        );
        // Rotations of a multibody are damped unless told otherwise, the base's as well, and the loader
        // tells it only of joints whose damping is not zero.
        for (joint, handle) in robot.joints.iter().zip(&handles.joints) {
            let dropped = || EngineError::failed("a joint of the robot closes a loop");
            let handle = handle.joint.ok_or_else(dropped)?;
            let (multibody, link) = physics.multibody_joints.get_mut(handle).ok_or_else(dropped)?;
            let first = multibody.link(link).ok_or_else(dropped)?.assembly_id();
            multibody.damping_mut()[first] = joint.damping_per_dof;
            if link == 1 {
                multibody.damping_mut().rows_mut(0, first).fill(0.0);
            }
        }
        let start = robot.keyframe_by_name(START).ok_or_else(|| {
            EngineError::failed(format!("the robot's model has no keyframe {START}"))
        })?;
        let (bodies, joints) = (&mut physics.bodies, &mut physics.multibody_joints);
        handles.apply_keyframe(bodies, joints, robot, start);
        handles.apply_controls_multibody(bodies, joints, &robot.keyframe_controls(start));
        for multibody in physics.multibody_joints.multibodies() {
            if multibody.ndofs() > MOST_DOFS {
                return Err(EngineError::unsupported(format!(
                    "{} degrees of freedom: Nexus takes {MOST_DOFS}",
                    multibody.ndofs()
                )));
            }
        }
        for body in &scene.bodies {
            let pose =
                Pose::from_parts(rigid::vector(body.position), rigid::rotation(body.orientation));
            let floor =
                rigid::collider(body).friction_combine_rule(CoefficientCombineRule::Max).build();
            physics.insert(RigidBodyBuilder::fixed().pose(pose).build(), floor);
        }
        let link = |i: &usize| handles.bodies.get(*i).and_then(Option::as_ref).map(|b| b.body);
        let links = self.links.iter().map(link).collect::<Option<_>>();
        links.ok_or_else(|| EngineError::failed("a link of the robot is missing"))
    }
}
