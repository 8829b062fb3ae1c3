//! Solid balls released at rest on a slope of 20 degrees with friction enough to roll.
//!
//! Gravity is tilted instead of the ground: the same physics, and every height keeps its meaning.

use crate::build::{Builder, volume};
use crate::rng::Rng;
use sim_engine_protocol::{Reference, Shape};

/// The slope, rad. Rolling needs a friction of 2/7 of its tangent, 0.104.
const SLOPE: f64 = std::f64::consts::PI / 9.0;
const G: f64 = 9.81;
const FRICTION: f64 = 0.5;
const DENSITY: f64 = 1000.0;

pub(crate) fn generate(scene: &mut Builder<'_>, size: u64, rng: &mut Rng) {
    scene.reference(Reference::Roll);
    scene.gravity([G * libm::sin(SLOPE), 0.0, -G * libm::cos(SLOPE)]);
    for k in 0..size {
        let y = 2.0 * k as f64;
        let radius = rng.range(0.1, 0.3);
        scene.slab([10.0, 0.5, 0.5], [8.0, y, -0.5], FRICTION);
        let shape = Shape::Sphere { radius };
        scene.body(shape, DENSITY * volume(&shape), [0.0, y, radius]).friction = FRICTION;
    }
}
