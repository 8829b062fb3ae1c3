//! One layer of bodies 2 m apart, 50 m up, all drifting alike and spinning differently.

use crate::build::{Builder, volume};
use crate::rng::Rng;
use sim_engine_protocol::{Reference, Shape};

/// Bodies never come nearer: they share one horizontal velocity and no shape is 1 m long.
const SPACING: f64 = 2.0;
const DENSITY: f64 = 1000.0;

pub(crate) fn generate(scene: &mut Builder<'_>, size: u64, rng: &mut Rng) {
    scene.contact_free();
    scene.reference(Reference::FreeFall);
    let side = (1..).find(|s: &u64| s * s >= size).unwrap_or(1);
    let middle = (side - 1) as f64 / 2.0;
    for k in 0..size {
        let place = [k % side, k / side].map(|i| (i as f64 - middle) * SPACING);
        let shape = match k % 3 {
            0 => Shape::Box { half_extents: [0.1, 0.2, 0.3] },
            1 => Shape::Sphere { radius: 0.25 },
            _ => Shape::Capsule { radius: 0.15, half_length: 0.2 },
        };
        let body = scene.body(shape, DENSITY * volume(&shape), [place[0], place[1], 50.0]);
        body.orientation = rng.orientation();
        body.linear_velocity = [0.5, -0.25, rng.range(0.0, 4.0)];
        body.angular_velocity = std::array::from_fn(|_| rng.range(-2.0, 2.0));
    }
}
