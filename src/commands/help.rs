//! `sim-pipe help`, `completions` and `man`.

use crate::cli::Cli;
use crate::error::{CliError, CliResult, exit};
use crate::text;
use clap::{Args, CommandFactory as _};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// A diagnostic code such as SP0104, `codes`, `exit-codes`, or a command
    topic: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder to write to
    folder: PathBuf,
}

pub(crate) fn run(args: &HelpArgs) -> CliResult {
    let mut cli = Cli::command();
    // Gives subcommands their whole name, as in `sim-pipe store`.
    cli.build();
    let Some(topic) = &args.topic else {
        text::out(&cli.render_help().to_string());
        return Ok(exit::OK);
    };
    if topic == "codes" {
        for code in sim_plan::codes() {
            let first = sim_plan::explain_code(code).and_then(|t| t.lines().next()).unwrap_or("");
            text::out(&format!("{code}  {first}"));
        }
        return Ok(exit::OK);
    }
    if topic == "exit-codes" {
        for (code, meaning) in exit::ALL {
            text::out(&format!("{code:>3}  {meaning}"));
        }
        return Ok(exit::OK);
    }
    if let Some(paragraph) = sim_plan::explain_code(&topic.to_uppercase()) {
        text::out(paragraph);
        return Ok(exit::OK);
    }
    if let Some(command) = cli.find_subcommand_mut(topic) {
        text::out(&command.render_long_help().to_string());
        return Ok(exit::OK);
    }
    Err(CliError::new(exit::NOTHING, format!("`{topic}` is neither a code nor a command"))
        .hint("`sim-pipe help codes` lists the codes, `sim-pipe help` the commands"))
}

pub(crate) fn completions(args: &CompletionsArgs) -> CliResult {
    let mut out = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "sim-pipe", &mut out);
    text::out_bytes(&out);
    Ok(exit::OK)
}

pub(crate) fn man(args: &ManArgs) -> CliResult {
    fs_err::create_dir_all(&args.folder)?;
    clap_mangen::generate_to(Cli::command(), &args.folder)?;
    text::say(&format!("manual pages written to {}", args.folder.display()));
    Ok(exit::OK)
}
