//! `cargo xtask test`: everything that must hold, in order of cost.

use crate::{adapters, batch, duckdb, flake, generate, shell, tidy};
use anyhow::{Result, bail};
use std::process::ExitCode;
use std::time::Instant;

type Part = (&'static str, &'static str, fn() -> Result<()>);

const PARTS: [Part; 7] = [
    ("fmt", "formatting", fmt),
    ("tidy", "structure of the repository", tidy::check),
    ("clippy", "lints, no warning allowed", clippy),
    ("unit", "tests of the workspace", unit),
    ("gen", "generated files are in step", generate::check),
    ("engines", "tests of the adapters, on the real engines", engines),
    ("flake", "flake.nix against the stand-in nixpkgs", flake::check),
];

/// Runs the parts that are named, or all but the flake's. All run, whatever fails before. With `--engine NAME`,
/// the tests of one adapter alone.
pub(crate) fn test(args: &[String]) -> Result<ExitCode> {
    if let [flag, name] = args
        && flag == "--engine"
    {
        let all = adapters::all()?;
        let Some(adapter) = all.iter().find(|a| a.name == *name) else {
            let names: Vec<&str> = all.iter().map(|a| a.name.as_str()).collect();
            bail!(
                "there is no engine `{name}` with tests of its own; there are {}",
                names.join(", ")
            );
        };
        engine(adapter)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(other) = args.iter().find(|a| !PARTS.iter().any(|(name, ..)| name == a)) {
        let names: Vec<&str> = PARTS.iter().map(|(name, ..)| *name).collect();
        bail!("there is no part `{other}`; there are {}", names.join(", "));
    }
    let wanted = |name: &str| match args {
        [] => name != "flake",
        some => some.iter().any(|a| a == name),
    };
    let mut failed = Vec::new();
    let mut times = Vec::new();
    for (name, what, part) in PARTS.iter().filter(|(name, ..)| wanted(name)) {
        shell::say(&format!("== {name}: {what}"));
        let start = Instant::now();
        if let Err(e) = part() {
            shell::say(&format!("error: {e:#}"));
            failed.push(*name);
        }
        times.push(format!("{name} {:.0} s", start.elapsed().as_secs_f64()));
    }
    shell::say(&format!("== {}", times.join(", ")));
    if failed.is_empty() {
        shell::say("== all parts hold");
        return Ok(ExitCode::SUCCESS);
    }
    shell::say(&format!("== failed: {}", failed.join(", ")));
    Ok(ExitCode::FAILURE)
}

fn fmt() -> Result<()> {
    shell::run(shell::cargo().args(["fmt", "--all", "--check"]))?;
    for adapter in adapters::all()?.into_iter().chain([adapters::host()]) {
        shell::run(adapter.cargo(&["fmt", "--check"])?.env_remove("CARGO_TARGET_DIR"))?;
        for dir in adapter.tools()? {
            shell::run(shell::cargo().args(["fmt", "--check"]).current_dir(dir))?;
        }
    }
    Ok(())
}

fn clippy() -> Result<()> {
    let mut cargo = shell::cargo();
    cargo.args(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]);
    shell::run(&mut cargo)
}

fn unit() -> Result<()> {
    duckdb::bootstrap_or_say();
    shell::run(shell::cargo().args(["test", "--workspace", "--no-fail-fast"]))
}

fn engines() -> Result<()> {
    for adapter in adapters::all()?.into_iter().chain([adapters::host()]) {
        if adapter.opt_in() && !adapter.was_built()? {
            let name = &adapter.name;
            shell::say(&format!(
                "-- {name}: skipped, its build is not in the cache; `cargo xtask test --engine {name}` \
                 builds and tests it"
            ));
            continue;
        }
        engine(&adapter)?;
    }
    Ok(())
}

/// The tests of one adapter, in each of its builds, and those of the tools that it is built with.
fn engine(adapter: &adapters::Adapter) -> Result<()> {
    shell::say(&format!("-- {}", adapter.name));
    for dir in adapter.tools()? {
        let target = adapter.target()?.with_extension("tools");
        let mut cargo = shell::cargo();
        cargo.args(["test", "--locked"]).current_dir(dir).env("CARGO_TARGET_DIR", target);
        shell::run(&mut cargo)?;
    }
    for features in adapter.builds() {
        let args = [&["test", "--locked", "--no-fail-fast"], features].concat();
        shell::run(&mut adapter.cargo(&args)?)?;
    }
    if adapter.name == "batch" {
        batch::test(adapter)?;
    }
    Ok(())
}
