//! `sim-pipe explain`: why an action would run, or what its key is made of.

use crate::commands::run::key_value;
use crate::error::{CliError, CliResult, exit};
use crate::global::Global;
use crate::project::Project;
use crate::text;
use clap::Args;
use sim_exec::{Resolved, Resolver, State, preview};
use sim_model::plan::PlannedInput;
use sim_model::{Component, PlannedAction, Record};
use sim_store::Store;
use sim_store::tree::{LinkRule, Node, scan};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The pipeline file
    pipeline: PathBuf,
    /// An action's label; without one, everything that would run
    label: Option<String>,
    /// Print every component of the key
    #[arg(short, long)]
    all: bool,
    /// Set a value of the pipeline
    #[arg(long = "set", value_parser = key_value, value_name = "KEY=VALUE")]
    set: Vec<(String, String)>,
}

/// One difference between the last run's key and the one now.
struct Difference {
    path: String,
    before: Option<String>,
    now: Option<String>,
    origin: Option<String>,
}

pub(crate) fn run(global: &Global, args: &ExplainArgs) -> CliResult {
    let project = Project::load(global, &args.pipeline, &args.set)?;
    let store = project.store(global)?;
    let options = project.options()?;
    let resolver = Resolver::new(
        &store,
        &project.plan,
        &project.root,
        project.machine.clone(),
        options.path_var.clone(),
    );
    let preview = preview(&resolver, &options)?;
    let explainer = Explainer { global, project: &project, store: &store, resolver: &resolver };
    let wanted = match &args.label {
        Some(label) => project.select(label)?,
        None => (0..preview.states.len())
            .filter(|i| matches!(preview.states[*i], State::WouldRun(_) | State::Impossible(_)))
            .collect(),
    };
    if wanted.is_empty() {
        text::say(&format!("{}: nothing would run", project.plan.name));
        return Ok(exit::OK);
    }
    for index in wanted {
        explainer.one(index, &preview.states, args.all)?;
    }
    Ok(exit::OK)
}

struct Explainer<'a> {
    global: &'a Global,
    project: &'a Project,
    store: &'a Store,
    resolver: &'a Resolver<'a>,
}

