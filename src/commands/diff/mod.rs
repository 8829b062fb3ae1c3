//! `sim-pipe diff`: two runs, two actions, or two observations of one action.

mod actions;
mod runs;

use crate::error::{CliError, CliResult, exit};
use crate::find;
use crate::format::Format;
use crate::global::Global;
use crate::project::nearest_store;
use clap::Args;
use sim_model::Record;
use sim_provenance::diff::FileChange;
use sim_store::Store;
use sim_store::tree::{LinkRule, scan};

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// A run (its id, `last`, a pipeline's or a pin's name), or an action (its label, or the beginning of
    /// its key; `@N` after it names an observation)
    a: String,
    /// The other, of the same sort
    b: String,
    /// Take both names for actions, even where runs have them too
    #[arg(long)]
    actions: bool,
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(global: &Global, args: &DiffArgs) -> CliResult {
    let store = nearest_store(global)?;
    let is_run = |name: &str| Ok::<_, CliError>(!args.actions && find::is_run(&store, name)?);
    match (is_run(&args.a)?, is_run(&args.b)?) {
        (true, true) => return runs::run(global, &store, &args.a, &args.b, args.format),
        (false, false) => {}
        (a, _) => {
            let (run, other) = if a { (&args.a, &args.b) } else { (&args.b, &args.a) };
            // One name may be a run's and an action's: then the other says which is meant.
            if find::observation(&store, run).is_err() {
                return Err(CliError::new(exit::NOTHING, format!("`{run}` is a run, `{other}` is none"))
                    .hint("`sim-pipe query 'from runs'` lists runs, `sim-pipe store ls` pipelines and pins"));
            }
        }
    }
    actions::run(global, &store, &args.a, &args.b, args.format)
}

/// The files that differ between two outputs; none where one of them is not in the store any more.
fn files(store: &Store, a: &Record, b: &Record) -> Result<Vec<FileChange>, CliError> {
    let (Some(a), Some(b)) = (&a.output, &b.output) else { return Ok(Vec::new()) };
    if a.digest == b.digest || !store.has_tree(&a.digest) || !store.has_tree(&b.digest) {
        return Ok(Vec::new());
    }
    let scan = |d| scan(&store.tree_path(d), LinkRule::Keep);
    let changes = sim_store::tree::diff(&scan(&a.digest)?, &scan(&b.digest)?);
    let change = |(change, path): (char, Vec<u8>)| FileChange {
        path: String::from_utf8_lossy(&path).into_owned(),
        change,
    };
    Ok(changes.into_iter().map(change).collect())
}
