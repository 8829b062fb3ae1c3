//! The adapter against closed forms, and against itself.

use serde_json::{Value, json};
use sim_adapter_batch::BatchAdapter;
use sim_engine_harness::{Engine, Simulation, run_job};
use sim_engine_protocol::{Job, JobResult, Mode, Pose, Scene, StateComparison, Status};

/// A free box with three different moments, above or on a floor.
fn scene(z: f64, contact_free: bool, spin: [f64; 3]) -> Value {
    let quarter = std::f64::consts::FRAC_1_SQRT_2;
    let mut bodies = vec![json!({
        "kind": "dynamic", "shape": {"box": {"half_extents": [0.25, 0.25, 0.25]}}, "mass": 2.0,
        "inertia": [0.05, 0.06, 0.07], "position": [0.0, 0.0, z],
        "orientation": [quarter, 0.0, 0.0, quarter], "linear_velocity": [1.0, 0.0, 0.0],
        "angular_velocity": spin, "friction": 0.5
    })];
    if !contact_free {
        bodies.push(floor());
    }
    json!({
        "format": 1, "name": "test", "gravity": [0.0, 0.0, -9.81], "timestep": 1.0 / 256.0,
        "contact_free": contact_free, "bodies": bodies, "hinges": []
    })
}

fn floor() -> Value {
    json!({
        "kind": "static", "shape": {"box": {"half_extents": [100.0, 100.0, 0.5]}}, "mass": 0.0,
        "inertia": [0.0, 0.0, 0.0], "position": [0.0, 0.0, -0.5],
        "orientation": [1.0, 0.0, 0.0, 0.0], "linear_velocity": [0.0, 0.0, 0.0],
        "angular_velocity": [0.0, 0.0, 0.0], "friction": 0.5
    })
}

fn job(mode: Mode, worlds: u32, steps: u64) -> Job {
    serde_json::from_value(json!({
        "protocol": 1, "mode": mode, "scene": "scene.json", "worlds": worlds, "steps": steps,
        "warmup": 0, "threads": 1, "seed": 7, "backend": "cpu"
    }))
    .unwrap()
}

fn go(scene: &Value, job: &Job) -> JobResult {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("scene.json"), scene.to_string()).unwrap();
    let result = run_job(&BatchAdapter, job, folder.path(), folder.path());
    assert_eq!(result.contradictions(), Ok(()));
    result
}

fn build(scene: &Value) -> Box<dyn Simulation> {
    let scene: Scene = serde_json::from_value(scene.clone()).unwrap();
    BatchAdapter.build(&scene, &job(Mode::Timed, 1, 1)).map_err(|e| e.reason).unwrap()
}

fn poses(simulation: &mut dyn Simulation) -> Vec<Pose> {
    let mut poses = Vec::new();
    simulation.poses(0, &mut poses).unwrap();
    poses
}

#[test]
fn a_free_body_falls_as_semi_implicit_euler_says() {
    let mut simulation = build(&scene(10.0, true, [0.0; 3]));
    simulation.reset().unwrap();
    simulation.step(256).unwrap();
    let pose = poses(simulation.as_mut())[0];
    // n(n+1)/2 · g · dt² with n = 256 and dt = 1/256 is 9.81 · 257/512; float32 has 1e-6 m at 10 m.
    assert!((pose.position[2] - (10.0 - 9.81 * 257.0 / 512.0)).abs() < 5e-5);
    assert!((pose.position[0] - 1.0).abs() < 1e-5);
}

#[test]
fn angular_velocity_of_the_scene_is_in_the_world_frame() {
    let mut simulation = build(&scene(50.0, true, [std::f64::consts::FRAC_PI_2, 0.0, 0.0]));
    simulation.reset().unwrap();
    simulation.step(128).unwrap();
    let q = poses(simulation.as_mut())[0].orientation;
    let (c, s) = ((std::f64::consts::PI / 8.0).cos(), (std::f64::consts::PI / 8.0).sin());
    let half = std::f64::consts::FRAC_1_SQRT_2;
    // (c, s, 0, 0) ⊗ (half, 0, 0, half).
    let expected = [c * half, s * half, -s * half, c * half];
    for i in 0..4 {
        assert!((q[i] - expected[i]).abs() < 1e-5, "{q:?} is not {expected:?}");
    }
    let mut velocities = Vec::new();
    simulation.velocities(0, &mut velocities).unwrap();
    assert!((velocities[0].angular[0] - std::f64::consts::FRAC_PI_2).abs() < 1e-5);
}

