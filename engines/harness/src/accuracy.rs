//! How far a final state is from what is known of the motion without any engine: one function a
//! law, each with its formula, units and source. All of it runs after the measured interval.
//!
//! Errors are taken at t = steps · timestep and are the largest over the bodies of all worlds.
//! They compare an engine's discrete motion with the continuous one, so an engine that does
//! exactly what its integrator promises still has an error; how it falls with the timestep is
//! what a work-precision figure shows.

use crate::elliptic::{complete, sn};
use sim_engine_protocol::{Accuracy, Body, Hinge, Pose, Reference, Scene, Velocity};

/// The final state of one world, in scene order of the dynamic bodies.
#[derive(Clone, Debug, Default)]
pub struct Motion {
    /// Poses.
    pub poses: Vec<Pose>,
    /// Velocities; empty where the reference needs none ([`needs_velocities`]).
    pub velocities: Vec<Velocity>,
}

/// Whether the errors of a reference cannot be had from poses alone.
pub fn needs_velocities(reference: Reference) -> bool {
    reference == Reference::FreeChain
}

/// All errors of the scene's reference after `steps` steps; none where the scene names no
/// reference. A state with missing or non-finite numbers has no error: its gates say why.
pub fn accuracy(scene: &Scene, worlds: &[Motion], steps: u64) -> Vec<Accuracy> {
    let Some(reference) = scene.reference else { return Vec::new() };
    let count = scene.dynamic_count();
    let whole = worlds.iter().all(|w| {
        let velocities = !needs_velocities(reference) || w.velocities.len() == count;
        w.poses.len() == count && velocities && finite(w)
    });
    if !whole || worlds.is_empty() {
        return Vec::new();
    }
    let t = steps as f64 * scene.timestep;
    let mut list = Vec::new();
    let mut put = |id: &str, quantity: &str, unit: &str, errors: Vec<f64>| {
        // A law without a body of its kind in this scene says nothing, not zero.
        let worst =
            errors.into_iter().fold(None, |m: Option<f64>, e| Some(m.map_or(e, |m| m.max(e))));
        if let Some(error) = worst.filter(|e| e.is_finite()) {
            let (id, quantity, unit) = (id.into(), quantity.into(), unit.into());
            list.push(Accuracy { id, quantity, error, unit, time_s: t });
        }
    };
    let bodies: Vec<&Body> = scene.dynamic_bodies().map(|(_, b)| b).collect();
    let places = || worlds.iter().flat_map(|w| bodies.iter().copied().zip(&w.poses));
    match reference {
        Reference::FreeFall => {
            let error =
                |(b, p): (&Body, &Pose)| distance(p.position, free_fall(b, scene.gravity, t));
            put("free_fall", "distance from the closed form", "m", places().map(error).collect());
        }
        Reference::Pendulum => {
            let swing = |(k, w): (usize, &Motion)| {
                scene.hinges.get(k).map(|h| pendulum_error(scene, h, &w.poses, t))
            };
            let each = worlds.iter().flat_map(|w| (0..count).map(move |k| (k, w)));
            let errors = each.filter_map(swing).collect();
            put("pendulum_angle", "difference from the closed form's angle", "rad", errors);
        }
        Reference::Slide => {
            let error =
                |(b, p): (&Body, &Pose)| flat_distance(p.position, slide(b, scene.gravity, t));
            let at = |(b, _): &(&Body, &Pose)| at_friction_angle(b, scene.gravity);
            let steady = places().filter(at).map(error).collect();
            let driven = places().filter(|x| !at(x)).map(error).collect();
            let what = "distance in the plane from the closed form";
            put("slide_at", &format!("{what}, at the friction angle"), "m", steady);
            put("slide_above", &format!("{what}, above the friction angle"), "m", driven);
        }
        Reference::Roll => {
            let error =
                |(b, p): (&Body, &Pose)| flat_distance(p.position, roll(b, scene.gravity, t));
            put(
                "roll",
                "distance in the plane from the closed form",
                "m",
                places().map(error).collect(),
            );
        }
        Reference::FreeChain => {
            let chains = chains(scene);
            let start = start(scene);
            let each = || worlds.iter().flat_map(|w| chains.iter().map(move |c| (c, w)));
            let pair = |(c, w): (&Vec<usize>, &Motion)| {
                (conserved(&bodies, c, &start), conserved(&bodies, c, w))
            };
            let errors = |f: fn(&Conserved, &Conserved) -> f64| {
                each().map(pair).map(|(a, b)| f(&a, &b)).collect::<Vec<f64>>()
            };
            put(
                "momentum",
                "relative change of the linear momentum of a chain",
                "1",
                errors(|a, b| distance(a.momentum, b.momentum) / norm(a.momentum)),
            );
            put(
                "angular_momentum",
                "relative change of a chain's angular momentum about its centre of mass",
                "1",
                errors(|a, b| distance(a.angular, b.angular) / norm(a.angular)),
            );
            put(
                "energy",
                "relative change of the kinetic energy of a chain",
                "1",
                errors(|a, b| (b.energy / a.energy - 1.0).abs()),
            );
        }
    }
    list
}

