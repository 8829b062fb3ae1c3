//! The gates of material points. They find what went broadly wrong: they say nothing of conserved
//! volume, stress, convergence or how true to a material it is (P238).

use crate::gates::{FinalState, gate};
use sim_engine_protocol::{GateOperator, GateResult, Gates, MASS_TOLERANCE, Mpm, Pose, Scene};

/// All gates of a final state (P228, P232 to P237, P239). What is not finite is counted by its own gate and
/// left out of those that measure lengths.
pub(crate) fn judge(
    scene: &Scene,
    mpm: &Mpm,
    limits: &Gates,
    state: &FinalState<'_>,
) -> Vec<GateResult> {
    let points = scene.dynamic_count() as u64;
    let expected = points * state.worlds.len() as u64;
    let counters = state.counters;
    // What an engine does not count, it does not have.
    let lacking = |found: Option<u64>| expected.abs_diff(found.unwrap_or(0));
    let without_pose: u64 = state.worlds.iter().map(|w| points.abs_diff(w.len() as u64)).sum();
    let all = || state.worlds.iter().flatten();
    let finite = |p: &&Pose| p.position.iter().all(|x| x.is_finite());
    let good = || all().filter(finite);

    let broken = all().filter(|p| !finite(p)).count();
    let turned = all().map(|p| {
        let squares: f64 = p.orientation.iter().map(|x| x * x).sum();
        let gap = (squares.sqrt() - 1.0).abs();
        if gap.is_finite() { gap } else { f64::MAX }
    });
    let escaped = good().filter(|p| outside(mpm, p)).count();
    let depth = good().map(|p| mpm.lower[2] - p.position[2]).fold(0.0, f64::max);
    let (zero, most) = (GateOperator::Equal, GateOperator::AtMost);
    vec![
        gate(
            "particle_count",
            "points too few or too many, in the engine or without a position",
            zero,
            0.0,
            lacking(counters.particles).max(without_pose) as f64,
            "points",
        ),
        gate(
            "inactive_particles",
            "points the engine does not report as active",
            zero,
            0.0,
            lacking(counters.active_particles) as f64,
            "points",
        ),
        gate(
            "particle_mass",
            "largest relative error of a single point's mass",
            most,
            MASS_TOLERANCE,
            counters.particle_mass_error.unwrap_or(f64::MAX),
            "1",
        ),
        gate("non_finite", "positions with NaN or infinity", zero, 0.0, broken as f64, "points"),
        gate(
            "quaternion_norm",
            "largest |norm - 1| of an orientation, which is 1, 0, 0, 0 and says nothing",
            most,
            limits.quaternion_norm,
            turned.fold(0.0, f64::max),
            "1",
        ),
        gate(
            "domain_escape",
            "points more than a grid cell beyond the tank's walls or above it",
            zero,
            0.0,
            escaped as f64,
            "points",
        ),
        gate("floor_penetration", "deepest point below the floor", most, mpm.cell, depth, "m"),
    ]
}

/// Whether a point left the tank other than through its floor, which has a gate of its own.
fn outside(mpm: &Mpm, pose: &Pose) -> bool {
    let aside = |i: usize| {
        let x = pose.position[i];
        x < mpm.lower[i] - mpm.cell || x > mpm.upper[i] + mpm.cell
    };
    aside(0) || aside(1) || pose.position[2] > mpm.upper[2] + mpm.cell
}

#[cfg(test)]
#[path = "mpm_tests.rs"]
pub(crate) mod tests;
