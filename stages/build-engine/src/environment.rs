//! The environment of an adapter in Python: every wheel of a lock, fetched by its digest, unpacked into one
//! folder. No installer and no network: what comes out is a function of the wheels and, for the
//! compiled modules, of the interpreter.
//!
//! ```text
//! LOCK ─▶ fetch wheels (by digest) ─▶ unpack, compile modules ─▶ site/ environment.json
//! ```

use crate::pin::{EngineFile, FetchPin, Python};
use crate::{TIMEOUT, file_pin};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use sim_model::action::Class;
use sim_model::kind::{Draft, DraftInput, ExpandCtx, Place, Problem};
use sim_model::request::{Request, StatusFile};
use sim_model::value::Value;
use sim_stage_sdk::{IoContext, StageError, arg, input, ok};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The step of the kind that makes one.
pub(crate) const STEP: &str = "environment";
/// How the name of a source archive ends.
const SOURCE: &str = ".tar.gz";
/// Version of locks and of `environment.json`.
const FORMAT: u32 = 1;

/// A lock: exact wheels, in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// 1.
    pub format: u32,
    /// What was asked for, in the form of `[python] requires`.
    pub requires: Vec<String>,
    /// What that resolved to, with all that it needs.
    #[serde(default, rename = "wheel")]
    pub wheels: Vec<Wheel>,
}

/// A wheel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wheel {
    /// Package.
    pub package: String,
    /// Version.
    pub version: String,
    /// File name.
    pub file: String,
    /// SHA-256, hexadecimal.
    pub sha256: String,
}

impl Lock {
    /// Parses a lock. The error is a message with the bytes it is about.
    pub fn parse(text: &str) -> Result<Self, (String, Range<usize>)> {
        let lock: Self =
            toml::from_str(text).map_err(|e| (e.message().to_owned(), e.span().unwrap_or(0..0)))?;
        if lock.format != FORMAT {
            let message = format!("this reads locks of format {FORMAT}, not {}", lock.format);
            return Err((message, 0..text.len().min(9)));
        }
        if lock.wheels.is_empty() {
            return Err(("the lock has no [[wheel]]".to_owned(), 0..text.len().min(1)));
        }
        for (i, wheel) in lock.wheels.iter().enumerate() {
            let twice = lock.wheels[..i].iter().any(|w| w.package == wheel.package);
            let known = [".whl", SOURCE].iter().any(|end| wheel.file.ends_with(end));
            if twice || !known || wheel.file.contains('/') {
                let at = text.rfind(&wheel.file).unwrap_or(0);
                let message = if twice {
                    format!("package `{}` is in the lock twice", wheel.package)
                } else {
                    format!("`{}` is not named as a wheel or a source archive is", wheel.file)
                };
                return Err((message, at..at + wheel.file.len()));
            }
        }
        Ok(lock)
    }

    /// As it stands in a file.
    pub fn text(&self) -> Result<String, toml::ser::Error> {
        let head = "# Wheels by digest. Written by `sim-pipe pin`; edits are lost.\n\n";
        Ok(format!("{head}{}", toml::to_string(self)?))
    }
}

