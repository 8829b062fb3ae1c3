//! `sim-pipe trace`: where the time of a run went, in words and as a file for a viewer.

use crate::error::{CliError, CliResult, exit};
use crate::find::{self, Run};
use crate::format::Format;
use crate::global::Global;
use crate::project::nearest_store;
use crate::text;
use clap::Args;
use sim_model::event::Event;
use sim_model::{Digest, Record};
use sim_provenance::critical::CriticalPath;
use sim_provenance::timeline::Timeline;
use sim_store::Store;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// The run: its id, a pipeline's or a pin's name [default: the last run]
    run: Option<String>,
    /// Also write the run as a trace, for https://ui.perfetto.dev or chrome://tracing
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(global: &Global, args: &TraceArgs) -> CliResult {
    let store = nearest_store(global)?;
    let run = find::run(&store, args.run.as_deref())?;
    let timeline = timeline(&store, &run)?;
    let path = CriticalPath::of(&timeline);
    if args.format.json(global) {
        args.format.print(global, &path)?;
    } else {
        show(&path);
    }
    if let Some(file) = &args.output {
        let mut bytes = serde_json::to_vec(&sim_provenance::trace::trace(&timeline))?;
        bytes.push(b'\n');
        fs_err::write(file, bytes)?;
        text::say(&format!("trace: {} (open it in https://ui.perfetto.dev)", file.display()));
    }
    Ok(exit::OK)
}

/// The run's journal as intervals, with what the records add.
fn timeline(store: &Store, run: &Run) -> Result<Timeline, CliError> {
    let lines = run.journal()?;
    let mut records: BTreeMap<(Digest, u32), Record> = BTreeMap::new();
    for line in lines {
        if let Event::ActionFinished { key, generation, .. } = &line.event {
            // One that a collection took is told from the journal alone.
            if let Some(record) = store.record_generation(key, *generation)? {
                records.insert((*key, *generation), record);
            }
        }
    }
    Ok(Timeline::of(lines, &records))
}

fn ms(ms: f64) -> String {
    text::duration(Duration::from_secs_f64(ms.max(0.0) / 1e3))
}

fn show(path: &CriticalPath) {
    let end = if path.complete { "" } else { " · did not come to its end" };
    text::out(&format!(
        "{} · run {} · {}{end}\n{} ran, {} reused · {} of work on at most {}",
        path.pipeline,
        path.run,
        ms(path.wall_ms),
        path.ran,
        path.reused,
        ms(path.work_ms),
        text::count(path.lanes as usize, "worker"),
    ));
    if path.chain.is_empty() {
        text::out("nothing ran: there is no critical path");
        return;
    }
    text::out(&format!(
        "\nthe longest chain of actions that used each other: {}",
        ms(path.chain_ms)
    ));
    for link in &path.chain {
        let mut rest = vec![link.class.clone()];
        if link.status != "ok" {
            rest.push(link.status.clone());
        }
        if link.waited_ms >= 1.0 {
            rest.push(format!("waited {} for a worker or the machine", ms(link.waited_ms)));
        }
        if link.held_ms >= 1.0 {
            rest.push(format!("held up {} by another sim-pipe", ms(link.held_ms)));
        }
        let share = 100.0 * link.busy_ms / path.chain_ms.max(1e-9);
        text::out(&format!(
            "{:>9} {share:>4.0} %  {}  ({})",
            ms(link.busy_ms),
            link.label,
            rest.join(", ")
        ));
    }
    text::out(&format!(
        "\nmeasured actions, which run alone: {}\nno number of processors makes the same work shorter \
         than {}",
        ms(path.measured_ms),
        ms(path.bound_ms())
    ));
}
