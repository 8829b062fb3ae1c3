//! Layers of spheres 0.5 m across, each a little off its lattice place.

use crate::build::{Builder, lattice, lattice_extent};
use crate::rng::Rng;
use sim_engine_protocol::Shape;

/// A sphere is 0.5 m across, so 0.1 m of space is left and the jitter takes at most 0.08 m.
const SPACING: f64 = 0.6;
const JITTER: f64 = 0.04;
/// kg.
const MASS: f64 = 1.0;

pub(crate) fn generate(scene: &mut Builder<'_>, size: u64, rng: &mut Rng) {
    scene.ground(lattice_extent(size, SPACING));
    for mut place in lattice(size, SPACING) {
        place[0] += rng.range(-JITTER, JITTER);
        place[1] += rng.range(-JITTER, JITTER);
        scene.body(Shape::Sphere { radius: 0.25 }, MASS, place);
    }
}