/// The drafts that make the environment of an engine, if it has one, added to `drafts`: its pin, and the index
/// of the draft whose output it is. `folder` is the one with the engine's `engine.toml`.
///
/// Whoever runs the adapter needs the environment, too, and drafts it by this function: equal drafts are one
/// action, so there is one copy of it, whatever number of adapters share it.
pub fn drafts(
    folder: &str,
    ctx: &mut dyn ExpandCtx,
    drafts: &mut Vec<Draft>,
) -> Result<Option<(Python, usize)>, Vec<Problem>> {
    let path = format!("{}/engine.toml", folder.trim_end_matches('/'));
    if !ctx.exists(&path) {
        return Ok(None);
    }
    let wrong = |path: &str, message: String, span| {
        vec![Problem { place: Place::File { path: path.to_owned(), span }, message, hint: None }]
    };
    let text = ctx.read(&path).map_err(|message| wrong(&path, message, 0..0))?;
    let file = EngineFile::parse(&text).map_err(|(m, span)| wrong(&path, m, span))?;
    let Some(python) = file.python else { return Ok(None) };
    let at = text.find(&format!("\"{}\"", python.lock)).unwrap_or(0);
    let span = at..at + python.lock.len() + 2;
    let lock_text = ctx.read(&python.lock).map_err(|message| {
        vec![Problem {
            place: Place::File { path: path.clone(), span: span.clone() },
            message: format!("there is no lock: {message}"),
            hint: Some(format!("`sim-pipe pin {} --lock` writes it", file.engine.name)),
        }]
    })?;
    let lock = Lock::parse(&lock_text).map_err(|(m, span)| wrong(&python.lock, m, span))?;
    if lock.requires != python.requires {
        let (said, had) = (python.requires.join(", "), lock.requires.join(", "));
        return Err(vec![Problem {
            place: Place::File { path, span },
            message: format!("the lock is one of {had}, the pin requires {said}"),
            hint: Some(format!("`sim-pipe pin {} --lock` writes it anew", file.engine.name)),
        }]);
    }
    let mut environment = Draft::new("build-engine", Class::Pure);
    let mut names = Vec::new();
    for (i, wheel) in lock.wheels.iter().enumerate() {
        if wheel.file.ends_with(SOURCE) && !python.sources.contains(&wheel.package) {
            let at = lock_text.find(&wheel.file).unwrap_or(0);
            let message = format!("`{}` is no wheel, and the pin's sources lack it", wheel.file);
            return Err(wrong(&python.lock, message, at..at + wheel.file.len()));
        }
        let place = lock_text.find(&format!("\"{}\"", wheel.file)).unwrap_or(0);
        let integrity = sim_stage_fetch::integrity(Some(&wheel.sha256), None)
            .map_err(|m| wrong(&python.lock, m, place..place + wheel.file.len() + 2))?;
        let mut draft = sim_stage_fetch::file_draft(&file_pin(&wheel.pin(), integrity));
        crate::place_args(&mut draft, &python.lock, &lock_text, place, ctx);
        let subpath = Some(wheel.file.clone());
        environment
            .inputs
            .insert(format!("wheel{i}"), DraftInput::Draft { index: drafts.len(), subpath });
        drafts.push(draft);
        names.push(Value::str(wheel.file.as_str()));
    }
    environment.args.insert("step".into(), Value::str(STEP));
    environment.args.insert("wheels".into(), Value::List(names));
    for name in ["args.step", "args.wheels"] {
        environment.origins.insert(name.into(), ctx.origin(&python.lock, 0));
    }
    environment.outputs = ["site", "environment.json"].map(str::to_owned).to_vec();
    environment.tools = vec!["python3".to_owned()];
    environment.timeout = Some(TIMEOUT);
    environment.shared = Some(format!("environment/{}", python.lock));
    environment.export = false;
    drafts.push(environment);
    let index = drafts.len() - 1;
    Ok(Some((python, index)))
}

impl Wheel {
    fn pin(&self) -> FetchPin {
        FetchPin {
            id: self.package.clone(),
            kind: "pypi".to_owned(),
            package: Some(self.package.clone()),
            version: Some(self.version.clone()),
            url: None,
            file: self.file.clone(),
            sha256: Some(self.sha256.clone()),
            integrity: None,
            licence: None,
        }
    }
}

/// Unpacks the wheels of a request.
pub(crate) fn run(request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
    let wheels: Vec<String> = arg(request, "wheels")?;
    let site = dir.join("out/site");
    fs::create_dir_all(&site).at(&site)?;
    let mut unused = Vec::new();
    for (i, name) in wheels.iter().enumerate() {
        let file = input(request, dir, &format!("wheel{i}"))?;
        if name.ends_with(SOURCE) {
            unpack_source(&file, name, &site, &mut unused)?;
        } else {
            unpack(&file, name, &site, &mut unused)?;
        }
    }
    compile(&site)?;
    unused.sort();
    let said = serde_json::json!({ "format": FORMAT, "wheels": wheels, "unused": unused });
    let path = dir.join("out/environment.json");
    fs::write(&path, format!("{said:#}\n")).at(&path)?;
    Ok(ok())
}

/// Unpacks one wheel. What belongs beside modules is laid there; programs, headers and other data of a
/// wheel serve no adapter and are named in `unused`.
fn unpack(
    wheel: &Path,
    name: &str,
    site: &Path,
    unused: &mut Vec<String>,
) -> Result<(), StageError> {
    let bad = |e: &dyn std::fmt::Display| StageError::Failed(format!("wheel {name}: {e}"));
    let file = fs::File::open(wheel).at(wheel)?;
    let mut zip = zip::ZipArchive::new(file).map_err(|e| bad(&e))?;
    for i in 0..zip.len() {
        let mut member = zip.by_index(i).map_err(|e| bad(&e))?;
        let path = member.enclosed_name().ok_or_else(|| bad(&"a member lies outside"))?;
        if !member.is_file() {
            continue;
        }
        let Some(below) = place(&path) else {
            unused.push(format!("{name}: {}", path.display()));
            continue;
        };
        let to = site.join(&below);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).at(parent)?;
        }
        if to.exists() {
            return Err(bad(&format!("{} is in another wheel, too", below.display())));
        }
        let mut out = fs::File::create(&to).at(&to)?;
        std::io::copy(&mut member, &mut out).at(&to)?;
    }
    Ok(())
}

