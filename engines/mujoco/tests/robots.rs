//! Robots in MuJoCo: what a servo is, what meets what, and that the state is the scene's.

use sim_adapter_mujoco::Mujoco;
use sim_engine_harness::{Engine, Simulation, run_job};
use sim_engine_protocol::{Job, JobResult, Mode, Scene, Status};

const ENGINE: Mujoco = Mujoco;
/// rad; the integrator is of first order.
const SERVO_SLACK: f64 = 1e-3;

/// An arm of 2 kg on a hinge about y, its centre of mass 0.5 m out along x, on a base that stands
/// still, driven by one servo. Moment about the hinge: 0.05 + 2 · 0.5² = 0.55 kg·m².
fn arm(gravity: f64, servo: &str, target: f64) -> serde_json::Value {
    let model = format!(
        r#"<mujoco model="arm"><compiler angle="radian" autolimits="true"/>
        <option timestep="0.0005" gravity="0 0 {gravity:?}"/>
        <worldbody><geom name="floor" type="plane" size="0 0 1" contype="2" conaffinity="1"/>
        <body name="base" pos="0 0 2">
        <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
        <body name="arm" pos="0 0 0"><inertial pos="0.5 0 0" mass="2" diaginertia="0.02 0.05 0.05"/>
        <joint name="hinge" type="hinge" axis="0 1 0" range="-3 3"/></body></body></worldbody>
        <actuator><position name="servo" joint="hinge" ctrlrange="-3 3" {servo}/></actuator>
        <keyframe><key name="start" qpos="0" ctrl="{target:?}"/></keyframe></mujoco>"#
    );
    let links = serde_json::json!([link("base", None, 1.0, 2.0), link("arm", Some(0), 2.0, 2.0)]);
    scene(&model, links, 0.0005, gravity)
}

fn link(name: &str, parent: Option<usize>, mass: f64, z: f64) -> serde_json::Value {
    let mut link = serde_json::json!({"name": name, "mass": mass, "position": [0.0, 0.0, z],
        "orientation": [1.0, 0.0, 0.0, 0.0], "shapes": []});
    if let Some(parent) = parent {
        link["parent"] = parent.into();
    }
    link
}

fn scene(model: &str, links: serde_json::Value, dt: f64, gravity: f64) -> serde_json::Value {
    serde_json::json!({
        "format": 2, "name": "robot", "gravity": [0.0, 0.0, gravity], "timestep": dt,
        "bodies": [{
            "kind": "static", "shape": {"box": {"half_extents": [100.0, 100.0, 0.5]}}, "mass": 0.0,
            "inertia": [0.0, 0.0, 0.0], "position": [0.0, 0.0, -0.5],
            "orientation": [1.0, 0.0, 0.0, 0.0], "linear_velocity": [0.0, 0.0, 0.0],
            "angular_velocity": [0.0, 0.0, 0.0], "friction": 0.8
        }],
        "robot": {
            "name": "toy", "model": model, "standing_height": 3.0, "links": links,
            "source": {"package": "toys", "version": "1", "file": "toys-1.whl",
                "sha256": "0".repeat(64), "model": "toy.xml", "licence": "MIT", "changes": []}
        }
    })
}

/// A box with two arms in a row that fold back, so that the second lies in the box; the box starts
/// 3 mm above the floor.
fn folded(contact: &str) -> serde_json::Value {
    let model = format!(
        r#"<mujoco model="folded"><compiler angle="radian" autolimits="true"/>
        <option timestep="0.004" gravity="0 0 -9.81" iterations="50"><flag autoreset="disable"/></option>
        <worldbody>
        <geom name="floor" type="plane" size="0 0 1" contype="2" conaffinity="1" friction="0.8 0.02 0.01"/>
        <body name="box" pos="0 0 0.103"><freejoint/>
        <inertial pos="0 0 0" mass="3" diaginertia="0.02 0.02 0.02"/>
        <geom type="box" size="0.1 0.1 0.1" {contact}/>
        <body name="upper" pos="0 0 0.1"><inertial pos="0 0 0.1" mass="0.2" diaginertia="0.001 0.001 0.0001"/>
        <joint name="a" type="hinge" axis="0 1 0" range="-3 3" damping="0.1"/>
        <body name="lower" pos="0 0 0.1"><inertial pos="0 0 0.1" mass="0.2" diaginertia="0.001 0.001 0.0001"/>
        <joint name="b" type="hinge" axis="0 1 0" range="-4 4" damping="0.1"/>
        <geom type="capsule" size="0.02 0.05" pos="0 0 0.1" {contact}/></body></body></body></worldbody>
        <actuator>
        <position name="sa" joint="a" kp="20" kv="1" ctrlrange="-3 3" forcerange="-50 50"/>
        <position name="sb" joint="b" kp="20" kv="1" ctrlrange="-4 4" forcerange="-50 50"/></actuator>
        <keyframe><key name="start" qpos="0 0 0.103 1 0 0 0 0 3" ctrl="0 3"/></keyframe></mujoco>"#
    );
    let mut links = serde_json::json!([
        link("box", None, 3.0, 0.103),
        link("upper", Some(0), 0.2, 0.203),
        link("lower", Some(1), 0.2, 0.303)
    ]);
    // Turned by 3 rad about y.
    links[2]["orientation"] = serde_json::json!([1.5_f64.cos(), 0.0, 1.5_f64.sin(), 0.0]);
    scene(&model, links, 0.004, -9.81)
}

