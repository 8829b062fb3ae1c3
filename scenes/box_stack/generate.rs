//! Columns of ten cubes with 0.5 m edges, 1.5 m apart; the last column is partial.

use crate::build::Builder;
use crate::rng::Rng;
use sim_engine_protocol::Shape;

const HEIGHT: u64 = 10;
const SPACING: f64 = 1.5;
/// kg.
const MASS: f64 = 1.0;

pub(crate) fn generate(scene: &mut Builder<'_>, size: u64, _rng: &mut Rng) {
    let columns = size.div_ceil(HEIGHT);
    let side = (1..).find(|s: &u64| s * s >= columns).unwrap_or(1);
    let middle = (side - 1) as f64 / 2.0;
    scene.ground((middle + 1.0) * SPACING);
    for k in 0..size {
        let (column, level) = (k / HEIGHT, k % HEIGHT);
        let [x, y] = [column % side, column / side].map(|i| (i as f64 - middle) * SPACING);
        let cube = Shape::Box { half_extents: [0.25; 3] };
        scene.body(cube, MASS, [x, y, 0.25 + 0.5 * level as f64]);
    }
}
