//! The kind `calibrate` and the trials that take what it found, on the fake engine, whose only buffer is asked
//! for one pair a body and every fourth step for three more.

use crate::fake::{self, Fake};
use crate::harness::TestEnv;
use sim_model::record::Status;

/// Trials of three and of five falling bodies.
const SUITE: &str = r#"[suite]
name = "fall"
repeats = 1

[[case]]
scenario = "free_fall"
sizes = [3, 5]
steps = 24
"#;

/// A longer case of the same scenario, and another scenario.
const OTHER: &str = r#"[suite]
name = "other"
repeats = 1

[[case]]
scenario = "free_fall"
sizes = [5]
steps = 48

[[case]]
scenario = "box_pile"
sizes = [4]
steps = 2
"#;

const STAGE: &str = r#"inputs.calibration = "calibrate[{script}]"

[[stage]]
name = "calibrate"
kind = "calibrate"
engine = "fake"
suites = ["suite.toml", "other.toml"]
inputs.engine = "engine[{script}]"
"#;

/// A project whose trials take a calibration.
fn project(script: &str) -> TestEnv {
    let stage = format!("{STAGE}matrix.script = [\"good\"]\n");
    let scripts = [("good", script)];
    let env = fake::project(&Fake {
        scripts: &scripts,
        suite: SUITE,
        replays: "[\"capture\"]",
        trial: &stage,
    });
    env.write("other.toml", OTHER);
    env
}

fn json(env: &TestEnv, label: &str, file: &str) -> serde_json::Value {
    serde_json::from_str(&env.text(label, file)).expect("JSON")
}

/// How the newest trial of a label ended.
fn ended(env: &TestEnv, label: &str) -> (Status, String) {
    let record = env.record_newest(label);
    (record.status, record.reason)
}

const BUFFERS: &str = r#"{"behaviour": "buffers"}"#;