const APART: &str = r#"contype="1" conaffinity="2""#;

fn job(mode: Mode, worlds: u32, steps: u64, threads: u32) -> Job {
    serde_json::from_value(serde_json::json!({
        "protocol": 1, "mode": mode, "scene": "scene.json", "worlds": worlds, "steps": steps,
        "warmup": 0, "threads": threads, "seed": 7, "backend": "cpu", "gates": {
            "base_height_min_m": 0.05, "base_height_max_m": 0.2, "base_drift_m": 0.5,
            "base_upright": 0.9
        }
    }))
    .unwrap()
}

fn go(scene: &serde_json::Value, job: &Job) -> JobResult {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("scene.json"), scene.to_string()).unwrap();
    let result = run_job(&ENGINE, job, folder.path(), folder.path());
    assert_eq!(result.contradictions(), Ok(()));
    result
}

fn build(scene: &serde_json::Value) -> Box<dyn Simulation> {
    let scene: Scene = serde_json::from_value(scene.clone()).unwrap();
    assert_eq!(scene.validate(), Ok(()));
    let mut built = ENGINE.build(&scene, &job(Mode::Timed, 1, 1, 1)).map_err(|e| e.reason).unwrap();
    built.reset().unwrap();
    built
}

/// The arm's angle after some steps of half a millisecond, rad.
fn angle(scene: &serde_json::Value, steps: u64) -> f64 {
    let mut arm = build(scene);
    arm.step(steps).unwrap();
    let mut poses = Vec::new();
    arm.poses(0, &mut poses).unwrap();
    let [w, _, y, _] = poses[1].orientation;
    2.0 * y.atan2(w)
}

fn near(a: f64, b: f64, slack: f64) {
    assert!((a - b).abs() <= slack, "{a} is not {b}");
}

