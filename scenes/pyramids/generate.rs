//! Triangular brick walls in a grid and the two balls that roll down two of its columns.
//!
//! Size 505,922: 16 × 68 walls of base 30. Other sizes: as many walls as the bricks need, in a
//! grid of that shape, the last wall partial; below one wall the base shrinks.

use crate::build::{Builder, volume};
use crate::rng::Rng;
use sim_engine_protocol::Shape;

const BRICK: Shape = Shape::Box { half_extents: [0.5, 0.25, 0.25] };
const BRICK_DENSITY: f64 = 1.0;
const BALL_DENSITY: f64 = 50.0;
const BASE: u64 = 30;
const BALLS: u64 = 2;
/// m/s.
const SPEED: f64 = 30.0;

/// The grid of walls: base width, columns, rows, and bricks in all.
pub(crate) fn grid(size: u64) -> (u64, u64, u64, u64) {
    let bricks = size - BALLS;
    let full = |base: u64| base * (base + 1) / 2;
    let base = (1..BASE).find(|b| full(*b) >= bricks).unwrap_or(BASE);
    let walls = bricks.div_ceil(full(base));
    let columns = ((walls as f64 * 16.0 / 68.0).sqrt().round() as u64).max(1);
    (base, columns, walls.div_ceil(columns), bricks)
}

/// Places of the two balls across the grid, m: two left and one right of the middle as
/// published (columns 6 and 9 of 16); side by side before a single column.
fn lanes(columns: u64, pitch: f64, base: u64) -> [f64; 2] {
    if columns == 1 {
        return [-(base as f64) / 4.0, base as f64 / 4.0];
    }
    let middle = (columns - 1) as f64 / 2.0;
    let half = columns / 2;
    [half.saturating_sub(2), (half + 1).min(columns - 1)].map(|c| (c as f64 - middle) * pitch)
}

pub(crate) fn generate(scene: &mut Builder<'_>, size: u64, _rng: &mut Rng) {
    let (base, columns, rows, mut left) = grid(size);
    let r = base as f64 / 7.0;
    let pitch = base as f64 + 2.0;
    let start = (rows - 1) as f64 / 2.0 * 5.0 + r + 12.0;
    scene.ground((columns as f64 / 2.0 * pitch).max(start + r));
    let mass = BRICK_DENSITY * volume(&BRICK);
    for wall in 0..rows * columns {
        let x = ((wall % columns) as f64 - (columns - 1) as f64 / 2.0) * pitch;
        let y = ((wall / columns) as f64 - (rows - 1) as f64 / 2.0) * 5.0;
        for course in 0..base {
            let count = base - course;
            for i in 0..count.min(left) {
                let along = (i as f64 - (count - 1) as f64 / 2.0) * 1.01;
                scene.body(BRICK, mass, [x + along, y, 0.25 + 0.5 * course as f64]);
            }
            left -= count.min(left);
        }
    }
    let ball = Shape::Sphere { radius: r };
    for x in lanes(columns, pitch, base) {
        let body = scene.body(ball, BALL_DENSITY * volume(&ball), [x, -start, r]);
        body.name = Some("ball".into());
        body.linear_velocity = [0.0, SPEED, 0.0];
        body.angular_velocity = [-SPEED / r, 0.0, 0.0];
    }
}
