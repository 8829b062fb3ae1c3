//! The method of the benchmark on the fake engine, whose motion is known to the last bit: sweeps of
//! timesteps, the control, and what the site makes of them.

use crate::fake::{self, Fake};
use crate::harness::TestEnv;
use serde_json::Value;

const SWEEP: &str = r#"[suite]
name = "sweep"
purpose = "precision"
repeats = 2

[[case]]
scenario = "free_fall"
sizes = [3]
timesteps = ["1/50", "1/100", "1/200"]
duration = 0.5
variants = [{ another.integrator = "RK4" }]
"#;

fn result(env: &TestEnv, label: &str) -> Value {
    serde_json::from_str(&env.text(label, "result.json")).expect("result.json")
}

/// Semi-implicit Euler is off by g·dt·t/2 after t, to the rounding of its additions.
#[test]
fn the_error_of_free_fall_is_that_of_its_integrator() {
    let env = fake::project(&Fake { suite: SWEEP, ..Fake::default() });
    env.write(
        "engines/another/engine.toml",
        "# An engine of the project that this stage does not run.\n",
    );
    env.run_ok(&[]);
    for (dt, steps) in [(50_u32, 25), (100, 50), (200, 100)] {
        let label = format!("trial[good]/free_fall/3x1/dt1_{dt}/r0/timed");
        let result = result(&env, &label);
        assert_eq!(result["steps"], steps);
        let found = &result["accuracy"][0];
        assert_eq!((&found["id"], &found["unit"]), (&"free_fall".into(), &"m".into()));
        let error = found["error"].as_f64().expect("an error");
        let known = 9.81 * 0.5 / f64::from(dt) / 2.0;
        assert!((error - known).abs() < 1e-10, "{error} is not {known}");
    }
    // A variant of an engine that this stage does not run adds nothing.
    let trials = env.records().iter().filter(|r| r.kind == "trial").count();
    assert_eq!(trials, 6);
}

#[test]
fn a_control_runs_each_repeat_on_both_sides() {
    let suite = fake::FALL.replace("repeats = 1", "repeats = 2\npurpose = \"control\"");
    let env = fake::project(&Fake { suite: &suite, ..Fake::default() });
    env.run_ok(&[]);
    let state = |side: &str, repeat: u32| {
        let label = format!("trial[good]/free_fall/3x1/{side}/r{repeat}/timed");
        result(&env, &label)["final_state_digest"].clone()
    };
    let first = state("a", 0);
    assert!(first.is_string());
    for (side, repeat) in [("a", 1), ("b", 0), ("b", 1)] {
        assert_eq!(state(side, repeat), first, "{side} {repeat}");
    }
}

/// A misspelt engine would be left out without a word: it is an error at its place, in `variants` and as
/// the baseline (P206).
#[test]
fn an_engine_that_is_not_there_is_an_error_at_its_place() {
    let suite = fake::FALL.replace("repeats = 1", "repeats = 1\nbaseline = \"fakke\"")
        + "variants = [{ fake.substeps = 4 }, { mujocco.integrator = \"RK4\" }]\n";
    let env = fake::project(&Fake { suite: &suite, ..Fake::default() });
    let out = env.sim(["run", "pipeline.toml"]);
    out.expect(3);
    for expected in [
        "error[SP0403]: there is no engine `fakke`\n  --> suite.toml:4:12",
        "error[SP0403]: there is no engine `mujocco`\n  --> suite.toml:10:38",
        "or this stage's `fake`",
    ] {
        assert!(out.stderr.contains(expected), "{expected}\n{out}");
    }
    // Engines of the project that this stage does not run are fine.
    env.write("engines/mujocco/engine.toml", "");
    env.write("engines/fakke/engine.toml", "");
    env.sim(["plan", "pipeline.toml"]).expect(0);
}

/// P206: what the suite names is no part of any trial's key, so another baseline runs no trial again.
#[test]
fn another_baseline_runs_no_trial_again() {
    let suite = fake::FALL.replace("repeats = 1", "repeats = 1\nbaseline = \"fake\"");
    let env = fake::project(&Fake { suite: &suite, ..Fake::default() });
    env.write("engines/other/engine.toml", "");
    env.run_ok(&[]);
    let facts = env.text("trial[good]/suite", "suite.json");
    assert!(facts.contains("\"baseline\": \"fake\""), "{facts}");
    env.replace("suite.toml", "baseline = \"fake\"", "baseline = \"other\"");
    env.run_ok(&[]).assert_ran(&["trial[good]/suite"]);
}

/// The repeats of a case are processes of their own, one after the other: every interval over repeats is
/// one over processes.
#[test]
fn repeats_are_processes() {
    let suite = fake::FALL.replace("repeats = 1", "repeats = 5");
    let env = fake::project(&Fake { suite: &suite, ..Fake::default() });
    let ran = env.run_ok(&[]);
    let trials: Vec<String> = ran.ran().into_iter().filter(|l| l.starts_with("trial[")).collect();
    assert_eq!(trials.len(), 5, "{trials:?}");
    let mut records: Vec<_> = trials.iter().map(|l| env.record(l)).collect();
    records.sort_by_key(|r| r.started_unix_ms);
    let keys: std::collections::BTreeSet<_> = records.iter().map(|r| r.key).collect();
    assert_eq!(keys.len(), 5, "an observation each");
    for pair in records.windows(2) {
        let end = pair[0].started_unix_ms as f64 + pair[0].usage.wall_ms;
        // Starts are in whole milliseconds.
        assert!(end <= pair[1].started_unix_ms as f64 + 1.0, "{} overlaps", pair[0].label);
    }
    for r in &records {
        assert_eq!(r.argv, ["sim-pipe", "stage", "trial"]);
        assert!(r.conditions.is_some(), "the load around each of them is recorded");
    }
}

#[test]
fn a_setting_that_the_engine_does_not_take_is_a_row_with_its_reason() {
    let suite = format!("{}variants = [{{ fake.substeps = 4 }}]\n", fake::FALL);
    let env = fake::project(&Fake { suite: &suite, ..Fake::default() });
    env.cmd(["run", "pipeline.toml"]).run();
    let refused = env.record("trial[good]/free_fall/3x1/substeps-4/r0/timed");
    assert_eq!(refused.status, sim_model::Status::Unsupported);
    assert!(refused.reason.starts_with("setting substeps"), "{}", refused.reason);
    assert_eq!(env.record("trial[good]/free_fall/3x1/r0/timed").status, sim_model::Status::Ok);
}
