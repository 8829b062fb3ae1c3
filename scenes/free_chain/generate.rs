//! Chains of four links on hinges, afloat without gravity: each drifts, spins and folds.

use crate::build::Builder;
use crate::rng::Rng;
use sim_engine_protocol::{Reference, Shape};

/// Links of a chain; the last chain may be shorter.
const LINKS: u64 = 4;
/// Distance from a link's centre to its hinges, m.
const REACH: f64 = 0.25;
/// kg.
const MASS: f64 = 1.0;
/// Of a rod 0.5 m long and 0.1 m wide, kg·m².
const INERTIA: [f64; 3] = [0.001_666_666_666_666_666_7, 0.021_666_666_666_666_667, 0.021_666_666_666_666_667];

/// Neither the chains nor links two apart come near each other within two seconds: a link's
/// collision shape is a small ball at its centre.
pub(crate) fn generate(scene: &mut Builder<'_>, size: u64, rng: &mut Rng) {
    scene.reference(Reference::FreeChain);
    scene.gravity([0.0; 3]);
    let chains = size.div_ceil(LINKS);
    let side = (1..).find(|s: &u64| s * s >= chains).unwrap_or(1);
    for chain in 0..chains {
        let [x, y] = [chain % side, chain / side].map(|i| i as f64 * 20.0);
        let mut velocity: [f64; 3] = std::array::from_fn(|_| rng.range(-1.0, 1.0));
        let mut spin: [f64; 3] = std::array::from_fn(|_| rng.range(-1.0, 1.0));
        for link in 0..LINKS.min(size - chain * LINKS) {
            let place = |along: f64| [x + along, y, 50.0];
            let centre = 2.0 * REACH * link as f64;
            if link > 0 {
                // The hinge's point moves with the link before; the new link adds its own turn.
                let axis = if link % 2 == 0 { [0.0, 1.0, 0.0] } else { [0.0, 0.0, 1.0] };
                let rate = rng.range(-1.0, 1.0);
                let joint = add(velocity, across(spin, REACH));
                spin = add(spin, axis.map(|a| a * rate));
                velocity = add(joint, across(spin, REACH));
                link_body(scene, place(centre), velocity, spin);
                scene.joint_last(place(centre - REACH), [-REACH, 0.0, 0.0], axis);
            } else {
                link_body(scene, place(centre), velocity, spin);
            }
        }
    }
}

fn link_body(scene: &mut Builder<'_>, position: [f64; 3], velocity: [f64; 3], spin: [f64; 3]) {
    let body = scene.body(Shape::Sphere { radius: 0.05 }, MASS, position);
    body.inertia = INERTIA;
    body.linear_velocity = velocity;
    body.angular_velocity = spin;
}

/// ω × (length, 0, 0).
fn across(spin: [f64; 3], length: f64) -> [f64; 3] {
    [0.0, spin[2] * length, -spin[1] * length]
}

fn add(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| a[i] + b[i])
}
