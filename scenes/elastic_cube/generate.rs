//! A 0.4 m cube of elastic material above the floor of a tank. All of its numbers are in scene.toml.

use crate::build::Builder;
use crate::rng::Rng;

pub(crate) fn generate(scene: &mut Builder<'_>, size: u64, _: &mut Rng) {
    scene.continuum(size);
}
