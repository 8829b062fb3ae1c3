//! The adapter against closed forms, and against itself.

use sim_adapter_rapier::Rapier;
use sim_engine_harness::{Engine, run_job};
use sim_engine_protocol::{Job, JobResult, Mode, Pose, Scene, StateComparison, Status};

/// A scene of one free box with three different moments, above or on a floor.
fn scene(z: f64, contact_free: bool, spin: [f64; 3]) -> serde_json::Value {
    let quarter = std::f64::consts::FRAC_1_SQRT_2;
    let mut bodies = vec![serde_json::json!({
        "kind": "dynamic", "shape": {"box": {"half_extents": [0.25, 0.25, 0.25]}}, "mass": 2.0,
        "inertia": [0.05, 0.06, 0.07], "position": [0.0, 0.0, z],
        "orientation": [quarter, 0.0, 0.0, quarter], "linear_velocity": [1.0, 0.0, 0.0],
        "angular_velocity": spin, "friction": 0.5
    })];
    if !contact_free {
        bodies.push(serde_json::json!({
            "kind": "static", "shape": {"box": {"half_extents": [100.0, 100.0, 0.5]}}, "mass": 0.0,
            "inertia": [0.0, 0.0, 0.0], "position": [0.0, 0.0, -0.5],
            "orientation": [1.0, 0.0, 0.0, 0.0], "linear_velocity": [0.0, 0.0, 0.0],
            "angular_velocity": [0.0, 0.0, 0.0], "friction": 0.5
        }));
    }
    serde_json::json!({
        "format": 1, "name": "test", "gravity": [0.0, 0.0, -9.81], "timestep": 1.0 / 256.0,
        "contact_free": contact_free, "bodies": bodies, "hinges": []
    })
}

fn job(mode: Mode, worlds: u32, steps: u64) -> Job {
    serde_json::from_value(serde_json::json!({
        "protocol": 1, "mode": mode, "scene": "scene.json", "worlds": worlds, "steps": steps,
        "warmup": 0, "threads": 1, "seed": 7, "backend": "cpu"
    }))
    .unwrap()
}

fn go(scene: &serde_json::Value, job: &Job) -> JobResult {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("scene.json"), scene.to_string()).unwrap();
    let result = run_job(&Rapier, job, folder.path(), folder.path());
    assert_eq!(result.contradictions(), Ok(()));
    result
}

fn build(scene: &serde_json::Value) -> Box<dyn sim_engine_harness::Simulation> {
    let scene: Scene = serde_json::from_value(scene.clone()).unwrap();
    Rapier.build(&scene, &job(Mode::Timed, 1, 1)).map_err(|e| e.reason).unwrap()
}

fn pose(simulation: &mut dyn sim_engine_harness::Simulation) -> Pose {
    let mut poses = Vec::new();
    simulation.poses(0, &mut poses).unwrap();
    poses[0]
}

#[test]
fn it_reports_the_version_of_the_library() {
    assert_eq!(Rapier.describe().version, "0.36.1");
}

#[test]
fn a_free_body_falls_as_semi_implicit_euler_says() {
    let mut simulation = build(&scene(50.0, true, [0.0; 3]));
    simulation.reset().unwrap();
    simulation.step(256).unwrap();
    let pose = pose(simulation.as_mut());
    // Four substeps a step: n(n+1)/2 · g · dt² with n = 1024 and dt = 1/1024.
    assert!((pose.position[2] - (50.0 - 9.81 * 1025.0 / 2048.0)).abs() < 1e-3, "{pose:?}");
    assert!((pose.position[0] - 1.0).abs() < 1e-4);
}

