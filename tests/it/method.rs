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
