//! The fingerprint of a stage kind: a digest over everything that its code is made of.
//!
//! Called from a stage crate's `build.rs`. The closure is the crate itself, every workspace crate it
//! depends on (normal and build dependencies, not development ones) with all their files, and every
//! registry crate reachable from those, by name, version and checksum as the lockfile has them. So
//! an edited threshold, metric or schedule changes the fingerprint, and with it the keys of that
//! kind's actions, without anyone bumping a version; and an edited report does not touch a trial.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Folders of a crate that cannot change what it computes.
const SKIPPED: [&str; 4] = ["target", "tests", "benches", "examples"];

/// Computes the fingerprint of the crate being built, `extra` paths (relative to that crate)
/// included, and hands it to the crate as the compile-time variable `SIM_FINGERPRINT`.
///
/// # Panics
/// When the workspace cannot be read: a build without a fingerprint must not succeed.
#[expect(clippy::print_stdout, reason = "a build script talks to cargo on standard output")]
pub fn emit(extra: &[&str]) {
    let var = |name: &str| std::env::var(name).unwrap_or_else(|e| panic!("{name}: {e}"));
    let manifest_dir = PathBuf::from(var("CARGO_MANIFEST_DIR"));
    let closure = Closure::read(&manifest_dir, &var("CARGO_PKG_NAME"), extra)
        .unwrap_or_else(|e| panic!("the source fingerprint cannot be computed: {e}"));
    for path in &closure.watched {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    println!("cargo:rustc-env=SIM_FINGERPRINT={}", closure.digest);
}

/// What a fingerprint was computed from.
pub struct Closure {
    /// 64 hexadecimal digits.
    pub digest: String,
    /// Names of the workspace crates in it.
    pub workspace_crates: BTreeSet<String>,
    /// Registry crates in it, as `name version`.
    pub registry_crates: BTreeSet<String>,
    /// Files and folders whose change must recompute it.
    pub watched: Vec<PathBuf>,
}

struct Locked {
    version: String,
    checksum: Option<String>,
    dependencies: Vec<String>,
}

impl Closure {
    /// Reads the closure of workspace crate `name` in `crate_dir`.
    pub fn read(crate_dir: &Path, name: &str, extra: &[&str]) -> Result<Self, String> {
        let root = crate_dir
            .ancestors()
            .find(|d| d.join("Cargo.lock").is_file())
            .ok_or_else(|| format!("no Cargo.lock above {}", crate_dir.display()))?;
        let lock = read_lock(&root.join("Cargo.lock"))?;
        let members = read_members(root)?;

        let mut workspace_crates = BTreeSet::new();
        let mut registry = BTreeMap::new();
        let mut todo = vec![name.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(spec) = todo.pop() {
            if !seen.insert(spec.clone()) {
                continue;
            }
            let (crate_name, version) = match spec.split_once(' ') {
                Some((n, v)) => (n, v.split(' ').next()),
                None => (spec.as_str(), None),
            };
            let locked = lock
                .get(crate_name)
                .and_then(|all| match version {
                    Some(v) => all.iter().find(|l| l.version == v),
                    None => all.first(),
                })
                .ok_or_else(|| format!("{spec} is not in Cargo.lock"))?;
            if let Some(dir) = members.get(crate_name) {
                workspace_crates.insert(crate_name.to_owned());
                let wanted = direct_dependencies(&dir.join("Cargo.toml"))?;
                todo.extend(
                    locked
                        .dependencies
                        .iter()
                        .filter(|d| wanted.contains(d.split(' ').next().unwrap_or(d)))
                        .cloned(),
                );
            } else {
                registry.insert(
                    format!("{crate_name} {}", locked.version),
                    locked.checksum.clone().unwrap_or_default(),
                );
                todo.extend(locked.dependencies.iter().cloned());
            }
        }

        let mut hasher = blake3::Hasher::new_derive_key("sim-pipe source fingerprint v1");
        let mut feed = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        let mut watched = vec![root.join("Cargo.lock")];
        for name in &workspace_crates {
            let dir = &members[name];
            feed(name.as_bytes());
            for file in files_below(dir)? {
                let relative = file.strip_prefix(dir).unwrap_or(&file);
                feed(relative.to_string_lossy().as_bytes());
                feed(&read(&file)?);
            }
            watched.push(dir.clone());
        }
        for path in extra {
            let path = crate_dir.join(path);
            let files = if path.is_dir() { files_below(&path)? } else { vec![path.clone()] };
            for file in files {
                let relative = file.strip_prefix(&path).unwrap_or(&file);
                feed(relative.to_string_lossy().as_bytes());
                feed(&read(&file)?);
            }
            watched.push(path);
        }
        for (name, checksum) in &registry {
            feed(name.as_bytes());
            feed(checksum.as_bytes());
        }
        Ok(Self {
            digest: hasher.finalize().to_hex().to_string(),
            workspace_crates,
            registry_crates: registry.into_keys().collect(),
            watched,
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn parse(path: &Path) -> Result<toml::Table, String> {
    let text = String::from_utf8(read(path)?).map_err(|e| format!("{}: {e}", path.display()))?;
    text.parse().map_err(|e| format!("{}: {e}", path.display()))
}

fn read_lock(path: &Path) -> Result<BTreeMap<String, Vec<Locked>>, String> {
    let table = parse(path)?;
    let mut out: BTreeMap<String, Vec<Locked>> = BTreeMap::new();
    for package in table.get("package").and_then(|p| p.as_array()).into_iter().flatten() {
        let text = |key: &str| package.get(key).and_then(|v| v.as_str()).map(str::to_owned);
        let (Some(name), Some(version)) = (text("name"), text("version")) else { continue };
        let dependencies = package
            .get("dependencies")
            .and_then(|d| d.as_array())
            .into_iter()
            .flatten()
            .filter_map(|d| d.as_str().map(str::to_owned))
            .collect();
        out.entry(name).or_default().push(Locked {
            version,
            checksum: text("checksum"),
            dependencies,
        });
    }
    Ok(out)
}

/// Workspace crates by name, with their folders.
fn read_members(root: &Path) -> Result<BTreeMap<String, PathBuf>, String> {
    let manifest = parse(&root.join("Cargo.toml"))?;
    let members = manifest
        .get("workspace")
        .and_then(|w| w.get("members"))
        .and_then(|m| m.as_array())
        .ok_or("the root Cargo.toml lists no workspace members")?;
    let mut out = BTreeMap::new();
    for member in members.iter().filter_map(|m| m.as_str()) {
        let dir = if member == "." { root.to_path_buf() } else { root.join(member) };
        let manifest = parse(&dir.join("Cargo.toml"))?;
        if let Some(name) =
            manifest.get("package").and_then(|p| p.get("name")).and_then(|n| n.as_str())
        {
            out.insert(name.to_owned(), dir);
        }
    }
    Ok(out)
}

/// Names of the packages that a manifest depends on to be built, target-specific ones included.
fn direct_dependencies(manifest: &Path) -> Result<BTreeSet<String>, String> {
    let table = parse(manifest)?;
    let mut out = BTreeSet::new();
    let mut take = |deps: Option<&toml::Value>| {
        for (key, spec) in deps.and_then(|d| d.as_table()).into_iter().flatten() {
            let package = spec.get("package").and_then(|p| p.as_str()).unwrap_or(key);
            out.insert(package.to_owned());
        }
    };
    take(table.get("dependencies"));
    take(table.get("build-dependencies"));
    for (_, target) in table.get("target").and_then(|t| t.as_table()).into_iter().flatten() {
        take(target.get("dependencies"));
        take(target.get("build-dependencies"));
    }
    Ok(out)
}

fn files_below(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let mut out = Vec::new();
    let mut todo = vec![dir.to_path_buf()];
    while let Some(dir) = todo.pop() {
        let entries = std::fs::read_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        for entry in entries {
            let entry = entry.map_err(|e| format!("{}: {e}", dir.display()))?;
            let (name, path) = (entry.file_name(), entry.path());
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            if path.is_dir() {
                if !SKIPPED.iter().any(|s| name == *s) {
                    todo.push(path);
                }
            } else {
                out.push(path);
            }
        }
    }
    out.sort();
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("has a parent")).expect("create");
        std::fs::write(path, text).expect("write");
    }

    fn workspace() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("tempdir");
        let root = dir.path();
        write(root, "Cargo.toml", "[workspace]\nmembers = [\"trial\", \"report\", \"model\"]\n");
        for (name, deps) in
            [("trial", "model = {}\nserde = \"1\""), ("report", "model = {}"), ("model", "")]
        {
            write(
                root,
                &format!("{name}/Cargo.toml"),
                &format!(
                    "[package]\nname = \"{name}\"\n[dependencies]\n{deps}\n[dev-dependencies]\ninsta = \"1\"\n"
                ),
            );
            write(root, &format!("{name}/src/lib.rs"), "pub const GATE: f64 = 0.15;\n");
        }
        write(
            root,
            "Cargo.lock",
            "version = 4\n\
             [[package]]\nname = \"trial\"\nversion = \"0.1.0\"\ndependencies = [\"insta\", \"model\", \"serde\"]\n\
             [[package]]\nname = \"report\"\nversion = \"0.1.0\"\ndependencies = [\"insta\", \"model\"]\n\
             [[package]]\nname = \"model\"\nversion = \"0.1.0\"\n\
             [[package]]\nname = \"insta\"\nversion = \"1.0.0\"\nsource = \"r\"\nchecksum = \"aa\"\n\
             [[package]]\nname = \"serde\"\nversion = \"1.0.0\"\nsource = \"r\"\nchecksum = \"bb\"\n",
        );
        dir
    }

    fn digest(dir: &tempfile::TempDir, name: &str) -> String {
        Closure::read(&dir.path().join(name), name, &[]).expect("closure").digest
    }

    #[test]
    fn the_closure_holds_what_the_crate_is_made_of_and_nothing_else() {
        let dir = workspace();
        let c = Closure::read(&dir.path().join("trial"), "trial", &[]).expect("closure");
        assert_eq!(c.workspace_crates, BTreeSet::from(["trial".into(), "model".into()]));
        assert_eq!(c.registry_crates, BTreeSet::from(["serde 1.0.0".into()]));
    }

    #[test]
    fn an_edit_reaches_its_own_kind_and_those_above_it_only() {
        let dir = workspace();
        let before = (digest(&dir, "trial"), digest(&dir, "report"));
        write(dir.path(), "report/src/lib.rs", "pub const GATE: f64 = 0.2;\n");
        assert_eq!(digest(&dir, "trial"), before.0);
        assert_ne!(digest(&dir, "report"), before.1);
        let between = digest(&dir, "trial");
        write(dir.path(), "model/src/lib.rs", "// edited\n");
        assert_ne!(digest(&dir, "trial"), between);
        let before = digest(&dir, "trial");
        write(dir.path(), "trial/tests/it.rs", "// a test cannot change a result\n");
        assert_eq!(digest(&dir, "trial"), before);
    }

    #[test]
    fn a_bumped_registry_crate_reaches_those_that_use_it() {
        let dir = workspace();
        let before = (digest(&dir, "trial"), digest(&dir, "report"));
        let lock = std::fs::read_to_string(dir.path().join("Cargo.lock")).expect("lock");
        write(dir.path(), "Cargo.lock", &lock.replace("\"bb\"", "\"cc\""));
        assert_ne!(digest(&dir, "trial"), before.0);
        assert_eq!(digest(&dir, "report"), before.1);
    }
}