#[test]
fn angular_velocity_of_the_scene_is_in_the_world_frame() {
    // Turned by a quarter about z, spun about the world's x: a principal axis, so the spin is
    // steady and half a second at pi/2 rad/s is an eighth of a turn about the world's x.
    let mut simulation = build(&scene(50.0, true, [std::f64::consts::FRAC_PI_2, 0.0, 0.0]));
    simulation.reset().unwrap();
    simulation.step(128).unwrap();
    let q = pose(simulation.as_mut()).orientation;
    let (c, s) = ((std::f64::consts::PI / 8.0).cos(), (std::f64::consts::PI / 8.0).sin());
    let half = std::f64::consts::FRAC_1_SQRT_2;
    // (c, s, 0, 0) ⊗ (half, 0, 0, half).
    let expected = [c * half, s * half, -s * half, c * half];
    for i in 0..4 {
        assert!((q[i] - expected[i]).abs() < 1e-4, "{q:?} is not {expected:?}");
    }
}

/// What `repeatability` promises: world 0 ends the same alone and beside others, in steps of another
/// length, with two threads.
#[test]
fn a_capture_ends_in_the_state_of_world_0() {
    let scene = scene(0.6, false, [1.0, 2.0, 3.0]);
    let timed = go(&scene, &Job { threads: 2, ..job(Mode::Timed, 3, 300) });
    assert!(timed.world0_state_digest.is_some());
    let timed_state = timed.world0_state_digest;
    let replay = go(&scene, &Job { threads: 2, timed_state, ..job(Mode::Capture, 1, 300) });
    assert_eq!(replay.outcome.status, Status::Ok, "{:?}", replay.outcome);
    assert_eq!(replay.capture.map(|c| c.final_state), Some(StateComparison::Same));
}

#[test]
fn two_runs_and_a_reset_end_in_the_same_bits() {
    let scene = scene(0.6, false, [1.0, 2.0, 3.0]);
    let first = go(&scene, &job(Mode::Timed, 2, 300));
    let second = go(&scene, &job(Mode::Memory, 2, 300));
    assert_eq!(first.outcome.status, Status::Ok, "{:?}", first.outcome);
    assert!(first.final_state_digest.is_some());
    assert_eq!(first.final_state_digest, second.final_state_digest);
    // Without a warm-up before it: the reset leaves no trace of the warm-up.
    let probe = go(&scene, &job(Mode::Probe, 1, 300));
    let mut cold = build(&scene);
    cold.reset().unwrap();
    cold.step(2).unwrap();
    let mut poses = Vec::new();
    cold.poses(0, &mut poses).unwrap();
    let digest = sim_engine_harness::digest(&[poses]);
    assert_eq!(probe.final_state_digest, Some(digest));
    let mut warm = build(&scene);
    warm.reset().unwrap();
    warm.step(300).unwrap();
    warm.reset().unwrap();
    warm.step(300).unwrap();
    let mut poses = Vec::new();
    warm.poses(0, &mut poses).unwrap();
    let both = sim_engine_harness::digest(&[poses.clone(), poses]);
    assert_eq!(first.final_state_digest, Some(both));
}

#[test]
fn settings_are_those_of_the_contract() {
    let result = go(&scene(0.6, false, [0.0; 3]), &job(Mode::Timed, 1, 10));
    let has = |name: &str| result.settings[name].clone();
    assert_eq!(has("substeps"), 4.into());
    assert_eq!(has("threads_used"), 1.into());
    assert_eq!(has("timestep"), (1.0 / 256.0).into());
    assert_eq!(has("sleeping"), false.into());
    assert_eq!(result.counters.awake_bodies, Some(1));
}

