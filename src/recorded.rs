//! A recorded action as it was when it ran: a plan of its own, from its record and the store alone. The
//! pipeline may have changed since, or be gone.

use crate::env;
use crate::error::{CliError, exit};
use sim_exec::{LaidOut, Options, Outcome, Outcomes, Resolved, Resolver, SandboxPolicy};
use sim_model::action::{InputDigest, ManyEntry};
use sim_model::plan::{Limits, Origins, PlannedInput};
use sim_model::record::RecordInput;
use sim_model::{Described, Digest, Plan, PlannedAction, Record};
use sim_store::tree::{LinkRule, scan};
use sim_store::{Root, Store, Stored};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The action as a plan of its own, with what it needs before it.
pub(crate) struct Parts {
    pub(crate) plan: Plan,
    pub(crate) outcomes: Outcomes,
    pub(crate) resolved: Resolved,
}

/// What a record ran, from the record and what the store still has.
pub(crate) fn parts(store: &Store, record: &Record) -> Result<Parts, CliError> {
    Builder { store, record }.parts()
}

struct Builder<'a> {
    store: &'a Store,
    record: &'a Record,
}

impl Builder<'_> {
    fn parts(&self) -> Result<Parts, CliError> {
        let r = self.record;
        let damaged =
            |e: String| CliError::new(exit::STORE, format!("record {}: {e}", r.key.short()));
        let d = Described::parse(&r.components).map_err(|e| damaged(e.to_string()))?;
        if d.key != r.key {
            return Err(damaged("what it describes has another key".to_owned())
                .hint("`sim-pipe audit` names what does not hold"));
        }
        let mut plan = Plan::default();
        let mut outcomes = Outcomes::new();
        let provenance: Vec<&str> = r
            .inputs
            .iter()
            .filter(|i| i.tree.is_none() && i.key.is_none() && d.inputs.contains_key(&i.name))
            .map(|i| i.name.as_str())
            .collect();
        let mut after = Vec::new();
        if let Some(name) = provenance.first() {
            let Some(InputDigest::Tree(digest)) = d.inputs.get(*name) else {
                return Err(damaged(format!("input {name} is no provenance")));
            };
            for (label, stored) in self.ancestors(digest)? {
                after.push(plan.actions.len());
                outcomes.insert(plan.actions.len(), Arc::new(Outcome::of(&stored)));
                plan.actions.push(planned(&label, &stored.record)?);
            }
        }
        let mut inputs = BTreeMap::new();
        for (name, input) in &d.inputs {
            let planned = match input {
                _ if provenance.contains(&name.as_str()) => PlannedInput::Provenance,
                InputDigest::Many(members) => {
                    self.list(name, members, !provenance.is_empty(), &mut plan, &mut outcomes)?
                }
                InputDigest::Tree(tree) | InputDigest::Placed { tree, .. } => {
                    let used = r.inputs.iter().find(|i| i.name == *name);
                    let used = used.ok_or_else(|| damaged(format!("it has no input {name}")))?;
                    self.single(used, tree, input, &mut plan, &mut outcomes)?
                }
            };
            inputs.insert(name.clone(), planned);
        }
        let mut action = planned(&r.label, r)?;
        (action.inputs, action.after) = (inputs, after);
        plan.actions.push(action);
        let resolved = Resolved {
            key: r.key,
            inputs: d.inputs,
            record_inputs: r.inputs.clone(),
            tools: d.tools,
        };
        Ok(Parts { plan, outcomes, resolved })
    }

    fn gone(&self, what: &str) -> CliError {
        CliError::new(
            exit::STORE,
            format!("{what}, which {} used, is not in the store any more", self.record.label),
        )
        .hint("a collection took it; `sim-pipe run` makes it again where the pipeline still has it")
    }

    /// One input: a snapshot of a source, or what an action gave, or a part of that.
    fn single(
        &self,
        used: &RecordInput,
        tree: &Digest,
        input: &InputDigest,
        plan: &mut Plan,
        outcomes: &mut Outcomes,
    ) -> Result<PlannedInput, CliError> {
        if let Some(source) = &used.source {
            if !self.store.has_tree(tree) {
                return Err(self.gone(&format!("the source {source}")));
            }
            // By the path under which the action found it.
            let at = match input {
                InputDigest::Placed { at, .. } => at.clone(),
                _ => source.clone(),
            };
            return Ok(PlannedInput::Source(at));
        }
        let maker = used.key.map(|k| self.maker(&k, tree)).transpose()?.flatten();
        let Some((stored, subpath)) = maker else {
            return Err(self.gone(&format!("input {} (tree {})", used.name, tree.short())));
        };
        let index = plan.actions.len();
        plan.actions.push(planned(&stored.record.label, &stored.record)?);
        outcomes.insert(index, Arc::new(Outcome::of(&stored)));
        Ok(PlannedInput::Action { index, subpath })
    }

    /// The observation of a key that gave a tree, whole or as a part.
    fn maker(
        &self,
        key: &Digest,
        tree: &Digest,
    ) -> Result<Option<(Stored, Option<String>)>, CliError> {
        for generation in 0.. {
            let Some(stored) = self.store.stored_generation(key, generation)? else { break };
            let Some(output) = &stored.record.output else { continue };
            if !self.store.has_tree(&output.digest) {
                continue;
            }
            if output.digest == *tree {
                return Ok(Some((stored, None)));
            }
            let node = scan(&self.store.tree_path(&output.digest), LinkRule::Keep)?;
            let mut at = None;
            node.visit(&mut Vec::new(), &mut |path, node| {
                if at.is_none() && node.digest() == *tree {
                    at = Some(String::from_utf8_lossy(path).into_owned());
                }
            });
            if at.is_some() {
                return Ok(Some((stored, at)));
            }
        }
        Ok(None)
    }

    fn list(
        &self,
        name: &str,
        members: &BTreeMap<String, ManyEntry>,
        tells_more: bool,
        plan: &mut Plan,
        outcomes: &mut Outcomes,
    ) -> Result<PlannedInput, CliError> {
        let mut list = Vec::new();
        for (label, entry) in members {
            let full = format!("{name}[{label}]");
            let used = self.record.inputs.iter().find(|i| i.name == full);
            let known = plan.actions.iter().position(|a| a.label == *label);
            let index = match (known, used.and_then(|u| u.key)) {
                (Some(index), _) => index,
                (None, Some(key)) => {
                    let stored = match &entry.tree {
                        Some(tree) => self.maker(&key, tree)?.map(|(stored, _)| stored),
                        None => self.store.record(&key)?,
                    };
                    let stored = stored.ok_or_else(|| self.gone(&format!("what {label} gave")))?;
                    outcomes.insert(plan.actions.len(), Arc::new(Outcome::of(&stored)));
                    plan.actions.push(planned(label, &stored.record)?);
                    plan.actions.len() - 1
                }
                (None, None) if tells_more => {
                    return Err(CliError::new(
                        exit::NOTHING,
                        format!(
                            "{} cannot be laid out from records: its input {label} never ran, and a \
                             report tells more of it than its record holds",
                            self.record.label
                        ),
                    )
                    .hint("`sim-pipe run PIPELINE --only LABEL` makes it again from the pipeline"));
                }
                (None, None) => {
                    let (word, reason) =
                        entry.outcome.split_once(": ").unwrap_or((&entry.outcome, ""));
                    let mut outcome = match word {
                        "skipped" => Outcome::left_out(reason),
                        _ => Outcome::not_run(label),
                    };
                    reason.clone_into(&mut outcome.reason);
                    outcomes.insert(plan.actions.len(), Arc::new(outcome));
                    plan.actions.push(PlannedAction {
                        label: label.clone(),
                        ..planned(label, self.record)?
                    });
                    plan.actions.len() - 1
                }
            };
            list.push(index);
        }
        Ok(PlannedInput::Many(list))
    }

    /// Everything that the action's `provenance` input told of, in the order in which it did: a root's,
    /// proved by the digest that entered the key.
    fn ancestors(&self, digest: &Digest) -> Result<Vec<(String, Stored)>, CliError> {
        let mut roots = self.store.roots()?;
        roots.sort_by(|(_, a), (_, b)| b.run.cmp(&a.run));
        for (_, root) in &roots {
            if !root.entries.iter().any(|e| e.key == self.record.key) {
                continue;
            }
            let Some(all) = self.entries(root)? else { continue };
            let reached = closure(&all, self.record);
            let used: Vec<_> =
                all.iter().filter(|(_, s)| reached.contains(&s.record.key)).cloned().collect();
            for candidate in [used, all] {
                let told = candidate.iter().map(|(l, s)| (l.as_str(), Some(s.digest), ""));
                if sim_exec::provenance_digest(told) == *digest {
                    return Ok(candidate);
                }
            }
        }
        Err(CliError::new(
            exit::NOTHING,
            format!(
                "{} cannot be laid out from records: the run that it told of is no root any more, or \
                 had actions that never ran",
                self.record.label
            ),
        )
        .hint("`sim-pipe run PIPELINE --only LABEL` makes it again from the pipeline"))
    }

    /// The records of a root but this one; `None` where one is gone.
    fn entries(&self, root: &Root) -> Result<Option<Vec<(String, Stored)>>, CliError> {
        let mut out = Vec::new();
        for e in root.entries.iter().filter(|e| e.key != self.record.key) {
            match self.store.stored_generation(&e.key, e.generation)? {
                Some(stored) => out.push((e.label.clone(), stored)),
                None => return Ok(None),
            }
        }
        Ok(Some(out))
    }
}

