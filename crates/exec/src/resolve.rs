//! From a planned action and the outcomes before it to its key.

use crate::error::{ExecError, Result};
use crate::limits::{Past, Place};
use crate::tools::Tools;
use sim_model::action::{Action, InputDigest, ManyEntry};
use sim_model::plan::{GlobFiles, PlannedInput};
use sim_model::record::RecordInput;
use sim_model::{Component, Digest, Machine, Plan, PlannedAction, Status, TreeRef};
use sim_store::tree::{LinkRule, Node, scan};
use sim_store::{Brief, StatCache, Store, Watch};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What is known of an action after it was dealt with.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Its key; absent when something before it failed.
    pub key: Option<Digest>,
    /// Generation of the record.
    pub generation: u32,
    /// Digest of the record.
    pub record: Option<Digest>,
    /// How it ended; absent when it did not run.
    pub status: Option<Status>,
    /// Why, for everything but `ok`; for one that did not run, the label of what it needed.
    pub reason: String,
    /// Outputs.
    pub output: Option<TreeRef>,
    /// Why it did not run; absent when it did.
    pub not_run: Option<NotRun>,
}

/// Why an action did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRun {
    /// Something it needs did not end well.
    Blocked,
    /// It could not be keyed.
    Impossible,
    /// It was left out, though it could have run.
    LeftOut,
}

impl Outcome {
    /// The outcome that a record tells.
    pub fn of(record: impl Into<Brief>) -> Self {
        let record = record.into();
        Self {
            key: Some(record.key),
            generation: record.generation,
            record: Some(record.digest),
            status: Some(record.status),
            reason: record.reason,
            output: record.output,
            not_run: None,
        }
    }

    /// One that did not run, because of `label`.
    pub fn not_run(label: &str) -> Self {
        Self {
            key: None,
            generation: 0,
            record: None,
            status: None,
            reason: format!("{label} did not end well"),
            output: None,
            not_run: Some(NotRun::Blocked),
        }
    }

    /// One that did not run because `cause` did not end well: whoever only waits for it, and never
    /// sees what it made, says how it ended.
    pub fn blocked(plan: &Plan, index: usize, cause: usize, ended: Option<&Self>) -> Self {
        let waits = plan.actions[index].after.contains(&cause);
        let blocked = Self::not_run(&plan.actions[cause].label);
        match ended.filter(|o| waits && !o.reason.is_empty()) {
            Some(o) if o.not_run == Some(NotRun::Blocked) => {
                Self { reason: o.reason.clone(), ..blocked }
            }
            Some(o) => {
                let reason = format!("{}, {}: {}", blocked.reason, o.word(), o.reason);
                Self { reason, ..blocked }
            }
            None => blocked,
        }
    }

    /// One that could not be keyed, and why.
    pub fn impossible(why: &ExecError) -> Self {
        let not_run = Some(NotRun::Impossible);
        Self { reason: why.to_string(), not_run, ..Self::not_run("") }
    }

    /// One that was left out, and why.
    pub fn left_out(reason: &str) -> Self {
        let not_run = Some(NotRun::LeftOut);
        Self { reason: reason.to_owned(), not_run, ..Self::not_run("") }
    }

    /// The word for it.
    pub fn word(&self) -> &'static str {
        match (self.status, self.not_run) {
            (Some(status), _) => status.name(),
            (None, Some(NotRun::LeftOut)) => "skipped",
            (None, _) => "not_run",
        }
    }

    fn ok(&self) -> bool {
        self.status == Some(Status::Ok)
    }
}

/// Outcomes by plan index. Absent: not settled yet, or not this action's business.
pub type Outcomes = HashMap<usize, Arc<Outcome>>;

/// An action whose inputs are all known.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The key.
    pub key: Digest,
    /// Inputs by content.
    pub inputs: BTreeMap<String, InputDigest>,
    /// Inputs for the record.
    pub record_inputs: Vec<RecordInput>,
    /// Identities of tools.
    pub tools: BTreeMap<String, String>,
}

