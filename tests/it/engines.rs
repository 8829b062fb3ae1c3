//! Real engines, built from their pins by the program itself. They are built once, into a store that
//! outlives the tests: SIM_PIPE_TEST_STORE, or `it-store` in cargo's target folder.

use crate::harness::{Cmd, Out, TestEnv, assert_text, skip};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// A first build of an engine takes minutes.
const BOUND: Duration = Duration::from_secs(45 * 60);

const HELLO: &str = r#"[pipeline]
name = "it-hello"
title = "Engines under test"
seed = 7

[[stage]]
name = "engine"
kind = "build-engine"
matrix.engine = ["mujoco"]

[[stage]]
name = "trial"
kind = "trial"
suite = "suite.toml"
matrix.engine = ["mujoco"]
inputs.engine = "engine[{engine}]"
replays = ["memory"]

[[stage]]
name = "site"
kind = "report"
inputs.trials = "trial[*]"
templates = "templates"
"#;

const SUITE: &str = r#"[suite]
name = "hello"
repeats = 2

[[case]]
scenario = "free_fall"
sizes = [30]
steps = 240

[[case]]
scenario = "box_pile"
sizes = [30]
steps = 120

[[case]]
scenario = "hinge_field"
sizes = [9]
worlds = [1, 3]
steps = 60
"#;

/// The repository's engines in a project of the test's own.
pub(crate) fn project(engines: &[&str]) -> TestEnv {
    let list = engines.iter().map(|e| format!("{e:?}")).collect::<Vec<_>>().join(", ");
    let env = TestEnv::with_pipeline(&HELLO.replace("[\"mujoco\"]", &format!("[{list}]")));
    env.write("suite.toml", SUITE);
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in
        ["engines/protocol", "engines/harness", "engines/mujoco", "engines/rapier", "templates"]
    {
        copy(&repository.join(folder), &env.path(folder));
    }
    env
}

/// A source folder without what cargo builds in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("mkdir");
    for entry in std::fs::read_dir(from).expect("read") {
        let entry = entry.expect("an entry");
        if entry.file_name() == "target" {
            continue;
        }
        if entry.path().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else {
            std::fs::copy(entry.path(), to.join(entry.file_name())).expect("copy");
        }
    }
}

fn store() -> PathBuf {
    std::env::var_os("SIM_PIPE_TEST_STORE").map_or_else(
        || {
            Path::new(env!("CARGO_TARGET_TMPDIR"))
                .parent()
                .expect("the target folder")
                .join("it-store")
        },
        PathBuf::from,
    )
}

/// A command with the caller's tools and settings: building needs a compiler and the registries.
pub(crate) fn cmd(env: &TestEnv, args: &[&str]) -> Cmd {
    let mut cmd = env.cmd(args).env("SIM_PIPE_STORE", store()).bound(BOUND);
    let wanted = |name: &str| {
        let lower = name.to_ascii_lowercase();
        ["path", "home", "rustup_home", "cargo_home"].contains(&lower.as_str())
            || lower.ends_with("_proxy")
            || lower.contains("_cert")
            || lower.ends_with("_ca_bundle")
            || ["pip_", "cargo_http_", "cargo_net_", "cargo_registries_", "cargo_source_"]
                .iter()
                .any(|p| lower.starts_with(p))
    };
    for (name, value) in std::env::vars() {
        if wanted(&name) {
            cmd = cmd.env(&name, value);
        }
    }
    cmd
}

/// Whether fetching failed and the machine is said to have no network.
pub(crate) fn offline(out: &Out) -> bool {
    let fetch = out.stderr.lines().any(|l| l.contains("failed  fetch/"));
    if fetch && std::env::var_os("SIM_PIPE_TEST_OFFLINE").is_some() {
        skip("network", "SIM_PIPE_TEST_OFFLINE is set and a fetch failed");
        return true;
    }
    false
}

/// Runs the project once; every test uses what that gave. None without a network.
pub(crate) fn mujoco() -> Option<&'static TestEnv> {
    static RUN: OnceLock<Option<TestEnv>> = OnceLock::new();
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    RUN.get_or_init(|| {
        let env = project(&["mujoco"]);
        let out = cmd(&env, &["run", "pipeline.toml"]).run();
        if offline(&out) {
            return None;
        }
        out.expect(0);
        Some(env)
    })
    .as_ref()
}

