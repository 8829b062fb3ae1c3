//! `sim-pipe log`: the log of an action, also of one that went well.

use crate::error::{CliError, CliResult, exit};
use crate::global::Global;
use crate::project::{Project, nearest_store};
use crate::text;
use clap::Args;
use sim_model::Record;
use sim_store::Store;
use std::path::Path;

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// A pipeline file and a label, or the beginning of a key
    #[arg(required = true, num_args = 1..=2, value_names = ["PIPELINE|KEY", "LABEL"])]
    what: Vec<String>,
}

pub(crate) fn run(global: &Global, args: &LogArgs) -> CliResult {
    let (store, record) = match args.what.as_slice() {
        [key] => {
            let store = nearest_store(global)?;
            let record = by_key(&store, key)?;
            (store, record)
        }
        [pipeline, label, ..] => {
            let project = Project::load(global, Path::new(pipeline), &[])?;
            let store = project.store(global)?;
            let record =
                by_label(&store, &store.root_name(&project.plan.name, &project.root)?, label)?;
            (store, record)
        }
        [] => return Err(CliError::new(exit::USAGE, "name an action")),
    };
    text::say(&format!(
        "{} · {} · {} · {}",
        record.label,
        record.status.name(),
        text::moment(record.started_unix_ms),
        record.key.short()
    ));
    if !record.reason.is_empty() {
        text::say(&format!("reason: {}", record.reason));
    }
    for warning in &record.warnings {
        text::say(&format!("warning: {warning}"));
    }
    match record.log {
        Some(log) => text::out_bytes(&store.blob(&log)?),
        None => text::say("it wrote nothing"),
    }
    Ok(exit::OK)
}

/// The newest record whose key begins with `prefix`, or whose label is `prefix`.
pub(crate) fn by_key(store: &Store, prefix: &str) -> Result<Record, CliError> {
    let hex = prefix.len() >= 4 && prefix.bytes().all(|b| b.is_ascii_hexdigit());
    let (records, _) = store.records()?;
    let mut found: Vec<Record> = records
        .into_iter()
        .filter(|r| r.label == prefix || (hex && r.key.to_string().starts_with(prefix)))
        .collect();
    let keys: std::collections::BTreeSet<_> = found.iter().map(|r| r.key).collect();
    if hex && keys.len() > 1 && !found.iter().any(|r| r.label == prefix) {
        let list: Vec<String> =
            found.iter().take(5).map(|r| format!("{} {}", r.key.short(), r.label)).collect();
        return Err(CliError::new(exit::NOTHING, format!("`{prefix}` begins {} keys", keys.len()))
            .hint(format!("write more of it: {}", list.join(", "))));
    }
    found.sort_by_key(|r| (r.started_unix_ms, r.generation));
    found.pop().ok_or_else(|| {
        CliError::new(exit::NOTHING, format!("no record has the key or label `{prefix}`"))
            .hint("`sim-pipe query 'from actions'` lists them; a key needs its first 4 digits")
    })
}

/// The record that the last run of a pipeline used for a label. A label may be shortened as long as
/// one action remains.
pub(crate) fn by_label(store: &Store, pipeline: &str, label: &str) -> Result<Record, CliError> {
    let mut entries = Vec::new();
    for name in [pipeline.to_owned(), format!("{pipeline}.part")] {
        entries.extend(store.root_named(&name)?.into_iter().flat_map(|r| r.entries));
    }
    let exact = entries.iter().find(|e| e.label == label);
    let starting: Vec<_> = entries.iter().filter(|e| e.label.starts_with(label)).collect();
    let entry = match (exact, starting.as_slice()) {
        (Some(e), _) => e,
        (None, [one]) => one,
        (None, []) => {
            return Err(CliError::new(
                exit::NOTHING,
                format!("the last run of `{pipeline}` reached no action `{label}`"),
            )
            .hint("`sim-pipe plan --all PIPELINE` lists the labels"));
        }
        (None, several) => {
            let list: Vec<&str> = several.iter().take(5).map(|e| e.label.as_str()).collect();
            return Err(CliError::new(
                exit::NOTHING,
                format!("{} actions begin with `{label}`", several.len()),
            )
            .hint(format!("such as {}", list.join(", "))));
        }
    };
    store
        .record_generation(&entry.key, entry.generation)?
        .ok_or_else(|| CliError::new(exit::STORE, format!("the record of {} is gone", entry.label)))
}
