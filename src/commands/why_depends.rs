//! `sim-pipe why-depends`: the paths from one action to another, or to a source file.

use crate::error::{CliError, CliResult, exit};
use crate::find::{self, Run};
use crate::format::Format;
use crate::global::Global;
use crate::project::nearest_store;
use crate::text;
use clap::Args;
use sim_model::{Digest, Record};
use sim_provenance::depends::{Graph, Node, Step, WhyDepends};
use sim_store::Store;
use std::collections::{BTreeMap, HashMap};

#[derive(Debug, Args)]
pub(crate) struct WhyDependsArgs {
    /// What depends: an action's label, or the beginning of its key
    a: String,
    /// On what: an action's label, the beginning of its key, or the path of a source file
    b: String,
    /// The run to look at: its id, `last`, a pipeline's or a pin's name [default: the newest root that
    /// knows A]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Every path, not only a shortest one
    #[arg(long)]
    all: bool,
    /// With --all, print at most this many; the number of all is said
    #[arg(long, default_value_t = 100, value_name = "N", requires = "all")]
    limit: usize,
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(global: &Global, args: &WhyDependsArgs) -> CliResult {
    let store = nearest_store(global)?;
    let run = match &args.run {
        Some(name) => find::run(&store, Some(name))?,
        None => that_knows(&store, &args.a)?,
    };
    let graph = graph(&store, &run)?;
    let from = node(&graph, &run, &args.a, false)?;
    let to = node(&graph, &run, &args.b, true)?;
    let (count, paths) = if args.all {
        graph.paths(from, to, args.limit.max(1))
    } else {
        let shortest = graph.shortest(from, to);
        (graph.paths(from, to, 1).0, shortest.into_iter().collect())
    };
    let why = WhyDepends {
        v: 1,
        run: run.id.clone(),
        from: graph.nodes[from].name.clone(),
        to: graph.nodes[to].name.clone(),
        count,
        paths: paths.iter().map(|p| graph.steps(p)).collect(),
    };
    if args.format.json(global) {
        args.format.print(global, &why)?;
    } else {
        for path in &why.paths {
            show(path);
        }
        say(&why);
    }
    Ok(if why.count == 0 { exit::NOTHING } else { exit::OK })
}

fn show(path: &[Step]) {
    for (depth, step) in path.iter().enumerate() {
        let key = step.key.as_ref().and_then(|k| k.get(..12));
        let key = key.map_or(String::new(), |k| format!("  {k}"));
        match &step.input {
            None => text::out(&format!("{}{key}", step.name)),
            Some(input) => {
                // The label is in the name of a list's member already.
                let input = input.split('[').next().unwrap_or(input);
                text::out(&format!("{}└─ {input}: {}{key}", "   ".repeat(depth - 1), step.name));
            }
        }
    }
}

fn say(why: &WhyDepends) {
    let shown = why.paths.len() as u64;
    text::say(&match (why.count, shown) {
        (0, _) => format!("{} does not depend on {}", why.from, why.to),
        (1, _) => "the only path".to_owned(),
        (n, s) if s == n => format!("all {n} paths"),
        (n, 1) => format!("a shortest of {n} paths; --all prints them"),
        (n, s) => format!("{s} of {n} paths"),
    });
}

/// The run to look at where none is named: a root that knows the action, whole runs before parts.
fn that_knows(store: &Store, what: &str) -> Result<Run, CliError> {
    let mut roots = store.roots()?;
    // Ids sort by time: the newest first, and of equals the whole run.
    roots.sort_by(|(n, a), (m, b)| b.run.cmp(&a.run).then(n.len().cmp(&m.len())));
    for (name, root) in &roots {
        if root.entries.iter().any(|e| named(&e.label, &e.key, what)) {
            return find::run(store, Some(name));
        }
    }
    let found = find::record(store, what)?;
    Err(CliError::new(
        exit::NOTHING,
        format!("the last run of no pipeline reached {}", found.title()),
    )
    .hint("--run names another run; `sim-pipe query 'from runs'` lists them"))
}

fn named(label: &str, key: &Digest, what: &str) -> bool {
    label == what || (what.len() >= 4 && key.to_string().starts_with(what))
}

/// What the records of a run say of what each action used.
fn graph(store: &Store, run: &Run) -> Result<Graph, CliError> {
    let mut graph = Graph::default();
    let mut at: HashMap<Digest, usize> = HashMap::new();
    let mut records: Vec<Record> = Vec::new();
    for (entry, record) in run.entries.iter().zip(run.records(store)?) {
        at.entry(entry.key).or_insert(graph.nodes.len());
        graph.nodes.push(Node {
            name: entry.label.clone(),
            key: Some(entry.key.to_string()),
            uses: vec![],
        });
        records.push(record);
    }
    // An input may have been made under another key with the same bytes; that action's record says how.
    let mut next = 0;
    while next < records.len() {
        let inputs = records[next].inputs.clone();
        for key in inputs.iter().filter_map(|i| i.key) {
            if let std::collections::hash_map::Entry::Vacant(free) = at.entry(key) {
                let Some(stored) = store.record(&key)? else { continue };
                free.insert(graph.nodes.len());
                graph.nodes.push(Node {
                    name: stored.record.label.clone(),
                    key: Some(key.to_string()),
                    uses: vec![],
                });
                records.push(stored.record);
            }
        }
        next += 1;
    }
    let mut sources: BTreeMap<String, usize> = BTreeMap::new();
    for (i, record) in records.iter().enumerate() {
        for input in &record.inputs {
            let used = match (&input.key, &input.source) {
                (Some(key), _) => at.get(key).copied(),
                (None, Some(source)) => Some(*sources.entry(source.clone()).or_insert_with(|| {
                    graph.nodes.push(Node { name: source.clone(), key: None, uses: vec![] });
                    graph.nodes.len() - 1
                })),
                (None, None) => None,
            };
            if let Some(used) = used {
                graph.nodes[i].uses.push((used, input.name.clone()));
            }
        }
    }
    Ok(graph)
}

/// The node of this name. A file is found through the source that holds it, too.
fn node(graph: &Graph, run: &Run, what: &str, or_source: bool) -> Result<usize, CliError> {
    let exact = graph.nodes.iter().position(|n| n.name == what && (or_source || n.key.is_some()));
    if let Some(i) = exact {
        return Ok(i);
    }
    let hex = what.len() >= 4 && what.bytes().all(|b| b.is_ascii_hexdigit());
    let by_key: Vec<usize> = (0..graph.nodes.len())
        .filter(|i| hex && graph.nodes[*i].key.as_ref().is_some_and(|k| k.starts_with(what)))
        .collect();
    if let [one] = by_key.as_slice() {
        return Ok(*one);
    }
    if or_source {
        let path = what.trim_start_matches("./").trim_end_matches('/');
        let holds = |source: &str| {
            // A pattern stands for what lies below its fixed part.
            let fixed = source
                .find(['*', '?', '['])
                .map_or(source, |i| source[..i].rfind('/').map_or("", |slash| &source[..slash]));
            fixed == path || fixed.is_empty() || path.starts_with(&format!("{fixed}/"))
        };
        let found = graph.nodes.iter().position(|n| n.key.is_none() && holds(&n.name));
        if let Some(i) = found {
            return Ok(i);
        }
    }
    let starting: Vec<&str> = graph
        .nodes
        .iter()
        .map(|n| n.name.as_str())
        .filter(|n| n.starts_with(what))
        .take(5)
        .collect();
    let error =
        CliError::new(exit::NOTHING, format!("run {} reached nothing called `{what}`", run.id));
    Err(if starting.is_empty() {
        error.hint(format!("`sim-pipe what-ran --all {}` lists its actions", run.name)).hint(
            "a file that only shapes the plan, such as a suite, is no input: `sim-pipe explain`",
        )
    } else {
        error.hint(format!("there are {}", starting.join(", ")))
    })
}