#[test]
fn a_capture_ends_in_the_state_of_world_0() {
    let scene = scene(0.6, false, [1.0, 2.0, 3.0]);
    let timed = go(&scene, &Job { threads: 2, ..job(Mode::Timed, 40, 300) });
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
    let mut warm = build(&scene);
    let mut ends = Vec::new();
    for _ in 0..2 {
        warm.reset().unwrap();
        warm.step(300).unwrap();
        ends.push(sim_engine_harness::digest(&[poses(warm.as_mut())]));
    }
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn a_box_comes_to_rest_on_a_floor_and_says_what_it_counted() {
    let result = go(&scene(0.3, false, [0.0; 3]), &job(Mode::Timed, 17, 1000));
    assert_eq!(result.outcome.status, Status::Ok, "{:?}", result.outcome);
    let c = &result.counters;
    assert_eq!((c.contacts, c.constraints, c.overflow), (Some(4 * 17), Some(16 * 17), Some(0)));
    assert_eq!(c.simulated_bodies, Some(17));
    assert_eq!(result.settings["integrator"], "Euler".into());
    assert_eq!(result.settings["iterations"], 50.into());
}

#[test]
fn a_hinged_rod_swings_about_its_anchor() {
    let mut swing = scene(2.0, false, [0.0; 3]);
    swing["bodies"][0]["linear_velocity"] = json!([0.0, 0.0, 0.0]);
    swing["hinges"] = json!([{
        "body": 0, "anchor": [0.0, 0.5, 2.0], "anchor_local": [0.5, 0.0, 0.0],
        "axis": [1.0, 0.0, 0.0]
    }]);
    let mut simulation = build(&swing);
    simulation.reset().unwrap();
    let before = poses(simulation.as_mut())[0];
    simulation.step(16).unwrap();
    let after = poses(simulation.as_mut())[0];
    let anchor = after.transform([0.5, 0.0, 0.0]);
    assert!((anchor[1] - 0.5).abs() < 1e-6 && (anchor[2] - 2.0).abs() < 1e-6);
    // First instants of a physical pendulum released level: z falls by r·α·n(n+1)/2·dt² with
    // α = m g r / (I + m r²).
    let alpha = 2.0 * 9.81 * 0.5 / (0.06 + 2.0 * 0.25);
    let fall = 0.5 * alpha * 16.0 * 17.0 / 2.0 / 256.0 / 256.0;
    let got = before.position[2] - after.position[2];
    assert!((got / fall - 1.0).abs() < 2e-3, "{got} is not {fall}");
}

#[test]
fn a_robot_starts_in_its_keyframe_and_stands_on_its_servo() {
    let model = r#"<mujoco model="leg"><compiler angle="radian" autolimits="true"/>
        <option timestep="0.002" integrator="implicitfast" cone="elliptic"/>
        <worldbody><geom type="plane" size="0 0 1" contype="2" conaffinity="1"/>
        <body name="base" pos="0 0 .3"><freejoint/><inertial pos="0 0 0" mass="4" diaginertia=".1 .1 .1"/>
        <geom type="box" size=".3 .3 .05" contype="1" conaffinity="2"/>
        <body name="arm" pos="0 0 .1"><inertial pos=".2 0 0" mass="1" diaginertia=".01 .01 .01"/>
        <joint name="j" axis="0 1 0"/></body></body></worldbody>
        <actuator><position joint="j" kp="200" kv="10"/></actuator>
        <keyframe><key name="start" qpos="0 0 .052 1 0 0 0 .1" ctrl=".1"/></keyframe></mujoco>"#;
    let link = |name: &str, parent: Option<usize>, z: f64, q: [f64; 4]| {
        let mut l = json!({"name": name, "mass": 1.0, "position": [0.0, 0.0, z], "orientation": q, "shapes": []});
        if let Some(p) = parent {
            l["parent"] = p.into();
        }
        l
    };
    let (s, c) = (0.05f64.sin(), 0.05f64.cos());
    let scene = json!({
        "format": 2, "name": "robot", "gravity": [0.0, 0.0, -9.81], "timestep": 0.002,
        "bodies": [floor()],
        "robot": {
            "name": "toy", "model": model, "standing_height": 0.05,
            "links": [link("base", None, 0.052, [1.0, 0.0, 0.0, 0.0]), link("arm", Some(0), 0.152, [c, 0.0, s, 0.0])],
            "source": {"package": "toys", "version": "1", "file": "toys-1.whl", "sha256": "0".repeat(64),
                "model": "toy.xml", "licence": "MIT", "changes": []}
        }
    });
    let mut simulation = build(&scene);
    simulation.reset().unwrap();
    let start = poses(simulation.as_mut());
    assert!(
        (start[1].orientation[2] - s).abs() < 1e-7 && (start[0].position[2] - 0.052).abs() < 1e-7
    );
    simulation.step(1500).unwrap();
    let end = poses(simulation.as_mut());
    // The servo sags by the moment of the arm over its stiffness: 1 kg · g · 0.2 m / 200 N·m/rad.
    let sag = 9.81 * 0.2 / 200.0;
    let angle = 2.0 * end[1].orientation[2].asin();
    assert!((angle - 0.1 - sag).abs() < 1e-3, "{angle}");
    assert!((end[0].position[2] - 0.05).abs() < 2e-3);
    assert_eq!(simulation.settings()["cone"], "elliptic".into());
}

#[test]
fn what_it_cannot_do_is_unsupported_and_says_why() {
    let mut cylinders = scene(1.0, false, [0.0; 3]);
    let mut other = cylinders["bodies"][0].clone();
    let round = json!({"cylinder": {"radius": 0.2, "half_length": 0.2}});
    other["shape"] = round.clone();
    other["position"] = json!([0.0, 0.0, 2.0]);
    cylinders["bodies"][0]["shape"] = round;
    cylinders["bodies"].as_array_mut().unwrap().push(other);
    let result = go(&cylinders, &job(Mode::Timed, 1, 10));
    assert_eq!(result.outcome.status, Status::Unsupported);
    let reason = result.outcome.reason.unwrap_or_default();
    assert!(reason.contains("contacts between cylinder"), "{reason}");
}
