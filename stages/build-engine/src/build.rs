//! The build itself: sources laid out as in the project, crates from the vendored folder, no network.

use fs_err as fs;
use sim_model::request::{Request, StatusFile};
use sim_stage_sdk::{IoContext, StageError, arg, input, ok, optional_arg, stop_workspace_search};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(serde::Deserialize)]
struct Also {
    bin: String,
    features: Vec<String>,
}

#[derive(serde::Deserialize)]
struct File {
    from: String,
    path: String,
}

#[derive(serde::Deserialize)]
struct Tool {
    #[serde(rename = "crate")]
    crate_dir: String,
    bin: String,
}

#[derive(serde::Deserialize)]
struct Library {
    from: String,
    path: String,
    links: Vec<String>,
}

/// Sources laid out for a build, and how cargo is called there.
pub(crate) struct Workshop {
    crate_dir: PathBuf,
    name: String,
    vendor: PathBuf,
    target: PathBuf,
    flags: Vec<String>,
    env: BTreeMap<String, String>,
}

impl Workshop {
    /// Lays out the crate of a request and its path dependencies as in the project.
    pub(crate) fn prepare(request: &Request, dir: &Path) -> Result<Self, StageError> {
        let name: String = arg(request, "crate")?;
        let paths: Vec<String> = arg(request, "paths")?;
        let work = dir.join("tmp/source");
        copy(&input(request, dir, "crate")?, &work.join(&name))?;
        for (i, path) in paths.iter().enumerate() {
            copy(&input(request, dir, &format!("path{i}"))?, &work.join(path))?;
        }
        let crates: Vec<String> = std::iter::once(&name).chain(&paths).cloned().collect();
        stop_workspace_search(&work, &crates)?;
        let vendor = input(request, dir, "vendor")?;
        let real = fs::canonicalize(&vendor).at(&vendor)?;
        let mut flags = vec![
            format!("--remap-path-prefix={}=/build", work.display()),
            format!("--remap-path-prefix={}=/vendor", vendor.display()),
            format!("--remap-path-prefix={}=/vendor", real.display()),
        ];
        flags.extend(optional_arg::<Vec<String>>(request, "rustflags")?.unwrap_or_default());
        let env = optional_arg(request, "env")?.unwrap_or_default();
        let target = dir.join("tmp/target");
        Ok(Self { crate_dir: work.join(&name), name, vendor, target, flags, env })
    }

    /// Fills in the folders that the environment of the build names.
    fn name_folders(&mut self, lib: &Path, include: &Path, files: &Path) {
        for value in self.env.values_mut() {
            *value = value.replace("{lib}", &lib.display().to_string());
            *value = value.replace("{include}", &include.display().to_string());
            *value = value.replace("{files}", &files.display().to_string());
        }
    }

    /// Builds programs that the build itself calls, and puts their folder first on PATH.
    fn tools(&mut self, tools: &[Tool], work: &Path, place: &Path) -> Result<(), StageError> {
        if tools.is_empty() {
            return Ok(());
        }
        fs::create_dir_all(place).at(place)?;
        for tool in tools {
            let other = Self {
                crate_dir: work.join(&tool.crate_dir),
                name: tool.crate_dir.clone(),
                vendor: self.vendor.clone(),
                target: self.target.with_file_name("tools-target"),
                flags: self.flags.clone(),
                env: BTreeMap::new(),
            };
            other.cargo(&["--bin", &tool.bin], &tool.bin)?;
            let built = other.built(&tool.bin);
            fs::copy(&built, place.join(&tool.bin)).at(&built)?;
        }
        let mut path = place.as_os_str().to_owned();
        if let Some(usual) = std::env::var_os("PATH") {
            path.push(":");
            path.push(usual);
        }
        let path = path.into_string().map_err(|_| {
            StageError::Failed("PATH is no text, so no tool can be put on it".to_owned())
        })?;
        self.env.insert("PATH".to_owned(), path);
        Ok(())
    }

    /// `cargo build --release ARGS`, offline; `what` is what the error names.
    pub(crate) fn cargo(&self, args: &[&str], what: &str) -> Result<(), StageError> {
        let mut cargo = Command::new("cargo");
        cargo
            .args(["build", "--release", "--frozen", "--offline"])
            .args(args)
            .arg("--config")
            .arg("source.crates-io.replace-with=\"vendored\"")
            .arg("--config")
            .arg(format!("source.vendored.directory={:?}", self.vendor.display().to_string()))
            .current_dir(&self.crate_dir)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_ENCODED_RUSTFLAGS", self.flags.join("\u{1f}"))
            .envs(&self.env);
        let status = cargo
            .status()
            .map_err(|e| StageError::Failed(format!("`cargo` could not be started: {e}")))?;
        if status.success() {
            return Ok(());
        }
        Err(StageError::Failed(format!(
            "`cargo build` of {what} in {} ended with {status}; the log has its messages",
            self.name
        )))
    }

    /// Where cargo left a file.
    pub(crate) fn built(&self, file: &str) -> PathBuf {
        self.target.join("release").join(file)
    }
}

