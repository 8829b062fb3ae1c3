//! Layers of capsules 0.7 m long, turned at random.

use crate::build::{Builder, lattice, lattice_extent};
use crate::rng::Rng;
use sim_engine_protocol::Shape;

/// A capsule is 0.7 m long; the jitter takes at most 0.06 m.
const SPACING: f64 = 0.78;
const JITTER: f64 = 0.03;
/// kg.
const MASS: f64 = 1.0;

pub(crate) fn generate(scene: &mut Builder<'_>, size: u64, rng: &mut Rng) {
    scene.ground(lattice_extent(size, SPACING));
    for mut place in lattice(size, SPACING) {
        place[0] += rng.range(-JITTER, JITTER);
        place[1] += rng.range(-JITTER, JITTER);
        let capsule = Shape::Capsule { radius: 0.15, half_length: 0.2 };
        scene.body(capsule, MASS, place).orientation = rng.orientation();
    }
}
