//! What is checked of robots beside the gates of all bodies: that they start where forward
//! kinematics says, and that they stand at the end.

use crate::engine::{EngineError, Simulation};
use crate::gates::{FinalState, gate};
use sim_engine_protocol::{
    GateOperator, GateResult, Gates, Job, Pose, Precision, ROBOT_SECONDS, Robot, Scene,
};

/// How far a link may start from where forward kinematics has it, m, and by how much its
/// orientation's |q·q'| may miss one. Single precision: some ten roundings of lengths below 2 m.
fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::Single => 1.0e-5,
        Precision::Double => 1.0e-9,
    }
}

/// Whether the links of every world are where the scene has them, in the state after a reset
/// (P274). The scene's poses are those of MuJoCo's forward kinematics: MuJoCo's own adapter
/// passes this check to a nanometre.
pub(crate) fn check_start(
    simulation: &mut dyn Simulation,
    robot: &Robot,
    job: &Job,
    precision: Precision,
) -> Result<(), EngineError> {
    let most = tolerance(precision);
    let mut poses: Vec<Pose> = Vec::with_capacity(robot.links.len());
    for world in 0..job.worlds {
        poses.clear();
        simulation.poses(world, &mut poses)?;
        if poses.len() != robot.links.len() {
            let (found, expected) = (poses.len(), robot.links.len());
            let reason = format!("world {world} starts with {found} links of {expected}");
            return Err(EngineError::failed(reason));
        }
        for (pose, link) in poses.iter().zip(&robot.links) {
            let gap = distance(pose.position, link.position);
            let dot: f64 = (0..4).map(|i| pose.orientation[i] * link.orientation[i]).sum();
            let turn = 1.0 - dot.abs();
            // Written so that NaN fails.
            if !(gap <= most && turn <= most) {
                return Err(EngineError::failed(format!(
                    "link {} of world {world} starts {gap} m and 1 - |q·q'| = {turn} away from \
                     forward kinematics (limit {most})",
                    link.name
                )));
            }
        }
    }
    Ok(())
}

/// The gates of a robot's stance, over all worlds: height, tilt and drift of its base. None
/// before one simulated second, as in a probe; none where the job has no limit, which
/// [`Job::suits`] has refused before.
pub(crate) fn stance(scene: &Scene, limits: &Gates, state: &FinalState<'_>) -> Vec<GateResult> {
    let Some(start) = scene.robot.as_ref().and_then(Robot::base).map(|base| base.position) else {
        return Vec::new();
    };
    if (state.steps as f64) * scene.timestep < ROBOT_SECONDS {
        return Vec::new();
    }
    let finite = |p: &&Pose| p.position.iter().chain(&p.orientation).all(|x| x.is_finite());
    let bases = || state.worlds.iter().filter_map(|w| w.first()).filter(finite);
    // Without any base that can be measured, the extremes are infinite and every gate fails.
    let least = |f: fn(&Pose) -> f64| bases().map(f).fold(f64::INFINITY, f64::min);
    let most = |f: &dyn Fn(&Pose) -> f64| bases().map(f).fold(f64::NEG_INFINITY, f64::max);
    let none = bases().next().is_none();
    let (low, up) = (least(|p| p.position[2]), least(Pose::upright));
    let high = most(&|p| p.position[2]);
    let away = most(&|p| (p.position[0] - start[0]).hypot(p.position[1] - start[1]));
    let mut list = Vec::new();
    let mut add = |id: &str, metric: &str, operator, limit: Option<f64>, value: f64, unit: &str| {
        if let Some(limit) = limit {
            // A value that cannot be measured fails, whichever way the limit lies.
            let worst = if operator == GateOperator::AtLeast { f64::MIN } else { f64::MAX };
            let value = if none { worst } else { value };
            list.push(gate(id, metric, operator, limit, value, unit));
        }
    };
    let (at_least, at_most) = (GateOperator::AtLeast, GateOperator::AtMost);
    add("base_height_min", "lowest base", at_least, limits.base_height_min_m, low, "m");
    add("base_height_max", "highest base", at_most, limits.base_height_max_m, high, "m");
    add("base_upright", "least cosine of a base's tilt", at_least, limits.base_upright, up, "1");
    add(
        "base_drift",
        "farthest that a base ends from its start, horizontally",
        at_most,
        limits.base_drift_m,
        away,
        "m",
    );
    list
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
#[path = "robot_tests.rs"]
mod tests;
