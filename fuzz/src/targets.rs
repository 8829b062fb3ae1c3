//! What is fuzzed: everything that reads what a person, an engine or a disk wrote. Each target takes
//! any bytes, must not panic, and asserts what must hold of whatever was accepted. The same functions
//! replay the kept corpus in the ordinary tests (`tests/it/corpus.rs`).

use sim_engine_protocol::{Job, Scene};
use sim_model::Digest;
use sim_model::kind::Kind;
use sim_plan::{MachineFacts, MemFiles, Options, Registry};

/// A planned cell costs memory, and a fuzzer finds the largest matrix: enough to be a matrix, few
/// enough to be planned thousands of times a second.
const MAX_ACTIONS: usize = 500;

/// A pipeline file, in a project with a suite and some sources. A byte 0 separates further files:
/// the second part is `suite.toml`.
pub(crate) fn pipeline(data: &[u8]) {
    let mut parts = data.splitn(2, |b| *b == 0);
    let text = parts.next().unwrap_or_default();
    let suite = parts.next().unwrap_or(SUITE.as_bytes());
    let files = MemFiles::new()
        .with("pipeline.toml", text)
        .with("suite.toml", suite)
        .with("data/a.csv", "1\n")
        .with("data/sub/b.csv", "2\n")
        .with("analyse.py", "pass\n");
    let machine = MachineFacts { cpus: 4, ram: 8 << 30 };
    let options = Options { max_actions: MAX_ACTIONS, ..Options::default() };
    if let Ok(text) = std::str::from_utf8(text) {
        let _ = sim_plan::head(text);
    }
    let outcome = sim_plan::plan(&files, "pipeline.toml", &registry(), machine, &options);
    let shown = sim_plan::render(&outcome, false, 100);
    assert!(!shown.contains('\u{1b}'), "control characters reach the terminal");
    assert_eq!(outcome.plan.is_none(), outcome.errors() + outcome.dropped > 0, "{shown}");
    let Some(plan) = outcome.plan else { return };
    assert!(plan.actions.len() <= MAX_ACTIONS);
    for (i, action) in plan.actions.iter().enumerate() {
        for needed in action.dependencies().chain(action.after.iter().copied()) {
            assert!(needed < i, "{} comes before what it needs", action.label);
        }
        for output in &action.outputs {
            let escapes = output.starts_with('/') || output.split('/').any(|p| p == "..");
            assert!(!escapes, "the output {output} leads outside");
        }
    }
}

const SUITE: &str = r#"[suite]
name = "s"
repeats = 1
[[case]]
scenario = "free_fall"
sizes = [3]
steps = 24
"#;

fn registry() -> Registry {
    let kinds: Vec<Box<dyn Kind>> = vec![
        Box::new(sim_plan::Command),
        Box::new(sim_stage_fetch::Fetch),
        Box::new(sim_stage_build_engine::BuildEngine),
        Box::new(sim_stage_scene::Scene),
        Box::new(sim_stage_trial::Trial),
        Box::new(sim_stage_report::Report),
    ];
    Registry::new(kinds)
}

/// A record file: as it is, and with a first line that fits, for otherwise nothing gets past it.
pub(crate) fn record(data: &[u8]) {
    let _ = sim_store::decode_record(data);
    let mut sealed = format!("sim-pipe record 1 {}\n", Digest::of(data)).into_bytes();
    sealed.extend_from_slice(data);
    let Ok(stored) = sim_store::decode_record(&sealed) else { return };
    assert_eq!(stored.digest, Digest::of(data));
    let again = serde_json::to_vec(&stored.record).expect("what was read can be written");
    let mut sealed = format!("sim-pipe record 1 {}\n", Digest::of(&again)).into_bytes();
    sealed.extend_from_slice(&again);
    let second = sim_store::decode_record(&sealed).expect("what was written can be read");
    assert_eq!(second.record, stored.record);
}

/// A scene.
pub(crate) fn scene(data: &[u8]) {
    let Ok(scene) = serde_json::from_slice::<Scene>(data) else { return };
    if let Err(errors) = scene.validate() {
        assert!(!errors.is_empty());
        return;
    }
    for (_, body) in scene.dynamic_bodies() {
        let pose = body.pose();
        assert!(body.shape.lowest_point(&pose).is_finite());
        assert!(pose.transform([1.0, 2.0, 3.0]).iter().all(|x| x.is_finite()));
    }
    let links = scene.robot.as_ref().map_or(0, |r| r.links.len());
    assert!(scene.dynamic_count() <= scene.bodies.len() + links);
    assert_eq!(scene.movers().count(), scene.dynamic_count());
    let again = serde_json::to_vec(&scene).expect("a valid scene can be written");
    let second: Scene = serde_json::from_slice(&again).expect("what was written can be read");
    assert_eq!(second, scene);
}

/// A job.
pub(crate) fn job(data: &[u8]) {
    let Ok(job) = serde_json::from_slice::<Job>(data) else { return };
    if let Err(errors) = job.validate() {
        assert!(!errors.is_empty());
        return;
    }
    let _ = job.warmup_steps();
    let again = serde_json::to_vec(&job).expect("a valid job can be written");
    let second: Job = serde_json::from_slice(&again).expect("what was written can be read");
    assert_eq!(second, job);
}