/// A JSON file of an action's output.
pub(crate) fn json(env: &TestEnv, label: &str, file: &str) -> Value {
    let out = cmd(env, &["store", "path", label]).run();
    let path = Path::new(out.expect(0).stdout.trim()).join(file);
    let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

pub(crate) fn number(value: &Value, pointer: &str) -> f64 {
    value
        .pointer(pointer)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("{pointer} in {value:#}"))
}

pub(crate) fn gate<'v>(result: &'v Value, id: &str) -> &'v Value {
    let gates = result["gates"].as_array().expect("gates");
    gates.iter().find(|g| g["id"] == id).unwrap_or_else(|| panic!("gate {id} in {result:#}"))
}

const FALL: &str = "trial[mujoco]/free_fall/30x1/r0";
const PILE: &str = "trial[mujoco]/box_pile/30x1/r0";

/// P065: the bodies are where Newton says, computed here from the scene and not by the gate.
#[test]
fn a_falling_body_is_where_the_closed_form_says() {
    let Some(env) = mujoco() else { return };
    falls(env, "mujoco");
}

fn falls(env: &TestEnv, engine: &str) {
    let scene = json(env, "scene/free_fall/30@1/240#7", "scene.json");
    let label = format!("trial[{engine}]/free_fall/30x1/r0/timed");
    let (result, poses) = (json(env, &label, "result.json"), json(env, &label, "final.json"));
    let limit = number(gate(&result, "free_fall"), "/limit");
    assert_eq!(gate(&result, "free_fall")["passed"], true);
    let time = number(&scene, "/timestep") * number(&result, "/steps");
    assert!((time - 1.0).abs() < 1e-12, "{time} s");
    // Semi-implicit Euler is off by g t dt / 2, which is what the limit has to cover.
    assert!(limit < 0.1, "a gate of {limit} m says nothing");
    let bodies = scene["bodies"].as_array().expect("bodies");
    let moving: Vec<&Value> = bodies.iter().filter(|b| b["kind"] == "dynamic").collect();
    let poses = poses["poses"].as_array().expect("poses");
    assert_eq!((moving.len(), poses.len()), (30, 30));
    for (body, pose) in moving.iter().zip(poses) {
        let mut square = 0.0;
        for axis in 0..3 {
            let at = |name: &str| number(body, &format!("/{name}/{axis}"));
            let gravity = number(&scene, &format!("/gravity/{axis}"));
            let exact = at("position") + at("linear_velocity") * time + gravity * time * time / 2.0;
            square += (number(pose, &format!("/position/{axis}")) - exact).powi(2);
        }
        assert!(
            square.sqrt() <= limit,
            "{} m from the closed form, allowed {limit} m",
            square.sqrt()
        );
    }
}

/// P097, P101, P102: a replay in a fresh process comes to the same state to the bit, passes the same
/// gates and gives no time.
#[test]
fn the_memory_replay_ends_in_the_same_state() {
    let Some(env) = mujoco() else { return };
    for case in [FALL, PILE, "trial[mujoco]/hinge_field/9x3/r0"] {
        let timed = json(env, &format!("{case}/timed"), "result.json");
        let memory = json(env, &format!("{case}/memory"), "result.json");
        assert!(timed["final_state_digest"].is_string());
        assert_eq!(timed["final_state_digest"], memory["final_state_digest"], "{case}");
        let ids = |r: &Value| -> Vec<String> {
            r["gates"].as_array().expect("gates").iter().map(|g| g["id"].to_string()).collect()
        };
        assert_eq!(ids(&timed), ids(&memory));
        assert_eq!(memory["outcome"]["status"], "ok");
        assert_eq!(memory.pointer("/phases/measured_ns"), None, "its time is no sample");
        assert_eq!(memory.get("ms_per_step"), None);
        assert_eq!(timed["warmup_steps"], memory["warmup_steps"]);
        assert_eq!(timed["settings"], memory["settings"]);
    }
    // Repeats of a deterministic engine agree too.
    let again = json(env, &format!("{}1/timed", PILE.trim_end_matches('0')), "result.json");
    assert_eq!(
        again["final_state_digest"],
        json(env, &format!("{PILE}/timed"), "result.json")["final_state_digest"]
    );
}