/// P032, P033, P035, P037: every size of every suite, three times, over the scenario's longest horizon.
#[test]
fn every_workload_of_every_suite_is_calibrated_three_times_over_the_longest_horizon() {
    let env = project(BUFFERS);
    let runs = env.run_ok(&[]).ran();
    let runs: Vec<_> = runs
        .into_iter()
        .filter(|l| l.starts_with("calibrate[good]/") && l.contains("/r"))
        .collect();
    let of = |workload: &str| {
        (0..3).map(|r| format!("calibrate[good]/{workload}/r{r}")).collect::<Vec<_>>()
    };
    let mut expected = [of("box_pile/4"), of("free_fall/3"), of("free_fall/5")].concat();
    expected.sort();
    assert_eq!(runs, expected);
    let found = json(&env, "calibrate[good]", "calibration.json");
    let sizes = |scenario: &str| found["scenarios"][scenario]["sizes"].to_string();
    assert_eq!(
        sizes("free_fall"),
        r#"[{"peaks":{"pairs":6},"size":3},{"peaks":{"pairs":8},"size":5}]"#
    );
    // Two steps are none that ask for more.
    assert_eq!(sizes("box_pile"), r#"[{"peaks":{"pairs":4},"size":4}]"#);
    // P039, P043: the adapter's capacity follows, and the demand of the last step stands beside it.
    let result = json(&env, "trial[good]/free_fall/3x1/r0/timed", "result.json");
    assert_eq!(
        result["counters"]["buffers"]["pairs"],
        serde_json::json!({"capacity": 12, "demand": 6})
    );
    // P044.
    let samples = json(&env, "trial[good]/free_fall/5x1/r0/capture", "capacity-samples.json");
    assert_eq!(samples["demands"]["pairs"].as_array().map(Vec::len), Some(24));
}

/// P041: above the calibrated range, and where nobody calibrated.
#[test]
fn what_no_calibration_serves_is_refused_with_the_reason() {
    let env = project(BUFFERS);
    let stage = "suites = [\"suite.toml\", \"other.toml\"]";
    env.replace("pipeline.toml", stage, "suites = [\"other.toml\"]");
    env.replace("suite.toml", "sizes = [3, 5]", "sizes = [3, 6]");
    env.run(&[]).out.expect(4);
    // The smallest calibrated size that is no smaller is five.
    let served = json(&env, "trial[good]/free_fall/3x1/r0/timed", "result.json");
    assert_eq!(served["counters"]["buffers"]["pairs"]["capacity"], 16);
    let (status, why) = ended(&env, "trial[good]/free_fall/6x1/r0/timed");
    assert_eq!(status, Status::Refused);
    assert!(why.contains("size 6 lies above the calibrated range"), "{why}");
    env.replace("other.toml", "scenario = \"free_fall\"", "scenario = \"sphere_pile\"");
    env.run(&[]).out.expect(4);
    let (status, why) = ended(&env, "trial[good]/free_fall/3x1/r0/timed");
    assert_eq!(status, Status::Refused);
    assert!(why.contains("no suite of the `calibrate` stage has free_fall"), "{why}");
}

/// P043, P044.
#[test]
fn overflow_fails_trials_and_captures() {
    let env = project(r#"{"behaviour": "crowded_at_the_end"}"#);
    env.run(&[]).out.expect(4);
    let (status, why) = ended(&env, "trial[good]/free_fall/3x1/r0/timed");
    assert_eq!(status, Status::Failed);
    assert!(why.contains("dropped for want of room"), "{why}");
    let env = project(r#"{"behaviour": "crowded_briefly"}"#);
    env.run(&[]).out.expect(4);
    assert_eq!(ended(&env, "trial[good]/free_fall/3x1/r0/timed").0, Status::Ok);
    let (status, why) = ended(&env, "trial[good]/free_fall/3x1/r0/capture");
    assert_eq!(status, Status::Failed);
    assert!(why.contains("a step asked for 30 pairs of 12"), "{why}");
}

/// P046: the key says by itself when a calibration is due, and `explain` which of pin, settings and scenes
/// changed.
#[test]
fn the_key_says_when_a_calibration_is_due() {
    let env = project(BUFFERS);
    env.run_ok(&[]);
    let due = |env: &TestEnv| {
        let text = env.sim(["explain", "pipeline.toml", "calibrate"]).expect(0).out();
        let text =
            text.lines().filter(|l| l.contains("would run") || l.contains("first difference"));
        text.map(|l| l.split(" · ").next().unwrap_or(l).trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(due(&env), Vec::<String>::new());
    // A longer horizon in one suite: the calibrations of that scenario alone.
    env.replace("other.toml", "steps = 48", "steps = 96");
    let changed = due(&env);
    let runs = |changed: &[String]| changed.iter().filter(|l| l.contains("would run")).count();
    let first = |changed: &[String], what: &str| {
        changed.iter().any(|l| *l == format!("first difference: {what}"))
    };
    assert!(first(&changed, "args.steps"), "{changed:?}");
    assert!(changed.iter().all(|l| !l.contains("box_pile")), "{changed:?}");
    env.replace("other.toml", "steps = 96", "steps = 48");
    // Another build of the engine.
    env.replace("mk.sh", "exec \"$here", "true; exec \"$here");
    env.run_ok(&["--only", "engine"]);
    let changed = due(&env);
    assert!(first(&changed, "inputs.engine"), "{changed:?}");
    assert!(runs(&changed) >= 9, "{changed:?}");
    let ran = env.run_ok(&[]);
    // The same peaks: the trials run because their engine changed, the gathering does not run at all.
    assert!(!ran.ran().contains(&"calibrate[good]".to_owned()), "{:?}", ran.ran());
    // Settings that a variant adds are workloads of their own.
    env.replace("suite.toml", "steps = 24", "steps = 24\nvariants = [{ fake.substeps = 2 }]");
    let changed = due(&env);
    let new = changed.iter().filter(|l| l.contains("substeps-2") && l.contains("would run"));
    assert!(new.count() >= 6, "{changed:?}");
}

/// An engine whose buffers are no matter of calibration cannot be calibrated, and says so without failing
/// what it can do.
#[test]
fn an_engine_that_cannot_calibrate_is_a_finding() {
    let env = project("{}");
    env.run_ok(&[]);
    let found = json(&env, "calibrate[good]", "calibration.json");
    let reason = &found["scenarios"]["free_fall"]["without"]["3"];
    assert_eq!(reason, "mode calibrate");
    assert_eq!(ended(&env, "trial[good]/free_fall/3x1/r0/timed").0, Status::Ok);
}

#[test]
fn a_stage_without_suites_is_an_error_of_the_plan() {
    let env = project(BUFFERS);
    env.replace("pipeline.toml", "suites = [\"suite.toml\", \"other.toml\"]", "suites = []");
    let out = env.sim(["plan", "pipeline.toml"]);
    assert!(out.expect(3).err().contains("nothing to calibrate"), "{}", out.err());
}
