//! Rods hung by their ends 2 m up and 2 m apart, released at rest; nothing else is there.

use crate::build::Builder;
use crate::rng::Rng;
use sim_engine_protocol::{Reference, Shape};

/// A rod reaches at most 0.81 m from its anchor, so neighbours never touch.
const SPACING: f64 = 2.0;
const HEIGHT: f64 = 2.0;
/// Half length of a rod, m; its hinge is at its upper end.
const HALF: f64 = 0.4;
/// kg.
const MASS: f64 = 1.0;
/// Angles of release from hanging, rad: 30 to 120 degrees, far from where a swing is harmonic and
/// far from the upright point, where any error grows without bound.
const ANGLES: (f64, f64) = (std::f64::consts::PI / 6.0, std::f64::consts::PI * 2.0 / 3.0);

pub(crate) fn generate(scene: &mut Builder<'_>, size: u64, rng: &mut Rng) {
    scene.reference(Reference::Pendulum);
    let side = (1..).find(|s: &u64| s * s >= size).unwrap_or(1);
    let middle = (side - 1) as f64 / 2.0;
    for k in 0..size {
        let [x, y] = [k % side, k / side].map(|i| (i as f64 - middle) * SPACING);
        let half = rng.range(ANGLES.0, ANGLES.1) / 2.0;
        let (sin, cos) = (libm::sin(half), libm::cos(half));
        let (out, down) = (HALF * 2.0 * sin * cos, HALF * (1.0 - 2.0 * sin * sin));
        let shape = Shape::Box { half_extents: [0.05, 0.05, HALF] };
        let (axis, orientation, position) = if k % 2 == 0 {
            ([1.0, 0.0, 0.0], [cos, sin, 0.0, 0.0], [x, y + out, HEIGHT - down])
        } else {
            ([0.0, 1.0, 0.0], [cos, 0.0, sin, 0.0], [x - out, y, HEIGHT - down])
        };
        scene.body(shape, MASS, position).orientation = orientation;
        scene.hinge_last([x, y, HEIGHT], [0.0, 0.0, HALF], axis);
    }
}
