//! A ring wall of bricks and the ball that hits it.
//!
//! Size 110,000: 40 courses, ten bricks deep at the bottom, radius about 80 m. Other sizes:
//! 40·sqrt(size/110000) courses, and the smallest radius whose full ring holds all the bricks;
//! bricks are laid course by course, so the last course is partial.

use crate::build::{Builder, volume};
use crate::rng::Rng;
use sim_engine_protocol::Shape;
use std::f64::consts::{FRAC_PI_2, TAU};

const BRICK: Shape = Shape::Box { half_extents: [0.5, 0.25, 0.25] };
const BRICK_DENSITY: f64 = 1.0;
const BALL_DENSITY: f64 = 10.0;
const DEPTH: u64 = 10;
/// m/s.
const SPEED: f64 = 30.0;

/// Number of courses for a size.
pub(crate) fn courses(size: u64) -> u64 {
    ((40.0 * (size as f64 / 110_000.0).sqrt()).round() as u64).max(1)
}

/// Bricks from the inner to the outer face of a course. From ten courses up this is
/// 10 - floor(10·course/courses), the published taper; fewer courses go from ten to one evenly.
fn depth(course: u64, courses: u64) -> u64 {
    if courses >= DEPTH {
        DEPTH - course * DEPTH / courses
    } else if courses == 1 {
        DEPTH
    } else {
        let last = courses - 1;
        DEPTH - (2 * (DEPTH - 1) * course + last) / (2 * last)
    }
}

/// Radii of the ten concentric rings and the bricks that fit each. Rings are 0.52 m apart, or
/// farther where a ring is so narrow that its bricks' corners would reach the next one.
pub(crate) fn rings(radius: f64) -> Vec<(f64, u64)> {
    let mut r = radius + 0.25;
    let mut list = Vec::new();
    for _ in 0..DEPTH {
        let count = (TAU * (r - 0.25) / 1.02).floor() as u64;
        list.push((r, count));
        let corner = ((r + 0.25) * (r + 0.25) + 0.25).sqrt();
        let straight = radius + 0.25 + 0.52 * list.len() as f64;
        r = straight.max(corner + 0.005 + 0.25);
    }
    list
}

/// Bricks of a full ring.
pub(crate) fn bricks(radius: f64, courses: u64) -> u64 {
    let rings = rings(radius);
    let layer = |c| rings.iter().take(depth(c, courses) as usize).map(|r| r.1).sum::<u64>();
    (0..courses).map(layer).sum()
}

/// The smallest inner radius, to a millimetre, whose full ring holds the bricks.
pub(crate) fn solve_radius(wanted: u64, courses: u64) -> f64 {
    // In whole millimetres, so the search is exact.
    let (mut low, mut high) = (500_u64, 1_000_000_000_u64);
    while low < high {
        let middle = low + (high - low) / 2;
        if bricks(middle as f64 / 1000.0, courses) >= wanted {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low as f64 / 1000.0
}

pub(crate) fn generate(scene: &mut Builder<'_>, size: u64, _rng: &mut Rng) {
    let courses = courses(size);
    let radius = solve_radius(size - 1, courses);
    let rings = rings(radius);
    let outer = rings.last().map_or(radius, |r| r.0);
    let r = courses as f64 / 5.0;
    let start = outer - 0.25 + 0.52 + r + 2.0;
    scene.ground(start + r);
    let mut left = size - 1;
    for course in 0..courses {
        let half = if course % 2 == 1 { 0.5 } else { 0.0 };
        for &(ring, count) in rings.iter().take(depth(course, courses) as usize) {
            for i in 0..count.min(left) {
                let angle = (i as f64 + half) / count as f64 * TAU;
                let place = [ring * libm::cos(angle), ring * libm::sin(angle)];
                let turn = (angle + FRAC_PI_2) / 2.0;
                let mass = BRICK_DENSITY * volume(&BRICK);
                let z = 0.25 + 0.5 * course as f64;
                scene.body(BRICK, mass, [place[0], place[1], z]).orientation =
                    [libm::cos(turn), 0.0, 0.0, libm::sin(turn)];
            }
            left -= count.min(left);
        }
    }
    let ball = Shape::Sphere { radius: r };
    let body = scene.body(ball, BALL_DENSITY * volume(&ball), [0.0, -start, r]);
    body.name = Some("ball".into());
    body.linear_velocity = [0.0, SPEED, 0.0];
    // Rolling without slip along +y: the lowest point stands still.
    body.angular_velocity = [-SPEED / r, 0.0, 0.0];
}
