//! Inputs: what each string below `inputs.` takes, and drafts become planned actions.

use crate::check::{Input, Pipeline, Stage};
use crate::diag::Diag;
use crate::expand::{CellOut, Expansion, Pending};
use crate::params;
use crate::registry::Registry;
use crate::source::Span;
use crate::suggest::{count, list, quote};
use crate::take::{Matched, Taken};
use crate::world::{Bindings, World};
use globset::GlobMatcher;
use sim_model::kind::DraftInput;
use sim_model::plan::{GlobFiles, PlannedAction, PlannedInput};
use std::collections::HashMap;
use std::rc::Rc;

/// Most edges of a graph, matched files included.
const MAX_EDGES: usize = 20_000_000;

/// What is known while inputs are resolved.
pub(crate) struct Resolver<'p, 't, 'w, 'f> {
    pub(crate) pipeline: &'p Pipeline<'t>,
    pub(crate) cells: &'p [CellOut],
    pub(crate) locals: &'p [u32],
    pub(crate) stages: &'p [std::ops::Range<usize>],
    pub(crate) incomplete: &'p [bool],
    /// `STAGE[CELL]` to the cell.
    pub(crate) by_label: HashMap<&'p str, usize>,
    /// Suffix and whether `[*]` selects it, for each action.
    pub(crate) shown: Vec<(Rc<str>, bool)>,
    pub(crate) matchers: HashMap<String, Option<GlobMatcher>>,
    pub(crate) globs: HashMap<String, Option<Matched>>,
    pub(crate) edges: usize,
    pub(crate) full: bool,
    pub(crate) world: &'w mut World<'f>,
}

/// Makes planned actions of everything drafted. Indices are numbers of drafts.
pub(crate) fn resolve(
    pipeline: &Pipeline<'_>,
    expansion: Expansion,
    kinds: &Registry,
    world: &mut World<'_>,
) -> Vec<PlannedAction> {
    let Expansion { pending, locals, cells, stages, incomplete, mut repeated } = expansion;
    let empty: Rc<str> = "".into();
    let suffix = |p: &Pending| match p.draft.suffix.as_str() {
        "" => empty.clone(),
        suffix => suffix.into(),
    };
    let mut resolver = Resolver {
        pipeline,
        cells: &cells,
        locals: &locals,
        stages: &stages,
        incomplete: &incomplete,
        by_label: cells
            .iter()
            .enumerate()
            .map(|(i, c)| (c.label.as_str(), i))
            .filter(|(label, _)| label.ends_with(']'))
            .collect(),
        shown: pending.iter().map(|p| (suffix(p), p.draft.export)).collect(),
        matchers: HashMap::new(),
        globs: HashMap::new(),
        edges: 0,
        full: false,
        world,
    };
    let mut actions: Vec<PlannedAction> = Vec::with_capacity(pending.len());
    let mut pending = pending.into_iter();
    repeated.reverse();
    for (at, cell) in cells.iter().enumerate() {
        let stage = &pipeline.stages[cell.stage as usize];
        let declared = resolver.declared(stage, cell);
        let locals = &locals[cell.locals.clone()];
        for p in pending.by_ref().take(cell.fresh.len()) {
            let inputs = resolver.inputs(&p, &declared, locals, stage);
            actions.push(planned(p, inputs, locals, stage, pipeline, kinds, resolver.world));
        }
        while let Some((_, p, id)) = repeated.pop_if(|(cell, ..)| *cell == at) {
            let inputs = resolver.inputs(&p, &declared, locals, stage);
            let second = planned(p, inputs, locals, stage, pipeline, kinds, resolver.world);
            if let Some(field) = difference(&actions[id as usize], &second) {
                let text = format!(
                    "two stages make the shared action {} differently: {field}",
                    quote(&second.label)
                );
                let first = pipeline.by_name.get(actions[id as usize].stage.as_str());
                let mut diag = Diag::error("SP0407", stage.span, text);
                if let Some(first) = first {
                    diag = diag.also(pipeline.stages[*first].span, "first made by this stage");
                }
                resolver.world.push(diag);
            }
        }
    }
    // Stages that could not be expanded: what can be said without a cell.
    for (at, stage) in pipeline.stages.iter().enumerate() {
        if stages.get(at).is_some_and(|cells| !cells.is_empty()) {
            continue;
        }
        let first = stage.matrix.cells.first();
        let bindings = first.map(|indices| stage.matrix.bindings(indices));
        for input in &stage.inputs {
            for node in input.items.iter().filter(|n| bindings.is_some() || !n.has_braces()) {
                resolver.take(input, node, bindings.as_ref().unwrap_or(&Bindings::new()), stage);
            }
        }
    }
    actions
}