/// Keys that a record's inputs lead to.
fn closure(all: &[(String, Stored)], record: &Record) -> BTreeSet<Digest> {
    let by_key: BTreeMap<Digest, &Record> =
        all.iter().map(|(_, s)| (s.record.key, &s.record)).collect();
    let mut seen = BTreeSet::new();
    let mut todo: Vec<Digest> = record.inputs.iter().filter_map(|i| i.key).collect();
    while let Some(key) = todo.pop() {
        if seen.insert(key) {
            let inputs = by_key.get(&key).into_iter().flat_map(|r| &r.inputs);
            todo.extend(inputs.filter_map(|i| i.key));
        }
    }
    seen
}

/// A record as the action it was, without its inputs.
fn planned(label: &str, record: &Record) -> Result<PlannedAction, CliError> {
    let d = Described::parse(&record.components)
        .map_err(|e| CliError::new(exit::STORE, format!("record {}: {e}", record.key.short())))?;
    let timeout = record.limits.get("timeout_s").copied().filter(|s| s.is_finite() && *s > 0.0);
    let mut limits = Limits::default();
    if let Some(seconds) = timeout {
        limits.timeout = Duration::from_secs_f64(seconds);
    }
    let program = d.argv.first().cloned();
    Ok(PlannedAction {
        label: label.to_owned(),
        stage: String::new(),
        kind: d.kind,
        fingerprint: d.fingerprint,
        class: d.class,
        args: d.args,
        origins: Origins::default(),
        argv: d.argv,
        seed: d.seed,
        repeat: d.repeat,
        inputs: BTreeMap::new(),
        outputs: d.outputs,
        env: d.env,
        // The program of a command is a tool without being asked for.
        tools: d.tools.into_keys().filter(|t| Some(t) != program.as_ref()).collect(),
        network: d.network,
        limits,
        after: Vec::new(),
        order: 0,
        export: true,
        series: None,
        skip: None,
    })
}

