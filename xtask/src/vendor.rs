//! `cargo xtask vendor [--check]`: scripts of others that the report carries, built again from their
//! exact versions. npm fetches them by the digests in `templates/vendor/package-lock.json`, esbuild
//! makes one classic script of them; the same versions give the same bytes.

use crate::shell;
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const SOURCES: [&str; 3] = ["package.json", "package-lock.json", "three-entry.js"];

/// `cargo xtask vendor`.
pub(crate) fn task(args: &[String]) -> Result<ExitCode> {
    let write = match args {
        [] => true,
        [flag] if flag == "--check" => false,
        _ => bail!("`vendor` takes nothing, or --check"),
    };
    let folder = folder();
    let work = shell::target_dir()?.join("vendor-js");
    std::fs::create_dir_all(&work).with_context(|| work.display().to_string())?;
    for name in SOURCES {
        std::fs::copy(folder.join(name), work.join(name)).with_context(|| name.to_owned())?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    shell::run(npm.current_dir(&work))?;
    let mut esbuild = Command::new(work.join("node_modules/.bin/esbuild"));
    esbuild.args([
        "three-entry.js",
        "--bundle",
        "--minify",
        "--format=iife",
        "--global-name=THREE",
        "--target=es2020",
        "--charset=ascii",
        "--legal-comments=inline",
        "--log-level=warning",
        "--outfile=three.js",
    ]);
    shell::run(esbuild.current_dir(&work))?;
    let built = std::fs::read(work.join("three.js"))?;
    let licence = std::fs::read(work.join("node_modules/three/LICENSE"))?;
    if write {
        std::fs::write(folder.join("three.js"), &built)?;
        std::fs::write(folder.join("three.LICENSE"), &licence)?;
        let manifest = manifest(&work, &built, &licence)?;
        shell::write(&folder.join("manifest.json"), &manifest)?;
        shell::say("wrote templates/vendor");
    } else {
        ensure!(
            std::fs::read(folder.join("three.js"))? == built,
            "templates/vendor/three.js is not what its sources give; run `cargo xtask vendor`"
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn folder() -> PathBuf {
    shell::root().join("templates/vendor")
}

fn version(work: &Path, package: &str) -> Result<String> {
    let path = work.join("node_modules").join(package).join("package.json");
    let json: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    Ok(json["version"].as_str().context("a package has a version")?.to_owned())
}

fn manifest(work: &Path, script: &[u8], licence: &[u8]) -> Result<String> {
    let json = serde_json::json!({
        "scripts": [{
            "file": "three.js",
            "package": "three",
            "version": version(work, "three")?,
            "licence": "MIT",
            "licence_file": "three.LICENSE",
            "built_with": format!("esbuild {}", version(work, "esbuild")?),
            "sha256": sha256(script),
            "licence_sha256": sha256(licence),
        }]
    });
    Ok(serde_json::to_string_pretty(&json)? + "\n")
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// What of the vendored files is not as the manifest says, one sentence each.
pub(crate) fn findings() -> Result<Vec<String>> {
    let folder = folder();
    let read = |name: &str| {
        std::fs::read(folder.join(name)).with_context(|| format!("templates/vendor/{name}"))
    };
    let manifest: Value = serde_json::from_slice(&read("manifest.json")?)?;
    let wanted: Value = serde_json::from_slice(&read("package.json")?)?;
    let mut found = Vec::new();
    let scripts = manifest["scripts"].as_array().context("manifest.json lists scripts")?;
    for script in scripts {
        let text = |key: &str| script[key].as_str().unwrap_or_default();
        for (file, digest) in [("file", "sha256"), ("licence_file", "licence_sha256")] {
            if sha256(&read(text(file))?) != text(digest) {
                let name = text(file);
                found.push(format!("templates/vendor/{name} is not what manifest.json says"));
            }
        }
        let (package, version) = (text("package"), text("version"));
        if wanted["dependencies"][package] != version {
            found.push(format!(
                "templates/vendor/package.json asks for another {package} than {version}"
            ));
        }
    }
    Ok(found)
}