/// Where the centre of mass of a falling body is after `t` seconds, m:
/// p = p0 + v0·t + g·t²/2 (Galilei; any mechanics textbook).
fn free_fall(body: &Body, gravity: [f64; 3], t: f64) -> [f64; 3] {
    let (p, v) = (body.position, body.linear_velocity);
    std::array::from_fn(|i| p[i] + v[i] * t + gravity[i] * t * t / 2.0)
}

/// The angle of a physical pendulum from hanging, rad, `t` seconds after its release at rest at
/// `start` rad: θ(t) = 2·asin(k·sn(K(k) - ω·t, k)) with k = sin(start/2), ω = √(m·g·d/I) in rad/s
/// and K the complete elliptic integral of the first kind, so its period is 4·K/ω. Source: NIST
/// Digital Library of Mathematical Functions, section 22.19(i).
fn pendulum(start: f64, omega: f64, t: f64) -> f64 {
    let k = (start / 2.0).sin();
    2.0 * (k * sn(complete(k.abs()) - omega * t, k.abs())).clamp(-1.0, 1.0).asin()
}

/// Difference of a hinged body's final angle from [`pendulum`], rad, at most π.
///
/// The moment about the hinge is I = a·(J·a) + m·d² (parallel axes) with the axis a in the body's
/// principal frame, J in kg·m², and d the centre's distance from the axis; g is the part of gravity
/// across the axis. The final angle is that of the body's own arm, so an anchor that drifts
/// counts only as far as it turns the body.
fn pendulum_error(scene: &Scene, hinge: &Hinge, poses: &[Pose], t: f64) -> f64 {
    let body = &scene.bodies[hinge.body];
    let across = |v: [f64; 3]| -> [f64; 3] {
        let along = dot(v, hinge.axis);
        std::array::from_fn(|i| v[i] - along * hinge.axis[i])
    };
    let gravity = across(scene.gravity);
    let g = norm(gravity);
    let down = gravity.map(|x| x / g);
    let side = cross(hinge.axis, down);
    let angle = |pose: &Pose| {
        let arm = across(pose.to_world(hinge.anchor_local.map(|x| -x)));
        dot(arm, side).atan2(dot(arm, down))
    };
    let d = norm(across(body.pose().to_world(hinge.anchor_local)));
    let axis = body.pose().to_local(hinge.axis);
    let own: f64 = (0..3).map(|i| body.inertia[i] * axis[i] * axis[i]).sum();
    let omega = (body.mass * g * d / (own + body.mass * d * d)).sqrt();
    let slot = scene.dynamic_bodies().position(|(i, _)| i == hinge.body).unwrap_or(0);
    let apart = angle(&poses[slot]) - pendulum(angle(&body.pose()), omega, t);
    apart.sin().atan2(apart.cos()).abs()
}

/// Direction in the plane, acceleration along it and start speed of a sliding box: Coulomb
/// friction on a plane with normal z takes μ·|g_z| from what drives it along its path.
fn driven(body: &Body, gravity: [f64; 3]) -> ([f64; 2], f64, f64) {
    let [gx, gy, gz] = gravity;
    let hold = body.friction * gz.abs();
    let [vx, vy, _] = body.linear_velocity;
    let (speed, pull) = (vx.hypot(vy), gx.hypot(gy));
    if speed > 0.0 {
        let d = [vx / speed, vy / speed];
        (d, gx * d[0] + gy * d[1] - hold, speed)
    } else if pull > hold {
        ([gx / pull, gy / pull], pull - hold, 0.0)
    } else {
        ([1.0, 0.0], 0.0, 0.0)
    }
}

/// Whether friction and gravity balance along the body's path, to rounding.
fn at_friction_angle(body: &Body, gravity: [f64; 3]) -> bool {
    driven(body, gravity).1.abs() <= 1.0e-9 * norm(gravity)
}

/// Where a box on a plane that gravity leans on is after `t` seconds, m:
/// s = v0·t + a·t²/2 along its path with a = g·(sin α - μ·cos α); at the friction angle, tan α = μ,
/// a = 0 and its speed stays. A box that friction stops before `t` stays where it stopped.
/// Source: Coulomb's law of friction; any mechanics textbook.
fn slide(body: &Body, gravity: [f64; 3], t: f64) -> [f64; 3] {
    let (d, a, v) = driven(body, gravity);
    let slack = 1.0e-9 * norm(gravity);
    let t = if a < -slack { t.min(v / -a) } else { t };
    let s = v * t + if a.abs() <= slack { 0.0 } else { a * t * t / 2.0 };
    let [x, y, z] = body.position;
    [x + d[0] * s, y + d[1] * s, z]
}

