//! The planner's only view of the world: files below the project's root, by relative path with `/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Largest text that is read, in bytes.
pub(crate) const MAX_TEXT: u64 = 32 << 20;
/// Most files that one glob may look at.
pub(crate) const MAX_LISTED: usize = 1_000_000;

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A file.
    File,
    /// A folder.
    Folder,
}

/// Files of a project. Paths are relative to its root, with `/`; the root itself is the empty path.
pub trait Files {
    /// The bytes of a file of at most 32 MiB. The error is a sentence fragment.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;
    /// What is there, links followed.
    fn kind(&self, path: &str) -> Option<FileKind>;
    /// Files below a folder, as sorted paths relative to the root: `depth` levels of folders, 1 for
    /// the folder's own files. Links are listed, not followed. Names that begin with a dot are left
    /// out with all that is below them, and so are folders that are no source (`__pycache__`,
    /// `target` beside a `Cargo.toml`, stores). The error is a sentence fragment.
    fn list(&self, folder: &str, depth: usize) -> Result<Vec<String>, String>;
    /// Names of the files and folders in a folder, in any order; none where it can't be read.
    fn names(&self, folder: &str) -> Vec<String>;
    /// Whether a program is on the search path, the action's own where it has one. Where that can't
    /// be told, it is.
    fn has_program(&self, _name: &str, _path: Option<&str>) -> bool {
        true
    }
}

/// Whether a program is on a search path.
pub type HasProgram<'w> = dyn Fn(&str, Option<&str>) -> bool + 'w;

/// Files on disk.
pub struct OsFiles<'w> {
    root: PathBuf,
    watcher: Option<&'w dyn Fn(&Path)>,
    programs: Option<&'w HasProgram<'w>>,
}

impl<'w> OsFiles<'w> {
    /// Files below `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), watcher: None, programs: None }
    }

    /// The same, with someone who is told of every path before it is looked at: whatever the planner
    /// learns of the disk can change only when one of them does.
    #[must_use]
    pub fn watched(self, watcher: &'w dyn Fn(&Path)) -> Self {
        Self { watcher: Some(watcher), ..self }
    }

    /// The same, with someone who knows which programs there are.
    #[must_use]
    pub fn with_programs(self, programs: &'w HasProgram<'w>) -> Self {
        Self { programs: Some(programs), ..self }
    }

    fn tell(&self, path: &Path) {
        if let Some(watcher) = self.watcher {
            watcher(path);
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }
}

impl Files for OsFiles<'_> {
    fn has_program(&self, name: &str, path: Option<&str>) -> bool {
        self.programs.is_none_or(|has| has(name, path))
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        use std::io::Read;
        self.tell(&self.at(path));
        let file = std::fs::File::open(self.at(path)).map_err(|e| e.to_string())?;
        let meta = file.metadata().map_err(|e| e.to_string())?;
        if !meta.is_file() {
            return Err("not a regular file".to_owned());
        }
        let mut bytes = Vec::with_capacity(meta.len().min(MAX_TEXT) as usize);
        file.take(MAX_TEXT + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
        if bytes.len() as u64 > MAX_TEXT {
            return Err(format!("larger than {} MiB", MAX_TEXT >> 20));
        }
        Ok(bytes)
    }

    fn kind(&self, path: &str) -> Option<FileKind> {
        self.tell(&self.at(path));
        let meta = std::fs::metadata(self.at(path)).ok()?;
        Some(if meta.is_dir() { FileKind::Folder } else { FileKind::File })
    }

    fn list(&self, folder: &str, depth: usize) -> Result<Vec<String>, String> {
        let mut found = Vec::new();
        walk(&self.at(folder), folder, depth, &mut found, &|path| self.tell(path))?;
        found.sort_unstable();
        Ok(found)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        self.tell(&self.at(folder));
        let Ok(entries) = std::fs::read_dir(self.at(folder)) else { return Vec::new() };
        let names = entries.take(MAX_LISTED).filter_map(|e| e.ok()?.file_name().into_string().ok());
        names.collect()
    }
}

/// Depth is bounded by the path length that the system allows, since links are not followed.
fn walk(
    at: &Path,
    name: &str,
    depth: usize,
    found: &mut Vec<String>,
    looked: &dyn Fn(&Path),
) -> Result<(), String> {
    looked(at);
    let tell = |e: std::io::Error| format!("{}: {e}", if name.is_empty() { "." } else { name });
    for entry in std::fs::read_dir(at).map_err(tell)? {
        let entry = entry.map_err(tell)?;
        let file_name = entry.file_name();
        if file_name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let Some(text) = file_name.to_str() else {
            return Err(format!("{name}: the name {file_name:?} is not UTF-8"));
        };
        let path = if name.is_empty() { text.to_owned() } else { format!("{name}/{text}") };
        if entry.file_type().map_err(tell)?.is_dir() {
            if depth > 1 && !no_source(&path, &entry.path(), looked) {
                walk(&entry.path(), &path, depth - 1, found, looked)?;
            }
            continue;
        }
        if found.len() >= MAX_LISTED {
            return Err(format!("more than {MAX_LISTED} files"));
        }
        found.push(path);
    }
    Ok(())
}

