//! `sim-pipe what-ran`: the actions of a run, each with a command that runs it again by hand.

use crate::commands::repeat;
use crate::error::{CliResult, exit};
use crate::find::{self, How};
use crate::format::Format;
use crate::global::Global;
use crate::project::nearest_store;
use crate::text;
use clap::Args;
use sim_provenance::listing::{Ran, WhatRan};
use sim_provenance::shell;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct WhatRanArgs {
    /// The run: its id, a pipeline's or a pin's name [default: the last run]
    run: Option<String>,
    /// List reused actions, too
    #[arg(short, long)]
    all: bool,
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(global: &Global, args: &WhatRanArgs) -> CliResult {
    let store = nearest_store(global)?;
    let run = find::run(&store, args.run.as_deref())?;
    // Where the user had to name the store, so must whoever copies the command.
    let named = global.store.is_some();
    let records = run.records(&store)?;
    let actions: Vec<Ran> = run
        .entries
        .iter()
        .zip(&records)
        .filter(|(e, _)| args.all || e.how != How::Reused)
        .map(|(e, r)| Ran {
            label: e.label.clone(),
            key: e.key.to_string(),
            generation: e.generation,
            how: e.how.word().to_owned(),
            status: e.status.name().to_owned(),
            wall_ms: r.usage.wall_ms,
            command: shell::line(r.argv.iter().map(String::as_str)),
            repeat: repeat::command(&e.key, e.generation, store.root(), named),
        })
        .collect();
    let reused = run.entries.len() - actions.len();
    let listed = WhatRan { v: 1, run: run.id.clone(), pipeline: run.pipeline.clone(), actions };
    if args.format.json(global) {
        args.format.print(global, &listed)?;
        return Ok(exit::OK);
    }
    for a in &listed.actions {
        let time = text::duration(Duration::from_secs_f64(a.wall_ms / 1e3));
        let key = a.key.get(..12).unwrap_or(&a.key);
        text::out(&format!("{}  {} · {} · {time} · {key}", a.label, a.how, a.status));
        text::out(&format!("  $ {}", a.command));
        text::out(&format!("  {}", a.repeat));
    }
    let rest = match (reused, args.all) {
        (0, _) => String::new(),
        (n, _) => format!(" · {n} reused (--all lists them)"),
    };
    let count = text::count(listed.actions.len(), "action");
    text::say(&format!("{} · run {}: {count}{rest}", listed.pipeline, listed.run));
    Ok(exit::OK)
}