/// P004 to P015: phases apart, warm-up as long as the rollout, and rates from the interval alone.
#[test]
fn a_timed_result_says_where_its_time_went() {
    let Some(env) = mujoco() else { return };
    for (case, steps, worlds) in
        [(FALL, 240.0, 1.0), (PILE, 120.0, 1.0), ("trial[mujoco]/hinge_field/9x3/r0", 60.0, 3.0)]
    {
        let r = json(env, &format!("{case}/timed"), "result.json");
        assert_eq!(r["mode"], "timed");
        assert_eq!(number(&r, "/steps"), steps);
        assert_eq!(number(&r, "/worlds"), worlds);
        assert_eq!(number(&r, "/warmup_steps"), steps, "P005: max(warmup, steps)");
        for phase in ["load", "setup", "warmup", "reset", "measured", "readback"] {
            assert!(number(&r, &format!("/phases/{phase}_ns")) >= 0.0, "P009: {phase}");
        }
        let seconds = number(&r, "/phases/measured_ns") * 1e-9;
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
        assert!(close(number(&r, "/ms_per_step"), seconds * 1e3 / steps), "P014");
        assert!(close(number(&r, "/world_steps_per_second"), steps * worlds / seconds), "P015");
        assert_eq!(r.get("memory"), None, "nothing is sampled inside the interval");
    }
}

/// P001 to P003: every trial is a process of its own, one after the other, in a fixed shuffled order.
#[test]
fn trials_are_processes_of_their_own_and_never_overlap() {
    let Some(env) = mujoco() else { return };
    let store = sim_store::Store::open_existing(&store()).expect("open the store");
    let root = store.root_named("it-hello").expect("read").expect("a root");
    let mut spans = Vec::new();
    for entry in root.entries.iter().filter(|e| e.label.starts_with("trial[")) {
        let record =
            store.record_generation(&entry.key, entry.generation).expect("read").expect("a record");
        assert_eq!(record.argv, ["sim-pipe", "stage", "trial"]);
        assert!(record.conditions.is_some(), "P164, P167: the machine's state is recorded");
        spans.push((record.started_unix_ms as f64, record.usage.wall_ms, record.label));
    }
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!(spans.len(), 16);
    for pair in spans.windows(2) {
        // Starts are in whole milliseconds.
        assert!(
            pair[0].0 + pair[0].1 <= pair[1].0 + 1.0,
            "P002: {} overlaps {}",
            pair[0].2,
            pair[1].2
        );
    }
    let again = cmd(env, &["run", "pipeline.toml"]).run();
    assert!(again.expect(0).stderr.starts_with("it-hello: nothing to do"), "{again}");
}

/// P047 to P068: what was simulated, how, and what became of the scene.
#[test]
fn a_result_carries_its_settings_gates_and_translation() {
    let Some(env) = mujoco() else { return };
    let pile = json(env, &format!("{PILE}/timed"), "result.json");
    let hinge = json(env, "trial[mujoco]/hinge_field/9x1/r0/timed", "result.json");
    let fall = json(env, &format!("{FALL}/timed"), "result.json");
    assert_eq!(pile["engine"]["name"], "mujoco");
    assert_eq!(pile["engine"]["version"], "3.17.0");
    assert_eq!(pile["precision"], "double", "P057");
    let settings = &pile["settings"];
    assert_eq!(settings["integrator"], "Euler", "P053");
    assert_eq!(settings["solver"], "Newton", "P053");
    assert_eq!(settings["iterations"], 50, "P053");
    assert_eq!(settings["solref"], "0.02 1", "P055");
    assert_eq!(settings["sleeping"], false, "P050");
    assert_eq!(settings["worlds"], "serial");
    for (id, result) in [
        ("missing_poses", &pile),
        ("non_finite", &pile),
        ("quaternion_norm", &pile),
        ("asleep", &pile),
        ("floor_penetration", &pile),
        ("anchor_drift", &hinge),
        ("free_fall", &fall),
    ] {
        let g = gate(result, id);
        assert_eq!(g["passed"], true, "P059 to P065: {g}");
        assert!(g["limit"].is_number() && g["value"].is_number() && g["unit"].is_string());
    }
    assert_eq!(number(gate(&pile, "floor_penetration"), "/limit"), 0.15, "P063");
    assert_eq!(number(gate(&hinge, "anchor_drift"), "/limit"), 0.08, "P064");
    assert_eq!(number(&pile, "/counters/simulated_bodies"), 30.0, "P051");
    assert!(number(&pile, "/counters/contacts") > 0.0, "a pile touches");
    assert_eq!(number(&pile, "/scene/dynamic_bodies"), 30.0);
    assert!(!pile["translation"]["exact"].as_array().expect("a list").is_empty());
    assert!(
        pile["translation"]["approximated"].is_array() && pile["translation"]["dropped"].is_array()
    );
    // P047, P048, P162: the scene that both engines get is a file of its own, and the result names it.
    let scene = json(env, "scene/box_pile/30@1/240#7", "scene.json");
    for body in scene["bodies"].as_array().expect("bodies") {
        for key in [
            "kind",
            "shape",
            "mass",
            "inertia",
            "position",
            "orientation",
            "linear_velocity",
            "angular_velocity",
            "friction",
        ] {
            assert!(body.get(key).is_some(), "P048: {key} in {body}");
        }
    }
    assert!(scene["gravity"].is_array() && scene["timestep"].is_number());
}

