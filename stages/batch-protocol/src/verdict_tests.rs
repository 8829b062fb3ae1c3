use super::*;
use sim_vehicle::telemetry::{COLUMNS, POSITION, TIME};

const TEXT: &str = include_str!("../../../scenes/vehicle/m2.toml");

fn protocol() -> BatchProtocol {
    BatchProtocol::parse(TEXT).expect("a protocol")
}

/// A run in which every gate of every scale holds.
fn good() -> BatchRun {
    let chunk = serde_json::json!({
        "finite": true, "time_monotonic": true, "wall_ns": 1_000_000_000, "resets": 2,
        "invalid_actions": 0, "memory_bytes": 300_000_000,
        "room": {"contacts": {"asked": 8, "there": 16}, "collisions": {"asked": 5, "there": 16},
            "constraints": {"asked": 24, "there": 64}},
        "z_least_m": 0.559, "z_most_m": 0.56, "planar_speed_mps": 8.0, "quaternion_error": 1e-7,
        "qvel_most": 24.0, "penetration_m": 0.001, "gap_s": 0.06, "tilt_rad": 0.001,
        "vertical_speed_mps": 0.1, "unexpected_contacts": 0.0, "coverage_least": 0.86
    });
    let run = serde_json::json!({
        "format": 1, "engine": "e", "version": "1", "backend": "cpu", "precision": "single",
        "worlds": 64, "steps": 400, "substeps": 10, "setup_ns": 5, "warmup_ns": 6,
        "measured_ns": 4_000_000_000_u64, "memory_at_start_bytes": 300_000_000,
        "unique_terminal_states": 64, "chunks": [chunk, chunk, chunk, chunk], "error": null
    });
    serde_json::from_value(run).expect("a run")
}

fn failing(run: &BatchRun) -> Vec<String> {
    let report = scale_report(&protocol(), &protocol().scales[1], run);
    report.checks.iter().filter(|c| !c.passed).map(|c| c.metric.clone()).collect()
}

/// Every gate fails on a run altered to violate it, and no other does.
#[test]
fn each_gate_of_a_scale_fails_when_it_should() {
    assert_eq!(failing(&good()), [""; 0]);
    let altered = |pointer: &str, value: serde_json::Value| {
        let mut run = serde_json::to_value(good()).expect("JSON");
        *run.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        failing(&serde_json::from_value(run).expect("a run"))
    };
    for (field, value, metric) in [
        ("finite", serde_json::json!(false), "finite"),
        ("time_monotonic", serde_json::json!(false), "time_monotonic"),
        ("invalid_actions", serde_json::json!(1), "invalid_actions"),
        ("z_least_m", serde_json::json!(0.1), "chassis_z_least_m"),
        ("z_most_m", serde_json::json!(2.5), "chassis_z_most_m"),
        ("planar_speed_mps", serde_json::json!(18.0), "planar_speed_mps"),
        ("quaternion_error", serde_json::json!(1e-4), "quaternion_error"),
        ("qvel_most", serde_json::json!(101.0), "qvel_most"),
        ("penetration_m", serde_json::json!(0.006), "penetration_m"),
        ("gap_s", serde_json::json!(0.11), "gap_s"),
        ("tilt_rad", serde_json::json!(0.21), "tilt_rad"),
        ("vertical_speed_mps", serde_json::json!(2.1), "vertical_speed_mps"),
        ("unexpected_contacts", serde_json::json!(1.0), "unexpected_contacts"),
        ("coverage_least", serde_json::json!(0.74), "coverage_least"),
        ("coverage_least", serde_json::json!(null), "coverage_least"),
        ("room/contacts/asked", serde_json::json!(14), "contact_headroom"),
        ("room/collisions/asked", serde_json::json!(14), "collision_headroom"),
        ("room/constraints/asked", serde_json::json!(60), "constraint_headroom"),
    ] {
        assert_eq!(altered(&format!("/chunks/2/{field}"), value), [metric]);
    }
    let over = altered("/chunks/1/room/contacts/asked", serde_json::json!(17));
    assert_eq!(over, ["contact_overflow", "contact_headroom"]);
    let over = altered("/chunks/1/room/constraints/asked", serde_json::json!(65));
    assert_eq!(over, ["constraint_overflow", "constraint_headroom"]);
    assert_eq!(altered("/unique_terminal_states", 3.into()), ["unique_terminal_states"]);
    let grown = altered("/chunks/3/memory_bytes", serde_json::json!(400_000_000_u64));
    assert_eq!(grown, ["memory_growth_of_allowed"]);
    let mut still = good();
    still.chunks.iter_mut().for_each(|c| c.resets = 0);
    assert_eq!(failing(&still), ["resets"]);
    let short = BatchRun { chunks: good().chunks[..2].to_vec(), ..good() };
    assert_eq!(failing(&short), ["memory_samples"]);
}

