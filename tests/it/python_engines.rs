//! Engines in Python, built from their pins by the program itself: the environment, the kernels compiled
//! ahead, and what the engines do. The environment is some hundred megabytes and stays in the store that
//! outlives the tests.

use crate::engines::{cmd, copy, gate, json, number, offline, plan};
use crate::harness::{TestEnv, skip};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

const PIPELINE: &str = r#"[pipeline]
name = "it-python"
seed = 7

[[stage]]
name = "engine"
kind = "build-engine"
matrix.engine = ["ENGINE"]

[[stage]]
name = "trial"
kind = "trial"
suite = "suite.toml"
matrix.engine = ["ENGINE"]
inputs.engine = "engine[{engine}]"
replays = ["memory", "capture"]
timeout = "10min"
"#;

const SUITE: &str = r#"[suite]
name = "python"

[[case]]
scenario = "free_fall"
sizes = [4]
steps = 60

[[case]]
scenario = "box_pile"
sizes = [4]
worlds = [1, 3]
capture.worlds = [3]
steps = 60

[[case]]
scenario = "robot_go1"
sizes = [1]
worlds = [2]
capture.worlds = []
steps = 240
"#;

fn project(engine: &str) -> TestEnv {
    project_of(engine, SUITE)
}

fn project_of(engine: &str, suite: &str) -> TestEnv {
    let env = TestEnv::with_pipeline(&PIPELINE.replace("ENGINE", engine));
    env.write("suite.toml", suite);
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["engines/protocol", "engines/harness", "engines/python"] {
        copy(&repository.join(folder), &env.path(folder));
    }
    let folder = format!("engines/{engine}");
    copy(&repository.join(&folder), &env.path(&folder));
    env
}

/// Runs MuJoCo Warp's project once; every test uses what that gave. None without a network.
fn warp() -> Option<&'static TestEnv> {
    static RUN: OnceLock<Option<TestEnv>> = OnceLock::new();
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    RUN.get_or_init(|| {
        let env = project("mujoco_warp");
        let out = cmd(&env, &["run", "pipeline.toml"]).run();
        if offline(&out) {
            return None;
        }
        out.expect(0);
        Some(env)
    })
    .as_ref()
}

fn result(env: &TestEnv, engine: &str, case: &str) -> Value {
    json(env, &format!("trial[{engine}]/{case}"), "result.json")
}

/// P065, P097, P102, P130, P171, P271: what holds of every engine in Python, of any precision. `stands` is the
/// height of Go1's base after a second, m.
fn does_as_it_says(env: &TestEnv, engine: &str, stands: f64) {
    let fall = result(env, engine, "free_fall/4x1/r0/timed");
    // First-order Euler is g·dt·t/2 from the closed form; single precision adds little to it.
    let euler = 9.81 / 240.0 * 0.25 / 2.0;
    let error = number(&fall["accuracy"][0], "/error");
    assert!((error - euler).abs() < 2e-5, "{error} m, not {euler} m");
    for case in ["free_fall/4x1", "box_pile/4x1", "box_pile/4x3", "robot_go1/1x2"] {
        let timed = result(env, engine, &format!("{case}/r0/timed"));
        assert_eq!(timed["outcome"]["status"], "ok", "{case}: {:#}", timed["outcome"]);
        assert!(number(&timed, "/phases/measured_ns") > 0.0);
        // An engine that cannot drop a contact counts none.
        assert_eq!(timed["counters"].get("overflow").unwrap_or(&0.into()), 0);
        assert_eq!(timed["settings"]["kernels_compiled_in_setup"], 0, "{case}: compiled ahead");
        let exact = timed["translation"]["exact"].as_array().expect("a translation");
        assert!(!exact.is_empty());
        let memory = result(env, engine, &format!("{case}/r0/memory"));
        assert_eq!(memory["outcome"]["status"], "ok");
        assert_eq!(memory.get("ms_per_step"), None, "its time is no sample");
        let peak = number(&memory, "/memory/metrics/0/peak_bytes");
        assert!(
            peak > 5e7 && memory["memory"]["snapshots"].as_array().is_some_and(|s| s.len() == 5)
        );
        assert_eq!(memory["gpu_memory"]["status"], "not_applicable");
        if bitwise(env, engine) {
            assert_eq!(timed["final_state_digest"], memory["final_state_digest"], "{case}");
        }
    }
    let capture = result(env, engine, "box_pile/4x3/r0/capture");
    assert_eq!(capture["outcome"]["status"], "ok");
    if bitwise(env, engine) {
        assert_eq!(capture["capture"]["final_state"]["status"], "same", "world 0 of three, alone");
    }
    // Others measured 0.2578 m in MuJoCo and MuJoCo Warp, 0.2565 m in Newton.
    let height =
        number(gate(&result(env, engine, "robot_go1/1x2/r0/timed"), "base_height_min"), "/value");
    assert!((height - stands).abs() < 2e-3, "the base stands at {height} m");
}

fn bitwise(env: &TestEnv, engine: &str) -> bool {
    let description = json(env, &format!("engine[{engine}]"), "describe.json");
    description["capabilities"]["repeatability"]["status"] == "bitwise"
}

#[test]
fn mujoco_warp_does_as_it_says_on_its_cpu_backend() {
    let Some(env) = warp() else { return };
    does_as_it_says(env, "mujoco_warp", 0.257);
    let built = json(env, "engine[mujoco_warp]", "engine.json");
    assert_eq!(built["version"], "3.17.0");
    let said = json(env, "engine[mujoco_warp]", "describe.json");
    assert_eq!((&said["version"], &said["backends"][0]), (&"3.17.0".into(), &"cpu".into()));
}

