//! Go1 and T1 as the program makes them: the published model fetched by its digest, the recipe, the
//! portable model, and what real engines do with it.

use crate::engines::{cmd, gate, json, mujoco, number, offline, plan, project};
use crate::harness::{TestEnv, skip};
use serde_json::Value;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

const SUITE: &str = r#"[suite]
name = "robots"

[[case]]
scenario = "robot_go1"
sizes = [1]
worlds = [1, 3]

[[case]]
scenario = "robot_t1"
sizes = [1]
worlds = [1, 3]
"#;

const GO1: &str = "scene/robot_go1/1@1/240#7";
const T1: &str = "scene/robot_t1/1@1/240#7";

/// The project of the engine tests with a suite of robots.
fn robots(engines: &[&str]) -> TestEnv {
    let env = project(engines);
    env.replace("pipeline.toml", "it-hello", "it-robots");
    env.replace("pipeline.toml", "replays = [\"memory\"]\n", "");
    env.write("suite.toml", SUITE);
    env
}

/// Runs MuJoCo's robots once; every test uses what that gave. None without a network.
fn stood() -> Option<&'static TestEnv> {
    static RUN: OnceLock<Option<TestEnv>> = OnceLock::new();
    static ONE: Mutex<()> = Mutex::new(());
    mujoco()?;
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    RUN.get_or_init(|| {
        let env = robots(&["mujoco"]);
        let out = cmd(&env, &["run", "pipeline.toml"]).run();
        if offline(&out) {
            return None;
        }
        out.expect(0);
        Some(env)
    })
    .as_ref()
}

