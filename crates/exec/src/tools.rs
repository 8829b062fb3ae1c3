//! Outside programs: where they are and what they are. A compiler or an interpreter changes results,
//! so its identity enters the key of the actions that use it.

use fs_err as fs;
use sim_model::Digest;
use sim_store::Watch;
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// How to ask a well-known program for its version. The answer names the program behind a shim or a
/// wrapper; for any other program the digest of its file must do.
const VERSIONS: [(&str, &[&str]); 10] = [
    ("rustc", &["-vV"]),
    ("cargo", &["-vV"]),
    ("cc", &["--version"]),
    ("c++", &["--version"]),
    ("ld", &["--version"]),
    (
        "python3",
        &["-c", "import sys,platform; print(sys.version, platform.python_implementation())"],
    ),
    (
        "python",
        &["-c", "import sys,platform; print(sys.version, platform.python_implementation())"],
    ),
    ("node", &["--version"]),
    ("sh", &[]),
    ("bash", &["--version"]),
];

/// The first executable file of this name on `path_var`.
pub fn find(name: &str, path_var: &str) -> Option<PathBuf> {
    path_var
        .split(':')
        .filter(|d| d.starts_with('/'))
        .map(|d| Path::new(d).join(name))
        .find(|p| p.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0))
}

/// Finds tools and their identities; identities are remembered by what `stat` says of the file.
#[derive(Debug)]
pub struct Tools {
    path_var: String,
    cache_file: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_name: BTreeMap<(String, String), Option<String>>,
    by_stamp: BTreeMap<String, String>,
    changed: bool,
    watch: Option<Watch>,
}

impl Tools {
    /// Tools on `path_var`, with a disposable cache in `cache_file`.
    pub fn new(path_var: String, cache_file: PathBuf) -> Self {
        let by_stamp = fs::read(&cache_file)
            .ok()
            .and_then(|b| serde_json::from_slice(&b).ok())
            .unwrap_or_default();
        let known = Known { by_stamp, ..Known::default() };
        Self { path_var, cache_file, known: Mutex::new(known) }
    }

    /// From now on, keeps what is looked at.
    pub(crate) fn watch(&self) {
        let mut known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.watch = Some(Watch::default());
    }

    /// What was looked at since [`Self::watch`].
    pub(crate) fn watched(&self) -> Option<Watch> {
        self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner).watch.take()
    }

    /// The PATH in force.
    pub fn path_var(&self) -> &str {
        &self.path_var
    }

    /// Where a program is, on this PATH or on `path_var`.
    pub fn find(&self, name: &str, path_var: Option<&str>) -> Option<PathBuf> {
        find(name, path_var.unwrap_or(&self.path_var))
    }

    /// What a program is: its version text where it is well known, and the digest of its file.
    /// `path_var` is the action's own PATH, where it has one.
    ///
    /// The version is asked for in the environment that an action has, not in the caller's: a shim
    /// may answer differently there. Only a program that is a binary of its own is remembered from run
    /// to run; what a shim stands for can change while its file stays.
    pub fn identity(&self, name: &str, path_var: Option<&str>) -> Option<String> {
        let path_var = path_var.unwrap_or(&self.path_var);
        let mut known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let asked = (path_var.to_owned(), name.to_owned());
        if let Some(found) = known.by_name.get(&asked) {
            return found.clone();
        }
        let now = crate::unix_ns();
        if let Some(watch) = &mut known.watch {
            // The first one counts, so those that are not there count, too.
            let found = find(name, path_var);
            for dir in path_var.split(':').filter(|d| d.starts_with('/')) {
                let path = Path::new(dir).join(name);
                watch.follow(&path, now);
                if Some(&path) == found.as_ref() {
                    break;
                }
            }
        }
        let identity = find(name, path_var).and_then(|path| {
            let real = fs::canonicalize(&path).ok()?;
            let meta = fs::metadata(&real).ok()?;
            let stamp = format!(
                "{name} {} {} {} {} {}.{} {}.{}",
                path.display(),
                real.display(),
                meta.ino(),
                meta.len(),
                meta.mtime(),
                meta.mtime_nsec(),
                meta.ctime(),
                meta.ctime_nsec()
            );
            if let Some(identity) = known.by_stamp.get(&stamp) {
                return Some(identity.clone());
            }
            let bytes = fs::read(&real).ok()?;
            let digest = Digest::of(&bytes);
            let version = VERSIONS.iter().find(|(n, _)| *n == name).map(|(_, args)| args);
            let identity = match version.filter(|args| !args.is_empty()) {
                Some(args) => {
                    let mut command = Command::new(&path);
                    command.args(*args).stdin(Stdio::null()).stderr(Stdio::null());
                    command.current_dir("/").env_clear();
                    command
                        .env("PATH", path_var)
                        .env("HOME", "/nonexistent")
                        .env("LANG", "C.UTF-8");
                    if let Some(rustup) = crate::host_paths::rustup_home() {
                        command.env("RUSTUP_HOME", rustup);
                    }
                    let out = command.output().ok()?;
                    let text = String::from_utf8_lossy(&out.stdout);
                    let text: Vec<&str> = text.lines().map(str::trim).collect();
                    format!("{} (blake3 {})", text.join("; "), digest.short())
                }
                None => format!("blake3 {digest}"),
            };
            let stands_for_another =
                !bytes.starts_with(b"\x7fELF") || real.file_name().is_some_and(|f| f == "rustup");
            if stands_for_another {
                if let Some(watch) = &mut known.watch {
                    watch.give_up();
                }
            } else {
                known.by_stamp.insert(stamp, identity.clone());
                known.changed = true;
            }
            Some(identity)
        });
        known.by_name.insert(asked, identity.clone());
        identity
    }

    /// Writes the cache back. A cache that cannot be written is no error.
    pub fn save(&self) {
        let known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if known.changed
            && let Ok(bytes) = serde_json::to_vec(&known.by_stamp)
        {
            let tmp = self.cache_file.with_extension(format!("{}.tmp", std::process::id()));
            if fs::write(&tmp, bytes).is_ok() && fs::rename(&tmp, &self.cache_file).is_err() {
                let _ = fs::remove_file(&tmp);
            }
        }
    }
}
