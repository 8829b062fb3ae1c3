//! Robots in Nexus, on the processor: what a servo is, what meets what, and that the start is the scene's.

mod common;

use common::{built, go, job, poses};
use sim_adapter_nexus::SLOTS;
use sim_engine_protocol::{Mode, Status};

/// rad; a servo is implicit in time, which damps it a little more.
const SERVO_SLACK: f64 = 3e-3;

fn link(name: &str, parent: Option<usize>, mass: f64, z: f64) -> serde_json::Value {
    let mut link = serde_json::json!({"name": name, "mass": mass, "position": [0.0, 0.0, z],
        "orientation": [1.0, 0.0, 0.0, 0.0], "shapes": []});
    if let Some(parent) = parent {
        link["parent"] = parent.into();
    }
    link
}

fn scene(model: &str, links: serde_json::Value, dt: f64, gravity: f64) -> serde_json::Value {
    let mut floor = common::floor();
    floor["friction"] = 0.8.into();
    serde_json::json!({
        "format": 2, "name": "robot", "gravity": [0.0, 0.0, gravity], "timestep": dt,
        "bodies": [floor],
        "robot": {
            "name": "toy", "model": model, "standing_height": 3.0, "links": links,
            "source": {"package": "toys", "version": "1", "file": "toys-1.whl",
                "sha256": "0".repeat(64), "model": "toy.xml", "licence": "MIT", "changes": []}
        }
    })
}

/// An arm of 2 kg on a hinge about y, its centre of mass 0.5 m out along x, on a base that stands still,
/// driven by one servo. Moment about the hinge: 0.05 + 2 · 0.5² = 0.55 kg·m².
fn arm(servo: &str, target: f64) -> serde_json::Value {
    let model = format!(
        r#"<mujoco model="arm"><compiler angle="radian" autolimits="true"/>
        <option timestep="0.0005" gravity="0 0 0"/>
        <worldbody><geom name="floor" type="plane" size="0 0 1" contype="2" conaffinity="1"/>
        <body name="base" pos="0 0 2">
        <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
        <body name="arm" pos="0 0 0"><inertial pos="0.5 0 0" mass="2" diaginertia="0.02 0.05 0.05"/>
        <joint name="hinge" type="hinge" axis="0 1 0" range="-3 3"/></body></body></worldbody>
        <actuator><position name="servo" joint="hinge" ctrlrange="-3 3" {servo}/></actuator>
        <keyframe><key name="start" qpos="0" ctrl="{target:?}"/></keyframe></mujoco>"#
    );
    let links = serde_json::json!([link("base", None, 1.0, 2.0), link("arm", Some(0), 2.0, 2.0)]);
    scene(&model, links, 0.0005, 0.0)
}

/// A box with two arms in a row that fold back, so that the second lies in the box; 3 mm above the floor.
fn folded(height: f64) -> serde_json::Value {
    let contact = r#"contype="1" conaffinity="2""#;
    let model = format!(
        r#"<mujoco model="folded"><compiler angle="radian" autolimits="true"/>
        <option timestep="0.004" gravity="0 0 -9.81"/>
        <worldbody>
        <geom name="floor" type="plane" size="0 0 1" contype="2" conaffinity="1" friction="0.8 0.02 0.01"/>
        <body name="box" pos="0 0 {height:?}"><freejoint/>
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
        <keyframe><key name="start" qpos="0 0 {height:?} 1 0 0 0 0 3" ctrl="0 3"/></keyframe></mujoco>"#
    );
    let mut links = serde_json::json!([
        link("box", None, 3.0, height),
        link("upper", Some(0), 0.2, height + 0.1),
        link("lower", Some(1), 0.2, height + 0.2)
    ]);
    // Turned by 3 rad about y.
    links[2]["orientation"] = serde_json::json!([1.5_f64.cos(), 0.0, 1.5_f64.sin(), 0.0]);
    scene(&model, links, 0.004, -9.81)
}

/// The arm's angle after some steps of half a millisecond, rad.
fn angle(scene: &serde_json::Value, steps: u64) -> f64 {
    let mut arm = built(scene);
    arm.step(steps).unwrap();
    let [w, _, y, _] = poses(arm.as_mut())[1].orientation;
    2.0 * y.atan2(w)
}

#[test]
fn a_servo_is_a_spring_and_a_damper_in_newton_metres() {
    // I·q̈ = kp·(q* − q) − kv·q̇ from rest, underdamped.
    let (kp, kv, target, inertia): (f64, f64, f64, f64) = (40.0, 6.0, 0.3, 0.55);
    let (decay, omega) = (kv / (2.0 * inertia), (kp / inertia).sqrt());
    let ring = (omega * omega - decay * decay).sqrt();
    let arm = arm(r#"kp="40" kv="6" forcerange="-1000 1000""#, target);
    for steps in [100, 300, 600, 1200] {
        let t = f64::from(steps) * 0.0005;
        let wave = (ring * t).cos() + decay / ring * (ring * t).sin();
        let exact = target * (1.0 - (-decay * t).exp() * wave);
        let found = angle(&arm, u64::from(steps as u32));
        assert!((found - exact).abs() < SERVO_SLACK, "{steps}: {found} is not {exact}");
    }
}

/// P264, P265, P274. Nexus 0.7.0 on the processor: contacts of a multibody throw it about, so that no robot
/// stands; the gates have to say so, see docs/nexus.md. Without contact it moves as it should.
#[test]
fn robots_that_do_not_stand_are_caught_by_the_gates() {
    let result = go(&folded(0.103), &job(Mode::Timed, 3, 500));
    assert_eq!(result.outcome.status, Status::GateFailed, "{:?}", result.outcome);
    assert!(result.outcome.reason.unwrap().contains("base_upright is "));
    let has = |name: &str| result.settings[name].clone();
    assert_eq!((has("substeps"), has("internal_pgs_iterations")), (1.into(), 4.into()));
    assert_eq!((has("coriolis"), has("friction_in_bias_pass")), ("explicit".into(), false.into()));
    assert_eq!(
        (has("substep_refresh"), has("substep_refresh_light")),
        (false.into(), false.into())
    );
    assert_eq!((result.counters.simulated_bodies, result.counters.contacts), (Some(9), None));
    assert!(result.counters.buffers.contains_key(SLOTS));
    // High up nothing is met, the lower arm in the box included: all fall alike, by explicit Euler:
    // n(n-1)/2 · g · dt².
    let mut high = built(&folded(50.0));
    high.step(100).unwrap();
    let fall = 9.81 * 0.004 * 0.004 * 4950.0;
    for (pose, height) in poses(high.as_mut()).iter().zip([50.0, 50.1, 50.2]) {
        assert!((pose.position[2] - (height - fall)).abs() < 2e-3, "{pose:?}");
    }
}

/// P274.
#[test]
fn links_that_do_not_start_where_kinematics_says_are_an_error() {
    let mut scene = folded(0.103);
    scene["robot"]["links"][2]["position"] = serde_json::json!([0.0, 0.0, 0.3031]);
    let result = go(&scene, &job(Mode::Timed, 1, 500));
    assert_eq!(result.outcome.status, Status::Error);
    assert!(result.outcome.reason.unwrap().contains("link lower of world 0"));
}
