//! The shape of a pipeline file: which keys there are, of which type, with which names. What needs
//! a cell (placeholders, parameters) or the other stages (inputs) comes later.

use crate::diag::Diag;
use crate::doc::{Entry, Node, Table, Val};
use crate::matrix::{self, Matrix};
use crate::registry::Registry;
use crate::source::Span;
use crate::suggest::{did_you_mean, quote};
use crate::world::{Bindings, World};
use sim_model::kind::{InputSpec, Kind, Param};
use sim_model::units::{self, MemoryLimit};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Keys of a stage that every kind has.
pub(crate) const STAGE_KEYS: [&str; 8] =
    ["name", "kind", "seed", "timeout", "memory", "env", "matrix", "inputs"];
/// Keys of `[pipeline]`.
pub(crate) const PIPELINE_KEYS: [&str; 4] = ["name", "title", "seed", "root"];
/// Keys of `[defaults]`.
pub(crate) const DEFAULT_KEYS: [&str; 3] = ["timeout", "memory", "env"];

/// A pipeline file, read and checked for shape.
#[derive(Default)]
pub(crate) struct Pipeline<'t> {
    pub(crate) name: String,
    pub(crate) title: String,
    /// Path of the file.
    pub(crate) file: String,
    pub(crate) seed: u64,
    pub(crate) seed_span: Option<Span>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) memory: Option<MemoryLimit>,
    pub(crate) env: BTreeMap<String, String>,
    /// Where the defaults set each variable.
    pub(crate) env_spans: BTreeMap<String, Span>,
    pub(crate) stages: Vec<Stage<'t>>,
    /// Index of each stage by name; of a name given twice, the first.
    pub(crate) by_name: HashMap<&'t str, usize>,
}

/// One stage.
pub(crate) struct Stage<'t> {
    pub(crate) name: &'t str,
    pub(crate) span: Span,
    /// `None` when the stage is too broken to be expanded.
    pub(crate) kind: Option<&'t dyn Kind>,
    pub(crate) kind_name: &'t str,
    pub(crate) params: Vec<(&'static Param, &'t Node<'t>)>,
    pub(crate) matrix: Matrix<'t>,
    pub(crate) inputs: Vec<Input<'t>>,
    pub(crate) env: Vec<&'t Entry<'t>>,
    pub(crate) seed: Option<&'t Node<'t>>,
    pub(crate) timeout: Option<&'t Node<'t>>,
    pub(crate) memory: Option<&'t Node<'t>>,
}

/// One declared input.
pub(crate) struct Input<'t> {
    pub(crate) name: &'t str,
    pub(crate) span: Span,
    /// `None` when the kind knows no such input, which was reported.
    pub(crate) spec: Option<&'static InputSpec>,
    /// The strings.
    pub(crate) items: &'t [Node<'t>],
    /// Whether they stand in an array.
    pub(crate) list: bool,
}

/// Whether a text can be a name: letters, digits, `-` and `_`, at most 64, no sign in front.
pub(crate) fn is_slug(name: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    name.len() <= 64
        && name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
        && name.bytes().all(inner)
}

/// Checks a whole file.
pub(crate) fn check<'t>(
    root: &'t Table<'t>,
    whole: Span,
    kinds: &'t Registry,
    world: &mut World<'_>,
) -> Pipeline<'t> {
    let mut out = Pipeline::default();
    unknown_keys(root, &["pipeline", "defaults", "stage"], "a pipeline file", world);
    match root.get("pipeline") {
        Some(e) => head(e, &mut out, world),
        None => world.push(
            Diag::error("SP0102", whole, "the table `[pipeline]` is missing")
                .help("begin with `[pipeline]` and `name = \"...\"`".to_owned()),
        ),
    }
    if let Some(e) = root.get("defaults") {
        defaults(e, &mut out, world);
    }
    match root.get("stage").map(|e| (e, &e.node.val)) {
        Some((_, Val::List(items))) => {
            let tables = items.iter().filter_map(|item| match &item.val {
                Val::Table(t) => Some((t, item.span)),
                _ => {
                    world.wrong_type(item, "a table");
                    None
                }
            });
            let tables: Vec<_> = tables.collect();
            for (table, span) in tables {
                stage(table, span, kinds, &mut out, world);
            }
        }
        Some((e, _)) => {
            if !e.node.reported() {
                world.push(
                    Diag::error("SP0103", e.node.span, "`stage` is not an array of tables")
                        .help("write `[[stage]]`, with two brackets, before each stage".to_owned()),
                );
            }
        }
        None => world.push(
            Diag::error("SP0115", whole, "the pipeline has no stages")
                .help("add a `[[stage]]` with a `name` and a `kind`".to_owned()),
        ),
    }
    out
}