impl Explainer<'_> {
    fn one(&self, index: usize, states: &[State], all: bool) -> Result<(), CliError> {
        let action = &self.project.plan.actions[index];
        match &states[index] {
            State::Reused(stored) => {
                self.head(action, "reused", &format!("key {}", stored.record.key));
                let r = &stored.record;
                self.note(&format!(
                    "recorded {} as {} on {}",
                    text::moment(r.started_unix_ms),
                    r.status.name(),
                    r.machine.cpu_model
                ));
                if all {
                    self.components(action, &r.components);
                }
            }
            State::WouldRun(resolved) => {
                self.head(action, "would run", &format!("key {}", resolved.key));
                let now = self.resolver.explain(action, resolved);
                match self.last(action)? {
                    None => self.note("it never ran: no record with this label"),
                    Some(record) if record.key == resolved.key && record.status.reusable() => {
                        self.note(&format!(
                            "it is recorded as {}, and its output is gone or was changed since",
                            record.status.name()
                        ));
                    }
                    Some(record) if record.key == resolved.key => self.note(&format!(
                        "its record says {}, which a run tries again: {}",
                        record.status.name(),
                        record.reason
                    )),
                    Some(record) => self.differences(action, resolved, &record, &now)?,
                }
                if all {
                    self.components(action, &now);
                }
            }
            State::Waits(first) => {
                let cause = &self.project.plan.actions[*first].label;
                self.head(action, "depends", "key not known yet");
                self.note(&format!(
                    "{cause} runs first; if it gives the same bytes as before, this one is reused"
                ));
                self.one(*first, states, false)?;
            }
            State::Blocked(by) => {
                let cause = &self.project.plan.actions[*by].label;
                self.head(action, "would be skipped", &format!("it needs {cause}"));
            }
            State::Impossible(why) => self.head(action, "cannot run", why),
            State::LeftOut(why) => self.head(action, "would be left out", why),
        }
        Ok(())
    }

    /// The record of the last run with this label.
    fn last(&self, action: &PlannedAction) -> Result<Option<Record>, CliError> {
        let own = self.store.root_name(&self.project.plan.name, &self.project.root)?;
        let mut roots = Vec::new();
        for name in [own.clone(), format!("{own}.part")] {
            roots.extend(self.store.root_named(&name)?);
        }
        // A new checkout is best compared with the one before it: the newest run of this pipeline
        // in any project.
        let mut others: Vec<_> = self
            .store
            .root_names()?
            .iter()
            .filter_map(|name| self.store.root_named(name).ok().flatten())
            .filter(|root| root.pipeline == self.project.plan.name)
            .collect();
        others.sort_by(|a, b| b.run.cmp(&a.run));
        for root in roots.into_iter().chain(others) {
            if let Some(e) = root.entries.iter().find(|e| e.label == action.label) {
                return Ok(self.store.record_generation(&e.key, e.generation)?);
            }
        }
        Ok(None)
    }

    fn differences(
        &self,
        action: &PlannedAction,
        resolved: &Resolved,
        record: &Record,
        now: &[Component],
    ) -> Result<(), CliError> {
        let list = compare(&record.components, now, action);
        for (i, d) in list.iter().enumerate() {
            let none = || "(none)".to_owned();
            let (before, after) =
                (d.before.clone().unwrap_or_else(none), d.now.clone().unwrap_or_else(none));
            if self.global.json {
                let line = serde_json::json!({
                    "v": 1, "label": action.label, "component": d.path, "before": d.before,
                    "now": d.now, "origin": d.origin, "first": i == 0,
                });
                text::out(&line.to_string());
                continue;
            }
            if i == 0 {
                text::out(&format!("  first difference: {}", d.path));
            } else if i < 12 {
                text::out(&format!("  also: {}", d.path));
            } else {
                text::out(&format!("  and {} more", list.len() - i));
                break;
            }
            text::out(&format!("    before: {before}"));
            let origin = d.origin.as_ref().map_or(String::new(), |o| format!("   [{o}]"));
            text::out(&format!("       now: {after}{origin}"));
            for line in self.details(&d.path, action, resolved, record)? {
                text::out(&format!("            {line}"));
            }
        }
        Ok(())
    }

    /// What lies behind a digest that differs.
    fn details(
        &self,
        path: &str,
        action: &PlannedAction,
        resolved: &Resolved,
        record: &Record,
    ) -> Result<Vec<String>, CliError> {
        if path.starts_with("machine.") {
            let (before, now) = (record.machine.parts(), self.project.machine.parts());
            return Ok(before
                .iter()
                .filter(|(k, v)| now.get(*k) != Some(v))
                .map(|(k, v)| format!("{k}: {v} → {}", now.get(k).map_or("(none)", String::as_str)))
                .collect());
        }
        if path == "kind.fingerprint" {
            return Ok(vec![format!("the source of stage kind `{}` changed", action.kind)]);
        }
        let Some(name) = path.strip_prefix("inputs.") else { return Ok(Vec::new()) };
        let find = |inputs: &[sim_model::record::RecordInput]| {
            inputs.iter().find(|i| i.name == name).cloned()
        };
        let (Some(before), Some(now)) = (find(&record.inputs), find(&resolved.record_inputs))
        else {
            return Ok(Vec::new());
        };
        let mut lines = Vec::new();
        match (&now.source, now.key) {
            (Some(source), _) => lines.push(format!("from {source}")),
            (None, Some(key)) => {
                let label = self.store.record(&key)?.map(|s| s.record.label);
                lines.push(format!("from {}", label.unwrap_or_else(|| key.short())));
            }
            (None, None) => {}
        }
        let Some(old) = before.tree.filter(|d| self.store.has_tree(d)) else { return Ok(lines) };
        let old = self.store.tree_path(&old);
        let Some((new, after)) = self.current(action, name, &now)? else { return Ok(lines) };
        let before = scan(&old, LinkRule::Keep)?;
        let changes = sim_store::tree::diff(&before, &after);
        for (mark, file) in changes.iter().take(8) {
            let file = Path::new(std::ffi::OsStr::from_bytes(file));
            let whole = file.as_os_str().is_empty();
            let at = |top: &Path| if whole { top.to_path_buf() } else { top.join(file) };
            let named = if whole { "the file".to_owned() } else { file.display().to_string() };
            let pair = (node_at(&before, file), node_at(&after, file));
            if let (Some(x), Some(y)) = pair
                && let Some((x, y)) = mode_change(x, y)
            {
                lines.push(format!("{mark} {named}: mode {x} → {y}, same content"));
                continue;
            }
            lines.push(format!("{mark} {named}"));
            if *mark == '~' {
                lines.extend(first_difference(&at(&old), &at(&new)));
            }
        }
        if changes.len() > 8 {
            lines.push(format!("and {} more files", changes.len() - 8));
        }
        Ok(lines)
    }

    /// The input as it is now: where it lies, and its hashes.
    fn current(
        &self,
        action: &PlannedAction,
        name: &str,
        now: &sim_model::record::RecordInput,
    ) -> Result<Option<(PathBuf, Node)>, CliError> {
        if let Some(PlannedInput::Source(path)) = action.inputs.get(name) {
            let mut cache = sim_store::StatCache::default();
            let path = self.project.root.join(path);
            let node = sim_store::source::hash(&path, &mut cache, sim_exec::unix_ns())?;
            return Ok(Some((path, node)));
        }
        let path = now.tree.filter(|d| self.store.has_tree(d)).map(|d| self.store.tree_path(&d));
        match path {
            None => Ok(None),
            Some(path) => {
                let node = scan(&path, LinkRule::Keep)?;
                Ok(Some((path, node)))
            }
        }
    }

    fn components(&self, action: &PlannedAction, components: &[Component]) {
        for c in components {
            let origin = origin_of(action, &c.path);
            if self.global.json {
                let line = serde_json::json!({
                    "v": 1, "label": action.label, "component": c.path, "value": c.value,
                    "origin": origin,
                });
                text::out(&line.to_string());
            } else {
                let origin = origin.map_or(String::new(), |o| format!("   [{o}]"));
                text::out(&format!("    {} = {}{origin}", c.path, c.value));
            }
        }
    }

    fn head(&self, action: &PlannedAction, what: &str, rest: &str) {
        if self.global.json {
            let line = serde_json::json!({
                "v": 1, "label": action.label, "state": what, "detail": rest
            });
            text::out(&line.to_string());
        } else {
            text::out(&format!("{}: {what} · {rest}", action.label));
        }
    }

    fn note(&self, line: &str) {
        if !self.global.json {
            text::out(&format!("  {line}"));
        }
    }
}