/// Ends of names of what a compiler would have to see.
const COMPILED: [&str; 8] = ["c", "cc", "cpp", "cu", "cxx", "pyx", "f90", "rs"];

/// Unpacks the packages of a source archive that is Python alone: its top folders with an `__init__.py`. What
/// would have to be compiled is refused; nothing of the archive is run.
fn unpack_source(
    archive: &Path,
    name: &str,
    site: &Path,
    unused: &mut Vec<String>,
) -> Result<(), StageError> {
    let bad = |e: &dyn std::fmt::Display| StageError::Failed(format!("archive {name}: {e}"));
    let mut members = Vec::new();
    let file = fs::File::open(archive).at(archive)?;
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(file));
    for member in tar.entries().map_err(|e| bad(&e))? {
        let mut member = member.map_err(|e| bad(&e))?;
        if !member.header().entry_type().is_file() {
            continue;
        }
        let path = member.path().map_err(|e| bad(&e))?.into_owned();
        let plain = path.components().all(|c| matches!(c, std::path::Component::Normal(_)));
        // All lies in one folder, named after the archive.
        let below: PathBuf = path.components().skip(1).collect();
        if !plain || below.as_os_str().is_empty() {
            return Err(bad(&format!("{} lies outside", path.display())));
        }
        let end = below.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if COMPILED.contains(&end) {
            return Err(bad(&format!("{} would have to be compiled", below.display())));
        }
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut member, &mut bytes).map_err(|e| bad(&e))?;
        members.push((below, bytes));
    }
    let package = |below: &Path| {
        let top = below.components().next().map(|c| PathBuf::from(c.as_os_str()));
        top.is_some_and(|t| members.iter().any(|(m, _)| *m == t.join("__init__.py")))
    };
    if !members.iter().any(|(below, _)| package(below)) {
        return Err(bad(&"no folder in it is a package"));
    }
    for (below, bytes) in &members {
        if !package(below) {
            unused.push(format!("{name}: {}", below.display()));
            continue;
        }
        let to = site.join(below);
        if to.exists() {
            return Err(bad(&format!("{} is in another wheel, too", below.display())));
        }
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).at(parent)?;
        }
        fs::write(&to, bytes).at(&to)?;
    }
    Ok(())
}

/// Where a member of a wheel belongs beside modules; none for what does not. A wheel's folder `*.data` has
/// a folder for each place of an installation.
fn place(member: &Path) -> Option<PathBuf> {
    let mut parts = member.components();
    let top = parts.next()?.as_os_str().to_str()?;
    if !top.ends_with(".data") {
        return Some(member.to_path_buf());
    }
    let scheme = parts.next()?.as_os_str().to_str()?;
    matches!(scheme, "purelib" | "platlib").then(|| parts.as_path().to_path_buf())
}

