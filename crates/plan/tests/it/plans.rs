//! What pipelines mean.

use crate::kinds::{planned, with_head};
use sim_model::plan::{Plan, PlannedInput};
use sim_plan::render;

/// The plan of a text that has to be sound.
pub(crate) fn sound(text: &str) -> Plan {
    let outcome = planned(&with_head(text));
    let shown = render(&outcome, false, 100);
    outcome.plan.unwrap_or_else(|| panic!("{shown}"))
}

#[test]
fn the_page_of_the_design_plans() {
    let plan = sound(
        r#"
[pipeline]
name = "round"
title = "Rigid bodies"
seed = 7

[defaults]
timeout = "5min"
memory = "50%"

[[stage]]
name = "site"
kind = "report"
inputs.trials = "trial[*]"

[[stage]]
name = "engine"
kind = "build-engine"
matrix.engine = ["mujoco", "rapier"]

[[stage]]
name = "trial"
kind = "trial"
suite = "suites/rigid.toml"
matrix.engine = ["mujoco", "rapier"]
inputs.engine = "engine[{engine}]"
replays = ["memory", "capture"]

[[stage]]
name = "mine"
kind = "command"
run = ["python3", "{inputs.script}", "{inputs.trials}", "{out}"]
inputs.trials = "trial[*]"
inputs.script = "analyse.py"
outputs = ["summary.json", "plot.svg"]
"#,
    );
    let labels: Vec<_> = plan.actions.iter().map(|a| a.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "engine[mujoco]",
            "engine[rapier]",
            "scene/pile",
            "trial[mujoco]/pile/r0",
            "scene/stack",
            "trial[mujoco]/stack/r0",
            "trial[rapier]/pile/r0",
            "trial[rapier]/stack/r0",
            "site",
            "mine",
        ]
    );
    assert_eq!(plan.actions[8].inputs["trials"], PlannedInput::Many(vec![3, 5, 6, 7]));
    assert_eq!(plan.actions[0].args["engine"].as_str(), Some("mujoco"));
    assert_eq!(plan.actions[6].inputs["engine"], PlannedInput::Action { index: 1, subpath: None });
    let mine = &plan.actions[9];
    assert_eq!(mine.argv, ["python3", "{inputs.script}", "{inputs.trials}", "{out}"]);
    assert_eq!(mine.inputs["script"], PlannedInput::Source("analyse.py".into()));
    assert_eq!(mine.seed, 7);
    let origins: Vec<_> = mine.origins.iter().map(|(k, v)| format!("{k} {v}")).collect();
    assert_eq!(
        origins,
        [
            "inputs.script pipelines/p.toml:32:17",
            "inputs.trials pipelines/p.toml:31:17",
            "outputs pipelines/p.toml:33:11",
            "run pipelines/p.toml:30:7",
            "seed pipelines/p.toml:5:8",
        ]
    );
}
