//! The snake's protocol on the real MuJoCo, built from its pin.

use crate::engines::{cmd, copy, json, offline};
use crate::harness::TestEnv;
use serde_json::Value;
use std::path::Path;

const PIPELINE: &str = r#"[pipeline]
name = "it-snake"

[[stage]]
name = "plant"
kind = "build-engine"
engine = "snake"

[[stage]]
name = "snake"
kind = "protocol"
plant = "snake"
protocol = "scenes/snake/protocol.toml"
config = "scenes/snake/snake.toml"
published = "scenes/snake/published.csv"
inputs.engine = "plant"
"#;

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn metric(report: &Value, scenario: usize, name: &str) -> f64 {
    let value = &report["candidates"][0]["scenarios"][scenario]["metrics"][name];
    value.as_f64().unwrap_or_else(|| panic!("{name}: {value}"))
}

/// S02, S03, S22 to S35: all 9 and 13 checks hold, and both repeats are equal to the bit; the published
/// sequence of states comes out, near the published moments; S21: the statement is in report and receipts.
#[test]
fn every_published_check_holds() {
    let env = TestEnv::with_pipeline(PIPELINE);
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in [
        "engines/snake",
        "engines/mujoco-c",
        "engines/protocol",
        "engines/recording",
        "scenes/snake",
        "scenes/protocol",
    ] {
        copy(&repository.join(folder), &env.path(folder));
    }
    let out = cmd(&env, &["run", "pipeline.toml"]).run();
    if offline(&out) {
        return;
    }
    out.expect(0);
    let report = json(&env, "snake/verdict", "report.json");
    assert_eq!(report["runtime"]["versions"], serde_json::json!(["3.17.0"]));
    assert_eq!(report["selection"]["timestep_s"], 0.002);
    assert_eq!(report["selection"]["checks_per_candidate"], 9 + 13 + 2);
    let candidate = &report["candidates"][0];
    assert_eq!(names(&candidate["failures"]), Vec::<&str>::new());
    for (i, checks) in [(0, 10), (1, 14)] {
        let scenario = &candidate["scenarios"][i];
        assert_eq!(scenario["checks"].as_array().map(Vec::len), Some(checks));
        let hashes = names(&scenario["telemetry_sha256"]);
        assert!(hashes.len() == 2 && hashes[0] == hashes[1], "{hashes:?}");
    }
    assert!(names(&report["assumptions"]).iter().any(|a| a.contains("transfers to hardware")));

    // The published sequence of states, near the published values: docs/snake.md says how near.
    let receipt = json(&env, "snake/verdict", "receipts/obstacle_course.json");
    let states: Vec<(&str, &str)> = receipt["state_transitions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|t| Some((t["from"].as_str()?, t["to"].as_str()?)))
        .collect();
    assert_eq!(
        states,
        [("slither", "avoid_left"), ("avoid_left", "recover"), ("recover", "slither")]
    );
    for (scenario, name, published, near) in [
        (1, "avoid_left_at_s", 9.06, 0.3),
        (1, "recover_at_s", 102.40, 5.0),
        (1, "slither_again_at_s", 117.06, 9.0),
        (1, "forward_progress_m", 2.943_944, 0.2),
        (1, "joint_tracking_rmse_rad", 0.119_717, 0.01),
        (0, "joint_tracking_rmse_rad", 0.115_872, 0.01),
        (0, "physical_joint_wave_rms_rad", 0.345, 0.01),
        (0, "max_abs_joint_position_rad", 0.610_722, 0.04),
        (0, "net_displacement_m", 0.178_067, 0.05),
    ] {
        let found = metric(&report, scenario, name);
        assert!((found - published).abs() <= near, "{name}: {found}, published {published}");
    }
    assert_eq!(metric(&report, 1, "obstacle_contact_steps"), 0.0);
    let receipt = json(&env, "snake/verdict", "receipts/locomotion.json");
    assert_eq!(receipt["passed"], true);
    assert_eq!(receipt["checks"].as_object().map(serde_json::Map::len), Some(9));

    // A threshold that moves runs the verdict alone, and what then does not hold is named.
    let path = env.path("scenes/snake/protocol.toml");
    let text = std::fs::read_to_string(&path).expect("read");
    // The store outlives the tests: without a word of its own, an earlier one's verdict would be used.
    let word = format!("# {}\n", env.path("").display());
    let changed = word + &text.replacen("limit = 0.35", "limit = 0.05", 1);
    std::fs::write(&path, changed).expect("write");
    let out = cmd(&env, &["run", "pipeline.toml"]).run();
    assert_ne!(out.code(), Some(0), "{out}");
    let changed = json(&env, "snake/verdict", "report.json");
    assert_ne!(changed["protocol"]["identity"], report["protocol"]["identity"]);
    let tracking = "controller_tracking_rmse_below_0_35_rad";
    assert_eq!(
        names(&changed["candidates"][0]["failures"]),
        [format!("absolute.locomotion.{tracking}"), format!("absolute.obstacle_course.{tracking}")]
    );
}
