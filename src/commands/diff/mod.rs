//! `sim-pipe diff`: two runs, two actions, or two observations of one action.

mod actions;
mod runs;

use crate::error::CliResult;
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
    if !args.actions && find::is_run(&store, &args.a)? && find::is_run(&store, &args.b)? {
        return runs::run(global, &store, &args.a, &args.b, args.format);
    }
    actions::run(&store, &args.a, &args.b, args.format.json(global))
}
