//! `cargo xtask tidy`: the structure that ARCHITECTURE.md promises.
//!
//! Each check gives sentences that name the file; none is fixed by hand elsewhere.

mod arrows;
mod files;

use crate::shell;
use anyhow::{Result, bail};
use std::path::Path;
use std::process::ExitCode;

/// What does not hold, one sentence each.
type Findings = Vec<String>;

/// `cargo xtask tidy`.
pub(crate) fn task() -> Result<ExitCode> {
    check()?;
    shell::say("tidy: all holds");
    Ok(ExitCode::SUCCESS)
}

/// All checks.
pub(crate) fn check() -> Result<()> {
    let root = shell::root();
    let mut found = Findings::new();
    arrows::check(shell::metadata()?, &mut found);
    files::check(root, &mut found)?;
    registry(root, &mut found)?;
    adapters(root, &mut found)?;
    found.extend(crate::vendor::findings()?);
    if !found.is_empty() {
        bail!("{} to tidy up:\n  {}", found.len(), found.join("\n  "));
    }
    Ok(())
}

fn folders(dir: &Path) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.path().is_dir() {
            out.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    out.sort();
    Ok(out)
}

/// Every stage kind is in the registry, every scenario folder is whole.
fn registry(root: &Path, found: &mut Findings) -> Result<()> {
    let kinds = std::fs::read_to_string(root.join("src/kinds.rs"))?;
    for stage in folders(&root.join("stages"))? {
        let is_kind = files::rust_files(&root.join("stages").join(&stage).join("src"))?
            .iter()
            .any(|f| std::fs::read_to_string(f).is_ok_and(|t| t.contains("impl Kind for")));
        let name = format!("sim_stage_{}::", stage.replace('-', "_"));
        if is_kind && !kinds.contains(&name) {
            found.push(format!("stages/{stage} is not in the registry, src/kinds.rs"));
        }
    }
    for scenario in folders(&root.join("scenes"))? {
        let dir = root.join("scenes").join(&scenario);
        // A crate of its own is what a protocol compares, not a scenario.
        if matches!(scenario.as_str(), "src" | "target" | "tests" | "examples" | "protocol")
            || dir.join("model/Cargo.toml").is_file()
        {
            continue;
        }
        for file in ["scene.toml", "generate.rs"] {
            if !dir.join(file).is_file() {
                found.push(format!("scenes/{scenario} has no {file}"));
            }
        }
    }
    Ok(())
}

/// An adapter is a workspace of its own with a lock, a yardstick and tests.
fn adapters(root: &Path, found: &mut Findings) -> Result<()> {
    let workspace = std::fs::read_to_string(root.join("Cargo.toml"))?;
    let version = |text: &str| {
        let line = text.lines().find(|l| l.starts_with("rust-version = "));
        line.map(|l| l["rust-version = ".len()..].to_owned())
    };
    let host = crate::adapters::host();
    for adapter in crate::adapters::all()?.into_iter().chain([host]) {
        let name = &adapter.name;
        // A plant is stepped by a protocol; it has no loop that a yardstick could stand beside.
        let parts: &[&str] = if name == "python/host" {
            &["Cargo.toml", "Cargo.lock", "tests/host.rs"]
        } else if adapter.steps_scenes()? {
            &["Cargo.toml", "Cargo.lock", "examples/hand_loop.rs", "tests/adapter.rs"]
        } else {
            &["Cargo.toml", "Cargo.lock", "tests/plant.rs"]
        };
        for file in parts {
            if !adapter.dir.join(file).is_file() {
                found.push(format!("engines/{name} has no {file}"));
            }
        }
        if !workspace.contains(&format!("\"engines/{name}\"")) {
            found.push(format!("engines/{name} is not excluded in the root's Cargo.toml"));
        }
        let manifest = std::fs::read_to_string(adapter.dir.join("Cargo.toml"))?;
        if version(&manifest) != version(&workspace) {
            found.push(format!("engines/{name} has another rust-version than the workspace"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() {
        if let Err(e) = super::check() {
            panic!("{e:#}");
        }
    }
}