impl Parts {
    pub(crate) fn action(&self) -> &PlannedAction {
        // The action itself was put in last.
        &self.plan.actions[self.plan.actions.len() - 1]
    }

    /// On the machine of the record, as far as that enters anything.
    pub(crate) fn resolver<'a>(&'a self, store: &'a Store, record: &Record) -> Resolver<'a> {
        Resolver::new(store, &self.plan, store.root(), record.machine.clone(), env::path_var())
    }

    pub(crate) fn lay_out(
        &self,
        store: &Store,
        record: &Record,
        to: &Path,
    ) -> Result<LaidOut, CliError> {
        let resolver = self.resolver(store, record);
        let (action, options) = (self.action(), options()?);
        Ok(sim_exec::lay_out(&resolver, &options, action, &self.resolved, &self.outcomes, to)?)
    }
}

/// Options for one action, with everything at its default.
pub(crate) fn options() -> Result<Options, CliError> {
    Ok(Options {
        jobs: 1,
        sandbox: SandboxPolicy::Auto,
        remeasure: false,
        retry_failed: false,
        keep_going: true,
        verify: false,
        exe: env::own_exe()?,
        path_var: env::path_var(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        pipeline_file: String::new(),
        lock_folder: env::lock_folder(),
        only: None,
        ahead: None,
        retry_known: false,
        resume: None,
        question: None,
    })
}