/// What lies at a path below a node; the node itself for an empty path.
fn node_at<'n>(top: &'n Node, path: &Path) -> Option<&'n Node> {
    path.iter().try_fold(top, |node, name| match node {
        Node::Dir(entries) => entries.get(name.as_bytes()),
        _ => None,
    })
}

/// Both modes, where only they differ.
fn mode_change(a: &Node, b: &Node) -> Option<(&'static str, &'static str)> {
    let word = |executable: bool| if executable { "executable" } else { "not executable" };
    match (a, b) {
        (
            Node::File { digest: x, executable: m, .. },
            Node::File { digest: y, executable: n, .. },
        ) if x == y && m != n => Some((word(*m), word(*n))),
        _ => None,
    }
}

/// The first line in which two texts differ, before and now; nothing for what is no small text.
fn first_difference(before: &Path, now: &Path) -> Vec<String> {
    let read = |path: &Path| {
        let small = std::fs::metadata(path).is_ok_and(|m| m.len() < 1 << 20);
        small.then(|| std::fs::read_to_string(path).ok()).flatten()
    };
    let (Some(a), Some(b)) = (read(before), read(now)) else { return Vec::new() };
    let line = |text: &str, n: usize| text.lines().nth(n).map(str::to_owned);
    let common = a.lines().zip(b.lines()).take_while(|(x, y)| x == y).count();
    let shown = |mark: char, text: Option<String>| {
        let text = text.unwrap_or_else(|| "(end of the file)".to_owned());
        let text: String = text.trim_end().chars().take(100).collect();
        format!("    {mark} line {}: {text}", common + 1)
    };
    let (x, y) = (line(&a, common), line(&b, common));
    if x == y { Vec::new() } else { vec![shown('-', x), shown('+', y)] }
}

/// Components that differ, in the order in which they enter the key.
fn compare(before: &[Component], now: &[Component], action: &PlannedAction) -> Vec<Difference> {
    let old: BTreeMap<&str, &str> =
        before.iter().map(|c| (c.path.as_str(), c.value.as_str())).collect();
    let new: BTreeMap<&str, &str> =
        now.iter().map(|c| (c.path.as_str(), c.value.as_str())).collect();
    let gone = before.iter().filter(|c| !new.contains_key(c.path.as_str()));
    now.iter()
        .chain(gone)
        .filter(|c| old.get(c.path.as_str()) != new.get(c.path.as_str()))
        .map(|c| Difference {
            path: c.path.clone(),
            before: old.get(c.path.as_str()).map(|s| (*s).to_owned()),
            now: new.get(c.path.as_str()).map(|s| (*s).to_owned()),
            origin: origin_of(action, &c.path),
        })
        .collect()
}

/// Where a component was set: the origin of itself or of the nearest table around it.
fn origin_of(action: &PlannedAction, path: &str) -> Option<String> {
    let mut path = path;
    loop {
        if let Some(origin) = action.origins.get(path) {
            return Some(origin.to_string());
        }
        path = &path[..path.rfind(['.', '['])?];
    }
}
