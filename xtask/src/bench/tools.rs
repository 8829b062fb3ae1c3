//! The yardsticks, installed below the target folder where they are not on PATH.

use crate::shell;
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// ninja, from PATH or its PyPI wheel.
pub(super) fn ninja(dir: &Path) -> Result<PathBuf> {
    if let Some(found) = shell::find("ninja") {
        return Ok(found);
    }
    let place = dir.join("tools/ninja");
    let program = place.join("bin/ninja");
    if !program.is_file() {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"]);
        shell::output(pip.arg(&place).arg("ninja==1.13.0")).context("ninja cannot be had")?;
    }
    Ok(program)
}

/// b3sum, from PATH or its crate.
pub(super) fn b3sum(dir: &Path) -> Result<PathBuf> {
    if let Some(found) = shell::find("b3sum") {
        return Ok(found);
    }
    let place = dir.join("tools/b3sum");
    let program = place.join("bin/b3sum");
    if !program.is_file() {
        shell::say("  installing b3sum");
        let mut cargo = shell::cargo();
        cargo.args(["install", "b3sum", "--locked", "--quiet", "--root"]).arg(&place);
        cargo.env("CARGO_TARGET_DIR", dir.join("tools/b3sum-target"));
        shell::output(&mut cargo).context("b3sum cannot be had")?;
    }
    Ok(program)
}
