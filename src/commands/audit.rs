//! `sim-pipe audit`: does every result of a pipeline still hold?

use crate::commands::run::key_value;
use crate::error::{CliError, CliResult, exit};
use crate::global::Global;
use crate::project::Project;
use crate::text;
use clap::Args;
use sim_exec::{Resolver, State, preview};
use sim_model::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// The pipeline file
    pipeline: PathBuf,
    /// Set a value of the pipeline, as for the run that is audited
    #[arg(long = "set", value_parser = key_value, value_name = "KEY=VALUE")]
    set: Vec<(String, String)>,
}

pub(crate) fn run(global: &Global, args: &AuditArgs) -> CliResult {
    let project = Project::load(global, &args.pipeline, &args.set)?;
    let store = project.store(global)?;
    let _lease = store.lease()?;
    let options = project.options()?;
    let Some(root) = store.root_named(&store.root_name(&project.plan.name, &project.root)?)? else {
        return Err(CliError::new(
            exit::NOTHING,
            format!("`{}` has no finished run", project.plan.name),
        )
        .hint(format!("`sim-pipe run {}` makes one", args.pipeline.display())));
    };
    let resolver = Resolver::new(
        &store,
        &project.plan,
        &project.root,
        project.machine.clone(),
        options.path_var.clone(),
    );
    let states = preview(&resolver, &options)?.states;
    let mut findings: Vec<(String, String)> = Vec::new();

    // Keys: the plan of today must lead to the records that the last run used.
    let by_label: BTreeMap<&str, &sim_store::RootEntry> =
        root.entries.iter().map(|e| (e.label.as_str(), e)).collect();
    let mut keys = 0;
    // Recorded, and its output is not what it was: told once, below, where bytes are hashed.
    let mut damaged: BTreeSet<usize> = BTreeSet::new();
    for (index, (action, state)) in project.plan.actions.iter().zip(&states).enumerate() {
        keys += usize::from(matches!(state, State::Reused(_) | State::WouldRun(_)));
        let problem = match state {
            State::Reused(stored) => match by_label.get(action.label.as_str()) {
                Some(e) if e.key == stored.record.key => continue,
                Some(e) => format!(
                    "the last run used key {}, today's is {}",
                    e.key.short(),
                    stored.record.key.short()
                ),
                None => "the last run did not reach it".to_owned(),
            },
            State::WouldRun(r) => match store.record(&r.key).ok().flatten().map(|s| s.record) {
                Some(record) if record.status.reusable() => {
                    damaged.insert(index);
                    if by_label.get(action.label.as_str()).is_some_and(|e| e.key == r.key) {
                        continue;
                    }
                    format!("the last run did not reach its record {}", r.key.short())
                }
                Some(record) => format!(
                    "it is recorded as {}, which a run tries again: {}",
                    record.status.name(),
                    record.reason
                ),
                None => format!("its key is {} today, which is not recorded", r.key.short()),
            },
            State::Waits(first) if damaged.contains(first) => continue,
            State::Waits(first) => {
                format!("it depends on {}, which would run", project.plan.actions[*first].label)
            }
            State::Blocked(by) => format!("it needs {}", project.plan.actions[*by].label),
            State::Impossible(why) => why.clone(),
        };
        findings.push((action.label.clone(), problem));
    }

    // Bytes: everything that the root reaches is hashed again.
    let mut records = 0;
    let mut trees: BTreeMap<Digest, String> = BTreeMap::new();
    let mut blobs: BTreeMap<Digest, String> = BTreeMap::new();
    for e in &root.entries {
        match store.record_generation(&e.key, e.generation) {
            Ok(Some(r)) => {
                records += 1;
                if let Some(tree) = &r.output {
                    trees.entry(tree.digest).or_insert_with(|| r.label.clone());
                }
                if let Some(log) = r.log {
                    blobs.entry(log).or_insert_with(|| r.label.clone());
                }
            }
            Ok(None) => {
                findings.push((e.label.clone(), format!("its record {} is gone", e.key.short())))
            }
            Err(error) => findings.push((e.label.clone(), error.to_string())),
        }
    }
    let mut bytes = 0;
    for (digest, label) in &trees {
        match store.verified_tree(digest) {
            Ok(node) => bytes += node.tree_ref().bytes,
            Err(error) => findings.push((label.clone(), error.to_string())),
        }
    }
    for (digest, label) in &blobs {
        match store.blob(digest) {
            Ok(b) => bytes += b.len() as u64,
            Err(sim_store::StoreError::MissingBlob { .. }) if store.log_was_lost(digest) => {}
            Err(error) => findings.push((label.clone(), error.to_string())),
        }
    }

    for (label, problem) in &findings {
        if global.json {
            text::out(&serde_json::json!({"v": 1, "label": label, "finding": problem}).to_string());
        } else {
            text::out(&format!("{label}: {problem}"));
        }
    }
    let checked = format!(
        "{} recomputed · {}, {} and {} hashed again ({})",
        text::count(keys, "key"),
        text::count(records, "record"),
        text::count(trees.len(), "tree"),
        text::count(blobs.len(), "log"),
        text::bytes(bytes)
    );
    let verdict = match findings.len() {
        0 => "everything holds".to_owned(),
        n => text::count(n, "finding"),
    };
    if global.json {
        let line = serde_json::json!({
            "v": 1, "pipeline": project.plan.name, "findings": findings.len(), "records": records,
            "trees": trees.len(), "logs": blobs.len(), "bytes": bytes,
        });
        text::out(&line.to_string());
    } else {
        text::say(&format!("{}: {verdict} · {checked}", project.plan.name));
    }
    Ok(if findings.is_empty() { exit::OK } else { exit::AUDIT })
}
