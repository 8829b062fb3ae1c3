//! The vehicle in a batch, on MuJoCo Warp's CPU backend and on this project's own engine: agreement with the
//! plant, and the gates of small scales.

use crate::engines::{cmd, copy, json, number, offline};
use crate::harness::TestEnv;
use serde_json::Value;
use std::path::Path;

const PIPELINE: &str = r#"[pipeline]
name = "it-vehicle-batch"

[[stage]]
name = "plant"
kind = "build-engine"
engine = "vehicle"

[[stage]]
name = "engine"
kind = "build-engine"
engine = "ENGINE"

[[stage]]
name = "m2_ENGINE"
kind = "batch-protocol"
engine = "ENGINE"
protocol = "scenes/vehicle/m2.toml"
config = "scenes/vehicle/vehicle.toml"
inputs.engine = "engine"
inputs.plant = "plant"

[[stage]]
name = "site"
kind = "report"
inputs.protocols = "m2_ENGINE[]/verdict"
"#;

/// The declared protocol with scales of seconds.
fn small(text: &str) -> String {
    let head = &text[..text.find("[[scale]]").expect("scales")];
    let gates = &text[text.find("[[gate]]").expect("gates")..];
    let scales = "[[scale]]\nworlds = 1\nsteps = 1000\ncpu = { steps = 260, warmup_chunks = 0 }\n\
                  [[scale]]\nworlds = 5\nsteps = 1000\ncpu = { steps = 260, warmup_chunks = 0 }\n";
    format!("{head}{scales}{gates}").replace("chunk_steps = 100", "chunk_steps = 50")
}

fn checks(report: &Value) -> Vec<(&str, bool)> {
    let scales = report["scales"].as_array().into_iter().flatten();
    let lists = scales.map(|s| &s["checks"]).chain([&report["agreement"]["checks"]]);
    lists
        .flat_map(|l| l.as_array().into_iter().flatten())
        .map(|c| (c["id"].as_str().expect("an id"), c["passed"] == true))
        .collect()
}

/// FACTS 2.1.9: 5 s beside the plant within the published tolerances, and every gate with its value and limit. A
/// changed threshold runs the verdict alone, and one that does not hold fails it by name.
#[test]
fn a_batched_engine_agrees_with_the_plant_and_passes_its_gates() {
    agrees("mujoco_warp", &["engines/python", "engines/mujoco_warp"]);
}

/// M25, V43: the same of `batch`.
#[test]
fn our_own_engine_agrees_with_the_plant_and_passes_its_gates() {
    agrees("batch", &["engines/batch"]);
}

fn agrees(engine: &str, folders: &[&str]) {
    let env = TestEnv::with_pipeline(&PIPELINE.replace("ENGINE", engine));
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = [
        "engines/protocol",
        "engines/harness",
        "engines/vehicle",
        "engines/mujoco-c",
        "engines/recording",
        "scenes/vehicle",
        "scenes/protocol",
    ];
    for folder in shared.iter().chain(folders) {
        copy(&repository.join(folder), &env.path(folder));
    }
    let declared = std::fs::read_to_string(env.path("scenes/vehicle/m2.toml")).expect("m2.toml");
    env.write("scenes/vehicle/m2.toml", small(&declared));
    let out = cmd(&env, &["run", "pipeline.toml"]).run();
    if offline(&out) {
        return;
    }
    out.expect(0);
    // The tests of all engines share a store, in which a label is the latest action of that name.
    let label = format!("m2_{engine}/verdict");
    let report = json(&env, &label, "report.json");
    assert_eq!(report["passed"], true, "{report:#}");
    let all = checks(&report);
    // 16 quantities; 22 gates for one world, and one more for a batch.
    assert_eq!(all.len(), 16 + 22 + 23);
    assert!(all.iter().all(|(_, passed)| *passed), "{all:?}");
    assert_eq!(report["agreement"]["rows"], 101);
    let head = &report["engine"];
    let plant = (&head["name"], &head["plant_version"], &head["backend"]);
    assert_eq!(plant, (&engine.into(), &"3.17.0".into(), &"cpu".into()));
    // Others measured 3.4e-5 m at most in another implementation; single precision has no more to give.
    let value = |name: &str| {
        let list = report["agreement"]["checks"].as_array().expect("checks");
        let check = list.iter().find(|c| c["metric"] == name).expect("a quantity");
        number(check, "/value")
    };
    assert!(value("position_xy_max_m") < 1e-4 && value("position_xy_max_m") > 0.0);
    assert!(value("yaw_max_rad") < 1e-5 && value("wheel_speed_max_rad_s") < 2e-3);
    let five = &report["scales"][1];
    assert_eq!(
        (&five["worlds"], &five["steps"], &five["declared_steps"]),
        (&5.into(), &260.into(), &1000.into())
    );
    assert!(number(five, "/transitions_per_s") > 0.0);
    let unanswered = report["not_measured"].to_string();
    for said in ["GPU", "5 worlds for 1000 steps: backend cpu ran 260"] {
        assert!(unanswered.contains(said), "{unanswered}");
    }

    // The page says the same in words and numbers, and so does the catalog.
    let pages = std::fs::read_dir(env.path("out/it-vehicle-batch/protocols")).expect("pages");
    let pages: Vec<_> = pages.map(|p| p.expect("a page").path()).collect();
    let is_page = |p: &&std::path::PathBuf| p.extension().is_some_and(|e| e == "html");
    let page = pages.iter().find(is_page).expect("a page");
    let page = std::fs::read_to_string(page).expect("reads");
    for words in [
        "agrees with the plant in all 16 quantities, and every gate holds with 1 and 5 worlds, over fewer steps than declared.",
        "Position on the ground",
        "260 of 1000",
        "5 worlds for 1000 steps: backend cpu ran 260",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let sql = format!(
        "select count(*) n, count(*) filter (passed) good, count(distinct worlds) w, any_value(engine) e
        from batch_checks join actions using (key, generation) where latest
        and key = (select key from batch_checks join actions using (key, generation)
            where label = '{label}' order by generation limit 1)"
    );
    let out = cmd(&env, &["query", "--format", "csv", &sql]).run();
    assert!(out.expect(0).stdout.contains(&format!("61,61,2,{engine}")), "{out}");
    let sql = format!(
        "select worlds, steps, declared_steps from batch_scales join actions using (key, generation)
        where latest and label = '{label}' order by worlds"
    );
    let out = cmd(&env, &["query", "--format", "csv", &sql]).run();
    assert!(out.expect(0).stdout.contains("5,260,1000"), "{out}");

    // A word of its own: the store outlives the tests.
    let word = format!("# {}\n", env.path("").display());
    let stricter =
        word + &small(&declared).replace("position_xy_max_m = 2e-3", "position_xy_max_m = 1e-9");
    env.write("scenes/vehicle/m2.toml", stricter);
    let out = cmd(&env, &["run", "pipeline.toml"]).run();
    assert!(out.expect(5).stderr.contains("agreement.position_xy_max_m"), "{out}");
    assert!(out.stderr.contains("2 ran"), "the verdict and the site: {out}");
    let changed = json(&env, &label, "report.json");
    assert_eq!(changed["failures"], serde_json::json!(["agreement.position_xy_max_m"]));
    assert_ne!(changed["protocol"]["identity"], report["protocol"]["identity"]);
}
