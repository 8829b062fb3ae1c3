use super::*;
use sim_engine_protocol::{Body, BodyKind, Hinge, SCENE_FORMAT, Shape};

const G: f64 = 9.81;
const DT: f64 = 0.01;

fn ball(z: f64) -> Body {
    Body {
        name: None,
        kind: BodyKind::Dynamic,
        shape: Shape::Sphere { radius: 0.5 },
        mass: 1.0,
        inertia: [0.1; 3],
        position: [0.0, 0.0, z],
        orientation: [1.0, 0.0, 0.0, 0.0],
        linear_velocity: [0.0; 3],
        angular_velocity: [0.0; 3],
        friction: 0.5,
    }
}

fn scene(bodies: Vec<Body>) -> Scene {
    Scene {
        format: SCENE_FORMAT,
        name: "gates".into(),
        gravity: [0.0, 0.0, -G],
        timestep: DT,
        contact_free: false,
        bodies,
        hinges: vec![],
        reference: None,
        robot: None,
        mpm: None,
    }
}

fn at(z: f64) -> Pose {
    Pose { position: [0.0, 0.0, z], orientation: [1.0, 0.0, 0.0, 0.0] }
}

fn counters(awake: u64) -> Counters {
    Counters { awake_bodies: Some(awake), ..Counters::default() }
}

fn run(scene: &Scene, worlds: &[Vec<Pose>], steps: u64, counters: &Counters) -> Vec<GateResult> {
    let state = FinalState { worlds, steps, precision: Precision::Double, counters };
    judge(scene, &Gates::default(), &state)
}

fn failed(list: &[GateResult]) -> Vec<&str> {
    list.iter().filter(|g| !g.passed).map(|g| g.id.as_str()).collect()
}

#[test]
fn a_body_on_the_floor_passes_and_one_below_the_published_limit_fails_in_any_world() {
    let scene = scene(vec![ball(0.5)]);
    let good = run(&scene, &[vec![at(0.5)], vec![at(0.351)]], 1, &counters(2));
    assert_eq!(failed(&good), [""; 0]);
    let bad = run(&scene, &[vec![at(0.5)], vec![at(0.349)]], 1, &counters(2));
    assert_eq!(failed(&bad), ["floor_penetration"]);
    let gate = bad.iter().find(|g| !g.passed).unwrap();
    assert!((gate.value - 0.151).abs() < 1e-12 && gate.limit == 0.15 && gate.unit == "m");
}

#[test]
fn missing_broken_and_turned_poses_are_found() {
    let scene = scene(vec![ball(1.0), ball(2.0)]);
    assert_eq!(failed(&run(&scene, &[vec![at(1.0)]], 1, &counters(2))), ["missing_poses"]);
    let broken = run(&scene, &[vec![at(1.0), at(f64::NAN)]], 1, &counters(2));
    assert_eq!(failed(&broken), ["non_finite"]);
    assert!(broken.iter().all(|g| g.value.is_finite()));
    let twisted = Pose { orientation: [1.01, 0.0, 0.0, 0.0], ..at(1.0) };
    let twisted = run(&scene, &[vec![at(1.0), twisted]], 1, &counters(2));
    assert_eq!(failed(&twisted), ["quaternion_norm"]);
}

#[test]
fn sleeping_bodies_are_found_by_the_engines_own_count() {
    let scene = scene(vec![ball(1.0), ball(2.0)]);
    let poses = [vec![at(1.0), at(2.0)]];
    assert_eq!(failed(&run(&scene, &poses, 1, &counters(1))), ["asleep"]);
    assert_eq!(failed(&run(&scene, &poses, 1, &Counters::default())), ["asleep"]);
    let simulated = Counters { simulated_bodies: Some(2), ..Counters::default() };
    assert_eq!(failed(&run(&scene, &poses, 1, &simulated)), [""; 0]);
}

#[test]
fn both_euler_methods_fall_within_tolerance_and_a_wrong_gravity_does_not() {
    let mut scene = scene(vec![ball(100.0)]);
    scene.contact_free = true;
    scene.bodies[0].linear_velocity = [0.0, 0.0, 3.0];
    let n = 200.0;
    let t: f64 = n * DT;
    let falling =
        |g: f64, half_steps: f64| vec![vec![at(100.0 + 3.0 * t - g * DT * DT * half_steps)]];
    // Semi-implicit: n(n+1)/2; explicit: n(n-1)/2; exact: n²/2.
    for half in [n * (n + 1.0) / 2.0, n * (n - 1.0) / 2.0, n * n / 2.0] {
        let list = run(&scene, &falling(G, half), 200, &counters(1));
        assert_eq!(failed(&list), [""; 0]);
    }
    let list = run(&scene, &falling(G, n * (n + 1.0) / 2.0), 200, &counters(1));
    let gate = list.iter().find(|g| g.id == "free_fall").unwrap();
    assert!((gate.value - G * DT * t / 2.0).abs() < 1e-9, "{}", gate.value);
    assert!((gate.limit - G * DT * t).abs() < 1e-9, "{}", gate.limit);
    assert!(list.iter().all(|g| g.id != "floor_penetration"));
    // Gravity 10 instead of 9.81 is 0.38 m off after 2 s, the tolerance is 0.196 m.
    let wrong = run(&scene, &falling(10.0, n * n / 2.0), 200, &counters(1));
    assert_eq!(failed(&wrong), ["free_fall"]);
}

#[test]
fn an_anchor_may_drift_eight_centimetres() {
    let mut scene = scene(vec![ball(2.0), ball(5.0)]);
    let (anchor, anchor_local) = ([0.0, 0.0, 6.0], [0.0, 0.0, 1.0]);
    scene.hinges.push(Hinge { body: 1, parent: None, anchor, anchor_local, axis: [1.0, 0.0, 0.0] });
    let good = run(&scene, &[vec![at(2.0), at(5.079)]], 1, &counters(2));
    assert_eq!(failed(&good), [""; 0]);
    let bad = run(&scene, &[vec![at(2.0), at(5.081)]], 1, &counters(2));
    assert_eq!(failed(&bad), ["anchor_drift"]);
}

#[test]
fn the_digest_is_over_the_bytes_anyone_can_lay_out() {
    let pose = Pose { position: [1.0, 2.0, 3.0], orientation: [1.0, 0.0, 0.0, 0.0] };
    let mut bytes = Vec::new();
    for x in [1.0_f64, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0] {
        bytes.extend(x.to_le_bytes());
    }
    let twice = [bytes.clone(), bytes].concat();
    let expected = blake3::hash(&twice).to_hex().to_string();
    assert_eq!(digest(&[vec![pose], vec![pose]]), expected);
    assert_eq!(digest(&[vec![pose, pose]]), expected);
    let many = vec![pose; 3000];
    assert_eq!(
        digest(std::slice::from_ref(&many)),
        digest(&[many[..10].to_vec(), many[10..].to_vec()])
    );
}

#[test]
fn an_anchor_on_another_body_moves_with_it() {
    let mut scene = scene(vec![ball(2.0), ball(5.0)]);
    let (anchor, anchor_local) = ([0.0, 0.0, 3.5], [0.0, 0.0, -1.5]);
    let axis = [1.0, 0.0, 0.0];
    scene.hinges.push(Hinge { body: 1, parent: Some(0), anchor, anchor_local, axis });
    let good = run(&scene, &[vec![at(3.0), at(6.079)]], 1, &counters(2));
    assert_eq!(failed(&good), [""; 0]);
    let bad = run(&scene, &[vec![at(3.0), at(6.081)]], 1, &counters(2));
    assert_eq!(failed(&bad), ["anchor_drift"]);
}
