//! The project's own tasks: `cargo xtask TASK`.
//!
//! Plain Rust with few dependencies, because it is compiled before anything else happens.

mod adapters;
mod batch;
mod bench;
mod duckdb;
mod fetch;
mod flake;
mod generate;
mod models;
mod shell;
mod sim_pipe;
mod test;
mod tidy;
mod vendor;

use anyhow::{Result, bail};
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask TASK

  run PIPELINE [ARG…]   fetch libduckdb, build sim-pipe, run a pipeline
  build                 fetch libduckdb, build sim-pipe, print where it is
  test [PART…]          check everything; parts: fmt tidy clippy unit gen engines flake
  test --engine NAME    the tests of one adapter, also of one that is left out unless it was built before
  gen [--check]         write docs/cli.md and docs/schema/*.json from the program
  vendor [--check]      build the scripts of others in templates/vendor again (needs npm)
  tidy                  check the structure of the repository
  bench [--quick] [--tools LIST] [--limit SECONDS] [--into FILE] [ROW…]
                        measure the budget table, beside other tools; rows: startup graphs
                        scale planning instructions interval hash report, and by name only:
                        behaviour. --into puts each row in its place in a document
  flake                 evaluate and build flake.nix against the stand-in nixpkgs (needs nix)
";

fn main() -> ExitCode {
    match task(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(code) => code,
        Err(e) => {
            shell::say(&format!("error: {e:#}"));
            ExitCode::FAILURE
        }
    }
}

fn task(args: &[String]) -> Result<ExitCode> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("run") => sim_pipe::run(rest),
        Some("build") => {
            shell::print(&sim_pipe::build()?.display().to_string());
            Ok(ExitCode::SUCCESS)
        }
        Some("test") => test::test(rest),
        Some("gen") => generate::task(rest),
        Some("tidy") => tidy::task(),
        Some("vendor") => vendor::task(rest),
        Some("bench") => bench::task(rest),
        Some("flake") => flake::task(),
        Some("help" | "--help" | "-h") | None => {
            shell::print(USAGE.trim_end());
            Ok(ExitCode::SUCCESS)
        }
        Some(other) => bail!("there is no task `{other}`; `cargo xtask help` lists them"),
    }
}
