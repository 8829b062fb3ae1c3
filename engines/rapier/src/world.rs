//! A scene as a Rapier world.

use rapier3d::prelude::*;
use sim_engine_harness::EngineError;
use sim_engine_protocol::{Body, Scene, Shape};
use std::sync::Arc;

/// Solver substeps of a step.
pub const SUBSTEPS: i64 = 4;

/// One world, and the handles of its dynamic bodies in scene order.
pub struct World {
    /// Rapier's own bundle of all its sets.
    pub physics: PhysicsWorld,
    /// Dynamic bodies in scene order.
    pub bodies: Vec<RigidBodyHandle>,
}

/// The thread pool that all worlds share: the job's thread budget.
pub fn pool(threads: u32) -> Result<Arc<rayon::ThreadPool>, EngineError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads as usize)
        .build()
        .map(Arc::new)
        .map_err(|e| EngineError::failed(format!("no pool of {threads} threads: {e}")))
}

/// A fresh world in the start state: no contacts, no warm-start impulses.
pub fn build(scene: &Scene, substeps: i64, pool: &Arc<rayon::ThreadPool>) -> World {
    let mut physics = PhysicsWorld { gravity: vector(scene.gravity), ..PhysicsWorld::default() };
    physics.set_thread_pool(Some(pool.clone()));
    physics.integration_parameters.dt = scene.timestep as f32;
    physics.integration_parameters.num_solver_iterations = substeps as usize;
    let mut handles = Vec::with_capacity(scene.bodies.len());
    for body in &scene.bodies {
        let (handle, _) = physics.insert(rigid_body(body), collider(body));
        handles.push(handle);
    }
    // Rapier has no joint to nothing: an empty fixed body stands for the world.
    let held = scene.hinges.iter().any(|h| h.parent.is_none());
    let ground = held.then(|| physics.insert_body(RigidBodyBuilder::fixed()));
    for hinge in &scene.hinges {
        let body = &scene.bodies[hinge.body];
        // The joint turns about the x axis of its frames: in the body and in what it hangs on.
        let frame = Rotation::from_rotation_arc(Vector::X, vector(hinge.axis).normalize());
        let local = |b: &Body| rotation(b.orientation).inverse() * frame;
        let (base, base_frame) = match (hinge.parent, ground) {
            (Some(p), _) => {
                let parent = &scene.bodies[p];
                let anchor = parent.pose().inverse_transform(hinge.anchor);
                (handles[p], Pose::from_parts(vector(anchor), local(parent)))
            }
            (None, Some(ground)) => (ground, Pose::from_parts(vector(hinge.anchor), frame)),
            (None, None) => continue,
        };
        let joint = GenericJointBuilder::new(JointAxesMask::LOCKED_REVOLUTE_AXES)
            .contacts_enabled(hinge.parent.is_none())
            .local_frame1(base_frame)
            .local_frame2(Pose::from_parts(vector(hinge.anchor_local), local(body)));
        physics.insert_impulse_joint(base, handles[hinge.body], joint);
    }
    let bodies = scene.dynamic_bodies().map(|(index, _)| handles[index]).collect();
    World { physics, bodies }
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
        .ccd_enabled(false)
        .can_sleep(false)
        .additional_mass_properties(mass)
}

/// The shape, without mass of its own: the body has the scene's.
fn collider(body: &Body) -> ColliderBuilder {
    let shape = match body.shape {
        Shape::Box { half_extents: h } => {
            ColliderBuilder::cuboid(h[0] as f32, h[1] as f32, h[2] as f32)
        }
        Shape::Sphere { radius } => ColliderBuilder::ball(radius as f32),
        Shape::Capsule { radius, half_length } => {
            ColliderBuilder::capsule_z(half_length as f32, radius as f32)
        }
        Shape::Cylinder { radius, half_length } => {
            // Rapier's cylinders lie along y.
            let upright = Rotation::from_axis_angle(Vector::X, std::f32::consts::FRAC_PI_2);
            ColliderBuilder::cylinder(half_length as f32, radius as f32)
                .position(Pose::from_parts(Vector::ZERO, upright))
        }
    };
    shape.density(0.0).friction(body.friction as f32).restitution(0.0)
}

fn vector(v: [f64; 3]) -> Vector {
    Vector::new(v[0] as f32, v[1] as f32, v[2] as f32)
}

fn rotation([w, x, y, z]: [f64; 4]) -> Rotation {
    Rotation::from_xyzw(x as f32, y as f32, z as f32, w as f32).normalize()
}