fn difference(a: &PlannedAction, b: &PlannedAction) -> Option<&'static str> {
    [
        (a.kind == b.kind, "`kind`"),
        (a.class == b.class, "`class`"),
        (a.args == b.args, "arguments"),
        (a.argv == b.argv, "the command line"),
        (a.seed == b.seed, "`seed`"),
        (a.repeat == b.repeat, "the repeat"),
        (a.inputs == b.inputs, "inputs"),
        (a.outputs == b.outputs, "outputs"),
        (a.env == b.env, "`env`"),
        (a.tools == b.tools, "tools"),
        (a.network == b.network, "the network"),
        (a.after == b.after, "what it waits for"),
    ]
    .into_iter()
    .find(|(same, _)| !same)
    .map(|(_, name)| name)
}

type Inputs = std::collections::BTreeMap<String, PlannedInput>;

fn planned(
    p: Pending,
    inputs: Inputs,
    locals: &[u32],
    stage: &Stage<'_>,
    pipeline: &Pipeline<'_>,
    kinds: &Registry,
    world: &World<'_>,
) -> PlannedAction {
    let d = p.draft;
    let mut origins = d.origins;
    for (name, input) in &p.inputs {
        if let DraftInput::Declared(declared) = input
            && let Some(input) = stage.inputs.iter().find(|i| i.name == declared)
        {
            origins
                .entry(format!("inputs.{name}"))
                .or_insert_with(|| world.sources.origin(input.span));
        }
    }
    for name in d.env.keys() {
        let own = stage.env.iter().find(|e| e.key == *name).map(|e| e.node.span);
        if let Some(span) = own.or_else(|| pipeline.env_spans.get(name).copied()) {
            origins.entry(format!("env.{name}")).or_insert_with(|| world.sources.origin(span));
        }
    }
    let seed = stage.seed.map(|n| n.span).or(pipeline.seed_span);
    if let Some(span) = seed {
        origins.entry("seed".to_owned()).or_insert_with(|| world.sources.origin(span));
    }
    let global = |i: &usize| locals.get(*i).map(|id| *id as usize);
    PlannedAction {
        label: p.label,
        stage: stage.name.to_owned(),
        kind: d.kind.to_owned(),
        fingerprint: kinds.get(d.kind).map(|k| k.fingerprint()).unwrap_or_default().to_owned(),
        class: d.class,
        args: d.args,
        origins: origins.into(),
        argv: d.argv,
        seed: d.seed,
        repeat: d.repeat,
        inputs,
        outputs: d.outputs,
        env: d.env,
        tools: d.tools,
        network: d.network,
        limits: p.limits,
        after: d.after.iter().filter_map(global).collect(),
        order: d.order,
        export: d.export,
        series: d.series,
        skip: None,
    }
}

impl<'p, 't> Resolver<'p, 't, '_, '_> {
    /// Every declared input of a cell; `None` for one that has errors.
    fn declared(&mut self, stage: &Stage<'t>, cell: &CellOut) -> Vec<Option<PlannedInput>> {
        let bindings = match stage.matrix.cells.get(cell.index as usize) {
            Some(indices) if !indices.is_empty() => stage.matrix.bindings(indices),
            _ => Bindings::new(),
        };
        stage.inputs.iter().map(|input| self.input(input, &bindings, stage)).collect()
    }

