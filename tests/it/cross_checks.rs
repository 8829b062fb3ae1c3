//! The same scenes in every engine that is there, against closed forms and against each other. MuJoCo and Rapier are
//! built where they are not; engines in Python take part where a store has their environments.

use crate::engines::{cmd, gate, json, mujoco, number, offline, project};
use crate::harness::TestEnv;
use crate::python_engines::where_built;
use serde_json::Value;

const SUITE: &str = r#"[suite]
name = "cross"

[[case]]
scenario = "free_fall"
sizes = [3]
steps = 120

[[case]]
scenario = "box_stack"
sizes = [3]
steps = 240

[[case]]
scenario = "pendulum"
sizes = [1]
steps = 480

[[case]]
scenario = "robot_go1"
sizes = [1]
steps = 480

[[case]]
scenario = "robot_t1"
sizes = [1]
steps = 480
"#;

const CASES: [&str; 5] =
    ["free_fall/3x1", "box_stack/3x1", "pendulum/1x1", "robot_go1/1x1", "robot_t1/1x1"];

fn of(env: &TestEnv, engine: &str, case: &str, file: &str) -> Value {
    json(env, &format!("trial[{engine}]/{case}/r0/timed"), file)
}

/// All that holds of each engine, whatever it is.
fn agrees(env: &TestEnv, engine: &str) {
    for case in CASES {
        let r = of(env, engine, case, "result.json");
        assert_eq!(r["outcome"]["status"], "ok", "{engine} {case}: {:#}", r["outcome"]);
        translated(&r["translation"], &format!("{engine} {case}"));
    }
    // First-order Euler is g·dt·t/2 off; none is more.
    let fall = of(env, engine, "free_fall/3x1", "result.json");
    let (error, euler) = (number(&fall["accuracy"][0], "/error"), 9.81 / 240.0 * 0.5 / 2.0);
    assert!(error <= euler + 5e-5, "{engine} falls {error} m beside the closed form");
    // Cubes of 0.5 m stay where they stand.
    let stack = of(env, engine, "box_stack/3x1", "final.json");
    for (level, pose) in (0..3).zip(stack["poses"].as_array().expect("poses")) {
        let height = number(pose, "/position/2");
        let exact = 0.25 + 0.5 * f64::from(level);
        assert!((height - exact).abs() < 5e-3, "{engine}: cube {level} at {height} m");
        let aside = number(pose, "/position/0").hypot(number(pose, "/position/1"));
        assert!(aside < 5e-3, "{engine}: cube {level} moved {aside} m aside");
    }
    let (found, exact) = swing(env, engine);
    assert!((found / exact - 1.0).abs() < 5e-3, "{engine} swings in {found} s, not {exact} s");
    // MuJoCo and MuJoCo Warp stand at 0.257 m; contacts of other engines give more or less way.
    for (case, low, high) in [("robot_go1/1x1", 0.25, 0.29), ("robot_t1/1x1", 0.63, 0.69)] {
        let r = of(env, engine, case, "result.json");
        let height = number(gate(&r, "base_height_min"), "/value");
        assert!((low..high).contains(&height), "{engine}: {case} stands at {height} m");
    }
}

/// A record of a translation tells of every part: exact, or how it is not.
fn translated(record: &Value, what: &str) {
    let list = |name: &str| record[name].as_array().unwrap_or_else(|| panic!("{what}: {name}"));
    assert!(!list("exact").is_empty(), "{what}");
    let full = |v: &Value| v.as_str().is_some_and(|s| !s.trim().is_empty());
    assert!(list("exact").iter().chain(list("dropped")).all(full), "{what}: {record:#}");
    let how = |a: &Value| full(&a["what"]) && full(&a["how"]);
    assert!(!list("approximated").is_empty() && list("approximated").iter().all(how), "{what}");
}

/// Period of a rod's swing, s: twice the time between two passages through the lowest point, and the
/// closed form 4·K(sin(θ/2))/ω with ω² = m·g·l/I about the hinge.
fn swing(env: &TestEnv, engine: &str) -> (f64, f64) {
    let scene = json(env, "scene/pendulum/1@1/240#7", "scene.json");
    let (body, hinge) = (&scene["bodies"][0], &scene["hinges"][0]);
    let offset = |at: [f64; 3]| -> f64 {
        // Along the direction in which the rod starts, which the hinge's axis is across.
        let axis = [0, 1].map(|i| number(hinge, &format!("/axis/{i}")));
        let away = [0, 1].map(|i| at[i] - number(hinge, &format!("/anchor/{i}")));
        axis[0] * away[1] - axis[1] * away[0]
    };
    let start: [f64; 3] = std::array::from_fn(|i| number(body, &format!("/position/{i}")));
    let arm = 0.4;
    let angle = (offset(start).abs() / arm).atan2((number(hinge, "/anchor/2") - start[2]) / arm);
    let inertia = number(body, "/inertia/0") + number(body, "/mass") * arm * arm;
    let omega = (number(body, "/mass") * 9.81 * arm / inertia).sqrt();
    // K(k) = π / (2·agm(1, √(1−k²))).
    let (mut a, mut b) = (1.0_f64, (angle / 2.0).cos());
    for _ in 0..20 {
        (a, b) = (a.midpoint(b), (a * b).sqrt());
    }
    let exact = 2.0 * std::f64::consts::PI / (omega * a);

    let label = format!("trial[{engine}]/pendulum/1x1/r0/capture");
    let out = cmd(env, &["store", "path", &label]).run();
    let path = std::path::Path::new(out.expect(0).stdout.trim()).join("capture.bin");
    let bytes = std::fs::read(path).expect("a capture");
    let interval = u64::from_le_bytes(bytes[24..32].try_into().expect("8")) as f64 / 240.0;
    let offsets: Vec<f64> = bytes[40..]
        .chunks_exact(28)
        .map(|frame| {
            let number = |i: usize| f32::from_le_bytes(frame[4 * i..][..4].try_into().expect("4"));
            offset([0, 1, 2].map(|i| f64::from(number(i))))
        })
        .collect();
    let passages: Vec<f64> = offsets
        .windows(2)
        .enumerate()
        .filter(|(_, w)| w[0] * w[1] < 0.0)
        .map(|(i, w)| (i as f64 + w[0] / (w[0] - w[1])) * interval)
        .collect();
    assert!(passages.len() >= 2, "{engine} passes its lowest point at {passages:?} s");
    (2.0 * (passages[1] - passages[0]), exact)
}

#[test]
fn native_engines_agree() {
    if mujoco().is_none() {
        return;
    }
    let engines = ["mujoco", "rapier"];
    let env = project(&engines);
    env.replace("pipeline.toml", "it-hello", "it-cross");
    env.replace("pipeline.toml", "replays = [\"memory\"]", "replays = [\"capture\"]");
    env.write("suite.toml", SUITE);
    let out = cmd(&env, &["run", "pipeline.toml"]).run();
    if offline(&out) {
        return;
    }
    out.expect(0);
    engines.iter().for_each(|engine| agrees(&env, engine));
}

#[test]
fn engines_in_python_agree() {
    for engine in ["mujoco_warp", "newton", "mjx", "genesis"] {
        if let Some(env) = where_built(engine, SUITE) {
            agrees(&env, engine);
        }
    }
}
