//! `sim-pipe pin`: rewrites an engine's pin, its adapter's manifest and lock to another version.

use crate::commands::pin_python;
use crate::error::{CliError, CliResult, exit};
use crate::global::Global;
use crate::text;
use clap::Args;
use fs_err as fs;
use sim_model::Digest;
use sim_stage_build_engine::pin::EngineFile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use toml_edit::{DocumentMut, value};

#[derive(Debug, Args)]
pub(crate) struct PinArgs {
    /// Engine name: a folder below engines/
    pub(super) engine: String,
    /// The version to pin [default: the one that is pinned, with --lock]
    #[arg(required_unless_present = "lock")]
    version: Option<String>,
    /// Version of another package that an adapter in Python requires, as NAME=VERSION
    #[arg(long = "package", value_parser = crate::commands::run::key_value, value_name = "NAME=VERSION")]
    pub(super) packages: Vec<(String, String)>,
    /// Write the lock of an adapter in Python anew
    #[arg(long)]
    pub(super) lock: bool,
    /// Version of a crate whose number is not the engine's, as NAME=VERSION [default: the newest one that
    /// says, in its build metadata, that it binds the engine's version]
    #[arg(long = "crate", value_parser = crate::commands::run::key_value, value_name = "NAME=VERSION")]
    crates: Vec<(String, String)>,
    /// Only say what would change
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Project's root [default: the nearest folder at or above this one with engines/]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

pub(crate) fn run(_: &Global, args: &PinArgs) -> CliResult {
    let root = match &args.root {
        Some(root) => root.canonicalize()?,
        None => {
            let here = std::env::current_dir()?;
            here.ancestors()
                .find(|d| d.join("engines").is_dir())
                .map(Path::to_path_buf)
                .ok_or_else(|| {
                    CliError::new(exit::NOTHING, "no engines/ at or above the working folder")
                        .hint("--root names the project's root")
                })?
        }
    };
    let pin_path = root.join("engines").join(&args.engine).join("engine.toml");
    let text = fs::read_to_string(&pin_path).map_err(|e| {
        let names = engines(&root).join(", ");
        CliError::new(exit::NOTHING, e.to_string()).hint(format!("the engines are {names}"))
    })?;
    let pin = EngineFile::parse(&text).map_err(|(message, span)| {
        let line = text[..span.start].lines().count().max(1);
        CliError::new(exit::PIPELINE, format!("{}:{line}: {message}", pin_path.display()))
    })?;
    let version = args.version.as_ref().unwrap_or(&pin.engine.version);
    if let Some(python) = &pin.python {
        return pin_python::run(&root, &pin_path, &text, (&pin, python), version, args);
    }
    if args.lock || !args.packages.is_empty() {
        let message =
            format!("--lock and --package: the adapter of {} is not in Python", args.engine);
        return Err(CliError::new(exit::USAGE, message));
    }
    let crate_dir = root.join(&pin.source.crate_dir);
    let manifest_path = crate_dir.join("Cargo.toml");
    let lock_path = crate_dir.join("Cargo.lock");
    let manifest_text = fs::read_to_string(&manifest_path)?;

    if *version == pin.engine.version && args.crates.is_empty() {
        text::say(&format!("{} is at {version} already", args.engine));
        return Ok(exit::OK);
    }
    let chosen: BTreeMap<&str, &str> =
        args.crates.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    if let Some(other) = chosen.keys().find(|name| !pin.pin.crates.iter().any(|c| c == *name)) {
        let names = match pin.pin.crates.as_slice() {
            [] => "names none".to_owned(),
            names => format!("names {}", names.join(", ")),
        };
        let message = format!("--crate {other}: the pin of {} {names}", args.engine);
        return Err(CliError::new(exit::USAGE, message));
    }
    let (manifest, versions) = rewrite_manifest(&manifest_text, &pin, &chosen, version)?;
    let new_pin = rewrite_pin(&text, &pin, version)?;

    // Everything is tried on copies; only when all of it worked are the files replaced.
    let scratch = tempfile::tempdir()?;
    let copy = scratch.path().join(&pin.source.crate_dir);
    for dir in std::iter::once(&pin.source.crate_dir).chain(&pin.source.paths) {
        copy_manifest(&root.join(dir), &scratch.path().join(dir))?;
    }
    fs::write(copy.join("Cargo.toml"), &manifest)?;
    if lock_path.is_file() {
        fs::copy(&lock_path, copy.join("Cargo.lock"))?;
    }
    let status = Command::new("cargo")
        .args(["update", "--quiet"])
        .args(versions.keys().flat_map(|name| ["--package".to_owned(), name.clone()]))
        .current_dir(&copy)
        .status()
        .map_err(|e| CliError::new(exit::MISSING, format!("`cargo` could not be started: {e}")))?;
    if !status.success() {
        let list: Vec<String> = versions.iter().map(|(k, v)| format!("{k} {v}")).collect();
        return Err(CliError::new(
            exit::PIPELINE,
            format!("cargo cannot resolve {}", list.join(", ")),
        )
        .hint("nothing was changed; `cargo info CRATE` lists the versions there are"));
    }
    let lock = fs::read(copy.join("Cargo.lock"))?;
    for (name, number) in &versions {
        bound_as_asked(&lock, name, number, version)?;
    }
    let before = fs::read(&lock_path).unwrap_or_default();
    let files = [
        (&lock_path, lock.as_slice()),
        (&manifest_path, manifest.as_bytes()),
        (&pin_path, new_pin.as_bytes()),
    ];
    for (path, bytes) in files.into_iter().filter(|_| !args.dry_run) {
        let tmp = path.with_extension("tmp");
        fs::write(&tmp, bytes)?;
        fs::rename(&tmp, path)?;
    }
    for (name, number) in &versions {
        text::say(&format!("{name} = {number}"));
    }
    text::say(&format!(
        "{}{} {} → {}; lock {} → {}",
        if args.dry_run { "would change " } else { "" },
        args.engine,
        pin.engine.version,
        version,
        Digest::of(&before).short(),
        Digest::of(&lock).short()
    ));
    Ok(exit::OK)
}

fn engines(root: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(root.join("engines"))
        .into_iter()
        .flatten()
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.join("engine.toml").is_file())
        .filter_map(|p| p.file_name().map(|n| n.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    names
}

/// The manifest with the pinned crates at their new versions, and those versions.
fn rewrite_manifest(
    text: &str,
    pin: &EngineFile,
    chosen: &BTreeMap<&str, &str>,
    version: &str,
) -> Result<(String, BTreeMap<String, String>), CliError> {
    let wrong = |message: String| CliError::new(exit::PIPELINE, message);
    let mut doc: DocumentMut = text.parse().map_err(|e| wrong(format!("Cargo.toml: {e}")))?;
    let mut versions = BTreeMap::new();
    for name in &pin.pin.crates {
        let Some(item) = doc.get_mut("dependencies").and_then(|d| d.get_mut(name)) else {
            return Err(wrong(format!(
                "Cargo.toml does not depend on `{name}`, which the pin names"
            )));
        };
        let old = item
            .as_str()
            .or_else(|| item.get("version").and_then(|v| v.as_str()))
            .unwrap_or_default()
            .trim_start_matches('=')
            .to_owned();
        let new = match chosen.get(name.as_str()) {
            Some(v) => (*v).to_owned(),
            None if old == pin.engine.version => version.to_owned(),
            None => sim_stage_fetch::crate_that_binds(name, version).map_err(|e| {
                let message = format!(
                    "crate `{name}` is at {old}, the engine at {}: their numbers differ, and which \
                     one binds {version} cannot be told: {e}",
                    pin.engine.version
                );
                CliError::new(exit::PIPELINE, message)
                    .hint(format!("nothing was changed; --crate {name}=VERSION says which one"))
            })?,
        };
        let exact = format!("={new}");
        if item.is_str() {
            *item = value(exact);
        } else {
            item["version"] = value(exact);
        }
        versions.insert(name.clone(), new);
    }
    Ok((doc.to_string(), versions))
}

/// Refuses a crate that says, in its build metadata, that it binds another version of the engine.
fn bound_as_asked(lock: &[u8], name: &str, number: &str, wanted: &str) -> Result<(), CliError> {
    let wrong = |message: String| CliError::new(exit::PIPELINE, message);
    let text = String::from_utf8_lossy(lock);
    let lock: toml_edit::DocumentMut =
        text.parse().map_err(|e| wrong(format!("Cargo.lock: {e}")))?;
    let packages = lock.get("package").and_then(toml_edit::Item::as_array_of_tables);
    let text = |table: &toml_edit::Table, key: &str| {
        table.get(key).and_then(|v| v.as_str()).map(str::to_owned)
    };
    for package in packages.into_iter().flatten() {
        let Some(version) = text(package, "version") else { continue };
        let this = text(package, "name").as_deref() == Some(name)
            && version.split('+').next() == Some(number);
        match sim_stage_fetch::bound_version(&version) {
            Some(bound) if this && bound != wanted => {
                return Err(CliError::new(
                    exit::USAGE,
                    format!("crate {name} {version} binds {bound}, not {wanted}"),
                )
                .hint("nothing was changed; without --crate the one that binds it is chosen"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// engine.toml at the new version. Files that carry the engine's version are fetched once, for their
/// digest.
fn rewrite_pin(text: &str, pin: &EngineFile, version: &str) -> Result<String, CliError> {
    let wrong = |message: String| CliError::new(exit::PIPELINE, message);
    let mut doc: DocumentMut = text.parse().map_err(|e| wrong(format!("engine.toml: {e}")))?;
    doc["engine"]["version"] = value(version);
    for (i, fetch) in pin.fetch.iter().enumerate() {
        if fetch.version.as_deref() != Some(pin.engine.version.as_str()) {
            continue;
        }
        let package = fetch.package.clone().unwrap_or_default();
        if fetch.kind != "pypi" {
            return Err(wrong(format!(
                "fetch `{}` is of type {}: change its version, file and digest by hand",
                fetch.id, fetch.kind
            )));
        }
        let (file, sha256) = sim_stage_fetch::resolve_pypi(&package, version, &fetch.file)
            .map_err(|e| {
                CliError::new(exit::PIPELINE, e.to_string()).hint("nothing was changed")
            })?;
        let table = &mut doc["fetch"][i];
        table["version"] = value(version);
        table["file"] = value(&file);
        table["sha256"] = value(sha256);
    }
    // Libraries named after the version follow it.
    for (i, library) in pin.build.library.iter().enumerate() {
        if library.path.contains(&pin.engine.version) {
            doc["build"]["library"][i]["path"] =
                value(library.path.replace(&pin.engine.version, version));
        }
    }
    Ok(doc.to_string())
}

/// What cargo needs to resolve a crate: its manifest and targets that exist.
fn copy_manifest(from: &Path, to: &Path) -> Result<(), CliError> {
    sim_store::tree::remove_all(to)?;
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name() != "target" {
            sim_store::tree::copy_all(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}