/// Where a sphere released at rest on such a plane is after `t` seconds, m: rolling without
/// slipping, s = a·t²/2 with a = g·sin α / (1 + I/(m·r²)), which is 5/7·g·sin α for a solid sphere.
/// It holds where μ ≥ tan α / (1 + m·r²/I), 2/7·tan α for a solid sphere. Source: any mechanics
/// textbook (Goldstein, Classical Mechanics, on rolling constraints).
fn roll(body: &Body, gravity: [f64; 3], t: f64) -> [f64; 3] {
    let radius = match body.shape {
        sim_engine_protocol::Shape::Sphere { radius } => radius,
        _ => f64::NAN,
    };
    let slow = 1.0 + body.inertia[0] / (body.mass * radius * radius);
    let [x, y, z] = body.position;
    [x + gravity[0] / slow * t * t / 2.0, y + gravity[1] / slow * t * t / 2.0, z]
}

/// What a free chain keeps.
#[derive(Clone, Copy, Debug)]
struct Conserved {
    /// kg·m/s.
    momentum: [f64; 3],
    /// About the centre of mass, kg·m²/s.
    angular: [f64; 3],
    /// Kinetic, J.
    energy: f64,
}

/// Momentum P = Σ m·v, angular momentum L = Σ m·(p - c)×v + R·J·Rᵀ·ω about the centre of mass c, and
/// kinetic energy E = Σ (m·v² + ω·R·J·Rᵀ·ω)/2 of the bodies of one chain. Without outer forces P and L stay,
/// and ideal hinges do no work, so E stays too. Source: Goldstein, Classical Mechanics, chapters 1
/// and 5.
fn conserved(bodies: &[&Body], chain: &[usize], motion: &Motion) -> Conserved {
    let parts = || chain.iter().map(|k| (bodies[*k], &motion.poses[*k], &motion.velocities[*k]));
    let total: f64 = parts().map(|(b, _, _)| b.mass).sum();
    let sum = |f: &dyn Fn(&Body, &Pose, &Velocity) -> [f64; 3]| {
        parts()
            .map(|(b, p, v)| f(b, p, v))
            .fold([0.0; 3], |a, x| std::array::from_fn(|i| a[i] + x[i]))
    };
    let centre = sum(&|b, p, _| p.position.map(|x| x * b.mass / total));
    let spin = |b: &Body, p: &Pose, v: &Velocity| {
        let w = p.to_local(v.angular);
        p.to_world(std::array::from_fn(|i| b.inertia[i] * w[i]))
    };
    let momentum = sum(&|b, _, v| v.linear.map(|x| x * b.mass));
    let angular = sum(&|b, p, v| {
        let arm = std::array::from_fn(|i| p.position[i] - centre[i]);
        let (orbit, own) = (cross(arm, v.linear), spin(b, p, v));
        std::array::from_fn(|i| b.mass * orbit[i] + own[i])
    });
    let energy = parts()
        .map(|(b, p, v)| (b.mass * dot(v.linear, v.linear) + dot(v.angular, spin(b, p, v))) / 2.0)
        .sum();
    Conserved { momentum, angular, energy }
}

/// The start state as a motion.
fn start(scene: &Scene) -> Motion {
    let state =
        |b: &Body| (b.pose(), Velocity { linear: b.linear_velocity, angular: b.angular_velocity });
    let (poses, velocities) = scene.dynamic_bodies().map(|(_, b)| state(b)).unzip();
    Motion { poses, velocities }
}

/// Bodies that hinges join, as indices among the dynamic ones. A parent stands before its child.
fn chains(scene: &Scene) -> Vec<Vec<usize>> {
    let mut parent = vec![None; scene.bodies.len()];
    for hinge in &scene.hinges {
        parent[hinge.body] = hinge.parent;
    }
    let mut of = vec![usize::MAX; scene.bodies.len()];
    let mut list: Vec<Vec<usize>> = Vec::new();
    for (slot, (index, _)) in scene.dynamic_bodies().enumerate() {
        let chain = parent[index].map_or(list.len(), |p| of[p]);
        of[index] = chain;
        if chain == list.len() {
            list.push(Vec::new());
        }
        list[chain].push(slot);
    }
    list
}

fn finite(m: &Motion) -> bool {
    let pose = |p: &Pose| p.position.iter().chain(&p.orientation).all(|x| x.is_finite());
    let speed = |v: &Velocity| v.linear.iter().chain(&v.angular).all(|x| x.is_finite());
    m.poses.iter().all(pose) && m.velocities.iter().all(speed)
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|i| a[i] * b[i]).sum()
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn norm(v: [f64; 3]) -> f64 {
    dot(v, v).sqrt()
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    norm(std::array::from_fn(|i| a[i] - b[i]))
}

/// Distance in the plane z = 0. How deep a soft contact lets a body sink is not what these laws
/// are about; the floor gate watches it.
fn flat_distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

#[cfg(test)]
#[path = "accuracy_tests.rs"]
mod tests;
