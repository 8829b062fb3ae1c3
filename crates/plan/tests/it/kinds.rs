//! Stage kinds and helpers for the tests.

use sim_model::Class;
use sim_model::kind::{
    Cell, Draft, DraftInput, ExpandCtx, InputSpec, Kind, Param, ParamType, Place, Problem,
};
use sim_plan::{Command, Files, MachineFacts, MemFiles, Options, Outcome, Registry, plan};

const FINGERPRINT: &str = "1111111111111111111111111111111111111111111111111111111111111111";

const fn param(name: &'static str, ty: ParamType, required: bool) -> Param {
    Param { name, ty, required, doc: "A parameter." }
}

const fn input(name: &'static str, required: bool, many: bool) -> InputSpec {
    InputSpec { name, required, many, doc: "An input." }
}

type Expand = fn(&Cell, &mut dyn ExpandCtx) -> Result<Vec<Draft>, Vec<Problem>>;

/// A kind made of data.
struct Fake {
    name: &'static str,
    params: &'static [Param],
    inputs: &'static [InputSpec],
    public: bool,
    expand: Expand,
}

impl Kind for Fake {
    fn name(&self) -> &'static str {
        self.name
    }
    fn summary(&self) -> &'static str {
        "A kind for tests."
    }
    fn class(&self) -> Class {
        Class::Pure
    }
    fn fingerprint(&self) -> &'static str {
        FINGERPRINT
    }
    fn params(&self) -> &'static [Param] {
        self.params
    }
    fn inputs(&self) -> &'static [InputSpec] {
        self.inputs
    }
    fn public(&self) -> bool {
        self.public
    }
    fn expand(&self, cell: &Cell, ctx: &mut dyn ExpandCtx) -> Result<Vec<Draft>, Vec<Problem>> {
        (self.expand)(cell, ctx)
    }
}

fn declared(draft: &mut Draft, cell: &Cell) {
    for name in &cell.inputs {
        draft.inputs.insert(name.clone(), DraftInput::Declared(name.clone()));
    }
}

fn simple(kind: &'static str, cell: &Cell) -> Draft {
    let mut draft = Draft::new(kind, Class::Pure);
    draft.args = cell.params.clone();
    draft.seed = cell.seed;
    declared(&mut draft, cell);
    draft
}

/// `trial`: a scene shared by all cells, a measured action for each line of the suite, and a replay
/// that is not exported.
fn trial(cell: &Cell, ctx: &mut dyn ExpandCtx) -> Result<Vec<Draft>, Vec<Problem>> {
    let path = cell.params["suite"].as_str().unwrap_or_default().to_owned();
    let place = Place::Param("suite".to_owned());
    let text = ctx.read(&path).map_err(|message| vec![Problem { place, message, hint: None }])?;
    let mut drafts = Vec::new();
    let mut problems = Vec::new();
    let mut at = 0;
    for line in text.lines() {
        let span = at..at + line.len();
        at += line.len() + 1;
        if line.starts_with("bad") {
            problems.push(Problem {
                place: Place::File { path: path.clone(), span },
                message: format!("the case `{line}` is bad"),
                hint: Some("write a good one".to_owned()),
            });
            continue;
        }
        let mut scene = Draft::new("scene", Class::Pure);
        scene.shared = Some(format!("scene/{line}"));
        scene.export = false;
        scene.seed = if line == "unequal" { cell.label.len() as u64 } else { 0 };
        let index = drafts.len();
        drafts.push(scene);
        let mut run = simple("measure", cell);
        run.class = Class::Measured;
        run.suffix = format!("{line}/r0");
        run.inputs.insert("scene".to_owned(), DraftInput::Draft { index, subpath: None });
        run.order = index as u64;
        let replays = cell.params.get("replays").and_then(|v| v.as_list()).unwrap_or_default();
        // In one suite only: the others' tests are of trials alone.
        let captured =
            path == "suites/shown.toml" && replays.iter().any(|r| r.as_str() == Some("capture"));
        if captured {
            let mut capture = run.clone();
            capture.suffix = format!("{line}/r0/capture");
            capture.after = vec![drafts.len()];
            drafts.push(run);
            drafts.push(capture);
        } else {
            drafts.push(run);
        }
    }
    if problems.is_empty() { Ok(drafts) } else { Err(problems) }
}