#[test]
fn rates_are_over_all_worlds_and_only_of_whole_runs() {
    let report = scale_report(&protocol(), &protocol().scales[1], &good());
    assert_eq!(report.transitions_per_s, Some(6400.0), "64 × 400 in 4 s");
    assert_eq!(report.world_physics_steps_per_s, Some(64_000.0));
    assert_eq!((report.steps, report.declared_steps), (400, 1000));
    let broken = BatchRun { error: Some("it broke".into()), ..good() };
    assert_eq!(scale_report(&protocol(), &protocol().scales[1], &broken).transitions_per_s, None);
    let one = scale_report(&protocol(), &protocol().scales[0], &good());
    assert!(!one.checks.iter().any(|c| c.metric == "unique_terminal_states"), "for batches");
}

fn telemetry(shift: f64) -> Telemetry {
    let mut values = vec![0.0; 3 * COLUMNS];
    for row in 0..3 {
        values[row * COLUMNS + TIME] = row as f64 * 0.05;
        values[row * COLUMNS + POSITION] = shift;
    }
    Telemetry { values }
}

#[test]
fn agreement_has_a_check_a_quantity_and_fails_where_nothing_can_be_compared() {
    let p = protocol();
    let report = |shift: f64| agreement_report(&p, &good(), Ok((telemetry(shift), telemetry(0.0))));
    assert!(report(1e-4).checks.iter().all(|c| c.passed) && report(0.0).checks.len() == 16);
    let off = report(1e-3);
    let failed: Vec<_> = off.checks.iter().filter(|c| !c.passed).map(|c| &*c.id).collect();
    assert_eq!(failed, ["agreement.position_xy_rmse_m"], "1 mm: more than 0.5, less than 2");
    let none = agreement_report(&p, &good(), Err("no telemetry".into()));
    assert!(none.checks.iter().all(|c| !c.passed && c.value.is_none()));
    assert_eq!(none.error.as_deref(), Some("no telemetry"));
}

#[test]
fn a_cpu_says_what_it_did_not_measure() {
    let list = not_measured(&protocol(), "cpu");
    assert!(list.iter().any(|l| l.contains("1024 worlds for 10000 steps")), "{list:?}");
    assert!(list.iter().any(|l| l.starts_with("GPU")));
    assert!(!not_measured(&protocol(), "cuda").iter().any(|l| l.contains("steps")));
}

/// Curves of a verdict: every distance over time, every extreme by chunk, with their limits.
#[test]
fn what_a_page_draws_is_of_the_runs() {
    let telemetry = |shift: f64| {
        let mut values = vec![0.0; 3 * COLUMNS];
        for (row, line) in values.chunks_exact_mut(COLUMNS).enumerate() {
            line[TIME] = row as f64 * 0.05;
            line[POSITION] = shift * row as f64;
        }
        Telemetry { values }
    };
    let (plant, driven) = (telemetry(0.0), telemetry(1e-4));
    let drawn = plots(&protocol(), Some((&plant, &driven)), &[good()], 0.05);
    assert_eq!((drawn.agreement.len(), drawn.scales.len()), (11, 4));
    let far = &drawn.agreement[0];
    assert_eq!((far.quantity.as_str(), far.limit), ("position_xy_max_m", Some(2e-3)));
    assert_eq!(far.points, [[0.0, 0.0], [0.05, 1e-4], [0.1, 2e-4]]);
    let gap = drawn.scales.iter().find(|s| s.quantity == "gap_s").expect("there");
    assert_eq!((gap.worlds, gap.limit), (64, Some(0.1)));
    assert_eq!(gap.points, [[5.0, 0.06], [10.0, 0.06], [15.0, 0.06], [20.0, 0.06]]);
    assert!(plots(&protocol(), None, &[], 0.05).agreement.is_empty());
}

/// A changed threshold, schedule, configuration or source changes the identity; a comment does not.
#[test]
fn the_identity_is_of_what_counts() {
    let id = |text: &str, config: &str, fingerprint: &str| {
        let p = BatchProtocol::parse(text).expect("a protocol");
        head(&p, 0.05, fingerprint, text, config, "model").expect("a head").identity
    };
    let base = id(TEXT, "c", "f");
    assert_eq!(base, id(&format!("# more\n{TEXT}"), "c", "f"));
    for changed in [
        id(&TEXT.replacen("gap_max_s = 0.01", "gap_max_s = 0.02", 1), "c", "f"),
        id(&TEXT.replacen("acceleration = 1.5", "acceleration = 1.6", 1), "c", "f"),
        id(TEXT, "d", "f"),
        id(TEXT, "c", "g"),
    ] {
        assert_ne!(base, changed);
    }
}
