//! `sim-pipe log`: the log of an action, also of one that went well.

use crate::error::{CliError, CliResult, exit};
use crate::find;
use crate::global::Global;
use crate::project::{Project, nearest_store};
use crate::text;
use clap::Args;
use std::path::Path;

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// A pipeline file and a label, or the beginning of a key
    #[arg(required = true, num_args = 1..=2, value_names = ["PIPELINE|KEY", "LABEL"])]
    what: Vec<String>,
}

pub(crate) fn run(global: &Global, args: &LogArgs) -> CliResult {
    let (store, found) = match args.what.as_slice() {
        [key] => {
            let store = nearest_store(global)?;
            let found = find::record(&store, key)?;
            (store, found)
        }
        [pipeline, label, ..] => {
            let project = Project::load(global, Path::new(pipeline), &[])?;
            let store = project.store(global)?;
            let root = store.root_name(&project.plan.name, &project.root)?;
            let found = find::by_label(&store, &root, label)?;
            (store, found)
        }
        [] => return Err(CliError::new(exit::USAGE, "name an action")),
    };
    let record = &found.record;
    text::say(&format!(
        "{} · {} · {} · {}",
        found.title(),
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
        Some(log) if store.log_was_lost(&log) => {
            text::say("its log is gone: `store gc` or a repair has taken it; the result stays");
            return Ok(exit::NOTHING);
        }
        Some(log) => text::out_bytes(&store.blob(&log)?),
        None => text::say("it wrote nothing"),
    }
    Ok(exit::OK)
}
