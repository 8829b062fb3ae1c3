//! Where the other tools come from, at which version.

use crate::{fetch, shell};
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a tool comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// The search path only.
    Path(&'static str),
    /// A package of PyPI and its program.
    Python(&'static str, &'static str),
    /// The search path, else PyPI.
    PathOrPython(&'static str, &'static str),
    /// A program in an npm package.
    Npm(&'static str),
}

/// Every Python package that any of the tools needs, at one version each.
const PINS: &str = include_str!("python.txt");

const MOON: (&str, &str) = ("@moonrepo/core-linux-x64-gnu", "2.5.5");
const MOON_INTEGRITY: &str = "sha512-IZdsDkDeJ5wHO2biX+7dn2NUBU2KbLz/FjTsZiHrwRBM+G5zXprXlqq+hVrn1PErYuoC9LX2hoUKBAwxfEoQnw==";
const B3SUM: &str = "1.8.7";

/// The program, installed below `dir` where that is its source.
pub(super) fn program(dir: &Path, source: Source) -> Result<PathBuf> {
    match source {
        Source::Path(name) => shell::find(name).context("is not on the search path"),
        Source::PathOrPython(package, name) => match shell::find(name) {
            Some(found) => Ok(found),
            None => python(dir, package, name),
        },
        Source::Python(package, name) => python(dir, package, name),
        Source::Npm(name) => moon(dir, name),
    }
}

/// One environment for all Python tools; each package is installed only if it is asked for.
fn python(dir: &Path, package: &str, name: &str) -> Result<PathBuf> {
    let place = dir.join("tools/python");
    let program = place.join("bin").join(name);
    if program.is_file() {
        return Ok(program);
    }
    let prefix = format!("{package}==");
    let pin = PINS.lines().find(|l| l.starts_with(&prefix)).context("has no pin")?;
    shell::say(&format!("  installing {pin} below {}", place.display()));
    if !place.join("bin/pip").is_file() {
        shell::output(Command::new("python3").args(["-m", "venv"]).arg(&place))
            .context("needs a Python with venv and pip")?;
    }
    let pins = place.join("pins.txt");
    shell::write(&pins, PINS)?;
    let mut pip = Command::new(place.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--constraint"]);
    shell::output(pip.arg(&pins).arg(pin)).context("cannot be had")?;
    if !program.is_file() {
        bail!("{pin} has no program {name}");
    }
    Ok(program)
}

fn moon(dir: &Path, name: &str) -> Result<PathBuf> {
    let place = dir.join("tools/moon");
    let program = place.join("package").join(name);
    if program.is_file() {
        return Ok(program);
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("is pinned for x86-64 only");
    }
    shell::say(&format!("  installing {}@{} below {}", MOON.0, MOON.1, place.display()));
    std::fs::create_dir_all(&place)?;
    let scratch = fetch::Scratch::new(&place)?;
    let archive = fetch::npm(&scratch.0, MOON.0, MOON.1).context("cannot be had")?;
    fetch::check(&archive, MOON_INTEGRITY)?;
    shell::output(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&place))?;
    Ok(program)
}

/// b3sum, from the search path or its crate.
pub(in super::super) fn b3sum(dir: &Path) -> Result<PathBuf> {
    if let Some(found) = shell::find("b3sum") {
        return Ok(found);
    }
    let place = dir.join("tools/b3sum");
    let program = place.join("bin/b3sum");
    if !program.is_file() {
        shell::say(&format!("  installing b3sum {B3SUM} below {}", place.display()));
        let mut cargo = shell::cargo();
        cargo.args(["install", "b3sum", "--version", B3SUM, "--locked", "--quiet", "--root"]);
        cargo.arg(&place).env("CARGO_TARGET_DIR", dir.join("tools/b3sum-target"));
        shell::output(&mut cargo).context("b3sum cannot be had")?;
    }
    Ok(program)
}
