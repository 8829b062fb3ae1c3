use super::*;
use crate::gates::judge;
use sim_engine_protocol::{Counters, Link, Mode, ROBOT_FORMAT, RobotSource};

/// A base with one link on it, the base 0.2 m up.
fn scene() -> Scene {
    let link = |name: &str, parent, z| Link {
        name: name.into(),
        parent,
        mass: 1.0,
        position: [0.0, 0.0, z],
        orientation: [1.0, 0.0, 0.0, 0.0],
        shapes: vec![],
    };
    let source = RobotSource {
        package: "toys".into(),
        version: "1".into(),
        file: "toys-1.whl".into(),
        sha256: "0".repeat(64),
        model: "toy.xml".into(),
        licence: "MIT".into(),
        changes: vec![],
    };
    let scene = Scene {
        format: ROBOT_FORMAT,
        name: "robot".into(),
        gravity: [0.0, 0.0, -9.81],
        timestep: 1.0 / 240.0,
        contact_free: false,
        bodies: serde_json::from_value(serde_json::json!([{
            "kind": "static", "shape": {"box": {"half_extents": [100.0, 100.0, 0.5]}}, "mass": 0.0,
            "inertia": [0.0, 0.0, 0.0], "position": [0.0, 0.0, -0.5],
            "orientation": [1.0, 0.0, 0.0, 0.0], "linear_velocity": [0.0, 0.0, 0.0],
            "angular_velocity": [0.0, 0.0, 0.0], "friction": 0.8
        }]))
        .unwrap(),
        hinges: vec![],
        reference: None,
        robot: Some(Robot {
            name: "toy".into(),
            model: "<mujoco/>".into(),
            source,
            standing_height: 0.27,
            links: vec![link("base", None, 0.2), link("leg", Some(0), 0.1)],
        }),
        mpm: None,
    };
    assert_eq!(scene.validate(), Ok(()));
    scene
}

fn job() -> Job {
    serde_json::from_value(serde_json::json!({
        "protocol": 1, "mode": "timed", "scene": "scene.json", "worlds": 1, "steps": 480,
        "warmup": 0, "threads": 1, "seed": 7, "backend": "cpu", "gates": {
            "base_height_min_m": 0.22, "base_height_max_m": 0.5, "base_drift_m": 1.0,
            "base_upright": 0.9
        }
    }))
    .unwrap()
}

fn paths(scene: &Scene, job: &Job) -> Vec<String> {
    job.suits(scene).unwrap_err().into_iter().map(|e| e.path).collect()
}

#[test]
fn a_job_whose_robot_does_not_start_below_its_standing_height_is_rejected() {
    let (mut scene, job) = (scene(), job());
    assert_eq!(job.suits(&scene), Ok(()));
    scene.robot.as_mut().unwrap().links[0].position[2] = 0.27;
    assert_eq!(paths(&scene, &job), ["scene.robot.links[0].position"]);
}

#[test]
fn a_robot_is_judged_after_a_second_and_by_limits_of_its_own() {
    let (scene, job) = (scene(), job());
    assert_eq!(paths(&scene, &Job { steps: 239, ..job.clone() }), ["steps"]);
    assert_eq!(Job { steps: 240, ..job.clone() }.suits(&scene), Ok(()));
    assert_eq!(Job { steps: 2, mode: Mode::Probe, ..job.clone() }.suits(&scene), Ok(()));
    let bare = Job { gates: Gates::default(), ..job };
    let names = ["base_height_min_m", "base_height_max_m", "base_drift_m", "base_upright"];
    assert_eq!(paths(&scene, &bare), names.map(|n| format!("gates.{n}")));
}

/// The gates that fail with these bases, one a world, each with a link at the origin.
fn failed(bases: &[Pose], steps: u64, awake: u64) -> Vec<String> {
    let link = Pose { position: [0.0; 3], orientation: [1.0, 0.0, 0.0, 0.0] };
    let worlds: Vec<_> = bases.iter().map(|base| vec![*base, link]).collect();
    let counters = Counters { awake_bodies: Some(awake), ..Counters::default() };
    let precision = Precision::Double;
    let state = FinalState { worlds: &worlds, steps, precision, counters: &counters };
    let list = judge(&scene(), &job().gates, &state);
    list.into_iter().filter(|g| !g.passed).map(|g| g.id).collect()
}

fn base(x: f64, z: f64, tilt: f64) -> Pose {
    let (sin, cos) = (tilt / 2.0).sin_cos();
    Pose { position: [x, 0.0, z], orientation: [cos, 0.0, sin, 0.0] }
}

#[test]
fn every_gate_of_a_stance_fails_when_it_should() {
    assert_eq!(failed(&[base(0.1, 0.28, 0.1)], 480, 2), [""; 0]);
    assert_eq!(failed(&[base(0.0, 0.219, 0.0)], 480, 2), ["base_height_min"]);
    assert_eq!(failed(&[base(0.0, 0.501, 0.0)], 480, 2), ["base_height_max"]);
    assert_eq!(failed(&[base(1.01, 0.28, 0.0)], 480, 2), ["base_drift"]);
    assert_eq!(failed(&[base(0.0, 0.28, 0.5)], 480, 2), ["base_upright"]);
    // cos 0.45 is 0.9004.
    assert_eq!(failed(&[base(0.0, 0.28, 0.45)], 480, 2), [""; 0]);
    // One of two worlds is enough, and so is one link that sleeps.
    assert_eq!(failed(&[base(0.0, 0.28, 0.0), base(0.0, 0.1, 0.0)], 480, 4), ["base_height_min"]);
    assert_eq!(failed(&[base(0.0, 0.28, 0.0)], 480, 1), ["asleep"]);
    // A probe judges no stance.
    assert_eq!(failed(&[base(0.0, 0.18, 0.0)], 2, 2), [""; 0]);
}

#[test]
fn a_base_that_cannot_be_measured_fails_them_all() {
    let lost = Pose { position: [f64::NAN; 3], orientation: [1.0, 0.0, 0.0, 0.0] };
    let all = ["non_finite", "base_height_min", "base_height_max", "base_upright", "base_drift"];
    assert_eq!(failed(&[lost], 480, 2), all);
}