fn unknown_keys(table: &Table<'_>, known: &[&str], of: &str, world: &mut World<'_>) {
    for e in &table.entries {
        if !known.contains(&&*e.key) {
            let text = format!("{} is not a key of {of}", quote(&e.key));
            world.push(Diag::error("SP0101", e.key_span, text).help(did_you_mean(&e.key, known)));
        }
    }
}

fn plain_str<'t>(node: &'t Node<'t>, world: &mut World<'_>) -> Option<&'t str> {
    match &node.val {
        Val::Str(s) => Some(s),
        _ => {
            world.wrong_type(node, "a string");
            None
        }
    }
}

fn slug<'t>(e: &'t Entry<'t>, world: &mut World<'_>) -> Option<&'t str> {
    let name = plain_str(&e.node, world)?;
    if !is_slug(name) {
        let text = format!("{} can't be a name", quote(name));
        let help = "a name has 1 to 64 letters, digits, `-` and `_`, and begins with a letter or \
                    a digit";
        world.push(Diag::error("SP0106", e.node.span, text).help(help.to_owned()));
        return None;
    }
    Some(name)
}

/// A seed: an integer that is not negative, or a string whose placeholder is one.
pub(crate) fn seed(node: &Node<'_>, bindings: &Bindings, world: &mut World<'_>) -> Option<u64> {
    let number = match &node.val {
        Val::Int(i) => Some(*i),
        Val::Str(_) => world.string(node, bindings)?.parse().ok(),
        _ => {
            world.wrong_type(node, "an integer");
            return None;
        }
    };
    let seed = number.and_then(|n| u64::try_from(n).ok());
    if seed.is_none() {
        let text = "a seed is an integer from 0 to 9223372036854775807";
        world.push(Diag::error("SP0109", node.span, text));
    }
    seed
}

/// A duration such as `120s`.
pub(crate) fn timeout(node: &Node<'_>, b: &Bindings, world: &mut World<'_>) -> Option<Duration> {
    let text = world.string(node, b)?;
    unit(node, units::parse_duration(&text), "write it as `250ms`, `120s`, `5min` or `2h`", world)
}

/// A limit such as `2GiB` or `50%`.
pub(crate) fn memory(node: &Node<'_>, b: &Bindings, world: &mut World<'_>) -> Option<MemoryLimit> {
    let text = world.string(node, b)?;
    unit(node, units::parse_memory(&text), "write it as `56.25%`, `512MiB` or `4GiB`", world)
}

fn unit<T>(
    node: &Node<'_>,
    parsed: Result<T, units::UnitError>,
    help: &str,
    world: &mut World<'_>,
) -> Option<T> {
    let why = match parsed {
        Ok(value) => return Some(value),
        Err(units::UnitError::Number(t)) => format!("{} is no quantity", quote(&t)),
        Err(units::UnitError::Unit { text, allowed }) => {
            format!("{} needs one of the units {allowed}", quote(&text))
        }
        Err(units::UnitError::Range(t)) => format!("{} is out of range", quote(&t)),
    };
    world.push(Diag::error("SP0111", node.span, why).help(help.to_owned()));
    None
}

/// One variable of an `env` table.
pub(crate) fn variable(e: &Entry<'_>, b: &Bindings, world: &mut World<'_>) -> Option<String> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if e.key.is_empty() || !e.key.chars().all(good) || e.key.starts_with(|c: char| c.is_numeric()) {
        let text = format!("{} can't be the name of a variable", quote(&e.key));
        let help = "letters, digits and `_`, no digit in front".to_owned();
        world.push(Diag::error("SP0113", e.key_span, text).help(help));
        return None;
    }
    world.string(&e.node, b).map(|s| s.into_owned())
}

