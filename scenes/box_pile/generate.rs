//! Layers of cubes with 0.5 m edges, turned at random.

use crate::build::{Builder, lattice, lattice_extent};
use crate::rng::Rng;
use sim_engine_protocol::Shape;

/// A cube's diagonal is 0.866 m; the jitter takes at most 0.04 m.
const SPACING: f64 = 0.92;
const JITTER: f64 = 0.02;
/// kg.
const MASS: f64 = 1.0;

pub(crate) fn generate(scene: &mut Builder<'_>, size: u64, rng: &mut Rng) {
    scene.ground(lattice_extent(size, SPACING));
    for mut place in lattice(size, SPACING) {
        place[0] += rng.range(-JITTER, JITTER);
        place[1] += rng.range(-JITTER, JITTER);
        let cube = Shape::Box { half_extents: [0.25; 3] };
        scene.body(cube, MASS, place).orientation = rng.orientation();
    }
}
