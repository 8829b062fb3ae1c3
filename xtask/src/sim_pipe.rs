//! Building and running the program itself.

use crate::{duckdb, shell};
use anyhow::{Result, bail};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Builds sim-pipe optimised, fetching libduckdb meanwhile; where the program is.
pub(crate) fn build() -> Result<PathBuf> {
    let mut cargo = shell::cargo();
    cargo.args(["build", "--release", "--package", "sim-pipe", "--bin", "sim-pipe"]);
    let built = std::thread::scope(|scope| {
        let fetching = scope.spawn(duckdb::bootstrap_or_say);
        let built = shell::run(&mut cargo);
        let _ = fetching.join();
        built
    });
    built?;
    Ok(shell::target_dir()?.join("release/sim-pipe"))
}

/// `cargo xtask run PIPELINE [ARG…]`.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    if args.is_empty() {
        bail!("which pipeline? For example: cargo xtask run pipelines/hello.toml");
    }
    if shell::find("cc").is_none() {
        bail!("a C compiler (`cc`) is needed and not installed");
    }
    let program = build()?;
    // Signals reach the program itself, and its exit code is ours.
    let e = Command::new(&program).arg("run").args(args).exec();
    bail!("{}: {e}", program.display())
}
