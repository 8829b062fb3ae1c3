//! Cells to drafts: every cell of every stage is given to its kind, and what the kind drafts is
//! numbered. Inputs are resolved later, when all stages are known.

use crate::check::{self, Pipeline, Stage};
use crate::diag::Diag;
use crate::doc::{Node, Val};
use crate::params;
use crate::paths;
use crate::registry::Registry;
use crate::source::Span;
use crate::suggest::quote;
use crate::template;
use crate::world::{Bindings, World};
use sim_model::Value;
use sim_model::kind::{Cell, Draft, DraftInput, ExpandCtx, ParamType, Place, Problem};
use sim_model::plan::{Limits, Origin};
use std::borrow::Cow;
use std::collections::hash_map::Entry as MapEntry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::time::Duration;

/// A numbered draft.
pub(crate) struct Pending {
    /// The draft without its inputs.
    pub(crate) draft: Draft,
    /// Its inputs by name, packed: all drafts are alive at once.
    pub(crate) inputs: Box<[(String, DraftInput)]>,
    pub(crate) label: String,
    pub(crate) limits: Limits,
}

/// One expanded cell.
pub(crate) struct CellOut {
    pub(crate) label: String,
    pub(crate) stage: u32,
    /// Index into the stage's matrix.
    pub(crate) index: u32,
    /// The number of each of its drafts, in [`Expansion::locals`].
    pub(crate) locals: Range<usize>,
    /// The part of [`Expansion::pending`] that this cell brought in.
    pub(crate) fresh: Range<usize>,
}

/// Everything that was drafted.
#[derive(Default)]
pub(crate) struct Expansion {
    pub(crate) pending: Vec<Pending>,
    pub(crate) locals: Vec<u32>,
    pub(crate) cells: Vec<CellOut>,
    /// Cells of each stage.
    pub(crate) stages: Vec<Range<usize>>,
    /// Whether a stage lacks cells because of errors.
    pub(crate) incomplete: Vec<bool>,
    /// Drafts that share the label of an earlier one, with its number, by cell.
    pub(crate) repeated: Vec<(usize, Pending, u32)>,
}

struct Ctx<'w, 'f> {
    world: &'w mut World<'f>,
}

impl ExpandCtx for Ctx<'_, '_> {
    fn read(&mut self, path: &str) -> Result<String, String> {
        let path = paths::normal(path).map_err(|why| format!("the path {}", why.text()))?;
        let id = self.world.read(&path).map_err(|e| e.to_string())?;
        Ok(self.world.text(id).as_ref().to_owned())
    }

    fn exists(&self, path: &str) -> bool {
        paths::normal(path).is_ok_and(|path| self.world.files.kind(&path).is_some())
    }

    fn cpus(&self) -> u32 {
        self.world.cpus
    }

    fn origin(&self, path: &str, offset: usize) -> Origin {
        let path = paths::normal(path).unwrap_or_default();
        match self.world.sources.id(&path) {
            Some(file) => self.world.sources.origin(Span::new(file, offset..offset)),
            None => Origin::Derived(path),
        }
    }
}

/// Expands every stage.
pub(crate) fn expand(
    pipeline: &Pipeline<'_>,
    kinds: &Registry,
    world: &mut World<'_>,
) -> Expansion {
    let mut out = Expansion::default();
    let mut labels = HashMap::new();
    for (at, stage) in pipeline.stages.iter().enumerate() {
        let first = out.cells.len();
        let whole = stage_cells(at as u32, stage, pipeline, kinds, &mut labels, &mut out, world);
        out.stages.push(first..out.cells.len());
        out.incomplete.push(whole != Some(true));
        if whole.is_none() && stage.kind.is_some() {
            // Too many actions: nothing after this is expanded.
            let rest = pipeline.stages.len() - out.stages.len();
            let end = out.cells.len();
            out.stages.extend(std::iter::repeat_n(end..end, rest));
            out.incomplete.extend(std::iter::repeat_n(true, rest));
            break;
        }
    }
    out
}