/// P098 to P105, P110, P117: five snapshots, the kernel's own counters, a sampler of 10 ms.
#[test]
fn a_memory_result_has_five_snapshots() {
    let Some(env) = mujoco() else { return };
    let r = json(env, &format!("{PILE}/memory"), "result.json");
    let memory = &r["memory"];
    let snapshots = memory["snapshots"].as_array().expect("snapshots");
    let phases: Vec<&str> = snapshots.iter().filter_map(|s| s["phase"].as_str()).collect();
    assert_eq!(
        phases,
        ["before_setup", "after_setup", "after_warmup", "after_reset", "after_rollout"]
    );
    let mut peak = 0.0;
    for s in snapshots {
        assert!(number(s, "/ram_bytes") > 0.0 && number(s, "/ram_peak_bytes") >= peak, "{s}");
        peak = number(s, "/ram_peak_bytes");
    }
    assert_eq!(memory["target_interval_ms"], 10);
    assert_eq!(number(memory, "/completed_steps"), 120.0);
    let metrics = memory["metrics"].as_array().expect("metrics");
    let ram = metrics.iter().find(|m| m["name"] == "ram").expect("ram");
    assert!(ram["current_counter"].as_str().is_some_and(|c| c.contains("VmRSS")), "{ram}");
    assert!(ram["peak_counter"].as_str().is_some_and(|c| c.contains("VmHWM")), "{ram}");
    assert!(number(ram, "/peak_bytes") >= peak);
    assert_eq!(r["gpu_memory"]["status"], "not_applicable", "P110");
}

/// P159 to P161, P164, P165: the site says what ran, of which pin, on which machine.
#[test]
fn the_site_shows_what_was_measured() {
    let Some(env) = mujoco() else { return };
    let site = env.path("out/it-hello");
    let page = std::fs::read_to_string(site.join("index.html")).expect("the site");
    for word in ["Engines under test", "MuJoCo", "3.17.0"] {
        assert!(page.contains(word), "{word} is not on the first page");
    }
    assert!(
        !page.contains("http://") && !page.contains("src=\"//"),
        "the site asks nobody for anything"
    );
    cmd(env, &["audit", "pipeline.toml"]).run().expect(0);
}

/// What a run would do, by label.
pub(crate) fn plan(env: &TestEnv) -> Vec<(String, String, Option<String>)> {
    let out = cmd(env, &["plan", "pipeline.toml", "--json"]).run();
    let text = |v: &Value| v.as_str().map(str::to_owned);
    out.expect(0)
        .json()
        .iter()
        .map(|l| {
            (text(&l["label"]).expect("a label"), text(&l["do"]).expect("a word"), text(&l["key"]))
        })
        .collect()
}