fn head<'t>(e: &'t Entry<'t>, out: &mut Pipeline<'t>, world: &mut World<'_>) {
    let Val::Table(table) = &e.node.val else {
        world.wrong_type(&e.node, "a table");
        return;
    };
    unknown_keys(table, &PIPELINE_KEYS, "`[pipeline]`", world);
    match table.get("name") {
        Some(e) => out.name = slug(e, world).unwrap_or_default().to_owned(),
        None => world.push(
            Diag::error("SP0102", e.node.span, "`[pipeline]` has no `name`")
                .help("add `name = \"...\"`: it names the results in the store".to_owned()),
        ),
    }
    let title = table.get("title").and_then(|e| plain_str(&e.node, world));
    out.title = title.unwrap_or(&out.name).to_owned();
    if let Some(e) = table.get("seed") {
        out.seed = seed(&e.node, &Bindings::new(), world).unwrap_or(0);
        out.seed_span = Some(e.node.span);
    }
    if let Some(e) = table.get("root") {
        plain_str(&e.node, world);
    }
}

fn defaults<'t>(e: &'t Entry<'t>, out: &mut Pipeline<'t>, world: &mut World<'_>) {
    let Val::Table(table) = &e.node.val else {
        world.wrong_type(&e.node, "a table");
        return;
    };
    let none = Bindings::new();
    unknown_keys(table, &DEFAULT_KEYS, "`[defaults]`", world);
    out.timeout = table.get("timeout").and_then(|e| timeout(&e.node, &none, world));
    out.memory = table.get("memory").and_then(|e| memory(&e.node, &none, world));
    for e in table.get("env").map_or(&[][..], |e| env_entries(e, world)) {
        if let Some(value) = variable(e, &none, world) {
            out.env_spans.insert(e.key.clone().into_owned(), e.node.span);
            out.env.insert(e.key.clone().into_owned(), value);
        }
    }
}

fn env_entries<'t>(e: &'t Entry<'t>, world: &mut World<'_>) -> &'t [Entry<'t>] {
    match &e.node.val {
        Val::Table(t) => &t.entries,
        _ => {
            world.wrong_type(&e.node, "a table of strings");
            &[]
        }
    }
}

fn stage<'t>(
    table: &'t Table<'t>,
    header: Span,
    kinds: &'t Registry,
    out: &mut Pipeline<'t>,
    world: &mut World<'_>,
) {
    let mut broken = false;
    let name_entry = table.get("name");
    let name = match name_entry {
        Some(e) => slug(e, world),
        None => {
            world.push(Diag::error("SP0102", header, "the stage has no `name`"));
            None
        }
    };
    let span = name_entry.map_or(header, |e| e.node.span);
    let (kind_name, kind) = stage_kind(table, header, kinds, world);
    if let Some(name) = name {
        if let Some(first) = out.by_name.get(name) {
            let text = format!("the stage {} is defined twice", quote(name));
            let first = out.stages[*first].span;
            world.push(Diag::error("SP0105", span, text).also(first, "first here"));
            broken = true;
        } else {
            out.by_name.insert(name, out.stages.len());
        }
    } else {
        broken = true;
    }
    let mut stage = Stage {
        name: name.unwrap_or_default(),
        span,
        kind,
        kind_name,
        params: Vec::new(),
        matrix: Matrix::none(),
        inputs: Vec::new(),
        env: Vec::new(),
        seed: table.get("seed").map(|e| &e.node),
        timeout: table.get("timeout").map(|e| &e.node),
        memory: table.get("memory").map(|e| &e.node),
    };
    if let Some(e) = table.get("matrix") {
        match matrix::read(e, world) {
            Some(m) => stage.matrix = m,
            None => {
                stage.matrix = Matrix::default();
                broken = true;
            }
        }
    }
    if let Some(e) = table.get("env") {
        stage.env = env_entries(e, world).iter().collect();
    }
    if let Some(e) = table.get("inputs") {
        stage.inputs = inputs(e, kind, world);
    }
    if let Some(kind) = kind {
        broken |= !params(table, kind, header, &mut stage, world);
        for spec in kind.inputs().iter().filter(|s| s.required && s.name != "*") {
            if !stage.inputs.iter().any(|i| i.name == spec.name) {
                let text = format!("the input `{}` is missing", spec.name);
                let help = format!("`{}` needs `inputs.{}`: {}", kind.name(), spec.name, spec.doc);
                world.push(Diag::error("SP0309", span, text).help(help));
                broken = true;
            }
        }
    }
    if broken {
        stage.kind = None;
    } else {
        matrix::unused(&stage, world);
    }
    out.stages.push(stage);
}

