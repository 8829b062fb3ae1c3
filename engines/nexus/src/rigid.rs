//! A scene's rigid bodies and hinges in one environment of Nexus.

use nexus3d::prelude::{NexusState, RbdCoupling};
use nexus3d::rapier::prelude::*;
use sim_engine_harness::EngineError;
use sim_engine_protocol::{Body, Hinge, Scene, Shape};

/// Solver substeps of a step (P052).
pub(crate) const SUBSTEPS: i64 = 4;
/// m.
const UNSEEN: f32 = 0.01;

/// Refuses what Nexus would simulate otherwise than the scene says: it keeps no contacts from bodies that a
/// hinge joins, so those that overlap from the start would push each other apart.
pub(crate) fn check(scene: &Scene) -> Result<(), EngineError> {
    for (i, hinge) in scene.hinges.iter().enumerate() {
        let Some(parent) = hinge.parent else { continue };
        let (a, b) = (&scene.bodies[parent], &scene.bodies[hinge.body]);
        let gap: f64 = (0..3).map(|k| (a.position[k] - b.position[k]).powi(2)).sum::<f64>().sqrt();
        if gap < reach(a) + reach(b) {
            return Err(EngineError::unsupported(format!(
                "hinge {i} joins bodies {parent} and {} whose shapes may touch: Nexus does not leave out \
                 their contacts",
                hinge.body
            )));
        }
    }
    Ok(())
}

/// Radius of a ball about a body's centre that holds its shape, m.
fn reach(body: &Body) -> f64 {
    match body.shape {
        Shape::Box { half_extents } => half_extents.iter().map(|h| h * h).sum::<f64>().sqrt(),
        Shape::Sphere { radius } => radius,
        Shape::Capsule { radius, half_length } => radius + half_length,
        Shape::Cylinder { radius, half_length } => radius.hypot(half_length),
    }
}

/// Colliders of one environment.
pub(crate) fn colliders(scene: &Scene) -> usize {
    scene.bodies.len() + usize::from(needs_holder(scene))
}

/// Whether hinges hold to the world and no static body is there to hold them.
fn needs_holder(scene: &Scene) -> bool {
    scene.hinges.iter().any(|h| h.parent.is_none()) && scene.bodies.iter().all(Body::is_dynamic)
}

/// Fills an environment; gives the handles of the dynamic bodies in scene order.
pub(crate) fn insert(scene: &Scene, state: &mut NexusState, env: usize) -> Vec<RigidBodyHandle> {
    let insert = |state: &mut NexusState, body, collider| {
        state.insert_rigid_body_in(env, body, collider, RbdCoupling::None)
    };
    let mut handles = Vec::with_capacity(scene.bodies.len());
    for body in &scene.bodies {
        handles.push(insert(state, rigid_body(body).build(), collider(body).build()));
    }
    // Nexus has no joint to nothing, and no body without a collider outside multibodies.
    let still = scene.bodies.iter().position(|b| !b.is_dynamic());
    let holder = match still {
        Some(index) => Some((handles[index], scene.bodies[index].pose())),
        None if needs_holder(scene) => {
            let nothing =
                InteractionGroups::new(Group::NONE, Group::NONE, InteractionTestMode::And);
            let ball = ColliderBuilder::ball(UNSEEN).collision_groups(nothing).build();
            let pose =
                sim_engine_protocol::Pose { position: [0.0; 3], orientation: [1.0, 0.0, 0.0, 0.0] };
            Some((insert(state, RigidBodyBuilder::fixed().build(), ball), pose))
        }
        None => None,
    };
    for hinge in &scene.hinges {
        let parent = match hinge.parent {
            Some(index) => Some((handles[index], scene.bodies[index].pose())),
            None => holder,
        };
        if let Some((handle, pose)) = parent {
            let child = handles[hinge.body];
            state.insert_impulse_joint_in(env, handle, child, joint(scene, hinge, &pose));
        }
    }
    scene.dynamic_bodies().map(|(index, _)| handles[index]).collect()
}

/// A hinge between a child and a body at `parent`: it turns about the x axis of its frames.
fn joint(scene: &Scene, hinge: &Hinge, parent: &sim_engine_protocol::Pose) -> GenericJoint {
    let body = &scene.bodies[hinge.body];
    let frame = Rotation::from_rotation_arc(Vector::X, vector(hinge.axis).normalize());
    let local = |orientation: [f64; 4]| rotation(orientation).inverse() * frame;
    let anchor = vector(parent.inverse_transform(hinge.anchor));
    GenericJointBuilder::new(JointAxesMask::LOCKED_REVOLUTE_AXES)
        .local_frame1(Pose::from_parts(anchor, local(parent.orientation)))
        .local_frame2(Pose::from_parts(vector(hinge.anchor_local), local(body.orientation)))
        .build()
}

fn rigid_body(body: &Body) -> RigidBodyBuilder {
    let pose = Pose::from_parts(vector(body.position), rotation(body.orientation));
    if !body.is_dynamic() {
        return RigidBodyBuilder::fixed().pose(pose);
    }
    let mass = MassProperties::new(Vector::ZERO, body.mass as f32, vector(body.inertia));
    RigidBodyBuilder::dynamic()
        .pose(pose)
        .linvel(vector(body.linear_velocity))
        .angvel(vector(body.angular_velocity))
        .linear_damping(0.0)
        .angular_damping(0.0)
        .can_sleep(false)
        .additional_mass_properties(mass)
}

/// The shape, without mass of its own: the body has the scene's.
pub(crate) fn collider(body: &Body) -> ColliderBuilder {
    let shape = match body.shape {
        Shape::Box { half_extents: h } => {
            ColliderBuilder::cuboid(h[0] as f32, h[1] as f32, h[2] as f32)
        }
        Shape::Sphere { radius } => ColliderBuilder::ball(radius as f32),
        Shape::Capsule { radius, half_length } => {
            ColliderBuilder::capsule_z(half_length as f32, radius as f32)
        }
        Shape::Cylinder { radius, half_length } => {
            // Cylinders lie along y.
            let upright = Rotation::from_axis_angle(Vector::X, std::f32::consts::FRAC_PI_2);
            ColliderBuilder::cylinder(half_length as f32, radius as f32)
                .position(Pose::from_parts(Vector::ZERO, upright))
        }
    };
    shape.density(0.0).friction(body.friction as f32).restitution(0.0)
}

pub(crate) fn vector(v: [f64; 3]) -> Vector {
    Vector::new(v[0] as f32, v[1] as f32, v[2] as f32)
}

pub(crate) fn rotation([w, x, y, z]: [f64; 4]) -> Rotation {
    Rotation::from_xyzw(x as f32, y as f32, z as f32, w as f32).normalize()
}

/// A state of that many environments with fixed, ample buffers, ready to be stepped: for loops without the
/// harness.
pub fn by_hand(scene: &Scene, worlds: u32, backend: &khal::backend::GpuBackend) -> NexusState {
    use crate::capacity::Capacity;
    let bodies = colliders(scene) as u32;
    let capacity = Capacity { pairs: 32 * bodies, slots: 1, colors: 32, fixed: true };
    let mut state = NexusState::new(capacity.capacities());
    for _ in 1..worlds {
        state.add_environment();
    }
    for env in 0..worlds as usize {
        insert(scene, &mut state, env);
    }
    state.set_rbd_timestep(scene.timestep as f32, SUBSTEPS as u32);
    pollster::block_on(state.finalize(backend)).expect("the worlds");
    state.set_rbd_gravity(backend, scene.gravity.map(|g| g as f32));
    state
}
