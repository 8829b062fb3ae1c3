//! `engine.toml`: an engine's pin.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineFile {
    /// What it is.
    pub engine: EngineHead,
    /// What is compiled.
    pub source: Source,
    /// Where the adapter is a module in Python; `source` is then the host library, and `source.bin` the
    /// name of the program that starts the adapter.
    pub python: Option<Python>,
    /// What is fetched besides crates.
    #[serde(default)]
    pub fetch: Vec<FetchPin>,
    /// How it is built.
    #[serde(default)]
    pub build: Build,
    /// What is compiled ahead of trials, for adapters that are programs of their own.
    #[serde(default)]
    pub kernels: Kernels,
    /// What `sim-pipe pin` rewrites.
    #[serde(default)]
    pub pin: PinTarget,
    /// What `cargo xtask test` does with it.
    #[serde(default)]
    pub test: TestHints,
}

/// What an adapter that is a program of its own has its devices' drivers compile, ahead of trials and once
/// for all scenes: it has a command `compile JOB.json OUT_DIR`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernels {
    /// Backends on which it does.
    #[serde(default)]
    pub backends: Vec<String>,
}

/// What the project's tests do with an engine.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestHints {
    /// Whether its tests run only where they are asked for by name, or where it was built before.
    #[serde(default)]
    pub opt_in: bool,
}

/// What the engine is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineHead {
    /// Name, equal to the folder's.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Version of the engine.
    pub version: String,
    /// Backends it has.
    pub backends: Vec<String>,
    /// Place among the columns of a report.
    pub order: i64,
    /// Whether it simulates material points; trials of such scenes are planned for no other engine.
    #[serde(default)]
    pub mpm: bool,
}

/// What is compiled.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Folder of the adapter's crate, relative to the project's root.
    #[serde(rename = "crate")]
    pub crate_dir: String,
    /// Folders of its path dependencies.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Binary target.
    pub bin: String,
}

/// An adapter in Python.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Python {
    /// Folder of what the adapters share, relative to the project's root.
    pub package: String,
    /// File of this adapter, a module that is laid into that package.
    pub module: String,
    /// The lock of its environment, relative to the project's root; engines with the same one share the
    /// environment.
    pub lock: String,
    /// What the environment is resolved from: `NAME==VERSION` each.
    pub requires: Vec<String>,
    /// Packages among those it resolves to that are published as source alone and are Python alone.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Whether what is compiled depends on the number of worlds. Default: true.
    #[serde(default = "yes")]
    pub compiles_by_worlds: bool,
}

fn yes() -> bool {
    true
}

/// A file from a registry.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FetchPin {
    /// Name within this file.
    pub id: String,
    /// `pypi`, `npm` or `url`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Package.
    pub package: Option<String>,
    /// Version.
    pub version: Option<String>,
    /// Address, for `url`.
    pub url: Option<String>,
    /// File name.
    pub file: String,
    /// SHA-256, hexadecimal.
    pub sha256: Option<String>,
    /// Integrity of an npm package.
    pub integrity: Option<String>,
    /// SPDX expression of what is taken out of it, kept in the adapter's engine.json.
    pub licence: Option<String>,
}

/// How it is built.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Libraries to be laid beside the adapter.
    #[serde(default)]
    pub library: Vec<Library>,
    /// Files that the build reads and the adapter does not keep.
    #[serde(default)]
    pub file: Vec<BuildFile>,
    /// Programs that the build calls: their folder comes first on PATH.
    #[serde(default)]
    pub tool: Vec<BuildTool>,
    /// Environment of the build; `{lib}` is the folder of those libraries, `{include}` that of headers,
    /// `{files}` that of the files.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// More flags for rustc.
    #[serde(default)]
    pub rustflags: Vec<String>,
    /// More programs of the same crate, laid beside the adapter, which starts them.
    #[serde(default)]
    pub also: Vec<AlsoBuild>,
}

/// Another program of the adapter's crate, built without the crate's default features.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlsoBuild {
    /// Binary target.
    pub bin: String,
    /// The crate's features that it is built with.
    #[serde(default)]
    pub features: Vec<String>,
}

/// A file out of a fetched archive, for the build alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildFile {
    /// `id` of the fetch.
    pub from: String,
    /// Path in the archive (a wheel or another zip); the file lies below `{files}` under its last name.
    pub path: String,
}

/// A program of the project that the build calls, such as one that stands in for a tool of the engine's
/// own build.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildTool {
    /// Folder of its crate, below the adapter's crate or one of its path dependencies. It has no
    /// dependencies but the standard library.
    #[serde(rename = "crate")]
    pub crate_dir: String,
    /// Binary target, which is the name that it is called by.
    pub bin: String,
}

