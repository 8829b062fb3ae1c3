//! The physical checks. Broad sanity checks over every body of every world, no certificate.

use sim_engine_protocol::{Counters, GateOperator, GateResult, Gates, Pose, Precision, Scene};

/// What the gates look at.
pub struct FinalState<'a> {
    /// Poses of the dynamic bodies in scene order, a list a world.
    pub worlds: &'a [Vec<Pose>],
    /// Steps done since the start state.
    pub steps: u64,
    /// Precision of the engine.
    pub precision: Precision,
    /// What the engine counted.
    pub counters: &'a Counters,
}

/// BLAKE3 in hex over all poses: for each world and dynamic body, position x, y, z and
/// orientation w, x, y, z as little-endian binary64.
pub fn digest(worlds: &[Vec<Pose>]) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = Vec::with_capacity(56 * 1024);
    for pose in worlds.iter().flatten() {
        for x in pose.position.iter().chain(&pose.orientation) {
            buffer.extend_from_slice(&x.to_le_bytes());
        }
        if buffer.len() >= 55 * 1024 {
            hasher.update(&buffer);
            buffer.clear();
        }
    }
    hasher.update(&buffer);
    hasher.finalize().to_hex().to_string()
}

/// All gates of a final state. Numbers that are not finite are counted by their own gate and
/// left out of the others, so every value can be written down.
pub fn judge(scene: &Scene, limits: &Gates, state: &FinalState<'_>) -> Vec<GateResult> {
    if let Some(mpm) = &scene.mpm {
        return crate::mpm::judge(scene, mpm, limits, state);
    }
    let bodies: Vec<_> = scene.movers().collect();
    let expected = bodies.len() * state.worlds.len();
    let missing: usize = state.worlds.iter().map(|w| bodies.len().abs_diff(w.len())).sum();
    let all = || state.worlds.iter().flat_map(|w| bodies.iter().zip(w));
    let finite = |p: &Pose| p.position.iter().chain(&p.orientation).all(|x| x.is_finite());
    let good = || all().filter(|(_, p)| finite(p));
    let worst = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);

    let broken = all().filter(|(_, p)| !finite(p)).count();
    let norm = worst(&mut good().map(|(_, p)| {
        let squares: f64 = p.orientation.iter().map(|x| x * x).sum();
        (squares.sqrt() - 1.0).abs()
    }));
    let awake = state.counters.awake_bodies.or(state.counters.simulated_bodies).unwrap_or(0);
    let asleep = (expected as u64).abs_diff(awake);
    let (zero, most) = (GateOperator::Equal, GateOperator::AtMost);
    let mut list = vec![
        gate("missing_poses", "dynamic bodies without a pose", zero, 0.0, missing as f64, "bodies"),
        gate("non_finite", "poses with NaN or infinity", zero, 0.0, broken as f64, "bodies"),
        gate(
            "quaternion_norm",
            "largest |norm - 1| of an orientation",
            most,
            limits.quaternion_norm,
            norm,
            "1",
        ),
        gate(
            "asleep",
            "dynamic bodies the engine does not report as simulated and awake",
            zero,
            0.0,
            asleep as f64,
            "bodies",
        ),
    ];
    if scene.contact_free {
        let falling: Vec<_> = scene.dynamic_bodies().collect();
        let (tolerance, error) = free_fall(scene, limits, state, &falling, finite);
        list.push(gate(
            "free_fall",
            "largest distance from the closed form",
            most,
            tolerance,
            error,
            "m",
        ));
    } else {
        let depth = worst(&mut good().filter_map(|(m, p)| Some(-m.lowest_point(p)?)));
        list.push(gate(
            "floor_penetration",
            "deepest lowest point of a body below z = 0",
            most,
            limits.floor_penetration_m,
            depth,
            "m",
        ));
    }
    if scene.robot.is_some() {
        list.extend(crate::robot::stance(scene, limits, state));
    }
    if !scene.hinges.is_empty() {
        let drift = anchor_drift(scene, state, finite);
        list.push(gate(
            "anchor_drift",
            "largest distance of a hinged body's anchor from its place",
            most,
            limits.anchor_drift_m,
            drift,
            "m",
        ));
    }
    list
}

/// A gate; a value beyond what JSON can hold is written as the largest number and fails.
pub(crate) fn gate(
    id: &str,
    metric: &str,
    operator: GateOperator,
    limit: f64,
    value: f64,
    unit: &str,
) -> GateResult {
    let value = if value.is_finite() { value } else { f64::MAX };
    GateResult {
        id: id.into(),
        metric: metric.into(),
        operator,
        limit,
        value,
        unit: unit.into(),
        passed: operator.holds(value, limit),
    }
}

/// Tolerance and largest error of free fall, m.
///
/// The closed form is p0 + v0·t + g·t²/2. Semi-implicit Euler over n steps of dt lands at
/// p0 + v0·t + g·dt²·n(n+1)/2, off by g·dt·t/2; explicit Euler by as much on the other side.
/// The tolerance is twice that, g·dt·t, plus a rounding term n·ε·(|p0| + |v0|·t + g·t²/2) of
/// the farthest body: each step may round the position once.
fn free_fall(
    scene: &Scene,
    limits: &Gates,
    state: &FinalState<'_>,
    bodies: &[(usize, &sim_engine_protocol::Body)],
    finite: impl Fn(&Pose) -> bool,
) -> (f64, f64) {
    let n = state.steps as f64;
    let t = n * scene.timestep;
    let g = norm(scene.gravity);
    let reach = bodies
        .iter()
        .map(|(_, b)| norm(b.position) + norm(b.linear_velocity) * t + g * t * t / 2.0)
        .fold(0.0, f64::max);
    let rounding = n * state.precision.epsilon() * reach;
    let tolerance = (g * scene.timestep * t + rounding) * limits.free_fall_scale;
    let mut error = 0.0_f64;
    for ((_, body), pose) in state.worlds.iter().flat_map(|w| bodies.iter().zip(w)) {
        if finite(pose) {
            error = error.max(norm(std::array::from_fn(|i| {
                let exact =
                    body.position[i] + body.linear_velocity[i] * t + scene.gravity[i] * t * t / 2.0;
                pose.position[i] - exact
            })));
        }
    }
    (tolerance, error)
}

fn anchor_drift(scene: &Scene, state: &FinalState<'_>, finite: impl Fn(&Pose) -> bool) -> f64 {
    let mut slot = vec![usize::MAX; scene.bodies.len()];
    for (k, (index, _)) in scene.dynamic_bodies().enumerate() {
        slot[index] = k;
    }
    let mut worst = 0.0_f64;
    for world in state.worlds {
        for hinge in &scene.hinges {
            let pose = |body: usize| world.get(slot[body]).filter(|p| finite(p));
            // Where the anchor belongs: its point in the world, or on the body it hangs on.
            let place = match hinge.parent {
                None => Some(hinge.anchor),
                Some(parent) => {
                    let local = scene.bodies[parent].pose().inverse_transform(hinge.anchor);
                    pose(parent).map(|p| p.transform(local))
                }
            };
            if let (Some(pose), Some(place)) = (pose(hinge.body), place) {
                let there = pose.transform(hinge.anchor_local);
                worst = worst.max(norm(std::array::from_fn(|i| there[i] - place[i])));
            }
        }
    }
    worst
}

fn norm(v: [f64; 3]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
#[path = "gates_tests.rs"]
mod tests;
