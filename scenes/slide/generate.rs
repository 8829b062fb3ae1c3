//! Flat boxes on a slope of 20 degrees, each on a slab of its own whose friction is the box's.
//!
//! Gravity is tilted instead of the ground: the same physics, and every height keeps its meaning.

use crate::build::{Builder, volume};
use crate::rng::Rng;
use sim_engine_protocol::{Reference, Shape};

/// The slope, rad.
const SLOPE: f64 = std::f64::consts::PI / 9.0;
const G: f64 = 9.81;
const HALF: [f64; 3] = [0.2, 0.2, 0.05];
const DENSITY: f64 = 1000.0;
/// m/s, of the boxes at the friction angle.
const SPEED: f64 = 1.0;
/// Friction of the boxes above the friction angle; 0.364 would hold them.
const SLIPPERY: (f64, f64) = (0.1, 0.25);

pub(crate) fn generate(scene: &mut Builder<'_>, size: u64, rng: &mut Rng) {
    scene.reference(Reference::Slide);
    let (sin, cos) = (libm::sin(SLOPE), libm::cos(SLOPE));
    scene.gravity([G * sin, 0.0, -G * cos]);
    let shape = Shape::Box { half_extents: HALF };
    for k in 0..size {
        let y = 2.0 * k as f64;
        // Engines mix the two coefficients of a pair in different ways; equal ones mix to themselves.
        let (friction, speed) = if k % 2 == 0 {
            (sin / cos, SPEED)
        } else {
            (rng.range(SLIPPERY.0, SLIPPERY.1), 0.0)
        };
        scene.slab([10.0, 0.5, 0.5], [8.0, y, -0.5], friction);
        let body = scene.body(shape, DENSITY * volume(&shape), [0.0, y, HALF[2]]);
        body.friction = friction;
        body.linear_velocity = [speed, 0.0, 0.0];
    }
}