/// A library out of a fetched archive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Library {
    /// `id` of the fetch.
    pub from: String,
    /// Path in the archive (a wheel or another zip). One that ends with `/` is a folder of headers: it is
    /// laid below `{include}` for the build, and not beside the adapter.
    pub path: String,
    /// Names that link to it.
    #[serde(default)]
    pub links: Vec<String>,
}

/// What a change of version rewrites.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinTarget {
    /// Crates in the adapter's manifest that carry the engine's version.
    #[serde(default)]
    pub crates: Vec<String>,
}

impl EngineFile {
    /// Parses the file. The error is a message with the bytes it is about.
    pub fn parse(text: &str) -> Result<Self, (String, Range<usize>)> {
        let file: Self =
            toml::from_str(text).map_err(|e| (e.message().to_owned(), e.span().unwrap_or(0..0)))?;
        let libraries = file.build.library.iter().map(|l| ("library", &l.from));
        for (what, from) in libraries.chain(file.build.file.iter().map(|f| ("file", &f.from))) {
            if !file.fetch.iter().any(|f| f.id == *from) {
                let at = text.find(&format!("from = \"{from}\"")).unwrap_or(0);
                let message = format!("{what} from `{from}`: no [[fetch]] has this id");
                return Err((message, at..at + from.len() + 9));
            }
        }
        file.check_names(text)?;
        let source = &file.source;
        for tool in &file.build.tool {
            let inside = |dir: &String| Path::new(&tool.crate_dir).starts_with(dir);
            let climbs = tool.crate_dir.split('/').any(|part| part == "..");
            if climbs || !std::iter::once(&source.crate_dir).chain(&source.paths).any(inside) {
                let at = text.find(&format!("\"{}\"", tool.crate_dir)).unwrap_or(0);
                let message = format!(
                    "the tool in `{}` is not below the adapter's crate or its path dependencies, \
                     which are all that a build sees",
                    tool.crate_dir
                );
                return Err((message, at..at + tool.crate_dir.len() + 2));
            }
        }
        if let Some(python) = &file.python {
            let outside = |p: &str| p.starts_with('/') || p.split('/').any(|part| part == "..");
            if let Some(path) = [&python.lock, &python.module].into_iter().find(|p| outside(p)) {
                let at = text.find(path.as_str()).unwrap_or(0);
                let message = format!("`{path}` lies outside the project");
                return Err((message, at..at + path.len()));
            }
            let name = python.module.rsplit('/').next().unwrap_or_default();
            let stem = name.strip_suffix(".py").unwrap_or_default();
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if stem.is_empty() || !stem.chars().all(word) {
                let at = text.find(&python.module).unwrap_or(0);
                let message = format!("`{}` is no module: its name is WORD.py", python.module);
                return Err((message, at..at + python.module.len()));
            }
        }
        Ok(file)
    }