/// What is equal in all cells of a stage.
#[derive(Clone, Default)]
struct Common {
    /// Values of parameters without placeholders.
    fixed: Vec<(&'static str, Value)>,
    /// `run` and `outputs`, which a cell has apart.
    run: Vec<String>,
    outputs: Vec<String>,
    origins: BTreeMap<String, Origin>,
    inputs: BTreeSet<String>,
    good: bool,
}

fn common(stage: &Stage<'_>, world: &mut World<'_>) -> Common {
    let none = Bindings::new();
    let mut out = Common {
        fixed: Vec::new(),
        run: Vec::new(),
        outputs: Vec::new(),
        origins: BTreeMap::new(),
        inputs: stage.inputs.iter().map(|i| i.name.to_owned()).collect(),
        good: true,
    };
    for (spec, node) in &stage.params {
        if spec.name == "run" {
            program(node, stage, world);
        }
        out.origins.insert(spec.name.to_owned(), world.sources.origin(node.span));
        if !node.has_braces() {
            match params::value(node, spec.ty, &none, world) {
                Some(value) => match spec.name {
                    "run" => out.run = texts(value),
                    "outputs" => out.outputs = texts(value),
                    name => out.fixed.push((name, value)),
                },
                None => out.good = false,
            }
        }
    }
    out
}

/// Checks a program that is given by a relative path: where the command runs there is nothing but
/// its inputs, each of them under its own path too.
fn program(run: &Node<'_>, stage: &Stage<'_>, world: &mut World<'_>) {
    let Val::List(words) = &run.val else { return };
    let Some(Node { val: Val::Str(word), span }) = words.first() else { return };
    if word.starts_with('/') || !word.contains('/') || word.contains(['{', '}']) {
        return;
    }
    let path = paths::normal(word).unwrap_or_default();
    let brings = |n: &Node<'_>| match &n.val {
        Val::Str(s) if s.contains(['{', '*', '?', '[']) => true,
        Val::Str(s) => paths::normal(s).is_ok_and(|input| {
            path.strip_prefix(&*input).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }),
        _ => true,
    };
    if !stage.inputs.iter().any(|i| i.items.iter().any(brings)) {
        let text = format!("the program {} is not there where the command runs", quote(word));
        let help = format!("declare it: `inputs.program = {path:?}`");
        world.push(Diag::error("SP0409", *span, text).help(help));
    }
}

/// The cells of one stage: whether all could be expanded, `None` when the limit was reached.
fn stage_cells(
    at: u32,
    stage: &Stage<'_>,
    pipeline: &Pipeline<'_>,
    kinds: &Registry,
    labels: &mut HashMap<String, u32>,
    out: &mut Expansion,
    world: &mut World<'_>,
) -> Option<bool> {
    let mut common = common(stage, world);
    let Some(kind) = stage.kind else {
        // What can be said of the first cell is said all the same.
        if let Some(indices) = stage.matrix.cells.first() {
            let bindings = stage.matrix.bindings(indices);
            cell(stage, String::new(), bindings, indices, common, pipeline, world);
        }
        return None;
    };
    let good = common.good;
    let mut whole = good;
    let last = stage.matrix.cells.len() - 1;
    for (index, indices) in stage.matrix.cells.iter().enumerate() {
        let bindings = stage.matrix.bindings(indices);
        let label = if stage.matrix.dimensions.is_empty() {
            stage.name.to_owned()
        } else {
            format!("{}[{}]", stage.name, stage.matrix.label(indices))
        };
        let common = if index == last { std::mem::take(&mut common) } else { common.clone() };
        let made = cell(stage, label, bindings, indices, common, pipeline, world);
        let Some((cell, limits, env)) = made else {
            whole = false;
            continue;
        };
        if !good {
            continue;
        }
        let drafts = match kind.expand(&cell, &mut Ctx { world }) {
            Ok(drafts) => drafts,
            Err(problems) => {
                problems.into_iter().for_each(|p| problem(p, stage, indices, world));
                whole = false;
                continue;
            }
        };
        if out.pending.len() + drafts.len() > world.max_actions {
            let text = format!("the pipeline has more than {} actions", world.max_actions);
            let help = "split it, or take values out of its matrices".to_owned();
            world.push(Diag::error("SP0208", stage.span, text).help(help));
            return None;
        }
        let origin = Stamps { cell: &cell, env, limits, stage: at };
        whole &= number(drafts, origin, index as u32, stage, kinds, labels, out, world);
    }
    Some(whole)
}

