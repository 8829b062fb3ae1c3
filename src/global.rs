//! Options that every command has.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Options of every command
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// The store; default: SIM_PIPE_STORE, else .sim-pipe in the project's root
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub(crate) color: Colour,
    /// Write JSON, one object a line, to standard output
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say less: only failures and the summary
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Plain lines instead of a progress bar
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,
}

/// When to use colours
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
