//! The timestep protocol of the vehicle on the MuJoCo of the published values, built from its pin.

use crate::engines::{cmd, copy, json, offline};
use crate::harness::TestEnv;
use serde_json::Value;
use std::path::Path;

const PIPELINE: &str = r#"[pipeline]
name = "it-vehicle"

[[stage]]
name = "plant"
kind = "build-engine"
engine = "vehicle"
source = "engines/vehicle/published"

[[stage]]
name = "m1"
kind = "protocol"
protocol = "scenes/vehicle/m1.toml"
config = "scenes/vehicle/vehicle.toml"
published = "scenes/vehicle/published.csv"
inputs.engine = "plant"

[[stage]]
name = "site"
kind = "report"
inputs.protocols = "m1[]/verdict"
"#;

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// V40 to V42: 0.010 s fails in exactly five checks, 0.005 s is selected, every published value comes out;
/// V26: repeats are equal to the bit; V38: a changed threshold runs the verdict alone.
#[test]
fn the_published_verdict_comes_out() {
    let env = TestEnv::with_pipeline(PIPELINE);
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in [
        "engines/vehicle",
        "engines/mujoco-c",
        "engines/protocol",
        "engines/recording",
        "scenes/vehicle",
        "scenes/protocol",
    ] {
        copy(&repository.join(folder), &env.path(folder));
    }
    let out = cmd(&env, &["run", "pipeline.toml"]).run();
    if offline(&out) {
        return;
    }
    out.expect(0);
    let report = json(&env, "m1/verdict", "report.json");
    assert_eq!(report["runtime"]["versions"], serde_json::json!(["3.10.0"]));
    assert_eq!(report["selection"]["timestep_s"], 0.005);
    assert_eq!(report["selection"]["checks_per_candidate"], 172);
    let candidates = report["candidates"].as_array().expect("candidates");
    let mut failed = names(&candidates[0]["failures"]);
    failed.sort_unstable();
    assert_eq!(
        failed,
        [
            "absolute.contact_stress.minimum_steady_wheel_contact_coverage.at_least",
            "absolute.contact_stress.steady_vertical_speed_p99_mps.at_most",
            "convergence.contact_stress.steady_penetration_p99_difference_m",
            "convergence.contact_stress.vertical_speed_p99_difference_mps",
            "convergence.contact_stress.wheel_contact_coverage_difference",
        ]
    );
    assert_eq!(candidates[1]["passed"], true);
    assert_eq!(candidates[2]["passed"], true);
    for scenario in candidates.iter().flat_map(|c| c["scenarios"].as_array().expect("list")) {
        let hashes = names(&scenario["telemetry_sha256"]);
        assert!(hashes.len() == 3 && hashes.iter().all(|h| *h == hashes[0]), "{hashes:?}");
    }
    assert_eq!(report["published"]["values"], 229);
    assert_eq!(report["published"]["equal"], 229, "{:#}", report["published"]);

    // Whoever has only the page can say why 0.010 s was rejected, and the catalog says the same.
    let page = env.path("out/it-vehicle/protocols/m1.html");
    let page = std::fs::read_to_string(page).expect("a page");
    for words in [
        "0.005\u{a0}s is selected: the largest of 3 steps of which every check holds.",
        "0.01\u{a0}s is rejected: 5 of 172 checks fail, in contact_stress.",
        "229 of 229 published values came out, to the last digit that was published or, next to zero, within 1e-11.",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let sql = "select count(*) n, count(*) filter (not passed) failed, min(check_id) filter (not passed) id
        from protocol_checks join actions using (key, generation) where latest and candidate = 0.01
        and key = (select key from protocols where label = 'm1/verdict' order by generation limit 1)";
    let out = cmd(&env, &["query", "--format", "csv", sql]).run();
    let row = "172,5,absolute.contact_stress.minimum_steady_wheel_contact_coverage.at_least";
    assert!(out.expect(0).stdout.contains(row), "{out}");

    let identity = report["protocol"]["identity"].clone();
    let path = env.path("scenes/vehicle/m1.toml");
    let text = std::fs::read_to_string(&path).expect("read");
    // The store outlives the tests: without a word of its own, an earlier one's verdict would be used.
    let word = format!("# {}\n", env.path("").display());
    let changed = word + &text.replacen("limit = 0.75", "limit = 0.74", 9);
    std::fs::write(&path, changed).expect("write");
    let out = cmd(&env, &["run", "pipeline.toml"]).run();
    assert!(out.expect(0).stderr.contains("2 ran"), "the verdict and the site: {out}");
    let changed = json(&env, "m1/verdict", "report.json");
    assert_ne!(changed["protocol"]["identity"], identity);
    assert_eq!(
        names(&changed["candidates"][0]["failures"]).len(),
        4,
        "coverage 0.7424 passes 0.74"
    );
}
