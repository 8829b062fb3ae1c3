//! Scenes and jobs of the tests.
#![allow(dead_code, reason = "no test program needs all of it")]

use sim_adapter_nexus::{COLORS, Nexus, PAIRS, SLOTS};
use sim_engine_harness::{Engine, Simulation, run_job};
use sim_engine_protocol::{Job, JobResult, Mode, Pose, Scene};
use tempfile::TempDir;

/// A body of a scene.
pub(crate) fn body(shape: serde_json::Value, mass: f64, at: [f64; 3]) -> serde_json::Value {
    // A box of half a metre; also near enough for what else the tests have.
    let inertia = mass / 24.0;
    serde_json::json!({
        "kind": "dynamic", "shape": shape, "mass": mass, "inertia": [inertia, inertia, inertia],
        "position": at, "orientation": [1.0, 0.0, 0.0, 0.0], "linear_velocity": [0.0, 0.0, 0.0],
        "angular_velocity": [0.0, 0.0, 0.0], "friction": 0.5
    })
}

pub(crate) fn floor() -> serde_json::Value {
    let mut floor = body(
        serde_json::json!({"box": {"half_extents": [100.0, 100.0, 0.5]}}),
        0.0,
        [0.0, 0.0, -0.5],
    );
    floor["kind"] = "static".into();
    floor
}

pub(crate) fn scene(bodies: Vec<serde_json::Value>, contact_free: bool) -> serde_json::Value {
    serde_json::json!({
        "format": 1, "name": "test", "gravity": [0.0, 0.0, -9.81], "timestep": 1.0 / 256.0,
        "contact_free": contact_free, "bodies": bodies, "hinges": []
    })
}

pub(crate) fn boxed() -> serde_json::Value {
    serde_json::json!({"box": {"half_extents": [0.25, 0.25, 0.25]}})
}

/// Boxes side by side on the floor, ten to a row, a little above it.
pub(crate) fn boxes(count: usize) -> serde_json::Value {
    let place = |i: usize| [(i % 10) as f64 * 0.7, (i / 10) as f64 * 0.7, 0.26];
    let mut bodies: Vec<_> = (0..count).map(|i| body(boxed(), 1.0, place(i))).collect();
    bodies.push(floor());
    scene(bodies, false)
}

/// A job with a calibration that serves it.
pub(crate) fn job(mode: Mode, worlds: u32, steps: u64) -> Job {
    let peaks = serde_json::json!({PAIRS: 400, SLOTS: 400, COLORS: 12});
    serde_json::from_value(serde_json::json!({
        "protocol": 1, "mode": mode, "scene": "scene.json", "worlds": worlds, "steps": steps,
        "warmup": 0, "threads": 1, "seed": 7, "backend": "cpu",
        "calibrated": {"size": 1, "sizes": [{"size": 1, "peaks": peaks}]},
        "gates": {
            "base_height_min_m": 0.05, "base_height_max_m": 0.2, "base_drift_m": 0.5,
            "base_upright": 0.9
        }
    }))
    .unwrap()
}

/// The result, and the folder with what was written beside it.
pub(crate) fn run(scene: &serde_json::Value, job: &Job) -> (JobResult, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("scene.json"), scene.to_string()).unwrap();
    let result = run_job(&Nexus, job, folder.path(), folder.path());
    assert_eq!(result.contradictions(), Ok(()), "{:?}", result.outcome);
    (result, folder)
}

pub(crate) fn go(scene: &serde_json::Value, job: &Job) -> JobResult {
    run(scene, job).0
}

pub(crate) fn built(scene: &serde_json::Value) -> Box<dyn Simulation> {
    let scene: Scene = serde_json::from_value(scene.clone()).unwrap();
    assert_eq!(scene.validate(), Ok(()));
    let built = Nexus.build(&scene, &job(Mode::Timed, 1, 1));
    let mut simulation = built.map_err(|e| e.reason).unwrap();
    simulation.reset().unwrap();
    simulation
}

pub(crate) fn poses(simulation: &mut dyn Simulation) -> Vec<Pose> {
    let mut poses = Vec::new();
    simulation.poses(0, &mut poses).unwrap();
    poses
}
