//! `cargo xtask gen`: what is written down about the program, taken from the program.

use crate::shell;
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

const SCHEMAS: [&str; 15] = [
    "pipeline",
    "scene",
    "job",
    "result",
    "description",
    "capacity-samples",
    "device-samples",
    "audit",
    "run-diff",
    "action-diff",
    "critical-path",
    "why-depends",
    "what-ran",
    "runs",
    "store-size",
];
/// Options of every command, described once.
const GLOBAL: [&str; 6] = ["--store", "--color", "--json", "--quiet", "--no-progress", "--help"];

/// `cargo xtask gen [--check]`.
pub(crate) fn task(args: &[String]) -> Result<ExitCode> {
    match args {
        [] => {
            for (path, text) in files()? {
                if shell::write(&shell::root().join(&path), &text)? {
                    shell::say(&format!("wrote {}", path.display()));
                }
            }
        }
        [flag] if flag == "--check" => check()?,
        _ => bail!("`gen` takes nothing, or --check"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the files are what `gen` would write.
pub(crate) fn check() -> Result<()> {
    let mut stale = Vec::new();
    for (path, text) in files()? {
        if std::fs::read_to_string(shell::root().join(&path)).ok() != Some(text) {
            stale.push(path.display().to_string());
        }
    }
    if !stale.is_empty() {
        bail!("out of step with the program: {}; run `cargo xtask gen`", stale.join(", "));
    }
    Ok(())
}

fn files() -> Result<Vec<(PathBuf, String)>> {
    // In the profile and with the features that the tests were built with: nothing is compiled twice.
    let mut cargo = shell::cargo();
    shell::run(cargo.args(["build", "--quiet", "--workspace", "--bin", "sim-pipe"]))?;
    let program = Program(shell::target_dir()?.join("debug/sim-pipe"));
    let mut files = vec![(PathBuf::from("docs/cli.md"), cli(&program)?)];
    for name in SCHEMAS {
        let path = PathBuf::from(format!("docs/schema/{name}.schema.json"));
        files.push((path, program.says(&["schema", name])?));
    }
    Ok(files)
}

struct Program(PathBuf);

impl Program {
    fn says(&self, args: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.0);
        // No terminal and no variable that has a say in the width.
        command.args(args).stdin(Stdio::null()).stderr(Stdio::piped());
        command.env_remove("COLUMNS").env_remove("SIM_PIPE_STORE");
        shell::output(&mut command)
    }
}

fn cli(program: &Program) -> Result<String> {
    let help = program.says(&["--help"])?;
    let mut out = String::from(
        "# The command line\n\n\
         <!-- Written by `cargo xtask gen` from the program; do not edit. -->\n\n\
         Standard output carries data only; progress, summaries and messages go to standard error. \
         `NO_COLOR` and `SIM_PIPE_STORE` are honoured.\n\n",
    );
    let commands = commands_of(&help);
    out += "| command | what it does |\n| --- | --- |\n";
    for (name, what) in &commands {
        out += &format!("| [`{name}`](#{name}) | {what} |\n");
    }
    out += "\n## Options of every command\n\n";
    out += &block(&options_of(&help, true));
    out += "\n## Exit codes\n\n| code | meaning |\n| ---: | --- |\n";
    for line in program.says(&["help", "exit-codes"])?.lines() {
        let (code, meaning) = line.trim().split_once("  ").unwrap_or((line, ""));
        out += &format!("| {code} | {meaning} |\n");
    }
    for (name, what) in &commands {
        out += &format!("\n## {name}\n\n{what}.\n\n");
        let help = program.says(&[name, "--help"])?;
        out += &block(&without_globals(&help));
        for (sub, what) in commands_of(&help) {
            if sub == "help" {
                continue;
            }
            out += &format!("\n### {name} {sub}\n\n{what}.\n\n");
            out += &block(&without_globals(&program.says(&[name, &sub, "--help"])?));
        }
    }
    Ok(out)
}

fn block(text: &str) -> String {
    format!("```text\n{}\n```\n", text.trim_matches('\n').trim_end())
}

/// Names and summaries below `Commands:`.
fn commands_of(help: &str) -> Vec<(String, String)> {
    help.lines()
        .skip_while(|l| *l != "Commands:")
        .skip(1)
        .take_while(|l| !l.is_empty())
        .filter_map(|l| l.trim().split_once(' '))
        .map(|(name, what)| (name.to_owned(), what.trim().to_owned()))
        .collect()
}

/// What is below `Options:`: those of every command, or the others.
fn options_of(help: &str, global: bool) -> String {
    let mut out = String::new();
    let mut keep = false;
    let lines = help.lines().skip_while(|l| *l != "Options:").skip(1);
    for line in lines.take_while(|l| l.is_empty() || l.starts_with(' ')) {
        let head = line.trim_start();
        // An option begins at column 2 or, without a short form, 6; its text is further in.
        if head.starts_with('-') && line.len() - head.len() <= 6 {
            let known = GLOBAL
                .iter()
                .any(|g| head.split([' ', ',']).any(|word| word.split('=').next() == Some(*g)));
            keep = known == global;
        }
        if keep {
            out += line.trim_end();
            out.push('\n');
        }
    }
    out
}

/// A command's help without its first line and the options of every command.
fn without_globals(help: &str) -> String {
    let start = help.find("Usage:").unwrap_or(0);
    let end = help.find("\nOptions:\n").unwrap_or(help.len());
    let options = options_of(help, false);
    let commands: String = help[start..end]
        .lines()
        .filter(|l| !l.trim_start().starts_with("help  "))
        .map(|l| format!("{}\n", l.trim_end()))
        .collect();
    match options.trim().is_empty() {
        true => commands,
        false => format!("{}\n\nOptions:\n{options}", commands.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "Do it\n\nUsage: it [OPTIONS]\n\nOptions:\n      --deep <N>\n          How deep\n\n\
                        \x20     --store <DIR>\n          The store\n\n  -q, --quiet\n          Less\n\n\
                        \x20 -j, --jobs <N>\n          At once\n";

    #[test]
    fn options_of_every_command_are_told_apart() {
        let own = options_of(HELP, false);
        assert!(own.contains("--deep") && own.contains("--jobs") && own.contains("At once"));
        assert!(!own.contains("--store") && !own.contains("Less"));
        let global = options_of(HELP, true);
        assert!(global.contains("The store") && global.contains("--quiet"));
        assert!(!global.contains("--deep"));
        assert!(without_globals(HELP).starts_with("Usage: it [OPTIONS]\n\nOptions:\n      --deep"));
    }
}