/// One checked cell with the limits and the environment of its actions.
fn cell(
    stage: &Stage<'_>,
    label: String,
    bindings: Bindings,
    indices: &[u32],
    common: Common,
    pipeline: &Pipeline<'_>,
    world: &mut World<'_>,
) -> Option<(Cell, Limits, BTreeMap<String, String>)> {
    let mut good = true;
    let mut origins = common.origins;
    let mut values: BTreeMap<String, Value> =
        common.fixed.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let (mut run, mut outputs) = (common.run, common.outputs);
    let seed_at = stage.matrix.dimensions.iter().any(|d| d.name == "seed");
    let seed = match (stage.seed, bindings.get("seed")) {
        (Some(node), _) => check::seed(node, &bindings, world),
        (None, Some(value)) if seed_at => {
            let span = stage.matrix.span(indices, "seed").unwrap_or(stage.span);
            let ty = ParamType::Int { min: 0, max: i64::MAX };
            let value = params::bound(value, ty, span, world);
            value.and_then(|v| v.as_int()).map(i64::cast_unsigned)
        }
        _ => Some(pipeline.seed),
    };
    good &= seed.is_some();
    let seed = seed.unwrap_or(0);
    for (spec, node) in stage.params.iter().filter(|(_, node)| node.has_braces()) {
        let value = match spec.name {
            "run" => command_line(node, seed, stage, &bindings, world),
            _ => params::value(node, spec.ty, &bindings, world),
        };
        match (value, spec.name) {
            (Some(value), "run") => run = texts(value),
            (Some(value), "outputs") => outputs = texts(value),
            (Some(value), name) => drop(values.insert(name.to_owned(), value)),
            (None, _) => good = false,
        }
    }
    // A dimension that has the name of a parameter sets it.
    for d in &stage.matrix.dimensions {
        let specs = stage.kind.map_or(&[][..], |k| k.params());
        let spec = specs.iter().find(|p| p.name == d.name);
        let Some(spec) = spec.filter(|s| !origins.contains_key(s.name)) else { continue };
        let span = stage.matrix.span(indices, d.name).unwrap_or(stage.span);
        match params::bound(&bindings[d.name], spec.ty, span, world) {
            Some(value) => drop(values.insert(spec.name.to_owned(), value)),
            None => good = false,
        }
        origins.insert(spec.name.to_owned(), world.sources.origin(span));
    }
    let timeout = match stage.timeout {
        Some(node) => {
            let timeout = check::timeout(node, &bindings, world);
            good &= timeout.is_some();
            timeout
        }
        None => pipeline.timeout,
    };
    let memory = match stage.memory {
        Some(node) => {
            let memory = check::memory(node, &bindings, world);
            good &= memory.is_some();
            memory
        }
        None => pipeline.memory,
    };
    let mut env = pipeline.env.clone();
    for e in &stage.env {
        match check::variable(e, &bindings, world) {
            Some(value) => drop(env.insert(e.key.clone().into_owned(), value)),
            None => good = false,
        }
    }
    let limits = Limits::default();
    let limits = Limits {
        timeout: timeout.unwrap_or(limits.timeout),
        memory: memory.unwrap_or(limits.memory),
    };
    let inputs = common.inputs;
    let stage = stage.name.to_owned();
    let params = values;
    let (pipeline_title, pipeline_file) = (pipeline.title.clone(), pipeline.file.clone());
    let cell = Cell {
        stage,
        label,
        pipeline_title,
        pipeline_file,
        params,
        origins,
        bindings,
        inputs,
        run,
        outputs,
        seed,
        timeout,
    };
    good.then_some((cell, limits, env))
}

fn texts(value: Value) -> Vec<String> {
    let Value::List(items) = value else { return Vec::new() };
    items
        .into_iter()
        .filter_map(|item| match item {
            Value::Str(s) => Some(s),
            _ => None,
        })
        .collect()
}