    fn inputs(
        &mut self,
        p: &Pending,
        declared: &[Option<PlannedInput>],
        locals: &[u32],
        stage: &Stage<'t>,
    ) -> Inputs {
        let mut out = Inputs::new();
        for (name, input) in &p.inputs {
            let planned = match input {
                DraftInput::Declared(of) => {
                    let at = stage.inputs.iter().position(|i| i.name == of);
                    if at.is_none() && !self.world.sink.failed() {
                        let text = format!(
                            "the kind `{}` uses the input {}, which the stage does not declare",
                            stage.kind_name,
                            quote(of)
                        );
                        let help = format!("add `inputs.{of} = \"...\"`");
                        self.world.push(Diag::error("SP0309", stage.span, text).help(help));
                    }
                    let planned = at.and_then(|at| declared[at].clone());
                    self.spend(planned.as_ref().map_or(0, weight), stage.span);
                    planned
                }
                DraftInput::Source(path) => {
                    let path = params::path(path, stage.span, self.world);
                    path.map(PlannedInput::Source)
                }
                DraftInput::Draft { index, subpath } => {
                    let index = locals.get(*index).map(|id| *id as usize);
                    index.map(|index| PlannedInput::Action { index, subpath: subpath.clone() })
                }
                DraftInput::Provenance => Some(PlannedInput::Provenance),
            };
            if let Some(planned) = planned {
                out.insert(name.clone(), planned);
            }
        }
        out
    }

    /// Counts edges, and says once that there are too many.
    pub(crate) fn spend(&mut self, edges: usize, span: Span) -> bool {
        self.edges += edges;
        if self.edges > MAX_EDGES && !self.full {
            self.full = true;
            let text = format!("the pipeline has more than {MAX_EDGES} dependencies");
            let help = "let one stage gather, and the others take what it gathered".to_owned();
            self.world.push(Diag::error("SP0314", span, text).help(help));
        }
        !self.full
    }

    /// What one declared input takes in one cell.
    fn input(
        &mut self,
        input: &Input<'t>,
        bindings: &Bindings,
        stage: &Stage<'t>,
    ) -> Option<PlannedInput> {
        let spec = input.spec;
        let open = spec.is_some_and(|s| s.name == "*");
        let takes_many = spec.is_none_or(|s| s.many);
        if let ([node], false) = (input.items, input.list)
            && (open || !takes_many)
        {
            // What nearly all are: one string, for one action.
            let taken = self.take(input, node, bindings, stage)?;
            if let Taken::Actions { ids, wild: false, subpath } = &taken
                && let [id] = ids.as_slice()
            {
                return Some(PlannedInput::Action {
                    index: *id as usize,
                    subpath: subpath.clone(),
                });
            }
            return self.decide(vec![(taken, node.span)], input);
        }
        let mut taken = Vec::with_capacity(input.items.len());
        let mut good = true;
        for node in input.items {
            match self.take(input, node, bindings, stage) {
                Some(t) => taken.push((t, node.span)),
                None => good = false,
            }
        }
        if !good || taken.is_empty() {
            return None;
        }
        self.decide(taken, input)
    }

