//! `sim-pipe export`: runs as documents that other programs read.

mod crate_files;
mod ro_crate;
mod slsa;

pub(crate) use ro_crate::ARCHIVE;

use crate::error::CliResult;
use crate::global::Global;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum ExportCommand {
    /// Write an in-toto statement with SLSA provenance for each action
    ///
    /// One file an action, `KEY.json` (`KEY.N.json` for a later observation): an in-toto Statement v1 whose
    /// predicate is SLSA Provenance v1. The statements are not signed.
    Slsa(SlsaArgs),
    /// Write a whole run as a research crate (RO-Crate)
    ///
    /// The crate holds the pipeline, its sources, the site, outputs, logs and `store.simpipe`, which
    /// `sim-pipe store import` takes in: the same pipeline then finds everything recorded. Outputs above
    /// 4 MiB are in `store.simpipe` alone.
    RoCrate(RoCrateArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SlsaArgs {
    /// Actions: labels, or beginnings of keys; `@N` after one names an observation
    #[arg(required_unless_present_any = ["all", "run"])]
    actions: Vec<String>,
    /// Every action of a run: its id, `last`, a pipeline's or a pin's name
    #[arg(long, value_name = "RUN", conflicts_with = "actions")]
    run: Option<String>,
    /// Every record of the store
    #[arg(long, conflicts_with_all = ["actions", "run"])]
    all: bool,
    /// The folder to write to; made where it is not there
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RoCrateArgs {
    /// The run: a pipeline's or a pin's name, as `sim-pipe store ls` lists them
    run: String,
    /// The folder to write to, which must not be there yet, or a file that ends in `.zip`
    #[arg(short, long, value_name = "DIR|FILE.zip")]
    output: PathBuf,
    /// Licence of the data, best as a URI such as https://spdx.org/licenses/CC-BY-4.0
    #[arg(long, value_name = "LICENCE", default_value = "The licence was not stated")]
    license: String,
}

pub(crate) fn run(global: &Global, command: &ExportCommand) -> CliResult {
    match command {
        ExportCommand::Slsa(args) => slsa::run(global, args),
        ExportCommand::RoCrate(args) => ro_crate::run(global, args),
    }
}