/// The words of `run`, with everything filled in that is known now.
fn command_line(
    node: &Node<'_>,
    seed: u64,
    stage: &Stage<'_>,
    bindings: &Bindings,
    world: &mut World<'_>,
) -> Option<Value> {
    let Val::List(items) = &node.val else {
        world.wrong_type(node, "an array of strings");
        return None;
    };
    let keep = |name: &str| match name {
        "out" | "threads" => true,
        _ => name
            .strip_prefix("inputs.")
            .is_some_and(|name| stage.inputs.iter().any(|i| i.name == name)),
    };
    let lookup = |name: &str| match (bindings.get(name), name) {
        (_, "seed") => Some(Cow::Owned(seed.to_string())),
        (Some(value), _) => Some(template::text_of(value)),
        (None, _) => None,
    };
    let mut out = Vec::with_capacity(items.len());
    let mut good = true;
    for item in items {
        let Val::Str(word) = &item.val else {
            world.wrong_type(item, "a string");
            good = false;
            continue;
        };
        if word.contains('\0') {
            world.nul(item.span);
            good = false;
            continue;
        }
        match template::fill_word(word, lookup, keep) {
            Ok(word) => out.push(Value::Str(word)),
            Err(why) => {
                let mut names: Vec<String> = bindings.keys().cloned().collect();
                names.extend(["out", "seed", "threads"].map(str::to_owned));
                names.extend(stage.inputs.iter().map(|i| format!("inputs.{}", i.name)));
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                world.unfilled(item.span, why, &names);
                good = false;
            }
        }
    }
    good.then_some(Value::List(out))
}

/// What a cell gives to each of its drafts.
struct Stamps<'c> {
    cell: &'c Cell,
    env: BTreeMap<String, String>,
    limits: Limits,
    stage: u32,
}

/// Numbers the drafts of one cell; whether all were sound.
#[expect(clippy::too_many_arguments, reason = "the one place where all of it meets")]
fn number(
    drafts: Vec<Draft>,
    from: Stamps<'_>,
    index: u32,
    stage: &Stage<'_>,
    kinds: &Registry,
    labels: &mut HashMap<String, u32>,
    out: &mut Expansion,
    world: &mut World<'_>,
) -> bool {
    let (first_local, first_fresh) = (out.locals.len(), out.pending.len());
    let count = drafts.len();
    let mut good = true;
    let at_cell = out.cells.len();
    for mut draft in drafts {
        let label = match (&draft.shared, draft.suffix.as_str()) {
            (Some(label), _) => label.clone(),
            (None, "") => from.cell.label.clone(),
            (None, suffix) => format!("{}/{suffix}", from.cell.label),
        };
        good &= sound(&draft, &label, count, stage, kinds, world);
        for (name, value) in &from.env {
            draft.env.entry(name.clone()).or_insert_with(|| value.clone());
        }
        stamp_origins(&mut draft, from.cell);
        let timeout: Duration = draft.timeout.unwrap_or(from.limits.timeout);
        let limits = Limits { timeout, ..from.limits };
        let shared = draft.shared.is_some();
        let inputs = std::mem::take(&mut draft.inputs).into_iter().collect();
        let pending = Pending { draft, inputs, label, limits };
        let next = out.pending.len() as u32;
        match labels.entry(pending.label.clone()) {
            MapEntry::Vacant(slot) => {
                slot.insert(next);
                out.locals.push(next);
                out.pending.push(pending);
            }
            MapEntry::Occupied(slot) => {
                let id = *slot.get();
                out.locals.push(id);
                if shared && out.pending[id as usize].draft.shared.is_some() {
                    out.repeated.push((at_cell, pending, id));
                    continue;
                }
                let text = format!("two actions would be called {}", quote(&pending.label));
                let help = "give the stage or its matrix values other names".to_owned();
                world.push(Diag::error("SP0402", stage.span, text).help(help));
                good = false;
            }
        }
    }
    out.cells.push(CellOut {
        label: from.cell.label.clone(),
        stage: from.stage,
        index,
        locals: first_local..out.locals.len(),
        fresh: first_fresh..out.pending.len(),
    });
    good
}

fn stamp_origins(draft: &mut Draft, cell: &Cell) {
    for name in draft.args.keys() {
        if let Some(origin) = cell.origins.get(name) {
            draft.origins.entry(format!("args.{name}")).or_insert_with(|| origin.clone());
        }
    }
    // A folder or file that a parameter names, such as a report's templates.
    for (name, input) in &draft.inputs {
        if let (DraftInput::Source(_), Some(origin)) = (input, cell.origins.get(name)) {
            draft.origins.entry(format!("inputs.{name}")).or_insert_with(|| origin.clone());
        }
    }
}

