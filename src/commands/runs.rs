//! `sim-pipe runs`: the runs of a store, oldest first, and which of them went on with which.

use crate::error::{CliResult, exit};
use crate::find;
use crate::format::Format;
use crate::global::Global;
use crate::project::nearest_store;
use crate::{resume, text};
use clap::Args;
use sim_model::event::Event;
use sim_model::moment::rfc3339;
use sim_provenance::listing::{ListedRun, Runs};
use sim_store::Store;

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// Only this run and those that it goes on with: its id, or `last`
    run: Option<String>,
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(global: &Global, args: &RunsArgs) -> CliResult {
    let store = nearest_store(global)?;
    let ids: Vec<String> = match &args.run {
        Some(run) => {
            let mut chain = resume::chain(&store, &find::run(&store, Some(run))?)?;
            chain.reverse();
            chain
        }
        None => {
            let name = |p: &std::path::PathBuf| {
                p.file_stem().unwrap_or_default().to_string_lossy().into_owned()
            };
            store.journals()?.iter().map(name).collect()
        }
    };
    let mut runs = Vec::with_capacity(ids.len());
    for id in &ids {
        runs.push(listed(&store, id)?);
    }
    if args.format.json(global) {
        args.format.print(global, &Runs { v: 1, runs })?;
        return Ok(exit::OK);
    }
    for r in &runs {
        text::out(&line(r));
    }
    text::say(&text::count(runs.len(), "run"));
    Ok(exit::OK)
}

/// What a journal says of its run. One that another program wrote may say less.
fn listed(store: &Store, id: &str) -> Result<ListedRun, crate::error::CliError> {
    let run = find::run(store, Some(id))?;
    let mut out = ListedRun {
        run: run.id.clone(),
        pipeline: run.pipeline.clone(),
        file: run.file.clone(),
        history: resume::chain(store, &run)?.split_off(1),
        ended: "unfinished".to_owned(),
        ..ListedRun::default()
    };
    for line in &run.lines {
        match &line.event {
            Event::RunStarted { machine, tool_version, actions, .. } => {
                out.started = rfc3339(line.at_unix_ms);
                out.machine = machine.to_string();
                out.tool_version.clone_from(tool_version);
                out.actions = *actions;
            }
            Event::RunPlanned { plan, .. } => out.plan = Some(plan.to_string()),
            Event::RunFinished { ran, reused, failed, skipped, interrupted, .. } => {
                out.ended = if *interrupted { "interrupted" } else { "done" }.to_owned();
                (out.ran, out.reused) = (*ran, *reused);
                (out.failed, out.skipped) = (*failed, *skipped);
            }
            _ => {}
        }
    }
    Ok(out)
}

fn line(r: &ListedRun) -> String {
    let moment = r.started.get(..16).unwrap_or(&r.started).replace('T', " ");
    let mut parts = vec![r.ended.clone(), format!("{} ran", r.ran), format!("{} reused", r.reused)];
    if r.failed > 0 {
        parts.push(format!("{} not ok", r.failed));
    }
    if r.skipped > 0 {
        parts.push(format!("{} skipped", r.skipped));
    }
    if let Some(before) = r.history.first() {
        parts.push(format!("goes on with {before}"));
    }
    format!("{}  {moment}  {}  {}", r.run, r.pipeline, parts.join(" · "))
}
