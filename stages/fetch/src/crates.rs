//! The crates of a lockfile: `cargo vendor --locked`, which checks each against its checksum there.
//!
//! Only manifests and the lockfile are inputs. Cargo wants target files too, so empty ones stand in:
//! an edited source does not fetch again.

use fs_err as fs;
use sim_model::action::Class;
use sim_model::kind::{Draft, DraftInput};
use sim_model::request::Request;
use sim_model::value::Value;
use sim_stage_sdk::{IoContext, StageError, arg, input, stop_workspace_search};
use std::path::Path;
use std::process::Command;

/// The draft that vendors the crates of `crate_dir` (with its Cargo.lock), whose path dependencies
/// lie in `paths`; all relative to the project's root.
pub fn draft(name: &str, crate_dir: &str, paths: &[String]) -> Draft {
    let mut draft = Draft::new("fetch", Class::Pure);
    draft.args.insert("type".into(), "crates".into());
    let dirs: Vec<&str> =
        std::iter::once(crate_dir).chain(paths.iter().map(String::as_str)).collect();
    draft.args.insert("dirs".into(), Value::List(dirs.iter().map(|d| Value::str(*d)).collect()));
    for (i, dir) in dirs.iter().enumerate() {
        let manifest = format!("{dir}/Cargo.toml");
        draft.inputs.insert(format!("manifest{i}"), DraftInput::Source(manifest));
    }
    draft.inputs.insert("lock".into(), DraftInput::Source(format!("{crate_dir}/Cargo.lock")));
    draft.outputs = vec!["vendor".into()];
    draft.network = true;
    draft.timeout = Some(crate::TIMEOUT);
    draft.shared = Some(format!("fetch/crates/{name}"));
    draft.export = false;
    draft
}

pub(crate) fn run(request: &Request, dir: &Path) -> Result<(), StageError> {
    let dirs: Vec<String> = arg(request, "dirs")?;
    let work = dir.join("tmp/crates");
    for (i, name) in dirs.iter().enumerate() {
        let to = work.join(name);
        fs::create_dir_all(&to).at(&to)?;
        let from = input(request, dir, &format!("manifest{i}"))?;
        let text = fs::read_to_string(&from).at(&from)?;
        fs::write(to.join("Cargo.toml"), &text).at(&to)?;
        stand_ins(&to, &text)?;
    }
    stop_workspace_search(&work, &dirs)?;
    let Some(first) = dirs.first() else {
        return Err(StageError::Argument { name: "dirs".into(), problem: "is empty".into() });
    };
    let top = work.join(first);
    let lock = input(request, dir, "lock")?;
    fs::copy(&lock, top.join("Cargo.lock")).at(&lock)?;
    let vendor = dir.join("out/vendor");
    let status = Command::new("cargo")
        .args(["vendor", "--locked", "--versioned-dirs"])
        .arg(&vendor)
        .current_dir(&top)
        .stdout(std::process::Stdio::null())
        .status()
        .map_err(|e| StageError::Failed(format!("`cargo` could not be started: {e}")))?;
    if !status.success() {
        return Err(StageError::Failed(format!("`cargo vendor --locked` ended with {status}")));
    }
    // A lockfile without registry crates vendors nothing, not even the folder.
    fs::create_dir_all(&vendor).at(&vendor)
}

/// Creates every target file that the manifest names, and the usual ones, empty.
fn stand_ins(dir: &Path, manifest: &str) -> Result<(), StageError> {
    let table: toml::Table = manifest
        .parse()
        .map_err(|e| StageError::Failed(format!("{}: {e}", dir.join("Cargo.toml").display())))?;
    let mut files = vec!["src/lib.rs".to_owned(), "src/main.rs".to_owned()];
    for (list, folder) in
        [("bin", "src/bin"), ("example", "examples"), ("bench", "benches"), ("test", "tests")]
    {
        for target in table.get(list).and_then(|l| l.as_array()).into_iter().flatten() {
            let text = |key: &str| target.get(key).and_then(|v| v.as_str());
            match (text("path"), text("name")) {
                (Some(path), _) => files.push(path.to_owned()),
                (None, Some(name)) => files.push(format!("{folder}/{name}.rs")),
                (None, None) => {}
            }
        }
    }
    if let Some(path) = table.get("lib").and_then(|l| l.get("path")).and_then(|p| p.as_str()) {
        files.push(path.to_owned());
    }
    // A crate that links to something must have a build script, which needs no key of its own.
    let package = |key: &str| table.get("package").and_then(|p| p.get(key));
    match package("build").and_then(|b| b.as_str()) {
        Some(path) => files.push(path.to_owned()),
        None if package("links").is_some() => files.push("build.rs".to_owned()),
        None => {}
    }
    for file in files {
        let path = dir.join(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).at(parent)?;
        }
        fs::write(&path, "").at(&path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_cargo_looks_for_stands_there_empty() {
        let dir = tempfile::tempdir().expect("a folder");
        let there = |name: &str| dir.path().join(name).is_file();
        stand_ins(dir.path(), "[package]\nname = \"a\"\n[[bin]]\nname = \"b\"\n").expect("made");
        assert!(there("src/lib.rs") && there("src/bin/b.rs") && !there("build.rs"));
        stand_ins(dir.path(), "[package]\nname = \"a\"\nlinks = \"c\"\n").expect("made");
        assert!(there("build.rs"), "what links has a build script");
        stand_ins(dir.path(), "[package]\nbuild = \"make.rs\"\n").expect("made");
        assert!(there("make.rs"));
        assert!(stand_ins(dir.path(), "[package").is_err());
    }
}