/// Checks what a kind drafted, so that a mistake in a kind is a message and not a panic.
fn sound(
    draft: &Draft,
    label: &str,
    count: usize,
    stage: &Stage<'_>,
    kinds: &Registry,
    world: &mut World<'_>,
) -> bool {
    let inside = draft.after.iter().copied().chain(draft.inputs.values().filter_map(|i| match i {
        DraftInput::Draft { index, .. } => Some(*index),
        _ => None,
    }));
    let mut why = None;
    if inside.max().is_some_and(|most| most >= count) {
        why = Some("refers to an action that it does not have".to_owned());
    }
    if kinds.get(draft.kind).is_none() {
        why = Some(format!("needs the kind {}, which is not there", quote(draft.kind)));
    }
    // Names of inputs become names of files.
    if let Some(name) = draft.inputs.keys().find(|n| n.contains('/') || n.starts_with('.')) {
        why = Some(format!("has an input named {}", quote(name)));
    }
    if label.chars().any(char::is_control) {
        why = Some("has control characters in a label".to_owned());
    }
    if let Some(why) = why {
        let text = format!("the kind `{}` drafted {}, which {why}", stage.kind_name, quote(label));
        let help = "this is a mistake in the kind, not in the pipeline".to_owned();
        world.push(Diag::error("SP0408", stage.span, text).help(help));
        return false;
    }
    outputs(&draft.outputs, stage, world)
}

fn outputs(outputs: &[String], stage: &Stage<'_>, world: &mut World<'_>) -> bool {
    let node = stage.params.iter().find(|(p, _)| p.name == "outputs").map(|(_, node)| *node);
    let mut seen = BTreeSet::new();
    let mut good = true;
    for (i, output) in outputs.iter().enumerate() {
        let why = match paths::normal(output) {
            Ok(path) if path != *output || path.is_empty() => "is not in its shortest form",
            Ok(_) if paths::is_glob(output) => "is a pattern",
            Ok(_) if !seen.insert(output.as_str()) => "is declared twice",
            Ok(_) => continue,
            Err(why) => why.text(),
        };
        let item = node.and_then(|n| match &n.val {
            Val::List(items) => items.get(i),
            _ => None,
        });
        let span = item.map_or(stage.span, |n| n.span);
        let help = "an output is the plain path of a file or folder below `{out}`".to_owned();
        let text = format!("the output {} {why}", quote(output));
        world.push(Diag::error("SP0406", span, text).help(help));
        good = false;
    }
    good
}

/// Reports a problem that a kind found.
fn problem(p: Problem, stage: &Stage<'_>, indices: &[u32], world: &mut World<'_>) {
    let (code, span) = match &p.place {
        Place::Param(name) => ("SP0401", param_span(name, stage, indices)),
        Place::Input(name) => {
            let input = stage.inputs.iter().find(|i| i.name == name);
            ("SP0401", input.map_or(stage.span, |i| i.span))
        }
        Place::Stage => ("SP0401", stage.span),
        Place::File { path, span } => {
            let id = paths::normal(path).ok().and_then(|path| world.sources.id(&path));
            match id {
                Some(id) => {
                    let text = world.text(id);
                    let clip = |mut at: usize| {
                        at = at.min(text.len());
                        while !text.is_char_boundary(at) {
                            at -= 1;
                        }
                        at
                    };
                    ("SP0403", Span::new(id, clip(span.start)..clip(span.end)))
                }
                None => ("SP0401", stage.span),
            }
        }
    };
    let mut diag = Diag::error(code, span, p.message).help(p.hint);
    if code == "SP0403" {
        diag = diag.also(stage.span, "needed by this stage");
    }
    world.push(diag);
}

/// Where a parameter (or a key inside one, with dots) is given.
fn param_span(name: &str, stage: &Stage<'_>, indices: &[u32]) -> Span {
    let mut parts = name.split('.');
    let first = parts.next().unwrap_or_default();
    let Some((_, node)) = stage.params.iter().find(|(p, _)| p.name == first) else {
        return stage.matrix.span(indices, first).unwrap_or(stage.span);
    };
    let mut node: &Node<'_> = node;
    for part in parts {
        let next = match &node.val {
            Val::Table(t) => t.get(part).map(|e| &e.node),
            Val::List(items) => part.parse::<usize>().ok().and_then(|i| items.get(i)),
            _ => None,
        };
        match next {
            Some(next) => node = next,
            None => break,
        }
    }
    node.span
}