#[test]
fn a_hinged_rod_swings_about_its_anchor() {
    let mut swing = scene(2.0, false, [0.0; 3]);
    swing["bodies"][0]["linear_velocity"] = serde_json::json!([0.0, 0.0, 0.0]);
    // The body is turned by a quarter about z: its x is the world's y.
    swing["hinges"] = serde_json::json!([{
        "body": 0, "anchor": [0.0, 0.5, 2.0], "anchor_local": [0.5, 0.0, 0.0],
        "axis": [1.0, 0.0, 0.0]
    }]);
    let mut simulation = build(&swing);
    simulation.reset().unwrap();
    let before = pose(simulation.as_mut());
    simulation.step(16).unwrap();
    let after = pose(simulation.as_mut());
    let anchor = after.transform([0.5, 0.0, 0.0]);
    assert!((anchor[1] - 0.5).abs() < 1e-4 && (anchor[2] - 2.0).abs() < 1e-4);
    // First instants of a physical pendulum released level: z falls by r·α·t²/2, between the
    // substeps' n(n+1)/2 and n²/2 within 2 %, with α = m g r / (I + m r²); the body's own y moment, 0.06, turns here about the world's x.
    let alpha = 2.0 * 9.81 * 0.5 / (0.06 + 2.0 * 0.25);
    let fall = 0.5 * alpha * 64.0 * 65.0 / 2.0 / 1024.0 / 1024.0;
    let got = before.position[2] - after.position[2];
    assert!((got / fall - 1.0).abs() < 2e-2, "{got} is not {fall}");
}

/// Three links in a row; the middle one is the second body, the hinges turn about z and y.
fn chain() -> serde_json::Value {
    let link = |x: f64, v: [f64; 3], w: [f64; 3]| {
        serde_json::json!({
            "kind": "dynamic", "shape": {"sphere": {"radius": 0.05}}, "mass": 1.0,
            "inertia": [0.012, 0.02, 0.03], "position": [x, 0.0, 50.0],
            "orientation": [1.0, 0.0, 0.0, 0.0], "linear_velocity": v, "angular_velocity": w,
            "friction": 0.5
        })
    };
    // All turn at 1 rad/s about x; the second also at 2 about z, the third at 2 - 3 about z and y.
    let hinge = |body: usize, x: f64, axis: [f64; 3]| {
        serde_json::json!({"body": body, "parent": body - 1, "anchor": [x, 0.0, 50.0],
            "anchor_local": [-0.25, 0.0, 0.0], "axis": axis})
    };
    serde_json::json!({
        "format": 1, "name": "chain", "gravity": [0.0, 0.0, 0.0], "timestep": 1.0 / 1024.0,
        "bodies": [
            link(0.0, [0.5, 0.0, 0.0], [1.0, 0.0, 0.0]),
            link(0.5, [0.5, 0.5, 0.0], [1.0, 0.0, 2.0]),
            link(1.0, [0.5, 1.5, 0.75], [1.0, -3.0, 2.0]),
        ],
        "hinges": [hinge(1, 0.25, [0.0, 0.0, 1.0]), hinge(2, 0.75, [0.0, 1.0, 0.0])],
        "reference": "free_chain"
    })
}

#[test]
fn a_chain_starts_with_the_velocities_of_the_scene() {
    let chain = chain();
    let mut simulation = build(&chain);
    simulation.reset().unwrap();
    let (mut poses, mut velocities) = (Vec::new(), Vec::new());
    simulation.poses(0, &mut poses).unwrap();
    simulation.velocities(0, &mut velocities).unwrap();
    let scene: Scene = serde_json::from_value(chain).unwrap();
    for (i, body) in scene.bodies.iter().enumerate() {
        for k in 0..3 {
            assert!((poses[i].position[k] - body.position[k]).abs() < 1e-5, "{poses:?}");
            let (v, w) = (velocities[i].linear[k], velocities[i].angular[k]);
            assert!((v - body.linear_velocity[k]).abs() < 1e-5, "{i}: {velocities:?}");
            assert!((w - body.angular_velocity[k]).abs() < 1e-5, "{i}: {velocities:?}");
        }
    }
}

#[test]
fn a_free_chain_keeps_its_momenta() {
    let result = go(&chain(), &job(Mode::Timed, 1, 512));
    assert_eq!(result.outcome.status, Status::Ok, "{:?}", result.outcome);
    let error = |id: &str| result.accuracy.iter().find(|a| a.id == id).unwrap().error;
    assert!(error("momentum") < 1e-4, "{:?}", result.accuracy);
    assert!(error("angular_momentum") < 0.02, "{:?}", result.accuracy);
    assert!(error("energy") < 0.05, "{:?}", result.accuracy);
}