fn broken(_: &Cell, _: &mut dyn ExpandCtx) -> Result<Vec<Draft>, Vec<Problem>> {
    let mut draft = Draft::new("broken", Class::Pure);
    draft.after = vec![7];
    Ok(vec![draft])
}

fn fake(name: &'static str, expand: Expand) -> Fake {
    Fake { name, params: &[], inputs: &[], public: true, expand }
}

/// `command`, and fakes of the kinds that the documents name.
pub(crate) fn registry() -> Registry {
    const NAME: Param = param("engine", ParamType::Str, true);
    const PROBE: &[Param] = &[
        param("flag", ParamType::Bool, false),
        param("steps", ParamType::Int { min: 1, max: 1000 }, false),
        param("size", ParamType::Float, false),
        param("mode", ParamType::Enum(&["fast", "exact"]), false),
        param("file", ParamType::Path, false),
        param("modes", ParamType::EnumList(&["fast", "exact"]), false),
        param("gates", ParamType::Table, false),
        param("text", ParamType::Str, false),
    ];
    const TRIAL: &[Param] = &[
        param("suite", ParamType::Path, true),
        param("repeats", ParamType::Int { min: 1, max: i64::MAX }, false),
        param("replays", ParamType::EnumList(&["memory", "capture"]), false),
    ];
    Registry::new(vec![
        Box::new(Command),
        Box::new(Fake {
            params: &[NAME],
            ..fake("build-engine", |c, _| Ok(vec![simple("build-engine", c)]))
        }),
        Box::new(Fake {
            params: TRIAL,
            inputs: &[const { input("engine", true, false) }],
            ..fake("trial", trial)
        }),
        Box::new(Fake {
            inputs: &[
                const { input("trials", true, true) },
                const { input("renders", false, true) },
            ],
            ..fake("report", |c, _| Ok(vec![simple("report", c)]))
        }),
        Box::new(Fake {
            inputs: &[const { input("captures", true, true) }],
            ..fake("render", |c, _| Ok(vec![simple("render", c)]))
        }),
        Box::new(Fake {
            params: PROBE,
            inputs: &[const { input("data", false, false) }],
            ..fake("probe", |c, _| Ok(vec![simple("probe", c)]))
        }),
        Box::new(Fake { public: false, ..fake("scene", |c, _| Ok(vec![simple("scene", c)])) }),
        Box::new(Fake { public: false, ..fake("measure", |c, _| Ok(vec![simple("measure", c)])) }),
        Box::new(fake("broken", broken)),
    ])
}

/// Files that the examples name.
pub(crate) fn files() -> MemFiles {
    MemFiles::new()
        .without_program("pyhton3")
        .with("analyse.py", "print(1)\n")
        .with("data/a.csv", "1\n")
        .with("data/deep/b.csv", "2\n")
        .with("tools/go.sh", "true\n")
        .with("suites/rigid.toml", "pile\nstack\n")
        .with("suites/shown.toml", "box_pile\npendulum\n")
        .with("suites/bad.toml", "pile\nbad one\nbad two\n")
        .with("suites/twice.toml", "pile\npile\n")
        .with("suites/unequal.toml", "unequal\n")
}

pub(crate) const FACTS: MachineFacts = MachineFacts { cpus: 4, ram: 16 << 30 };

/// Plans a text with the files above.
pub(crate) fn planned(text: &str) -> Outcome {
    planned_in(&files().with("pipelines/p.toml", text), &Options::default())
}

/// Plans `pipelines/p.toml` of these files.
pub(crate) fn planned_in(files: &dyn Files, options: &Options) -> Outcome {
    plan(files, "pipelines/p.toml", &registry(), FACTS, options)
}

/// A head for texts that have none.
pub(crate) fn with_head(text: &str) -> String {
    if text.contains("[pipeline]") {
        return text.to_owned();
    }
    format!("[pipeline]\nname = \"demo\"\n\n{text}")
}
