//! Pipeline files: TOML text to diagnostics and a [`Plan`].
//!
//! Pure over the [`Files`] trait: nothing here writes, runs, or knows a clock. The way of a file:
//! text, [`doc`] (a tree with spans), [`check`] (shape), [`expand`] (cells to drafts, by the stage
//! kinds), [`resolve`] (inputs), [`order`] (topological order). Everything wrong is reported in one
//! go, by position, with a stable code; [`explain_code`] has a paragraph on each.

mod check;
mod codes;
mod command;
mod diag;
mod doc;
mod expand;
mod files;
mod matrix;
mod order;
mod overrides;
mod params;
mod paths;
mod reference;
mod registry;
mod render;
mod resolve;
mod schema;
mod source;
mod suggest;
mod take;
mod template;
mod world;

pub use codes::{codes, diagnostics_markdown, explain_code};
pub use command::Command;
pub use diag::{Diagnostic, Label, Severity};
pub use files::{FileKind, Files, HasProgram, MemFiles, OsFiles};
pub use registry::Registry;
pub use render::{render, render_from};
pub use schema::json_schema;
pub use source::{SourceText, Sources};

use diag::Diag;
use sim_model::Plan;
use sim_model::plan::{PlannedAction, StageInfo};
use source::Span;
use std::sync::Arc;
use world::{ReadError, World};

/// What the planner knows of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineFacts {
    /// Logical processors.
    pub cpus: u32,
    /// RAM in bytes.
    pub ram: u64,
}

/// Options of a planning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Values that stand in for what the file says, as dotted key and TOML value:
    /// `("pipeline.seed", "3")`, `("stage.trial.repeats", "1")`. A value that is not TOML is a text.
    pub overrides: Vec<(String, String)>,
    /// Most actions of a plan.
    pub max_actions: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { overrides: Vec::new(), max_actions: 1_000_000 }
    }
}

/// What planning gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The plan; none when there is an error.
    pub plan: Option<Plan>,
    /// Everything that is wrong, by position. At most a thousand are kept.
    pub diagnostics: Vec<Diagnostic>,
    /// How many more there were.
    pub dropped: usize,
    /// The texts that diagnostics point into.
    pub sources: Sources,
}

impl Outcome {
    /// Number of errors among the diagnostics that were kept.
    pub fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|d| d.severity == Severity::Error).count()
    }
}

/// What must be known of a pipeline before it is planned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// `pipeline.name`, where it is a text.
    pub name: Option<String>,
    /// `pipeline.root`, where it is a text: how the project's root lies relative to the pipeline file.
    /// [`plan`] wants paths relative to that root.
    pub root: Option<String>,
}

/// The head of a pipeline file, as far as it can be made out; nothing in it was checked.
pub fn head(pipeline_text: &str) -> Head {
    let ask = |text: &str| {
        let mut sink = diag::Sink::default();
        let table = doc::parse(text, 0, &mut sink);
        let doc::Val::Table(head) = &table.get("pipeline")?.node.val else { return None };
        let text_of = |key: &str| match &head.get(key)?.node.val {
            doc::Val::Str(text) => Some(text.clone().into_owned()),
            _ => None,
        };
        Some((Head { name: text_of("name"), root: text_of("root") }, sink.failed()))
    };
    // A table can be defined only once. So what stands before the first stage has it whole, if that
    // is a document at all; ten thousand stages need not be read twice.
    let first = pipeline_text.find("\n[[").and_then(|end| ask(&pipeline_text[..end]));
    match first {
        Some((head, false)) => head,
        _ => ask(pipeline_text).map(|(head, _)| head).unwrap_or_default(),
    }
}

/// Plans a pipeline file, given by its path relative to the project's root.
pub fn plan(
    files: &dyn Files,
    pipeline_path: &str,
    kinds: &Registry,
    machine: MachineFacts,
    options: &Options,
) -> Outcome {
    let mut world = World::new(files, machine.cpus, options.max_actions);
    let plan = make(pipeline_path, kinds, options, &mut world);
    let plan = plan.filter(|_| !world.sink.failed());
    let (diagnostics, dropped) = world.sink.finish(&world.sources);
    Outcome { plan, diagnostics, dropped, sources: world.sources }
}

