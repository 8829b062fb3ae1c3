//! Rods 0.8 m long on hinges 1.5 m up and 2 m apart, released at random angles.

use crate::build::Builder;
use crate::rng::Rng;
use sim_engine_protocol::Shape;

/// A rod reaches at most 0.81 m from its anchor, so neighbours never touch.
const SPACING: f64 = 2.0;
const HEIGHT: f64 = 1.5;
/// Half length of a rod, m; its hinge is at its upper end.
const HALF: f64 = 0.4;
/// kg.
const MASS: f64 = 1.0;

pub(crate) fn generate(scene: &mut Builder<'_>, size: u64, rng: &mut Rng) {
    let side = (1..).find(|s: &u64| s * s >= size).unwrap_or(1);
    let middle = (side - 1) as f64 / 2.0;
    scene.ground((middle + 1.0) * SPACING);
    for k in 0..size {
        let [x, y] = [k % side, k / side].map(|i| (i as f64 - middle) * SPACING);
        // Half the angle from hanging straight down, at most a right angle to either side.
        let half = rng.range(-0.25, 0.25) * std::f64::consts::PI;
        let (sin, cos) = (libm::sin(half), libm::cos(half));
        let about_x = k % 2 == 0;
        // The centre of a rod turned by the whole angle, below its hinge.
        let (out, down) = (HALF * 2.0 * sin * cos, HALF * (1.0 - 2.0 * sin * sin));
        let shape = Shape::Box { half_extents: [0.05, 0.05, HALF] };
        let (axis, orientation, position) = if about_x {
            ([1.0, 0.0, 0.0], [cos, sin, 0.0, 0.0], [x, y + out, HEIGHT - down])
        } else {
            ([0.0, 1.0, 0.0], [cos, 0.0, sin, 0.0], [x - out, y, HEIGHT - down])
        };
        scene.body(shape, MASS, position).orientation = orientation;
        scene.hinge_last([x, y, HEIGHT], [0.0, 0.0, HALF], axis);
    }
}
