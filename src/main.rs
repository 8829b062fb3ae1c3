//! sim-pipe: one TOML file to physics-simulation evidence that anyone can check.

mod catalog_source;
mod cli;
mod commands;
mod env;
mod error;
mod find;
mod format;
mod global;
mod kinds;
mod progress;
mod project;
mod recorded;
mod resume;
mod site;
mod skip_case;
mod text;

fn main() -> std::process::ExitCode {
    cli::main()
}
