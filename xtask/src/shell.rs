//! Programs, paths and lines of text.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// One line to standard error.
#[expect(clippy::print_stderr, reason = "the one place that writes to standard error")]
pub(crate) fn say(line: &str) {
    eprintln!("{line}");
}

/// One line to standard output.
#[expect(clippy::print_stdout, reason = "the one place that writes to standard output")]
pub(crate) fn print(line: &str) {
    println!("{line}");
}

/// The root of the checkout.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// What cargo knows of the workspace, dependencies not resolved.
pub(crate) fn metadata() -> Result<&'static Value> {
    static KNOWN: OnceLock<Value> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(known);
    }
    let mut cargo = cargo();
    cargo.args(["metadata", "--no-deps", "--format-version", "1", "--offline"]);
    let value = serde_json::from_str(&output(&mut cargo)?).context("cargo metadata")?;
    Ok(KNOWN.get_or_init(|| value))
}

/// Cargo's target folder: `CARGO_TARGET_DIR`, a configured one, or `target`.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let dir = metadata()?["target_directory"].as_str().context("cargo names no target folder")?;
    Ok(PathBuf::from(dir))
}

/// The cargo that runs this task, in the root of the checkout.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // Set for this program by the cargo that started it; they mean nothing to another crate.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Where a program is on PATH.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|p| p.is_file())
}

/// A command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs a command whose output the user sees.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| not_started(command))?;
    if !status.success() {
        bail!("`{}` ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs a command and gives its standard output; what it says on standard error is in the error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| not_started(command))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` ended with {}\n{}", shown(command), output.status, said.trim_end());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn not_started(command: &Command) -> String {
    format!("`{}` could not be started: is it installed?", command.get_program().to_string_lossy())
}

/// Makes `link` a symbolic link to `to`, replacing an older link.
pub(crate) fn link(to: &Path, link: &Path) -> Result<()> {
    if std::fs::read_link(link).is_ok_and(|old| old == to) {
        return Ok(());
    }
    if let Some(parent) = link.parent() {
        std::fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
    }
    let _ = std::fs::remove_file(link);
    std::os::unix::fs::symlink(to, link).with_context(|| link.display().to_string())
}

/// Writes a file only where its content changes, so that nothing is rebuilt for nothing.
pub(crate) fn write(path: &Path, text: &str) -> Result<bool> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(false);
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
    }
    std::fs::write(path, text).with_context(|| path.display().to_string())?;
    Ok(true)
}