fn text(env: &TestEnv, label: &str, file: &str) -> String {
    let out = cmd(env, &["store", "path", label]).run();
    let path = Path::new(out.expect(0).stdout.trim()).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// P246, P248 to P252, P254 and P256: what the recipe makes of the published models.
#[test]
fn the_recipes_make_portable_models_with_the_published_numbers() {
    let Some(env) = stood() else { return };
    // Links, servos, mass (kg), start and standing height of the base (m), kp and kv of every servo.
    for (label, folder, links, servos, mass, start, standing, gains) in [
        (GO1, "robot_go1", 13, 12, 12.743, 0.1804, 0.27, r#"kp="100.0" kv="0.0""#),
        (T1, "robot_t1", 24, 23, 31.614, 0.5942, 0.665, r#"kp="300.0" kv="20.0""#),
    ] {
        let scene = json(env, label, "scene.json");
        let robot = &scene["robot"];
        let all = robot["links"].as_array().expect("links");
        assert_eq!(all.len(), links);
        let total: f64 = all.iter().map(|l| number(l, "/mass")).sum();
        assert!((total - mass).abs() < 5e-4, "{total} kg");
        let height = number(robot, "/links/0/position/2");
        assert!((height - start).abs() < 1e-4, "{folder} starts at {height} m");
        assert_eq!(number(robot, "/standing_height"), standing);
        let model = text(env, label, "model.xml");
        assert_eq!(robot["model"].as_str(), Some(model.as_str()));
        let count = |needle: &str| model.matches(needle).count();
        assert_eq!((count("<position "), count(" type=\"hinge\"")), (servos, servos));
        assert_eq!((count("<freejoint/>"), count("<body ")), (1, links));
        assert_eq!(
            (count(gains), count("ctrlrange="), count("forcerange=")),
            (servos, servos, servos)
        );
        for none in ["mesh", "class=", "<site", "<motor", "inheritrange", "actuatorfrcrange"] {
            assert_eq!(count(none), 0, "{none}");
        }
        // Every shape but the floor is in the robot's group, and no group meets itself.
        let shapes: usize = all.iter().map(|l| l["shapes"].as_array().expect("shapes").len()).sum();
        assert_eq!(count("contype=\"1\" conaffinity=\"2\""), shapes);
        assert_eq!(count("contype=\"2\" conaffinity=\"1\""), 1);
        // The licence stands beside the scene's folder and in the output, and is the same.
        let kept =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes").join(folder).join("LICENSE");
        assert_eq!(text(env, label, "LICENSE"), std::fs::read_to_string(kept).expect("LICENSE"));
        assert!(text(env, label, "source.xml").contains("<mujoco model="));
        assert_eq!(robot["source"]["sha256"].as_str().map(str::len), Some(64));
        assert!(robot["source"]["changes"].as_array().is_some_and(|c| c.len() > 5));
    }
    let go1 = text(env, GO1, "model.xml");
    let crouch = ["0.0 1.2 -2.4"; 4].join(" ");
    let home = ["0.0 0.9 -1.8"; 4].join(" ");
    assert!(go1.contains(&format!("{crouch}\" ctrl=\"{home}\"")), "P252: {go1}");
    assert!(go1.contains("cone=\"elliptic\" impratio=\"100.0\""));
    assert_eq!(go1.matches("forcerange=\"-35.55 35.55\"").count(), 4);
    assert_eq!(go1.matches("damping=\"2.0\"").count(), 8);
    let t1 = text(env, T1, "model.xml");
    assert!(t1.contains("integrator=\"implicitfast\""));
    assert_eq!(t1.matches("-0.6 0.0 0.0 1.2 -0.6 0.0").count(), 1 + 1, "P247");
    assert_eq!(t1.matches("type=\"box\" size=\"0.1115 0.05 0.015\"").count(), 2, "P246");
    assert_eq!(t1.matches("type=\"sphere\"").count(), 1, "the head alone");
}

/// P250, P253, P271 and P272, in MuJoCo; heights beside those that others measured.
#[test]
fn both_robots_stand_in_mujoco() {
    let Some(env) = stood() else { return };
    stand(env, "mujoco", (0.261, 0.003), (0.665, 0.01));
}

/// The same in Rapier, where a store that is given has it built already.
#[test]
fn both_robots_stand_in_rapier() {
    if stood().is_none() {
        return;
    }
    let env = robots(&["rapier"]);
    let built =
        plan(&env).iter().any(|(label, what, _)| label == "engine[rapier]" && what == "reused");
    if !built {
        skip("rapier", "no store with a built Rapier; SIM_PIPE_TEST_STORE names one");
        return;
    }
    cmd(&env, &["run", "pipeline.toml"]).run().expect(0);
    stand(&env, "rapier", (0.2785, 0.006), (0.665, 0.03));
    let r = json(&env, "trial[rapier]/robot_go1/1x1/r0/timed", "result.json");
    assert_eq!(
        (&r["settings"]["substeps"], &r["settings"]["internal_pgs_iterations"]),
        (&Value::from(1), &Value::from(4)),
        "P264"
    );
    assert_eq!(r["settings"]["worlds"], "one task each", "P266");
}

/// Both robots end at about these heights, in any number of worlds, with every link there and awake.
fn stand(env: &TestEnv, engine: &str, go1: (f64, f64), t1: (f64, f64)) {
    for (robot, links, (height, slack)) in [("robot_go1", 13, go1), ("robot_t1", 24, t1)] {
        for worlds in [1, 3] {
            let label = format!("trial[{engine}]/{robot}/1x{worlds}/r0/timed");
            let result = json(env, &label, "result.json");
            assert_eq!(result["outcome"]["status"], "ok");
            for id in ["base_height_min", "base_height_max"] {
                let z = number(gate(&result, id), "/value");
                assert!((z - height).abs() < slack, "{label}: {id} is {z} m");
            }
            assert!(number(gate(&result, "base_upright"), "/value") > 0.99, "{label}");
            assert!(number(gate(&result, "base_drift"), "/value") < 0.1, "{label}");
            assert_eq!(number(gate(&result, "asleep"), "/value"), 0.0);
            assert_eq!(number(&result, "/counters/simulated_bodies"), f64::from(links * worlds));
            assert_eq!(number(&result, "/scene/dynamic_bodies"), f64::from(links));
            assert!(number(&result, "/counters/contacts") >= f64::from(4 * worlds), "{label}");
        }
    }
}

/// P248: with the gains of the published model, which assume a policy that balances, T1 tips over
/// within three seconds; the gates say so.
#[test]
fn t1_tips_over_on_its_published_gains() {
    let Some(env) = stood() else { return };
    let folder = env.path("weak");
    std::fs::create_dir_all(&folder).expect("mkdir");
    let scene = text(env, T1, "scene.json");
    let weak = scene.replace(r#"kp=\"300.0\" kv=\"20.0\""#, r#"kp=\"75.0\" kv=\"5.0\""#);
    assert_ne!(weak, scene);
    std::fs::write(folder.join("scene.json"), weak).expect("write");
    let job = json(env, "trial[mujoco]/robot_t1/1x1/r0/timed", "job.json").to_string();
    std::fs::write(folder.join("job.json"), job.replace("\"steps\":480", "\"steps\":720"))
        .expect("write");
    let out = cmd(env, &["store", "path", "engine[mujoco]"]).run();
    let adapter = Path::new(out.expect(0).stdout.trim()).join("bin/sim-adapter-mujoco");
    let status = std::process::Command::new(adapter)
        .arg("run")
        .arg(folder.join("job.json"))
        .arg(&folder)
        .status()
        .expect("the adapter runs");
    assert!(status.success());
    let result = std::fs::read(folder.join("result.json")).expect("result.json");
    let result: Value = serde_json::from_slice(&result).expect("JSON");
    assert_eq!(result["outcome"]["status"], "gate_failed");
    assert!(number(gate(&result, "base_upright"), "/value") < 0.5);
    assert!(number(gate(&result, "base_height_min"), "/value") < 0.3);
}

/// P245, P271 and P273: a job that is too short is none, and a robot below its gate is no sample.
#[test]
fn short_jobs_are_refused_and_a_gate_that_fails_is_a_row() {
    if stood().is_none() {
        return;
    }
    let other = robots(&["mujoco"]);
    // Labels are the store's, so these trials have others than those that passed.
    other.replace("pipeline.toml", "name = \"trial\"", "name = \"broken\"");
    other.replace("pipeline.toml", "trial[*]", "broken[*]");
    other.write(
        "suite.toml",
        "[suite]\nname = \"s\"\n[[case]]\nscenario = \"robot_go1\"\nsizes = [1]\nsteps = 239\n",
    );
    let out = cmd(&other, &["run", "pipeline.toml"]).run();
    assert!(
        out.err().contains("a robot is judged after 1 simulated second: 240 steps"),
        "{}",
        out.err()
    );
    other.write("suite.toml", "[suite]\nname = \"s\"\n[[case]]\nscenario = \"robot_go1\"\nsizes = [1]\ngates.base_height_min_m = 0.3\n");
    let out = cmd(&other, &["run", "pipeline.toml"]).run();
    out.expect(5);
    let failed = json(&other, "broken[mujoco]/robot_go1/1x1/r0/timed", "result.json");
    assert_eq!(failed["outcome"]["status"], "gate_failed");
    let reason = failed["outcome"]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("base_height_min is 0.26"), "{reason}");
    other.write(
        "suite.toml",
        "[suite]\nname = \"s\"\n[[case]]\nscenario = \"robot_go1\"\nsizes = [2]\n",
    );
    let out = cmd(&other, &["plan", "pipeline.toml"]).run();
    assert!(
        out.expect(3).err().contains("size 2: robot_go1 takes from 1 to 1 robots"),
        "{}",
        out.err()
    );
}
