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

    // The moments of the published run, 9.06, 102.40 and 117.06 s.
    let at = |name: &str| metric(&report, 1, name);
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
    const AVOID: f64 = 0.1;
    const RECOVER: f64 = 5.0;
    const SLITHER: f64 = 5.0;
    const FORWARD: f64 = 0.5;
    const CLEARANCE: f64 = 0.03;
    const TRACKING: f64 = 0.03;
    for (name, published, near) in [
        ("avoid_left_at_s", 9.06, AVOID),
        ("recover_at_s", 102.40, RECOVER),
        ("slither_again_at_s", 117.06, SLITHER),
        ("forward_progress_m", 2.943_944, FORWARD),
        ("minimum_pivot_to_obstacle_surface_clearance_m", 0.106_086, CLEARANCE),
        ("joint_tracking_rmse_rad", 0.119_717, TRACKING),
    ] {
        let found = at(name);
        assert!((found - published).abs() <= near, "{name}: {found}, published {published}");
    }
    let receipt = json(&env, "snake/verdict", "receipts/locomotion.json");
    assert_eq!(receipt["passed"], true);
    assert_eq!(receipt["checks"].as_object().map(serde_json::Map::len), Some(9));

    // A threshold that moves runs the verdict alone, and a check that then does not hold is named.
    let identity = report["protocol"]["identity"].clone();
    let path = env.path("scenes/snake/protocol.toml");
    let text = std::fs::read_to_string(&path).expect("read");
    let word = format!("# {}\n", env.path("").display());
    let changed = word + &text.replace("op = \"<\"\nlimit = 0.35", "op = \"<\"\nlimit = 0.05");
    std::fs::write(&path, changed).expect("write");
    let out = cmd(&env, &["run", "pipeline.toml"]).run();
    assert!(out.stderr.contains("1 ran") || out.stderr.contains("failed"), "{out}");
    assert_ne!(out.code(), Some(0), "{out}");
    let _ = identity;
}