/// Folders that a pattern passes by, as a whole folder given as an input does: what programs leave
/// beside their sources, and stores. One that a pattern names is looked into all the same.
fn no_source(name: &str, at: &Path, looked: &dyn Fn(&Path)) -> bool {
    match name.rsplit('/').next().unwrap_or(name) {
        "__pycache__" => true,
        "target" => at.parent().is_some_and(|p| p.join("Cargo.toml").is_file()),
        _ => {
            looked(&at.join("format"));
            std::fs::read(at.join("format")).is_ok_and(|b| b.starts_with(b"sim-pipe store "))
        }
    }
}

/// Files in memory, for tests and for checking a text that is not on disk.
#[derive(Clone, Debug, Default)]
pub struct MemFiles {
    files: BTreeMap<String, Vec<u8>>,
    missing: std::collections::BTreeSet<String>,
}

impl MemFiles {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file.
    #[must_use]
    pub fn with(mut self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.insert(path.to_owned(), bytes.into());
        self
    }

    /// Says that a program is on no search path.
    #[must_use]
    pub fn without_program(mut self, name: &str) -> Self {
        self.missing.insert(name.to_owned());
        self
    }
}

impl MemFiles {
    fn no_source(&self, folder: &str) -> bool {
        let (parent, name) = folder.rsplit_once('/').unwrap_or(("", folder));
        let beside = |file: &str| {
            if parent.is_empty() { file.to_owned() } else { format!("{parent}/{file}") }
        };
        match name {
            "__pycache__" => true,
            "target" => self.files.contains_key(&beside("Cargo.toml")),
            _ => self
                .files
                .get(&format!("{folder}/format"))
                .is_some_and(|b| b.starts_with(b"sim-pipe store ")),
        }
    }
}

impl Files for MemFiles {
    fn has_program(&self, name: &str, _: Option<&str>) -> bool {
        !self.missing.contains(name)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.files.get(path).cloned().ok_or_else(|| "no such file".to_owned())
    }

    fn kind(&self, path: &str) -> Option<FileKind> {
        if self.files.contains_key(path) {
            return Some(FileKind::File);
        }
        let below = if path.is_empty() { String::new() } else { format!("{path}/") };
        let next = self.files.range(below.clone()..).next()?;
        next.0.starts_with(&below).then_some(FileKind::Folder)
    }

    fn list(&self, folder: &str, depth: usize) -> Result<Vec<String>, String> {
        let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let inside = self.files.range(below.clone()..).map(|(path, _)| path);
        Ok(inside
            .take_while(|path| path.starts_with(&below))
            .filter(|path| {
                let inside = &path[below.len()..];
                let mut parts = inside.split('/');
                let mut folders =
                    inside.match_indices('/').map(|(at, _)| &path[..below.len() + at]);
                parts.clone().count() <= depth
                    && !parts.any(|p| p.starts_with('.'))
                    && !folders.any(|f| self.no_source(f))
            })
            .cloned()
            .collect())
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let inside = self.files.range(below.clone()..).map(|(path, _)| path);
        let inside = inside.take_while(|path| path.starts_with(&below));
        let names = inside.filter_map(|path| path[below.len()..].split('/').next());
        let mut names: Vec<_> = names.map(str::to_owned).collect();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_disk_agree() {
        let root = std::env::temp_dir().join(format!("sim-plan-files-{}", std::process::id()));
        let mut mem = MemFiles::new();
        let no_source = [
            "d/__pycache__/x.csv",
            "rust/Cargo.toml",
            "rust/target/x.csv",
            "target/x.csv",
            "d2/st/format",
            "d2/st/trees/x.csv",
        ];
        let source = ["a.csv", "d/b.csv", "d/e/c.csv", "d/.hidden/x.csv", ".dot.csv", "d2/z"];
        for path in source.into_iter().chain(no_source) {
            let at = root.join(path);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            let text = if path.ends_with("format") { "sim-pipe store 1\n" } else { path };
            std::fs::write(&at, text).unwrap();
            mem = mem.with(path, text);
        }
        let disk = OsFiles::new(&root);
        for (folder, depth) in [
            ("", usize::MAX),
            ("d", usize::MAX),
            ("d", 1),
            ("", 2),
            ("d2", 9),
            ("rust", 9),
            ("rust/target", 1),
        ] {
            assert_eq!(mem.list(folder, depth), disk.list(folder, depth), "{folder} {depth}");
        }
        assert_eq!(mem.list("", 1).unwrap(), ["a.csv"]);
        let all = ["a.csv", "d/b.csv", "d/e/c.csv", "d2/z", "rust/Cargo.toml", "target/x.csv"];
        assert_eq!(mem.list("", 9).unwrap(), all);
        assert_eq!(mem.list("rust/target", 1).unwrap(), ["rust/target/x.csv"]);
        for folder in ["", "d", "d/e", "nothing"] {
            let sorted = |mut names: Vec<String>| {
                names.sort();
                names
            };
            assert_eq!(sorted(mem.names(folder)), sorted(disk.names(folder)), "{folder}");
        }
        for path in ["", "a.csv", "d", "d/e", "nothing", "d2/z"] {
            assert_eq!(mem.kind(path), disk.kind(path), "{path}");
        }
        assert_eq!(disk.read("d/b.csv").unwrap(), b"d/b.csv");
        assert!(disk.read("d").is_err());
        std::fs::remove_dir_all(&root).unwrap();
    }
}
