//! The command line. Doc comments here are the help texts.

use crate::commands;
use crate::error::{CliError, exit};
use crate::global::Global;
use crate::{env, text};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// One TOML file to physics-simulation evidence that anyone can check
#[derive(Debug, Parser)]
#[command(name = "sim-pipe", version, disable_help_subcommand = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a pipeline: only what is not recorded yet
    Run(commands::run::RunArgs),
    /// Show what a run would do, without doing it
    Plan(commands::plan::PlanArgs),
    /// Say why an action would run, or what its key is made of
    Explain(commands::explain::ExplainArgs),
    /// Print the log of an action
    Log(commands::log::LogArgs),
    /// Ask SQL over everything ever run
    Query(commands::query::QueryArgs),
    /// Lay out the site of a pipeline that has run; with --serve, show it
    Report(commands::report::ReportArgs),
    /// Check that every result of a pipeline still holds
    Audit(commands::audit::AuditArgs),
    /// Compare two runs, two actions, or two observations of one action
    Diff(commands::diff::DiffArgs),
    /// Say through what an action depends on another, or on a file
    WhyDepends(commands::why_depends::WhyDependsArgs),
    /// List what ran in a run, with a command that repeats each action
    WhatRan(commands::what_ran::WhatRanArgs),
    /// Lay out the folder of a recorded action, with a script that runs it there by hand
    Repeat(commands::repeat::RepeatArgs),
    /// List the runs of a store, with how they ended and which they went on with
    Runs(commands::runs::RunsArgs),
    /// Say where the time of a run went; with --output, write it for a trace viewer
    Trace(commands::trace::TraceArgs),
    /// Write runs as documents that other programs read: SLSA provenance, RO-Crate
    #[command(subcommand)]
    Export(commands::export::ExportCommand),
    /// Pin an engine to another version
    Pin(commands::pin::PinArgs),
    /// Look after the store
    #[command(subcommand)]
    Store(commands::store::StoreCommand),
    /// Say what this machine can do, and whether it is fit to measure
    Doctor,
    /// Print a JSON schema
    Schema(commands::schema::SchemaArgs),
    /// Start a project of your own
    New(commands::new::NewArgs),
    /// Explain a diagnostic code, or a command
    Help(commands::help::HelpArgs),
    /// Print a completion script for a shell
    Completions(commands::help::CompletionsArgs),
    /// Write manual pages
    Man(commands::help::ManArgs),
    /// Run a stage kind in the working folder (used by sim-pipe itself)
    #[command(hide = true)]
    Stage(commands::stage::StageArgs),
    /// Start processes as told on standard input (used by sim-pipe itself)
    #[command(hide = true)]
    Starter,
}

/// Parses, runs, and turns the outcome into an exit code.
pub(crate) fn main() -> ExitCode {
    env::keep_freed_memory();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            let _ = e.print();
            return ExitCode::from(if e.use_stderr() { exit::USAGE } else { exit::OK });
        }
    };
    match dispatch(&cli) {
        Ok(code) => ExitCode::from(code),
        Err(e) => {
            show(&e, &cli.global);
            ExitCode::from(e.code)
        }
    }
}

fn dispatch(cli: &Cli) -> Result<u8, CliError> {
    let global = &cli.global;
    match &cli.command {
        Command::Run(args) => commands::run::run(global, args),
        Command::Plan(args) => commands::plan::run(global, args),
        Command::Explain(args) => commands::explain::run(global, args),
        Command::Log(args) => commands::log::run(global, args),
        Command::Query(args) => commands::query::run(global, args),
        Command::Report(args) => commands::report::run(global, args),
        Command::Audit(args) => commands::audit::run(global, args),
        Command::Diff(args) => commands::diff::run(global, args),
        Command::WhyDepends(args) => commands::why_depends::run(global, args),
        Command::WhatRan(args) => commands::what_ran::run(global, args),
        Command::Repeat(args) => commands::repeat::run(global, args),
        Command::Runs(args) => commands::runs::run(global, args),
        Command::Trace(args) => commands::trace::run(global, args),
        Command::Export(command) => commands::export::run(global, command),
        Command::Pin(args) => commands::pin::run(global, args),
        Command::Store(command) => commands::store::run(global, command),
        Command::Doctor => commands::doctor::run(global),
        Command::Schema(args) => commands::schema::run(args),
        Command::New(args) => commands::new::run(args),
        Command::Help(args) => commands::help::run(args),
        Command::Completions(args) => commands::help::completions(args),
        Command::Man(args) => commands::help::man(args),
        Command::Stage(args) => commands::stage::run(args),
        Command::Starter => commands::stage::starter(),
    }
}

fn show(e: &CliError, global: &Global) {
    if global.json {
        let line = serde_json::json!({
            "v": 1, "error": { "message": e.message, "hints": e.hints, "exit_code": e.code }
        });
        text::out(&line.to_string());
        return;
    }
    let (red, cyan, off) = if env::colour(global.color) {
        ("\x1b[1;31m", "\x1b[36m", "\x1b[0m")
    } else {
        ("", "", "")
    };
    text::say(&format!("{red}error{off}: {}", e.message));
    for hint in &e.hints {
        text::say(&format!("{cyan}hint{off}: {hint}"));
    }
}
