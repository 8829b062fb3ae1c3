//! `sim-pipe stage KIND`: runs a compiled-in kind in the working folder.

use crate::error::{CliError, CliResult, exit};
use crate::{kinds, text};
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct StageArgs {
    /// The kind
    kind: String,
}

pub(crate) fn run(args: &StageArgs) -> CliResult {
    let stages = kinds::stages();
    let stage = stages.iter().find(|s| s.name() == args.kind).ok_or_else(|| {
        CliError::new(exit::USAGE, format!("no stage kind `{}` is compiled in", args.kind))
    })?;
    let dir = std::env::current_dir()?;
    let status = sim_stage_sdk::serve(stage.as_ref(), &dir)
        .map_err(|e| CliError::new(exit::ACTION, e.to_string()))?;
    if !status.reason.is_empty() {
        text::say(&format!("{:?}: {}", status.status, status.reason));
    }
    Ok(exit::OK)
}

/// `sim-pipe starter`: see [`sim_exec::serve_starter`].
pub(crate) fn starter() -> CliResult {
    sim_exec::serve_starter()?;
    Ok(exit::OK)
}
