//! `drive`: the vehicle in a batch (docs/vehicle.md), against what is known of it in closed form. That it drives as
//! the plant does is shown by the pipeline's agreement, `tests/it/vehicle_batch.rs`.

use serde_json::{Value, json};
use sim_vehicle::config::Config;
use sim_vehicle::telemetry::{self as t, Telemetry};
use std::path::Path;

const CONFIG: &str = include_str!("../../../scenes/vehicle/vehicle.toml");

fn config() -> Config {
    Config::parse(CONFIG).expect("a configuration")
}

/// A job for some worlds; `with` replaces or adds fields.
fn job(worlds: u32, steps: u64, with: Value) -> Value {
    let config: toml::Value = toml::from_str(CONFIG).expect("TOML");
    let mut job = json!({
        "format": 1, "model": "model.xml", "config": config, "backend": "cpu", "worlds": worlds, "steps": steps,
        "timestep": 0.005, "contacts_per_world": 16, "constraints_per_world": 64, "chunk_steps": 50,
        "warmup_chunks": 0, "telemetry": true
    });
    for (name, value) in with.as_object().expect("fields") {
        job[name] = value.clone();
    }
    job
}

fn drive(folder: &Path, job: &Value) -> Result<(Value, Telemetry), String> {
    std::fs::write(folder.join("model.xml"), sim_vehicle::mjcf::mjcf(&config())).unwrap();
    let file = folder.join("job.json");
    std::fs::write(&file, job.to_string()).unwrap();
    let out = folder.join("out");
    sim_adapter_batch::drive(&file, &out)?;
    let run = std::fs::read_to_string(out.join("run.json")).unwrap();
    let bytes = std::fs::read(out.join("telemetry.bin")).unwrap();
    Ok((serde_json::from_str(&run).unwrap(), Telemetry::from_bytes(&bytes).expect("telemetry")))
}

fn driven(job: &Value) -> (Value, Telemetry) {
    let folder = tempfile::tempdir().unwrap();
    drive(folder.path(), job).expect("a run")
}

/// V21, V22: at rest the wheels carry the whole weight; with an acceleration of a it gains a·t less what turns the
/// wheels: m·a = (m + 4·I/r²)·dv/dt.
#[test]
fn it_weighs_what_it_does_and_accelerates_as_newton_says() {
    let config = config();
    let (run, rows) = driven(&job(
        1,
        60,
        json!({"actions": [{"from_s": 1.0, "to_s": 3.0, "acceleration": 1.0}]}),
    ));
    assert_eq!((&run["substeps"], &run["error"]), (&10.into(), &Value::Null));
    assert_eq!(rows.rows(), 61);
    let at = |row: usize, column: usize| rows.at(row, column);
    let load: f64 = (0..4).map(|w| at(19, t::LOAD + w)).sum();
    let weight = config.vehicle.mass_kg * 9.81;
    assert!((load / weight - 1.0).abs() < 5e-3, "{load} N on a vehicle of {weight} N");
    assert!(at(60, t::PENETRATION) > 0.0 && at(60, t::UNEXPECTED) == 0.0);
    let radius = config.vehicle.wheel_radius_m;
    // A solid cylinder turns about its axis with half its mass times its radius squared.
    let turning = 4.0 * 0.5 * sim_vehicle::mjcf::WHEEL_MASS_KG;
    let due = config.vehicle.mass_kg / (config.vehicle.mass_kg + turning) * 1.0;
    let gained = (at(60, t::VELOCITY) - at(30, t::VELOCITY)) / 1.5;
    assert!((gained / due - 1.0).abs() < 0.02, "{gained} m/s² instead of {due}");
    let rolled = at(60, t::WHEEL_SPEED) * radius / at(60, t::VELOCITY);
    assert!((rolled - 1.0).abs() < 0.01, "wheels turn {rolled} times as fast as they roll");
    assert!((at(60, t::TIME) - 3.0).abs() < 1e-12);
}

/// Every world drives another way, one of them goes back to the start, and it comes out the same again.
#[test]
fn worlds_differ_go_back_by_turns_and_repeat() {
    let with = json!({
        "law": {"target_mps": 6.0, "target_step_mps": 0.5, "targets": 5, "gain": 1.25, "least": -6.0, "most": 3.0,
            "speed_from_step": 20, "steering_amplitude_rad": 0.12, "steering_period_s": 6.0, "steering_from_step": 40},
        "resets": {"every_steps": 60, "groups": 7}, "warmup_chunks": 1
    });
    let (first, rows) = driven(&job(9, 130, with.clone()));
    // Before step 60 worlds 0 and 7 go back, before step 120 worlds 1 and 8.
    let resets: Vec<_> =
        first["chunks"].as_array().unwrap().iter().map(|c| c["resets"].clone()).collect();
    assert_eq!(resets, [json!(0), json!(2), json!(2)]);
    assert_eq!(first["unique_terminal_states"], 9);
    let back = rows.at(61, t::TIME);
    assert!((back - 0.05).abs() < 1e-12, "world 0 begins anew: {back} s");
    let (second, again) = driven(&job(9, 130, with));
    assert_eq!(rows, again);
    for (a, b) in
        first["chunks"].as_array().unwrap().iter().zip(second["chunks"].as_array().unwrap())
    {
        assert_eq!(a["finite"], true);
        assert_eq!(a["time_monotonic"], true);
        assert_eq!(a["room"]["contacts"], json!({"asked": 8, "there": 16}));
        assert_eq!(a["room"]["constraints"], json!({"asked": 24, "there": 64}));
        for same in
            ["qvel_most", "penetration_m", "gap_s", "coverage_least", "z_least_m", "tilt_rad"]
        {
            assert_eq!(a[same], b[same], "{same}");
        }
    }
}

#[test]
fn a_job_that_cannot_be_done_says_why() {
    let stand = json!({"actions": []});
    for (field, value, said) in [
        ("backend", json!("cuda"), "backend cuda: this adapter has cpu"),
        ("worlds", json!(0), "worlds is 0"),
        ("format", json!(2), "format 2, this knows 1"),
        ("actions", Value::Null, "either `actions` or a `law`"),
        ("colour", json!("red"), "unknown field `colour`"),
        ("timestep", json!(0.003), "no whole number of 0.003 s"),
        ("resets", json!({"every_steps": 0, "groups": 1}), "at least 1"),
    ] {
        let mut job = job(1, 1, stand.clone());
        job[field] = value;
        let folder = tempfile::tempdir().unwrap();
        let error = drive(folder.path(), &job).expect_err(field);
        assert!(error.contains(said), "{field}: {error}");
    }
}