/// Each trap of `engines/python/tests/traps.py` on the built adapter, in its environment.
fn traps(env: &TestEnv, engine: &str, lock: &str) {
    let path = |label: &str| {
        let out = cmd(env, &["store", "path", label]).run();
        out.expect(0).stdout.trim().to_owned()
    };
    let kernels = format!("{}/kernels", path(&format!("trial[{engine}]/box_pile/4x1/kernels")));
    let mut python = Command::new("python3");
    python
        .args(["-B", "traps.py", &path(&format!("engine[{engine}]")), engine])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("engines/python/tests"))
        .env("SIM_ENGINE_ENVIRONMENT", path(&format!("environment/{lock}")))
        .env("SIM_ENGINE_CACHE", kernels);
    let out = python.output().expect("python3");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn mujoco_warp_does_not_fall_into_its_traps() {
    let Some(env) = warp() else { return };
    traps(env, "mujoco_warp", "engines/mujoco_warp/lock.toml");
}

/// Another wheel makes the environment, the adapter and its trials anew; a lock that is not the pin's is
/// refused with a place.
#[test]
fn a_changed_lock_makes_the_environment_anew() {
    let Some(_) = warp() else { return };
    let env = project("mujoco_warp");
    let lock = "engines/mujoco_warp/lock.toml";
    let done = |env: &TestEnv| -> Vec<String> {
        let made = plan(env).into_iter().filter(|(_, what, _)| what != "reused");
        made.map(|(label, ..)| label).collect()
    };
    assert_eq!(done(&env), [""; 0], "all of it is there");
    let text = std::fs::read_to_string(env.path(lock)).expect("a lock");
    let at = text.find("package = \"zipp\"").expect("zipp");
    let sha = text[at..].find("sha256 = \"").expect("a digest") + at + 10;
    let changed = format!("{}{}{}", &text[..sha], "0".repeat(64), &text[sha + 64..]);
    env.write(lock, &changed);
    let made = done(&env);
    for label in ["environment/engines/mujoco_warp/lock.toml", "engine[mujoco_warp]"] {
        assert!(made.iter().any(|m| m == label), "{label} in {made:?}");
    }
    assert!(made.iter().any(|m| m.ends_with("r0/timed")), "{made:?}");
    assert!(!made.iter().any(|m| m.starts_with("library/") || m.starts_with("scene/")), "{made:?}");
    env.replace(lock, "requires = [\"mujoco==3.17.0\"", "requires = [\"mujoco==3.16.0\"");
    let out = cmd(&env, &["plan", "pipeline.toml"]).run();
    assert!(out.expect(3).stderr.contains("the lock is one of mujoco==3.16.0"), "{out}");
}

/// Engines with larger environments, where a store that is given has them already.
pub(crate) fn where_built(engine: &str, suite: &str) -> Option<TestEnv> {
    let env = project_of(engine, suite);
    // A suite may name its baseline.
    env.write("engines/genesis/engine.toml", include_str!("../../engines/genesis/engine.toml"));
    let label = format!("engine[{engine}]");
    let built = plan(&env).iter().any(|(l, what, _)| *l == label && what == "reused");
    if !built {
        skip(engine, "no store with its built environment; SIM_PIPE_TEST_STORE names one");
        return None;
    }
    cmd(&env, &["run", "pipeline.toml"]).run().expect(0);
    Some(env)
}

/// P127: SolverMuJoCo with MuJoCo Warp inside; P259: its room for robots.
#[test]
fn newton_does_as_it_says_on_its_cpu_backend() {
    let Some(env) = where_built("newton", SUITE) else { return };
    does_as_it_says(&env, "newton", 0.257);
    let r = result(&env, "newton", "robot_go1/1x2/r0/timed");
    assert_eq!(r["settings"]["rigid_solver"], "SolverMuJoCo with MuJoCo Warp");
    assert_eq!((&r["settings"]["contacts"], &r["settings"]["rows"]), (&512.into(), &256.into()));
    assert_eq!(r["settings"]["cone"], "elliptic", "the model's own");
    traps(&env, "newton", "engines/newton/lock.toml");
}

/// P130: compiled, vmapped over the worlds.
#[test]
fn mjx_does_as_it_says_on_its_cpu_backend() {
    let Some(env) = where_built("mjx", SUITE) else { return };
    does_as_it_says(&env, "mjx", 0.257);
    assert_eq!(result(&env, "mjx", "box_pile/4x3/r0/timed")["settings"]["worlds"], "vmap");
    traps(&env, "mjx", "engines/mjx/lock.toml");
}

/// P054, P126, P201: its rigid solver with what has defaults of its own set on purpose.
#[test]
fn genesis_does_as_it_says_on_its_cpu_backend() {
    let Some(env) = where_built("genesis", SUITE) else { return };
    does_as_it_says(&env, "genesis", 0.270);
    let pile = result(&env, "genesis", "box_pile/4x3/r0/timed");
    let said = |name: &str| &pile["settings"][name];
    assert_eq!((said("sdf_max_res"), said("sdf_active")), (&16.into(), &false.into()));
    assert_eq!((said("iterations"), said("pairs")), (&50.into(), &150.into()));
    assert_eq!(result(&env, "genesis", "robot_go1/1x2/r0/timed")["settings"]["cone"], "elliptic");
    traps(&env, "genesis", "engines/genesis/lock.toml");
}