fn stage_kind<'t>(
    table: &'t Table<'t>,
    header: Span,
    kinds: &'t Registry,
    world: &mut World<'_>,
) -> (&'t str, Option<&'t dyn Kind>) {
    let Some(e) = table.get("kind") else {
        let known = crate::suggest::list(&kinds.public_names());
        let help = known.map(|k| format!("add `kind = \"...\"`: {k}"));
        world.push(Diag::error("SP0102", header, "the stage has no `kind`").help(help));
        return ("", None);
    };
    let Some(name) = plain_str(&e.node, world) else { return ("", None) };
    match kinds.get(name) {
        Some(kind) if kind.public() => return (name, Some(kind)),
        Some(_) => {
            let text = format!("the kind {} is not for pipeline files", quote(name));
            let help = "other kinds make its actions; name one of those".to_owned();
            world.push(Diag::error("SP0108", e.node.span, text).help(help));
        }
        None => {
            let text = format!("there is no stage kind {}", quote(name));
            let help = did_you_mean(name, &kinds.public_names());
            world.push(Diag::error("SP0107", e.node.span, text).help(help));
        }
    }
    (name, None)
}

fn params<'t>(
    table: &'t Table<'t>,
    kind: &'t dyn Kind,
    header: Span,
    stage: &mut Stage<'t>,
    world: &mut World<'_>,
) -> bool {
    let specs = kind.params();
    let mut complete = true;
    for e in &table.entries {
        if let Some(spec) = specs.iter().find(|p| p.name == e.key) {
            stage.params.push((spec, &e.node));
        } else if !STAGE_KEYS.contains(&&*e.key) {
            let known = STAGE_KEYS.iter().copied().chain(specs.iter().map(|p| p.name));
            let known: Vec<_> = known.collect();
            let text = format!("{} is not a key of a `{}` stage", quote(&e.key), kind.name());
            world.push(Diag::error("SP0101", e.key_span, text).help(did_you_mean(&e.key, &known)));
        }
    }
    for spec in specs.iter().filter(|p| p.required) {
        let given = stage.params.iter().any(|(p, _)| p.name == spec.name)
            || stage.matrix.dimensions.iter().any(|d| d.name == spec.name)
            // A broken matrix may hold it.
            || table.get("matrix").is_some_and(|e| match &e.node.val {
                Val::Table(t) => t.get(spec.name).is_some(),
                _ => true,
            });
        if !given {
            let text = format!("the stage has no `{}`", spec.name);
            let help = format!("`{}` needs `{}`: {}", kind.name(), spec.name, spec.doc);
            let at = table.get("kind").map_or(header, |e| e.node.span);
            world.push(Diag::error("SP0102", at, text).help(help));
            complete = false;
        }
    }
    complete
}

fn inputs<'t>(
    e: &'t Entry<'t>,
    kind: Option<&'t dyn Kind>,
    world: &mut World<'_>,
) -> Vec<Input<'t>> {
    let Val::Table(table) = &e.node.val else {
        world.wrong_type(&e.node, "a table, such as `inputs.NAME = \"...\"`");
        return Vec::new();
    };
    let specs = kind.map_or(&[][..], Kind::inputs);
    let mut out = Vec::with_capacity(table.entries.len());
    for e in &table.entries {
        let spec = specs.iter().find(|s| s.name == e.key);
        let spec = spec.or_else(|| specs.iter().find(|s| s.name == "*"));
        if !is_slug(&e.key) {
            let text = format!("{} can't be the name of an input", quote(&e.key));
            let help = "letters, digits, `-` and `_`, a letter or a digit in front".to_owned();
            world.push(Diag::error("SP0106", e.key_span, text).help(help));
            continue;
        }
        if let (None, Some(kind)) = (spec, kind) {
            let known: Vec<_> = specs.iter().map(|s| s.name).collect();
            let text = format!("`{}` takes no input {}", kind.name(), quote(&e.key));
            world.push(Diag::error("SP0308", e.key_span, text).help(did_you_mean(&e.key, &known)));
        }
        let (items, list) = match &e.node.val {
            Val::List(items) => (items.as_slice(), true),
            _ => (std::slice::from_ref(&e.node), false),
        };
        if items.is_empty() {
            world.push(Diag::error("SP0114", e.node.span, "this list of inputs is empty"));
        }
        let text = |n: &&Node<'_>| !matches!(n.val, Val::Str(_));
        if let Some(bad) = items.iter().find(text) {
            world.wrong_type(bad, "a string, or an array of strings");
            continue;
        }
        out.push(Input { name: &e.key, span: e.node.span, spec, items, list });
    }
    out
}