    /// Names that become files and folders of a build: none leaves its folder, and no two are one.
    fn check_names(&self, text: &str) -> Result<(), (String, Range<usize>)> {
        let wrong = |name: &str, problem: &str| {
            let at = text.find(&format!("\"{name}\"")).unwrap_or(0);
            Err((format!("`{name}` {problem}"), at..at + name.len() + 2))
        };
        let twice = |names: &[&str]| {
            let again = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name));
            again.map(|(_, name)| (*name).to_owned())
        };
        let ids: Vec<&str> = self.fetch.iter().map(|f| f.id.as_str()).collect();
        if let Some(id) = twice(&ids) {
            return wrong(&id, "is the id of two [[fetch]]");
        }
        if let Some(f) = self.fetch.iter().find(|f| f.licence.as_deref() == Some("")) {
            return wrong(&f.id, "has an empty licence");
        }
        let plain = |path: &str| {
            let parts = path.strip_suffix('/').unwrap_or(path).split('/');
            parts.into_iter().all(|part| !matches!(part, "" | "." | ".."))
        };
        let build = &self.build;
        let paths = build.library.iter().map(|l| &l.path).chain(build.file.iter().map(|f| &f.path));
        if let Some(path) = paths.into_iter().find(|path| !plain(path)) {
            return wrong(path, "is no path within an archive");
        }
        if let Some(f) = build.file.iter().find(|f| f.path.ends_with('/')) {
            return wrong(&f.path, "is a folder; a [[build.file]] is one file");
        }
        let last = |path: &'_ str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let files: Vec<String> = build.file.iter().map(|f| last(&f.path)).collect();
        if let Some(name) = twice(&files.iter().map(String::as_str).collect::<Vec<_>>()) {
            let path = build.file.iter().map(|f| &f.path).rfind(|p| last(p) == name);
            return wrong(path.map_or("", String::as_str), "has the last name of another file");
        }
        let tools: Vec<&str> = build.tool.iter().map(|t| t.bin.as_str()).collect();
        if let Some(bin) = twice(&tools) {
            return wrong(&bin, "is the name of two [[build.tool]]");
        }
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if let Some(bin) = tools.iter().find(|bin| bin.is_empty() || !bin.chars().all(word)) {
            return wrong(bin, "is no name of a program: letters, digits, `-` and `_`");
        }
        if let Some(bin) = tools.iter().find(|bin| matches!(**bin, "cargo" | "rustc")) {
            return wrong(bin, "would stand before the compiler that builds the adapter");
        }
        if !tools.is_empty() && build.env.contains_key("PATH") {
            return wrong(&build.env["PATH"], "is set as PATH, which the folder of the tools is");
        }
        let none = |backend: &&String| !self.engine.backends.contains(backend);
        if let Some(backend) = self.kernels.backends.iter().find(none) {
            return wrong(backend, "is none of the engine's backends");
        }
        if self.python.is_some() && !self.kernels.backends.is_empty() {
            return wrong(
                &self.kernels.backends[0],
                "in [kernels]: an adapter in Python needs none",
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pins_of_this_repository_parse() {
        let engines = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../engines");
        let mut found = 0;
        for entry in std::fs::read_dir(engines).expect("engines/") {
            let path = entry.expect("entry").path().join("engine.toml");
            if let Ok(text) = std::fs::read_to_string(&path) {
                EngineFile::parse(&text).unwrap_or_else(|e| panic!("{}: {}", path.display(), e.0));
                found += 1;
            }
        }
        assert!(found >= 2, "{found} pins");
    }

    #[test]
    fn a_wrong_pin_is_named() {
        let text = "[engine]\nname = \"x\"\nversoin = \"1\"\n";
        let (message, span) = EngineFile::parse(text).expect_err("wrong");
        assert!(message.contains("unknown field `versoin`"), "{message}");
        assert_eq!(&text[span], "versoin");
        let pin = include_str!("../../../engines/nexus/engine.toml");
        let wrong = |from: &str, to: &str| {
            let text = pin.replace(from, to);
            let (message, span) = EngineFile::parse(&text).expect_err(to);
            format!("{}: {message}", &text[span])
        };
        let file = "[[build.file]]\nfrom = \"wheel\"";
        let found = wrong(file, "[[build.file]]\nfrom = \"weel\"");
        assert_eq!(found, "from = \"weel\": file from `weel`: no [[fetch]] has this id");
        let found = wrong("engines/nexus/shaders", "engines/nexus/../shaders");
        assert!(found.starts_with("\"engines/nexus/../shaders\": the tool in"), "{found}");
        let path = pin.split("[[build.file]]").nth(1).and_then(|t| t.split("path = \"").nth(1));
        let path = path.and_then(|t| t.split('"').next()).expect("a path");
        for (from, to, said) in [
            (path, "../../etc/passwd", "is no path within an archive"),
            (path, "a//b", "is no path within an archive"),
            (path, "a/b/", "is a folder"),
            ("bin = \"cargo-gpu\"", "bin = \"cargo\"", "would stand before the compiler"),
            ("bin = \"cargo-gpu\"", "bin = \"../gpu\"", "is no name of a program"),
        ] {
            assert!(pin.contains(from), "{from}");
            let found = wrong(from, to);
            assert!(found.contains(said), "{to}: {found}");
        }
        let tool = "[[build.tool]]\ncrate = \"engines/nexus/shaders\"\nbin = \"cargo-gpu\"\n";
        let found = wrong("[build.env]", &format!("{tool}\n[build.env]"));
        assert!(found.contains("is the name of two [[build.tool]]"), "{found}");
        let found =
            wrong("[kernels]\nbackends = [\"webgpu\"]", "[kernels]\nbackends = [\"webgpo\"]");
        assert!(found.contains("is none of the engine's backends"), "{found}");
        let pin = include_str!("../../../engines/mujoco_warp/engine.toml");
        let (message, span) = EngineFile::parse(&pin.replace("mujoco_warp.py", "mujoco-warp.py"))
            .expect_err("no module");
        assert!(message.contains("is no module"), "{message}");
        assert_eq!(span.len(), "engines/mujoco_warp/mujoco-warp.py".len());
    }
}