/// Computes keys. Shared by all workers.
pub struct Resolver<'a> {
    /// The store.
    pub store: &'a Store,
    /// The plan.
    pub plan: &'a Plan,
    /// The project's root.
    pub root: PathBuf,
    /// The machine.
    pub machine: Machine,
    /// Outside programs.
    pub tools: Tools,
    stat_cache: Mutex<StatCache>,
    sources: Mutex<HashMap<String, Digest>>,
    subpaths: Mutex<HashMap<(Digest, String), Digest>>,
    /// Read once, with the first action that it could rule out.
    past: OnceLock<Past>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Resolver<'a> {
    /// A resolver over a store and a project.
    pub fn new(
        store: &'a Store,
        plan: &'a Plan,
        root: &Path,
        machine: Machine,
        path_var: String,
    ) -> Self {
        Self {
            store,
            plan,
            root: root.to_path_buf(),
            machine,
            tools: Tools::new(path_var, store.cache_file("tools.json")),
            stat_cache: Mutex::new(StatCache::load(store)),
            sources: Mutex::default(),
            subpaths: Mutex::default(),
            past: OnceLock::new(),
        }
    }

    /// Why an action that would run is left out: earlier runs saw it run out of memory.
    pub(crate) fn known_failure(
        &self,
        action: &PlannedAction,
        resolved: &Resolved,
    ) -> Result<Option<String>> {
        let Some(series) = &action.series else { return Ok(None) };
        let Some(place) = Place::of(series, &self.explain(action, resolved)) else {
            return Ok(None);
        };
        let past = match self.past.get() {
            Some(past) => past,
            None => {
                let past = Past::read(self.store)?;
                self.past.get_or_init(|| past)
            }
        };
        let cap = action.limits.memory.resolve(self.machine.ram_bytes);
        Ok(past.rules_out(series, &place, cap))
    }

    /// Writes the disposable caches back.
    pub fn save(&self) -> Result<()> {
        if !self.store.read_only() {
            self.tools.save();
        }
        Ok(lock(&self.stat_cache).save(self.store)?)
    }

    /// From now on, keeps what is looked at to compute keys.
    pub(crate) fn watch(&self) {
        lock(&self.stat_cache).watch();
        self.tools.watch();
    }

    /// What was looked at since [`Self::watch`].
    pub(crate) fn watched(&self) -> Watch {
        let mut all = Watch::default();
        match (lock(&self.stat_cache).watched(), self.tools.watched()) {
            (Some(sources), Some(tools)) => {
                all.join(sources);
                all.join(tools);
            }
            _ => all.give_up(),
        }
        all
    }

    /// Forgets what sources looked like, after one of them changed.
    pub(crate) fn forget_sources(&self) {
        lock(&self.sources).clear();
        // What was seen before and what is seen now do not go together.
        lock(&self.stat_cache).watched();
    }

    /// The label of the first action that stops this one from running.
    pub fn blocked_by(&self, action: &PlannedAction, outcomes: &Outcomes) -> Option<usize> {
        let ok = |i: &usize| outcomes.get(i).is_some_and(|o| o.ok());
        let single = action.inputs.values().filter_map(|input| match input {
            PlannedInput::Action { index, .. } => Some(*index),
            _ => None,
        });
        single.chain(action.after.iter().copied()).find(|i| !ok(i))
    }

    /// The key of an action whose dependencies are all settled and none blocks it.
    pub fn resolve(&self, action: &PlannedAction, outcomes: &Outcomes) -> Result<Resolved> {
        let mut inputs = BTreeMap::new();
        let mut record_inputs = Vec::new();
        // A command finds its sources under their own paths, too: then the path can change a result.
        let placed = |tree: Digest, at: &str| {
            if action.argv.is_empty() {
                InputDigest::Tree(tree)
            } else {
                InputDigest::Placed { tree, at: at.to_owned() }
            }
        };
        for (name, input) in &action.inputs {
            let digest = match input {
                PlannedInput::Source(path) => {
                    let digest = self.source(&action.label, path)?;
                    record_inputs.push(RecordInput {
                        name: name.clone(),
                        tree: Some(digest),
                        key: None,
                        source: Some(path.clone()),
                    });
                    placed(digest, path)
                }
                PlannedInput::Glob(found) => {
                    let GlobFiles { pattern, base, files } = &**found;
                    let digest = self.glob(&action.label, base, files)?;
                    record_inputs.push(RecordInput {
                        name: name.clone(),
                        tree: Some(digest),
                        key: None,
                        source: Some(pattern.clone()),
                    });
                    placed(digest, base)
                }
                PlannedInput::Action { index, subpath } => {
                    let outcome = outcomes.get(index);
                    let tree = outcome.and_then(|o| o.output.as_ref()).map(|t| t.digest);
                    let tree = tree.ok_or_else(|| ExecError::Source {
                        label: action.label.clone(),
                        path: self.plan.actions[*index].label.clone(),
                        problem: "gave no outputs".to_owned(),
                    })?;
                    let digest = match subpath {
                        None => tree,
                        Some(sub) => self.subpath(&action.label, tree, sub)?,
                    };
                    record_inputs.push(RecordInput {
                        name: name.clone(),
                        tree: Some(digest),
                        key: outcome.and_then(|o| o.key),
                        source: None,
                    });
                    InputDigest::Tree(digest)
                }
                PlannedInput::Many(members) => {
                    let mut entries = BTreeMap::new();
                    for index in members {
                        let label = &self.plan.actions[*index].label;
                        let outcome = outcomes
                            .get(index)
                            .cloned()
                            .unwrap_or_else(|| Arc::new(Outcome::not_run(label)));
                        let tree = outcome.output.as_ref().map(|t| t.digest);
                        let text = if outcome.reason.is_empty() {
                            outcome.word().to_owned()
                        } else {
                            format!("{}: {}", outcome.word(), outcome.reason)
                        };
                        entries.insert(label.clone(), ManyEntry { tree, outcome: text });
                        record_inputs.push(RecordInput {
                            name: format!("{name}[{label}]"),
                            tree,
                            key: outcome.key,
                            source: None,
                        });
                    }
                    InputDigest::Many(entries)
                }
                PlannedInput::Provenance => {
                    let digest = self.provenance_digest(action, outcomes);
                    record_inputs.push(RecordInput {
                        name: name.clone(),
                        tree: None,
                        key: None,
                        source: None,
                    });
                    InputDigest::Tree(digest)
                }
            };
            inputs.insert(name.clone(), digest);
        }
        let mut tools = BTreeMap::new();
        let program = action.argv.first().filter(|p| !p.contains(['/', '{']));
        for tool in action.tools.iter().chain(program) {
            let path_var = action.env.get("PATH").map(String::as_str);
            let identity = self.tools.identity(tool, path_var).ok_or_else(|| {
                ExecError::ToolMissing { label: action.label.clone(), tool: tool.clone() }
            })?;
            tools.insert(tool.clone(), identity);
        }
        let mut resolved =
            Resolved { key: Digest::from_bytes([0; 32]), inputs, record_inputs, tools };
        resolved.key = self.action(action, &resolved).key();
        Ok(resolved)
    }

    /// The components of the key, from the same walk as the key.
    pub fn explain(&self, action: &PlannedAction, resolved: &Resolved) -> Vec<Component> {
        self.action(action, resolved).explain()
    }

    fn action<'b>(&'b self, action: &'b PlannedAction, resolved: &'b Resolved) -> Action<'b> {
        Action {
            class: action.class,
            kind: &action.kind,
            fingerprint: &action.fingerprint,
            args: &action.args,
            argv: &action.argv,
            seed: action.seed,
            inputs: &resolved.inputs,
            outputs: &action.outputs,
            env: &action.env,
            tools: &resolved.tools,
            platform: &self.machine.platform,
            network: action.network,
            machine: &self.machine,
            repeat: action.repeat,
        }
    }

    /// Everything an action depends on, directly or not, in plan order.
    pub(crate) fn ancestors(&self, action: &PlannedAction) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut todo: Vec<usize> =
            action.dependencies().chain(action.after.iter().copied()).collect();
        while let Some(i) = todo.pop() {
            if seen.insert(i) {
                let a = &self.plan.actions[i];
                todo.extend(a.dependencies().chain(a.after.iter().copied()));
            }
        }
        seen
    }

    fn provenance_digest(&self, action: &PlannedAction, outcomes: &Outcomes) -> Digest {
        crate::provenance::digest(self.ancestors(action).into_iter().map(|i| {
            let outcome = outcomes.get(&i);
            let reason = outcome.map_or("", |o| o.reason.as_str());
            (self.plan.actions[i].label.as_str(), outcome.and_then(|o| o.record), reason)
        }))
    }

    fn subpath(&self, label: &str, tree: Digest, sub: &str) -> Result<Digest> {
        if let Some(d) = lock(&self.subpaths).get(&(tree, sub.to_owned())) {
            return Ok(*d);
        }
        let path = self.store.tree_path(&tree).join(sub);
        if path.symlink_metadata().is_err() {
            return Err(ExecError::Source {
                label: label.to_owned(),
                path: sub.to_owned(),
                problem: format!("is not in tree {}", tree.short()),
            });
        }
        let digest = scan(&path, LinkRule::Keep)?.digest();
        lock(&self.subpaths).insert((tree, sub.to_owned()), digest);
        Ok(digest)
    }

    /// Where a source is on disk.
    pub(crate) fn source_path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn hash_source(&self, label: &str, path: &str) -> Result<Node> {
        let mut cache = lock(&self.stat_cache);
        sim_store::source::hash(&self.source_path(path), &mut cache, crate::unix_ns()).map_err(
            |e| ExecError::Source {
                label: label.to_owned(),
                path: path.to_owned(),
                problem: e.to_string(),
            },
        )
    }

    pub(crate) fn source(&self, label: &str, path: &str) -> Result<Digest> {
        if let Some(d) = lock(&self.sources).get(path) {
            return Ok(*d);
        }
        let digest = self.hash_source(label, path)?.digest();
        lock(&self.sources).insert(path.to_owned(), digest);
        Ok(digest)
    }

    pub(crate) fn glob(&self, label: &str, base: &str, files: &[String]) -> Result<Digest> {
        let mut top = Node::Dir(BTreeMap::new());
        for file in files {
            let node = self.hash_source(label, file)?;
            insert(&mut top, below(base, file), node);
        }
        Ok(top.digest())
    }
}

/// The part of `file` below the folder `base`.
pub(crate) fn below<'p>(base: &str, file: &'p str) -> &'p str {
    if base.is_empty() {
        return file;
    }
    file.strip_prefix(base).map_or(file, |rest| rest.trim_start_matches('/'))
}

fn insert(top: &mut Node, path: &str, node: Node) {
    let Node::Dir(entries) = top else { return };
    match path.split_once('/') {
        None => {
            entries.insert(path.as_bytes().to_vec(), node);
        }
        Some((first, rest)) => {
            let child = entries
                .entry(first.as_bytes().to_vec())
                .or_insert_with(|| Node::Dir(BTreeMap::new()));
            insert(child, rest, node);
        }
    }
}