pub(crate) fn run(request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
    let bin: String = arg(request, "bin")?;
    let mut workshop = Workshop::prepare(request, dir)?;
    let include = dir.join("tmp/include");
    let out_bin = dir.join("out/bin");
    fs::create_dir_all(&out_bin).at(&out_bin)?;
    for library in arg::<Vec<Library>>(request, "libraries")? {
        let archive = input(request, dir, &format!("fetch_{}", library.from))?;
        if library.path.ends_with('/') {
            unpack_folder(&archive, &library.path, &include)?;
        } else {
            unpack(&archive, &library, &out_bin)?;
        }
    }
    let files = dir.join("tmp/files");
    for file in optional_arg::<Vec<File>>(request, "files")?.unwrap_or_default() {
        let archive = input(request, dir, &format!("fetch_{}", file.from))?;
        fs::create_dir_all(&files).at(&files)?;
        unpack(&archive, &Library { from: file.from, path: file.path, links: vec![] }, &files)?;
    }
    workshop.name_folders(&out_bin, &include, &files);
    let tools: Vec<Tool> = optional_arg(request, "tools")?.unwrap_or_default();
    workshop.tools(&tools, &dir.join("tmp/source"), &dir.join("tmp/tools"))?;
    let build = |bin: &str, features: &[&str]| {
        workshop.cargo(&[&["--bin", bin], features].concat(), bin)?;
        let built = workshop.built(bin);
        fs::copy(&built, out_bin.join(bin)).at(&built)
    };
    build(&bin, &[])?;
    // The adapter is built and laid aside before features change what lies in the target folder.
    for also in optional_arg::<Vec<Also>>(request, "also")?.unwrap_or_default() {
        build(&also.bin, &["--no-default-features", "--features", &also.features.join(",")])?;
    }
    describe(&mut Command::new(out_bin.join(&bin)), dir)?;
    engine_json(request, dir, &bin)?;
    Ok(ok())
}

/// Writes what an engine is, for whoever runs its program or reports on it.
pub(crate) fn engine_json(request: &Request, dir: &Path, bin: &str) -> Result<(), StageError> {
    let keep = |name: &str| request.args.get(name).cloned().unwrap_or_default();
    let mut engine = serde_json::json!({
        "format": 1,
        "name": keep("engine"),
        "title": keep("title"),
        "version": keep("version"),
        "order": keep("order"),
        "backends": keep("backends"),
        "bin": format!("bin/{bin}"),
    });
    if let Some(licences) = request.args.get("licences") {
        engine["licences"] = licences.clone();
    }
    let path = dir.join("out/engine.json");
    fs::write(&path, format!("{engine:#}\n")).at(&path)
}

/// Runs the adapter once: one that cannot even say what it is must not enter the store.
pub(crate) fn describe(adapter: &mut Command, dir: &Path) -> Result<(), StageError> {
    let output = adapter
        .arg("describe")
        .output()
        .map_err(|e| StageError::Failed(format!("the adapter could not be started: {e}")))?;
    if !output.status.success() {
        return Err(StageError::Failed(format!(
            "the adapter was built, but `describe` ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        )));
    }
    let _: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| StageError::Failed(format!("`describe` printed no JSON: {e}")))?;
    let path = dir.join("out/describe.json");
    fs::write(&path, &output.stdout).at(&path)
}

/// Copies sources, without what a build leaves in them.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), StageError> {
    fs::create_dir_all(to).at(to)?;
    for entry in fs::read_dir(from).at(from)? {
        let entry = entry.at(from)?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to)?;
        } else {
            fs::copy(&from, &to).at(&from)?;
            // Copies keep the store's read-only mode; cargo touches its own files.
            let mut permissions = fs::metadata(&to).at(&to)?.permissions();
            std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
            fs::set_permissions(&to, permissions).at(&to)?;
        }
    }
    Ok(())
}

/// Everything below a folder of an archive, into a folder of its name.
fn unpack_folder(archive: &Path, folder: &str, to: &Path) -> Result<(), StageError> {
    let bad = |e: &dyn std::fmt::Display| {
        StageError::Failed(format!("{folder} out of {}: {e}", archive.display()))
    };
    let file = fs::File::open(archive).at(archive)?;
    let mut zip = zip::ZipArchive::new(file).map_err(|e| bad(&e))?;
    let name = Path::new(folder).file_name().ok_or_else(|| bad(&"it has no name"))?;
    let top = to.join(name);
    let mut found = 0;
    for i in 0..zip.len() {
        let mut member = zip.by_index(i).map_err(|e| bad(&e))?;
        let path = member.enclosed_name().ok_or_else(|| bad(&"a member lies outside"))?;
        let Ok(below) = path.strip_prefix(folder) else { continue };
        if !member.is_file() {
            continue;
        }
        let path = top.join(below);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).at(parent)?;
        }
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).map_err(|e| bad(&e))?;
        fs::write(&path, bytes).at(&path)?;
        found += 1;
    }
    if found == 0 {
        return Err(bad(&"there is nothing"));
    }
    Ok(())
}

fn unpack(archive: &Path, library: &Library, to: &Path) -> Result<(), StageError> {
    let bad = |e: &dyn std::fmt::Display| {
        StageError::Failed(format!("{} out of {}: {e}", library.path, archive.display()))
    };
    let file = fs::File::open(archive).at(archive)?;
    let mut zip = zip::ZipArchive::new(file).map_err(|e| bad(&e))?;
    let mut bytes = Vec::new();
    zip.by_name(&library.path)
        .map_err(|e| bad(&e))?
        .read_to_end(&mut bytes)
        .map_err(|e| bad(&e))?;
    let name = Path::new(&library.path)
        .file_name()
        .map(PathBuf::from)
        .ok_or_else(|| bad(&"it has no file name"))?;
    let path = to.join(&name);
    fs::write(&path, bytes).at(&path)?;
    for link in &library.links {
        let link = to.join(link);
        std::os::unix::fs::symlink(&name, &link).at(&link)?;
    }
    Ok(())
}