/// Compiles the modules, so that no run does. Compiled files name their source's digest and never look at
/// it again, and hold no path of this folder, so they are the same wherever they are made.
fn compile(site: &Path) -> Result<(), StageError> {
    let status = Command::new("python3")
        .args(["-I", "-m", "compileall", "-q", "-j", "1"])
        .args(["--invalidation-mode", "unchecked-hash", "-s"])
        .arg(site)
        .args(["-p", "/environment"])
        .arg(site)
        .env("PYTHONHASHSEED", "0")
        .status()
        .map_err(|e| StageError::Failed(format!("`python3` could not be started: {e}")))?;
    // 1 where a file is no module of this Python, such as a template: it is left as it is.
    match status.code() {
        Some(0 | 1) => Ok(()),
        _ => Err(StageError::Failed(format!("compiling the modules ended with {status}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "format = 1\nrequires = [\"a==1\"]\n[[wheel]]\npackage = \"a\"\nversion = \"1\"\n\
                        file = \"a-1-py3-none-any.whl\"\nsha256 = \"00\"\n";

    #[test]
    fn a_lock_reads_back_and_a_wrong_one_is_named() {
        let lock = Lock::parse(TEXT).expect("parses");
        assert_eq!(Lock::parse(&lock.text().expect("text")), Ok(lock));
        let twice = format!("{TEXT}{}", &TEXT[TEXT.find("[[").expect("a wheel")..]);
        let (message, span) = Lock::parse(&twice).expect_err("twice");
        assert!(message.contains("`a` is in the lock twice"), "{message}");
        assert_eq!(&twice[span], "a-1-py3-none-any.whl");
        let (message, _) = Lock::parse(&TEXT.replace(".whl", ".zip")).expect_err("no wheel");
        assert!(message.contains("not named as a wheel"), "{message}");
        assert!(Lock::parse(&TEXT.replace("format = 1", "format = 2")).is_err());
        assert!(Lock::parse("format = 1\nrequires = []\n").is_err());
    }

    fn wheel(path: &Path, members: &[(&str, &str)]) {
        let mut zip = zip::ZipWriter::new(std::fs::File::create(path).expect("a file"));
        for (name, text) in members {
            let options = zip::write::SimpleFileOptions::default();
            zip.start_file(*name, options).expect("a member");
            std::io::Write::write_all(&mut zip, text.as_bytes()).expect("written");
        }
        zip.finish().expect("a wheel");
    }

    #[test]
    fn wheels_share_a_folder_and_what_two_of_them_hold_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let (a, b) = (dir.path().join("a.whl"), dir.path().join("b.whl"));
        let own = ("a-1.data/platlib/a/two.so", "2");
        wheel(&a, &[("a/one.py", "1"), own, ("a-1.data/scripts/run", "#!")]);
        wheel(&b, &[("b.py", "b"), ("a/one.py", "other")]);
        let site = dir.path().join("site");
        let mut unused = Vec::new();
        unpack(&a, "a.whl", &site, &mut unused).expect("unpacked");
        let text = |name: &str| std::fs::read_to_string(site.join(name)).expect(name);
        assert_eq!((text("a/one.py").as_str(), text("a/two.so").as_str()), ("1", "2"));
        assert_eq!(unused, ["a.whl: a-1.data/scripts/run"]);
        let error = unpack(&b, "b.whl", &site, &mut unused).expect_err("twice").to_string();
        assert_eq!(error, "wheel b.whl: a/one.py is in another wheel, too");
        assert_eq!(text("a/one.py"), "1");
        std::fs::write(&b, "no zip").expect("written");
        let error = unpack(&b, "b.whl", &site, &mut unused).expect_err("no wheel").to_string();
        assert!(error.starts_with("wheel b.whl: "), "{error}");
    }

    #[test]
    fn a_source_archive_gives_its_packages_and_nothing_is_compiled() {
        let dir = tempfile::tempdir().expect("a folder");
        let archive = |members: &[(&str, &str)]| {
            let path = dir.path().join("s.tar.gz");
            let file = std::fs::File::create(&path).expect("a file");
            let packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
            let mut tar = tar::Builder::new(packed);
            for (name, text) in members {
                let mut head = tar::Header::new_gnu();
                head.set_size(text.len() as u64);
                head.set_mode(0o644);
                tar.append_data(&mut head, name, text.as_bytes()).expect("a member");
            }
            tar.into_inner().expect("a tar").finish().expect("an archive");
            path
        };
        let site = dir.path().join("site");
        let mut unused = Vec::new();
        let init = ("s-1/s/__init__.py", "1");
        let good = archive(&[("s-1/setup.py", "raise"), init, ("s-1/s/deep/a.py", "2")]);
        unpack_source(&good, "s.tar.gz", &site, &mut unused).expect("unpacked");
        assert_eq!(std::fs::read_to_string(site.join("s/deep/a.py")).expect("laid"), "2");
        assert!(!site.join("setup.py").exists());
        assert_eq!(unused, ["s.tar.gz: setup.py"]);
        let mut error = |members: &[(&str, &str)]| {
            unpack_source(&archive(members), "s.tar.gz", &site, &mut unused)
                .expect_err("refused")
                .to_string()
        };
        assert!(error(&[init]).contains("in another wheel, too"));
        assert!(error(&[init, ("s-1/s/fast.pyx", "")]).contains("would have to be compiled"));
        assert!(error(&[("s-1/s.py", "")]).contains("no folder in it is a package"));
        assert!(error(&[("s.py", "")]).contains("lies outside"));
    }

    /// The layout of wheels: https://packaging.python.org/en/latest/specifications/binary-distribution-format/
    #[test]
    fn members_lie_where_an_installer_puts_them() {
        let at = |member: &str| place(Path::new(member)).map(|p| p.display().to_string());
        assert_eq!(at("a/b.py").as_deref(), Some("a/b.py"));
        assert_eq!(at("a-1.dist-info/RECORD").as_deref(), Some("a-1.dist-info/RECORD"));
        assert_eq!(at("a-1.data/purelib/a/c.py").as_deref(), Some("a/c.py"));
        assert_eq!(at("a-1.data/platlib/a/d.so").as_deref(), Some("a/d.so"));
        assert_eq!(at("a-1.data/scripts/a"), None);
    }
}