    /// One thing of all that the strings of an input take.
    fn decide(&mut self, mut taken: Vec<(Taken, Span)>, input: &Input<'t>) -> Option<PlannedInput> {
        let open = input.spec.is_some_and(|s| s.name == "*");
        let takes_many = input.spec.is_none_or(|s| s.many);
        let actions = taken.iter().filter(|(t, _)| matches!(t, Taken::Actions { .. })).count();
        if actions != 0 && actions != taken.len() {
            let text = format!("the input `{}` mixes files and stages", input.name);
            let help = "give each its own input".to_owned();
            self.world.push(Diag::error("SP0312", input.span, text).help(help));
            return None;
        }
        if actions == 0 {
            if takes_many && !open {
                let text = format!("the input `{}` takes what stages made", input.name);
                let help = "write `STAGE[*]` or `STAGE[CELL]`".to_owned();
                self.world.push(Diag::error("SP0313", input.span, text).help(help));
                return None;
            }
            return Some(sources(taken));
        }
        if input.list || (takes_many && !open) {
            return self.many(taken, input, takes_many);
        }
        let Some((Taken::Actions { ids, wild, subpath }, span)) = taken.pop() else { return None };
        if wild {
            return self.many(
                vec![(Taken::Actions { ids, wild, subpath }, span)],
                input,
                takes_many,
            );
        }
        match ids.as_slice() {
            [id] => Some(PlannedInput::Action { index: *id as usize, subpath }),
            _ => {
                let n = count(ids.len(), "action");
                let text = format!("the input `{}` takes one action, and this is {n}", input.name);
                let help = self.choices(&ids);
                self.world.push(Diag::error("SP0307", span, text).help(help));
                None
            }
        }
    }

    fn many(
        &mut self,
        taken: Vec<(Taken, Span)>,
        input: &Input<'t>,
        allowed: bool,
    ) -> Option<PlannedInput> {
        if !allowed {
            let text = format!("the input `{}` takes one action, and this may be many", input.name);
            let help = "name one cell in the brackets, such as `STAGE[{NAME}]` with a matrix name";
            self.world.push(Diag::error("SP0307", input.span, text).help(help.to_owned()));
            return None;
        }
        let mut all = Vec::new();
        for (t, span) in taken {
            let Taken::Actions { ids, subpath, .. } = t else { continue };
            if subpath.is_some() {
                let text = "a part can be taken of one action only".to_owned();
                let help = "take the whole outputs, without `:PATH`".to_owned();
                self.world.push(Diag::error("SP0301", span, text).help(help));
                return None;
            }
            all.extend(ids.into_iter().map(|id| id as usize));
        }
        all.sort_unstable();
        all.dedup();
        Some(PlannedInput::Many(all))
    }

    /// How to name one of these actions.
    fn choices(&self, ids: &[u32]) -> String {
        let cell = |id: &u32| self.cells.iter().find(|c| c.fresh.contains(&(*id as usize)));
        let mut names = Vec::new();
        for id in ids.iter().take(4) {
            if let Some(cell) = cell(id) {
                let suffix = &self.shown[*id as usize].0;
                let slash = if suffix.is_empty() { "" } else { "/" };
                let brackets =
                    if cell.label.ends_with(']') || slash.is_empty() { "" } else { "[]" };
                names.push(format!("{}{brackets}{slash}{suffix}", cell.label));
            }
        }
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        format!(
            "name one: {}{}",
            list(&names).unwrap_or_default(),
            if ids.len() > 4 { ", …" } else { "" }
        )
    }
}

fn weight(input: &PlannedInput) -> usize {
    match input {
        PlannedInput::Many(ids) => ids.len(),
        PlannedInput::Glob(found) => found.files.len(),
        _ => 1,
    }
}

fn sources(mut taken: Vec<(Taken, Span)>) -> PlannedInput {
    if taken.len() == 1 {
        match taken.pop() {
            Some((Taken::Source(path), _)) => return PlannedInput::Source(path),
            Some((Taken::Glob(pattern, found), _)) => {
                let (base, files) = (*found).clone();
                return PlannedInput::Glob(Box::new(GlobFiles { pattern, base, files }));
            }
            _ => {}
        }
    }
    let (mut patterns, mut files) = (Vec::new(), Vec::new());
    for (t, _) in taken {
        match t {
            Taken::Source(path) => {
                patterns.push(path.clone());
                files.push(path);
            }
            Taken::Glob(pattern, found) => {
                patterns.push(pattern);
                files.extend(found.1.iter().cloned());
            }
            Taken::Actions { .. } => {}
        }
    }
    files.sort_unstable();
    files.dedup();
    PlannedInput::Glob(Box::new(GlobFiles {
        pattern: patterns.join(", "),
        base: String::new(),
        files,
    }))
}