/// Another pin of Rapier leaves all of MuJoCo reused, and says so before anything runs.
#[test]
fn a_changed_pin_reaches_its_own_engine_only() {
    if mujoco().is_none() {
        return;
    }
    let env = project(&["mujoco", "rapier"]);
    let before = plan(&env);
    env.replace("engines/rapier/engine.toml", "version = \"0.36.1\"", "version = \"0.36.0\"");
    env.replace("engines/rapier/Cargo.toml", "=0.36.1", "=0.36.0");
    let after = plan(&env);
    assert_eq!(before.len(), after.len());
    let of = |engine: &str, label: &str| {
        label.contains(&format!("[{engine}]"))
            || label.starts_with(&format!("fetch/crates/{engine}"))
            || label.starts_with(&format!("fetch/pypi/{engine}"))
    };
    let mut counts = (0, 0);
    for ((label, _, key), (_, what, now)) in before.iter().zip(&after) {
        if of("mujoco", label) || label.starts_with("scene/") {
            counts.0 += 1;
            assert_eq!(what, "reused", "{label}");
            assert_eq!(key, now, "{label}");
        } else if of("rapier", label) {
            counts.1 += 1;
            assert_ne!(what, "reused", "{label}");
        }
    }
    // Two fetches, a build and sixteen trials, with the scenes; a fetch, a build and the trials.
    assert!(counts.0 >= 22 && counts.1 >= 18, "{counts:?}\n{after:?}");
    let touched = |env: &TestEnv| {
        cmd(env, &["explain", "pipeline.toml", "engine[mujoco]"])
            .run()
            .expect(0)
            .stdout
            .contains("reused")
    };
    assert!(touched(&env));
}

/// `explain` of a changed pin, of changed adapter source and of a changed lock.
#[test]
fn explain_names_what_of_a_pin_changed() {
    if mujoco().is_none() {
        return;
    }
    let explain = |change: &dyn Fn(&TestEnv)| {
        let env = project(&["mujoco"]);
        change(&env);
        cmd(&env, &["explain", "pipeline.toml"]).run().expect(0).out()
    };
    let pin = explain(&|env| {
        env.replace("engines/mujoco/engine.toml", "version = \"3.17.0\"", "version = \"3.16.0\"");
    });
    assert_text(
        &pin,
        r#"
fetch/pypi/mujoco-3.17.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl: would run · key [HASH]
  first difference: args.version
    before: "3.17.0"
       now: "3.16.0"   [engines/mujoco/engine.toml:17:11]
"#,
    );
    let source = explain(&|env| {
        let path = "engines/mujoco/src/main.rs";
        let text = std::fs::read_to_string(env.path(path)).expect("read");
        env.write(path, format!("// a remark\n{text}"));
    });
    assert_text(&source, "
engine[mujoco]: would run · key [HASH]
  first difference: inputs.crate
    before: [HASH]
       now: [HASH]
            from engines/mujoco
            ~ src/main.rs
                - line 1: //! `sim-adapter-mujoco describe` and `sim-adapter-mujoco run JOB.json OUT_DIR`.
                + line 1: // a remark
");
    let lock = explain(&|env| {
        let path = "engines/mujoco/Cargo.lock";
        let text = std::fs::read_to_string(env.path(path)).expect("read");
        env.write(path, format!("{text}\n"));
    });
    assert_text(
        &lock,
        "
fetch/crates/mujoco: would run · key [HASH]
  first difference: inputs.lock
    before: [HASH]
       now: [HASH]
            from engines/mujoco/Cargo.lock
            ~ the file
                - line 377: (end of the file)
                + line 377:
",
    );
}

/// Rapier, where a store that is given has it built already.
#[test]
fn rapier_falls_as_the_closed_form_says() {
    if mujoco().is_none() {
        return;
    }
    let env = project(&["rapier"]);
    env.replace("pipeline.toml", "it-hello", "it-rapier");
    let built =
        plan(&env).iter().any(|(label, what, _)| label == "engine[rapier]" && what == "reused");
    if !built {
        skip("rapier", "no store with a built Rapier; SIM_PIPE_TEST_STORE names one");
        return;
    }
    cmd(&env, &["run", "pipeline.toml"]).run().expect(0);
    falls(&env, "rapier");
    let r = json(&env, "trial[rapier]/box_pile/30x1/r0/timed", "result.json");
    assert_eq!(r["precision"], "single", "P057");
    assert_eq!(r["settings"]["substeps"], 4, "P052");
    assert_eq!(number(&r, "/counters/awake_bodies"), 30.0, "P051");
}
