//! What pipelines mean.

use crate::kinds::{planned, with_head};
use sim_model::plan::{GlobFiles, Plan, PlannedInput};
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
            "inputs.script pipelines/p.toml:34:17",
            "inputs.trials pipelines/p.toml:33:17",
            "outputs pipelines/p.toml:35:11",
            "run pipelines/p.toml:32:7",
            "seed pipelines/p.toml:5:8",
        ]
    );
}

const A: &str = "[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"true\"]\n";

#[test]
fn a_matrix_makes_cells_in_the_order_of_the_file() {
    let plan = sound(
        r#"[[stage]]
name = "a"
kind = "command"
run = ["echo", "{y}-{x}", "{seed}", "{{{x}}}", "{threads}"]
env.X = "{x}"
timeout = "{x}s"
matrix.y = ["q", "p"]
matrix.x = [2, 1]
matrix.seed = [9]
matrix.exclude = [{ y = "p", x = 2 }]
matrix.include = [{ x = 5, y = "p", seed = 8 }]

[[stage]]
name = "b"
kind = "command"
run = ["cat", "{inputs.one}", "{inputs.some}"]
inputs.one = "a[q,1,9]:log.txt"
inputs.some = "a[q,*,*]"
inputs.list = ["a[p,5,8]", "a[q,2,9]"]
"#,
    );
    let labels: Vec<_> = plan.actions.iter().map(|a| a.label.as_str()).collect();
    assert_eq!(labels, ["a[q,2,9]", "a[q,1,9]", "a[p,1,9]", "a[p,5,8]", "b"]);
    let last = &plan.actions[3];
    assert_eq!(last.argv, ["echo", "p-5", "8", "{{5}}", "{threads}"]);
    assert_eq!((last.seed, last.limits.timeout.as_secs()), (8, 5));
    assert_eq!(last.env["X"], "5");
    let b = &plan.actions[4];
    let subpath = Some("log.txt".to_owned());
    assert_eq!(b.inputs["one"], PlannedInput::Action { index: 1, subpath });
    assert_eq!(b.inputs["some"], PlannedInput::Many(vec![0, 1]));
    assert_eq!(b.inputs["list"], PlannedInput::Many(vec![0, 3]));
}

#[test]
fn parameters_keep_the_type_of_the_matrix_value() {
    let plan = sound(
        r#"[[stage]]
name = "p"
kind = "probe"
steps = "{n}"
size = 2
file = "./data//a.csv"
gates = { deep = ["{n}", "n={n}"] }
matrix.n = [10, 20]
matrix.mode = ["fast"]
"#,
    );
    let args: Vec<_> = plan.actions[1].args.iter().map(|(k, v)| format!("{k} = {v}")).collect();
    assert_eq!(
        args,
        [
            r#"file = "data/a.csv""#,
            r#"gates = { deep = [20, "n=20"] }"#,
            r#"mode = "fast""#,
            "size = 2.0",
            "steps = 20",
        ]
    );
    assert_eq!(
        plan.actions[1].origins.get("args.mode").expect("an origin").to_string(),
        "pipelines/p.toml:12:16"
    );
}

#[test]
fn inputs_from_files() {
    let plan = sound(&format!(
        "{A}inputs.a = \"data/**/*.csv\"\ninputs.b = [\"./analyse.py\", \"data/*.csv\"]\n\
         inputs.c = \"data\"\n"
    ));
    let glob = |pattern: &str, base: &str, files: &[&str]| {
        let files = files.iter().map(|f| (*f).to_owned()).collect();
        let (pattern, base) = (pattern.into(), base.into());
        PlannedInput::Glob(Box::new(GlobFiles { pattern, base, files }))
    };
    let inputs = &plan.actions[0].inputs;
    assert_eq!(inputs["a"], glob("data/**/*.csv", "data", &["data/a.csv", "data/deep/b.csv"]));
    assert_eq!(inputs["b"], glob("analyse.py, data/*.csv", "", &["analyse.py", "data/a.csv"]));
    assert_eq!(inputs["c"], PlannedInput::Source("data".into()));
}

#[test]
fn a_measured_command_is_repeated() {
    let plan = sound(&format!("{A}class = \"measured\"\nrepeats = 2\n"));
    let seen: Vec<_> = plan.actions.iter().map(|a| (a.label.as_str(), a.repeat)).collect();
    assert_eq!(seen, [("a/r0", 0), ("a/r1", 1)]);
}

#[test]
fn the_root_is_found_before_planning() {
    let head = sim_plan::head("[pipeline]\nname = \"x\"\nroot = \"..\"\n");
    assert_eq!((head.name.as_deref(), head.root.as_deref()), (Some("x"), Some("..")));
    assert_eq!(sim_plan::head("[pipeline]\nroot = 3\n").root, None);
    assert_eq!(sim_plan::head("pipeline = ["), sim_plan::Head::default());
}
