//! `sim-pipe diff`: two runs, two actions, or two observations of one action.

mod actions;
mod runs;

use crate::error::{CliError, CliResult, exit};
use crate::find;
use crate::format::Format;
use crate::global::Global;
use crate::project::nearest_store;
use clap::Args;

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
    actions::run(&store, &args.a, &args.b, args.format.json(global))
}