fn make(path: &str, kinds: &Registry, options: &Options, world: &mut World<'_>) -> Option<Plan> {
    let file = open(path, world)?;
    let text = world.text(file);
    let whole = Span::new(file, 0..text.find('\n').unwrap_or(text.len()));
    let mut root = doc::parse(&text, file, &mut world.sink);
    let values: Vec<(u32, Arc<str>)> = overrides::register(&options.overrides, world);
    overrides::apply(&mut root, &options.overrides, &values, whole, world);
    let mut pipeline = check::check(&root, whole, kinds, world);
    pipeline.file = path.to_owned();
    let expansion = expand::expand(&pipeline, kinds, world);
    let actions = resolve::resolve(&pipeline, expansion, kinds, world);
    programs(&actions, &pipeline, world);
    let stages = pipeline.stages.iter().map(|s| StageInfo {
        name: s.name.to_owned(),
        kind: s.kind_name.to_owned(),
        origin: world.sources.origin(s.span),
    });
    let stages = stages.collect();
    let (name, title) = (pipeline.name.clone(), pipeline.title.clone());
    match order::order(actions) {
        Ok(actions) => Some(Plan { name, title, stages, actions }),
        Err((actions, cycles)) => {
            cycles.iter().for_each(|cycle| report_cycle(cycle, &actions, &pipeline, world));
            None
        }
    }
}

/// Reads the pipeline file. One that can't be read is a diagnostic at its first byte.
fn open(path: &str, world: &mut World<'_>) -> Option<u32> {
    let (code, message, text, at) = match world.read(path) {
        Ok(file) => return Some(file),
        Err(ReadError::Io(why)) => {
            let message =
                format!("the pipeline file {} can't be read: {why}", suggest::quote(path));
            ("SP0001", message, String::new(), 0)
        }
        Err(ReadError::NotUtf8 { text, valid }) => {
            let message = format!("the pipeline file is not UTF-8 from byte {valid} on");
            ("SP0002", message, text, valid)
        }
    };
    let end = text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
    let file = world.sources.add(path, text.into());
    let help = match code {
        "SP0002" => Some("save the file as UTF-8".to_owned()),
        _ => None,
    };
    world.push(Diag::error(code, Span::new(file, at..end), message).help(help));
    None
}

/// Warns of programs that are not there, before anything runs for hours to find out.
fn programs(actions: &[PlannedAction], pipeline: &check::Pipeline<'_>, world: &mut World<'_>) {
    let mut there = std::collections::HashMap::new();
    let mut told = std::collections::HashSet::new();
    for action in actions {
        let path = action.env.get("PATH").map(String::as_str);
        for tool in &action.tools {
            let known = there.entry((tool.as_str(), path));
            if *known.or_insert_with(|| world.files.has_program(tool, path))
                || !told.insert((action.stage.as_str(), tool.as_str()))
            {
                continue;
            }
            let stage = pipeline.by_name.get(action.stage.as_str());
            let Some(stage) = stage.map(|i| &pipeline.stages[*i]) else { continue };
            let given = |name: &str| stage.params.iter().find(|(p, _)| p.name == name);
            let named = if action.argv.first() == Some(tool) { "run" } else { "tools" };
            let span = given(named).map_or(stage.span, |(_, node)| node.span);
            let text = match tool.starts_with('/') {
                true => format!("there is no program {} on this machine", suggest::quote(tool)),
                false => format!("the program {} is not on PATH", suggest::quote(tool)),
            };
            let help = "install it, or put its folder on PATH; until then what needs it is skipped";
            world.push(Diag::warning("SP0410", span, text).help(help.to_owned()));
        }
    }
}

fn report_cycle(
    cycle: &[usize],
    actions: &[PlannedAction],
    pipeline: &check::Pipeline<'_>,
    world: &mut World<'_>,
) {
    // Many actions of one stage are one step of the path that people see.
    let mut names: Vec<&str> = cycle.iter().map(|i| actions[*i].stage.as_str()).collect();
    names.dedup();
    names.push(actions[cycle[0]].stage.as_str());
    let mut path: Vec<String> = names.iter().take(12).map(|n| suggest::quote(n)).collect();
    if names.len() > 12 {
        path.push("…".to_owned());
    }
    let place = |at: usize| {
        let action = &actions[cycle[at]];
        let next = cycle[(at + 1) % cycle.len()];
        let stage = &pipeline.stages[*pipeline.by_name.get(action.stage.as_str())?];
        let input = action.inputs.iter().find(|(_, input)| match input {
            sim_model::plan::PlannedInput::Action { index, .. } => *index == next,
            sim_model::plan::PlannedInput::Many(all) => all.contains(&next),
            _ => false,
        });
        let input = input.and_then(|(name, _)| stage.inputs.iter().find(|i| i.name == name));
        let text = format!("needs {}", suggest::quote(&actions[next].label));
        Some((input.map_or(stage.span, |i| i.span), text))
    };
    let Some((span, label)) = place(0) else { return };
    let message = format!("stages need each other in a circle: {}", path.join(" → "));
    let mut diag = Diag::error("SP0310", span, message).label(label);
    for at in 1..cycle.len().min(8) {
        if let Some((span, text)) = place(at) {
            diag = diag.also(span, text);
        }
    }
    world.push(diag.help("take one of these inputs away, or split a stage in two".to_owned()));
}
