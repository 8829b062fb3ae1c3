//! The verdict over the second plant: its own files, its own names of checks, a receipt.

use crate::run::RunFile;
use crate::verdict::{Ran, Runs, head, judge, read, receipts};
use sim_protocol::{Plant as _, Protocol};
use sim_snake::Snake;
use sim_snake::scenario::Scenario;

const PROTOCOL: &str = include_str!("../../../scenes/snake/protocol.toml");
const SPEC: &str = include_str!("../../../scenes/snake/snake.toml");

/// The protocol of the locomotion alone.
fn protocol() -> Protocol<Scenario> {
    let mut p = Protocol::parse::<Snake>(PROTOCOL).expect("a protocol");
    p.scenarios.retain(|s| s.name == "locomotion");
    p
}

/// What a run that goes forward at this speed leaves, as its files.
fn files(speed: f64) -> Vec<Vec<u8>> {
    let snake = Snake::parse(SPEC).expect("a snake");
    let mut csv = sim_snake::telemetry::columns(&snake.0).join(",");
    csv.push('\n');
    for k in 0..=240 {
        let t = f64::from(k) * 0.05;
        let q = |i: i32| 0.5 * (4.4 * t + 0.75 * f64::from(i)).sin();
        let joints: Vec<String> = (0..9).map(|i| q(i).to_string()).collect();
        let rest = ["0"; 18].join(",");
        let rays = ["-0.8"; 5].join(",");
        csv += &format!("{t},{},0,0,slither,{},{rest},{rays}\n", speed * t, joints.join(","));
    }
    let observed = serde_json::json!({
        "format": 1, "duration_requested_s": 12.0, "duration_simulated_s": 12.0,
        "physics_steps": 6000, "finite": true, "warnings": 0,
        "initial_head_xy_m": [0.0, 0.0], "final_head_xy_m": [12.0 * speed, 0.0],
        "final_body_xy_m": [[12.0 * speed, 0.0]],
        "max_abs_joint_position_rad": 0.6, "max_abs_joint_velocity_rad_s": 3.6,
        "max_abs_joint_command_rad": 0.55, "max_abs_actuator_torque_nm": 0.5,
        "joint_tracking_rmse_rad": 0.12, "obstacle_contact_steps": 0,
        "minimum_pivot_to_obstacle_surface_clearance_m": null, "maximum_penetration_m": 0.0,
        "mean_pad_contact_fraction": 1.0, "surface_xy_m": null, "detours": 0,
        "transitions": [], "final_state": "slither", "safe_stop_steps": 0,
        "safe_stop_reason": null, "max_surrogate_force_n": 0.1, "max_surrogate_moment_nm": 0.0,
    });
    vec![csv.into_bytes(), observed.to_string().into_bytes(), b"time_s\n".to_vec()]
}

fn run_file() -> RunFile {
    RunFile {
        format: 1,
        version: "3.17.0".into(),
        scenario: "locomotion".into(),
        timestep: 0.002,
        substeps: 10,
        control_steps: 600,
        model: serde_json::Value::Null,
        error: None,
    }
}

fn runs(speeds: [f64; 2]) -> Runs<Snake> {
    let ran = |speed| Ran {
        file: run_file(),
        left: Snake::read(&files(speed)).expect("reads"),
        sha256: String::new(),
    };
    Runs::from([(("locomotion".to_owned(), 0), speeds.map(ran).into())])
}

#[test]
fn a_second_plant_is_judged_by_the_same_kind() {
    let (p, snake) = (protocol(), Snake::parse(SPEC).expect("a snake"));
    let judged = |speeds| {
        let head = head(&p, "f", PROTOCOL, SPEC, &["a".to_owned(), "b".to_owned()]);
        judge(&p, &snake, &runs(speeds), head.expect("a head")).expect("a report")
    };
    let report = judged([0.02, 0.02]);
    assert_eq!(report.selection.timestep_s, Some(0.002), "{:?}", report.candidates[0].failures);
    assert_eq!(report.selection.checks_per_candidate, 10);
    let ids: Vec<&str> =
        report.candidates[0].scenarios[0].checks.iter().map(|c| c.id.as_str()).collect();
    assert!(ids.contains(&"absolute.locomotion.finite_state"), "{ids:?}");
    assert!(ids.contains(&"determinism.locomotion"));
    assert!(report.assumptions.iter().any(|a| a.contains("transfers to hardware")), "S21");
    // Too slow: two checks by their published names, and nothing to select.
    let report = judged([0.009, 0.009]);
    assert_eq!(
        report.candidates[0].failures,
        [
            "absolute.locomotion.forward_progress_at_least_0_12_m",
            "absolute.locomotion.net_displacement_at_least_0_12_m"
        ]
    );
    assert_eq!(report.selection.timestep_s, None);
    // Repeats that differ, by anything.
    let report = judged([0.02, 0.020_000_001]);
    assert_eq!(report.candidates[0].failures, ["determinism.locomotion"]);
}

#[test]
fn a_receipt_is_written_for_each_scenario() {
    let (p, snake) = (protocol(), Snake::parse(SPEC).expect("a snake"));
    let dir = tempfile::tempdir().expect("a folder");
    let runs = runs([0.02, 0.02]);
    let head = head(&p, "f", PROTOCOL, SPEC, &["a".to_owned()]).expect("a head");
    let report = judge(&p, &snake, &runs, head).expect("a report");
    receipts(&p, &snake, &runs, &report, dir.path()).expect("written");
    let text = std::fs::read(dir.path().join("locomotion.json")).expect("a receipt");
    let receipt: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(receipt["passed"], true);
    assert_eq!(receipt["checks"].as_object().map(serde_json::Map::len), Some(9));
    assert_eq!(receipt["dependencies"]["mujoco"], "3.17.0");
    assert_eq!(receipt["forward_progress_m"], 0.24);
    assert_eq!(receipt["terminal_route_heading_rad"], serde_json::Value::Null);
}

#[test]
fn a_folder_that_a_run_left_is_read_and_a_broken_one_is_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = serde_json::to_vec(&run_file()).expect("JSON");
    std::fs::write(dir.path().join("run.json"), file).expect("written");
    for (name, bytes) in Snake::FILES.iter().zip(files(0.02)) {
        std::fs::write(dir.path().join(name), bytes).expect("written");
    }
    let ran = read::<Snake>(dir.path()).expect("reads");
    assert_eq!(ran.left.trajectory.rows.len(), 241);
    assert_eq!(ran.sha256.len(), 64);
    std::fs::write(dir.path().join("observed.json"), "{}").expect("written");
    let why = read::<Snake>(dir.path()).err().expect("broken").to_string();
    assert!(why.contains("observed.json: missing field"), "{why}");
}