#[test]
fn a_servo_is_a_spring_and_a_damper_in_newton_metres() {
    // I·q̈ = kp·(q* − q) − kv·q̇ from rest, underdamped.
    let (kp, kv, target, inertia): (f64, f64, f64, f64) = (40.0, 6.0, 0.3, 0.55);
    let (decay, omega) = (kv / (2.0 * inertia), (kp / inertia).sqrt());
    let ring = (omega * omega - decay * decay).sqrt();
    let exact = |t: f64| {
        let wave = (ring * t).cos() + decay / ring * (ring * t).sin();
        target * (1.0 - (-decay * t).exp() * wave)
    };
    let arm = arm(0.0, r#"kp="40" kv="6" forcerange="-1000 1000""#, target);
    for steps in [100, 300, 600, 1200] {
        near(angle(&arm, steps), exact(steps as f64 * 0.0005), SERVO_SLACK);
    }
}

#[test]
fn a_servo_holds_a_weight_where_its_spring_balances_it() {
    // kp·(q* − q) + m·g·l·cos q = 0, found by halving.
    let (kp, target) = (100.0, 0.3);
    let balance = |q: f64| kp * (target - q) + 2.0 * 9.81 * 0.5 * q.cos();
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if balance(middle) > 0.0 { low = middle } else { high = middle }
    }
    assert!(low > 0.38 && low < 0.4, "{low}");
    let arm = arm(-9.81, r#"kp="100" kv="20" forcerange="-1000 1000""#, target);
    near(angle(&arm, 10_000), low, 1e-3);
}

#[test]
fn a_servo_gives_no_more_than_its_force_range() {
    // Far from its target it pushes with 5 N·m: q = 5/I·t²/2.
    let arm = arm(0.0, r#"kp="1000" kv="0" forcerange="-5 5""#, 3.0);
    near(angle(&arm, 400), 5.0 / 0.55 * 0.2 * 0.2 / 2.0, 2e-3);
}

#[test]
fn a_robot_meets_the_floor_and_never_itself() {
    let contacts = |height: &str| {
        let mut scene = folded(APART);
        let model = scene["robot"]["model"].as_str().unwrap().replace("0.103", height);
        scene["robot"]["model"] = model.into();
        let mut robot = build(&scene);
        robot.step(250).unwrap();
        robot.counters().contacts.unwrap()
    };
    assert!(contacts("0.103") >= 3);
    // High up, with the lower arm inside the box, there is nothing to meet.
    assert_eq!(contacts("50.0"), 0);
}

#[test]
fn robots_stand_on_several_threads_as_on_one() {
    let one = go(&folded(APART), &job(Mode::Timed, 3, 500, 1));
    assert_eq!(one.outcome.status, Status::Ok, "{:?}", one.outcome);
    let two = go(&folded(APART), &job(Mode::Memory, 3, 500, 2));
    assert!(one.final_state_digest.is_some());
    assert_eq!(one.final_state_digest, two.final_state_digest);
    assert_eq!(one.settings["worlds"], "one task each".into());
    assert_eq!(
        (&one.settings["threads_used"], &two.settings["threads_used"]),
        (&1.into(), &2.into())
    );
    assert_eq!(one.scene.unwrap().dynamic_bodies, 3);
    assert_eq!(one.counters.simulated_bodies, Some(9));
    let ids: Vec<_> = one.gates.iter().map(|g| g.id.as_str()).collect();
    for id in ["base_height_min", "base_height_max", "base_upright", "base_drift", "asleep"] {
        assert!(ids.contains(&id), "{ids:?}");
    }
    assert!(!one.translation.exact.is_empty() && !one.translation.approximated.is_empty());
}

#[test]
fn links_that_do_not_start_where_kinematics_says_are_an_error() {
    let mut scene = folded(APART);
    scene["robot"]["links"][2]["position"] = serde_json::json!([0.0, 0.0, 0.3031]);
    let result = go(&scene, &job(Mode::Timed, 1, 500, 1));
    assert_eq!(result.outcome.status, Status::Error);
    let reason = result.outcome.reason.unwrap();
    assert!(
        reason.contains("link lower of world 0") && reason.contains("forward kinematics"),
        "{reason}"
    );
    let mut scene = folded(APART);
    scene["robot"]["links"][1]["name"] = "arm".into();
    let reason = go(&scene, &job(Mode::Timed, 1, 500, 1)).outcome.reason.unwrap();
    assert!(reason.contains("the robot's model has no arm"), "{reason}");
}

#[test]
fn a_robot_that_falls_fails_its_gate() {
    let mut job = job(Mode::Timed, 2, 500, 1);
    job.gates.base_height_min_m = Some(0.11);
    let result = go(&folded(APART), &job);
    assert_eq!(result.outcome.status, Status::GateFailed);
    assert!(result.outcome.reason.unwrap().starts_with("base_height_min is 0.0"));
}

#[test]
fn without_the_two_groups_it_would_meet_itself() {
    let mut robot = build(&folded(r#"contype="3" conaffinity="3""#));
    robot.step(1).unwrap();
    let both = robot.counters().contacts.unwrap();
    let mut robot = build(&folded(APART));
    robot.step(1).unwrap();
    assert!(both > robot.counters().contacts.unwrap(), "{both}");
}

#[test]
fn options_are_the_models_but_for_what_the_job_sets() {
    let mut scene = folded(APART);
    let model = scene["robot"]["model"].as_str().unwrap();
    let model = model.replace("iterations", r#"cone="elliptic" impratio="100" iterations"#);
    scene["robot"]["model"] = model.into();
    let mut job = job(Mode::Timed, 1, 500, 1);
    let own = go(&scene, &job);
    assert_eq!(
        (&own.settings["cone"], &own.settings["integrator"]),
        (&"elliptic".into(), &"Euler".into())
    );
    assert_eq!(
        (&own.settings["impratio"], &own.settings["iterations"]),
        (&100.0.into(), &50.into())
    );
    assert_eq!(own.settings["autoreset"], false.into());
    job.settings.insert("integrator".into(), "implicitfast".into());
    let other = go(&scene, &job);
    assert_eq!(
        (&other.settings["cone"], &other.settings["integrator"]),
        (&"elliptic".into(), &"implicitfast".into())
    );
    assert_ne!(own.final_state_digest, other.final_state_digest);
}
