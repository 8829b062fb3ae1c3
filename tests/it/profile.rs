//! Profile replays from end to end, on the fake engine's made-up device: its timestamps are the same in
//! every run, so what becomes of them is known to the last digit.

use crate::fake::{self, Fake};
use crate::harness::TestEnv;
use serde_json::Value;
use sim_model::Status;

const TWICE: &str = r#"[suite]
name = "fall"
repeats = 2

[[case]]
scenario = "free_fall"
sizes = [3, 6]
steps = 24
"#;

fn json(env: &TestEnv, label: &str, file: &str) -> Value {
    serde_json::from_str(&env.text(label, file)).unwrap_or_else(|e| panic!("{label}: {e}"))
}

fn label(script: &str, rest: &str) -> String {
    format!("trial[{script}]/free_fall/{rest}")
}

fn trial(backend: &str) -> String {
    format!(
        "backend = \"{backend}\"\n\
         [[stage]]\nname = \"site\"\nkind = \"report\"\ninputs.trials = \"trial[*]\"\n"
    )
}

fn device_rows(env: &TestEnv) -> String {
    std::fs::read_to_string(env.path("out/fake/data/device.csv")).expect("the table of device time")
}

/// P069 to P072, P085, P087, P089, P094, P096, P026: a separate process with the same scene, worlds,
/// warm-up and horizon; raw events beside the result; the report's table and dashed curve.
#[test]
fn device_time_is_that_of_the_timestamps() {
    let env = fake::project(&Fake {
        suite: TWICE,
        replays: "[\"profile\"]",
        trial: &trial("fake-device"),
        ..Fake::default()
    });
    env.run_ok(&[]);
    let timed = json(&env, &label("good", "3x1/r0/timed"), "result.json");
    let result = json(&env, &label("good", "3x1/r0/profile"), "result.json");
    for same in ["scene", "worlds", "steps", "warmup_steps", "seed", "final_state_digest", "gates"]
    {
        assert_eq!(timed[same], result[same], "{same}");
    }
    assert_eq!(result["ms_per_step"], Value::Null, "its wall time is no sample");
    assert_eq!(timed["profile"], Value::Null);
    // 24 steps: a kernel of 3 µs, a copy of 1 µs within it.
    let profile = &result["profile"];
    assert_eq!(profile["capability"], "timestamps");
    assert_eq!(
        [&profile["sum_ns"], &profile["union_ns"], &profile["overlap_ns"], &profile["events"]],
        [&Value::from(96_000), &Value::from(72_000), &Value::from(24_000), &Value::from(48)]
    );
    assert_eq!(profile["labels"]["copy"]["total_ns"], 24_000);
    assert_eq!(profile["buffer"]["capacity_pairs"], 64, "P086");
    let samples = json(&env, &label("good", "3x1/r0/profile"), "device-samples.json");
    assert_eq!(samples["steps"].as_array().map(Vec::len), Some(24), "P083: each step once");
    assert_eq!(samples["steps"][1][1]["start_ns"], 1_000_500);
    // 3 µs and 6 µs a step, of two repeats each.
    let rows = device_rows(&env);
    for row in ["free_fall,3,1,24,", "free_fall,6,1,24,"] {
        assert!(rows.contains(row), "{rows}");
    }
    assert!(rows.contains(",2,2,0.003,0.003,0.003,") && rows.contains(",2,2,0.006,"), "{rows}");
    let page = std::fs::read_to_string(env.path("out/fake/index.html")).expect("the site");
    assert!(page.contains("<b>Device time.</b>"));
    assert!(page.contains("stroke-dasharray") && page.contains("dashed: device time"));
    env.assert_store_clean();
}

/// P073, P074: a processor has no device clock; the answer has no duration, no state and no place in a
/// table but the word.
#[test]
fn a_processor_has_no_device_time() {
    let env = fake::project(&Fake {
        suite: TWICE,
        replays: "[\"profile\"]",
        trial: &trial("cpu"),
        ..Fake::default()
    });
    env.run_ok(&[]);
    let result = json(&env, &label("good", "3x1/r0/profile"), "result.json");
    assert_eq!(result["profile"]["capability"], "none");
    assert_eq!((&result["steps"], &result["phases"]), (&0.into(), &serde_json::json!({})));
    assert_eq!(result["final_state_digest"], Value::Null);
    let rows = device_rows(&env);
    assert!(rows.contains(",2,0,,,,\"\",\"none: the backend cpu runs on the processor"), "{rows}");
    let page = std::fs::read_to_string(env.path("out/fake/index.html")).expect("the site");
    assert!(!page.contains("<b>Device time.</b>") && !page.contains("stroke-dasharray"));
    assert!(page.contains("No GPU backend was measured, and no device time."));
    let cases = std::fs::read_dir(env.path("out/fake/cases")).expect("pages of cases");
    for case in cases.flatten() {
        let page = std::fs::read_to_string(case.path()).expect("a page");
        assert!(
            page.contains("the backend cpu runs on the processor"),
            "{}",
            case.path().display()
        );
    }
}

/// P084, P091 to P093: what a profiler lost, overflowed or made up is an error of the replay; the timed
/// trial stays, and the run does not end well.
#[test]
fn profilers_that_fail_leave_the_wall_time() {
    let names = ["profiles_the_host", "loses_a_step", "overflows_queries", "lie_device_time"];
    let scripts: Vec<(&str, String)> =
        names.iter().map(|n| (*n, format!("{{\"behaviour\": \"{n}\"}}"))).collect();
    let scripts: Vec<(&str, &str)> = scripts.iter().map(|(n, s)| (*n, s.as_str())).collect();
    let env = fake::project(&Fake {
        scripts: &scripts,
        replays: "[\"profile\"]",
        trial: &trial("fake-device"),
        ..Fake::default()
    });
    env.run(&[]).out.expect(4);
    for (name, status, reason) in [
        ("profiles_the_host", Status::Ok, ""),
        ("loses_a_step", Status::Failed, "device samples: steps = 23: the rollout has 24 steps"),
        (
            "overflows_queries",
            Status::Failed,
            "device samples: buffer.used_pairs = 64: a buffer of 64 pairs may have overflown",
        ),
        (
            "lie_device_time",
            Status::Failed,
            "the adapter's result contradicts itself: its device time is not that of device-samples.json",
        ),
    ] {
        let record = env.record(&label(name, "3x1/r0/profile"));
        assert_eq!((record.status, record.reason.as_str()), (status, reason), "{name}");
        assert_eq!(env.record(&label(name, "3x1/r0/timed")).status, Status::Ok, "{name}");
    }
    let host = json(&env, &label("profiles_the_host", "3x1/r0/profile"), "result.json");
    assert_eq!(host["profile"]["capability"], "unavailable");
    // All four are one engine to the report: nothing counts, and every reason is told.
    let rows = device_rows(&env);
    assert!(rows.contains("unavailable: the profiler gave events of the host only"), "{rows}");
    assert!(rows.contains("failed: device samples: steps = 23"), "{rows}");
    env.assert_store_clean();
}
