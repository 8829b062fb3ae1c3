//! Roots: what must be kept. The last run of each pipeline is one; `store pin` adds others.

use crate::{Result, Store, StoreError, write_atomic};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use sim_model::{Digest, Status};

/// One root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Root {
    /// Format of this file, 1.
    pub version: u32,
    /// Pipeline name.
    pub pipeline: String,
    /// Pipeline file relative to the project's root.
    pub file: String,
    /// The run that made it.
    pub run: String,
    /// What the run reached, in plan order.
    pub entries: Vec<RootEntry>,
}

/// One action of a root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootEntry {
    /// Label.
    pub label: String,
    /// Key.
    pub key: Digest,
    /// Generation of the record that was used.
    pub generation: u32,
    /// How it ended.
    pub status: Status,
}

impl Store {
    fn root_path(&self, name: &str) -> std::path::PathBuf {
        self.root().join("roots").join(format!("{name}.json"))
    }

    /// Writes a root under `name` (letters, digits, `-`, `_`, `.`), replacing an older one.
    pub fn put_root(&self, name: &str, root: &Root) -> Result<()> {
        let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(fine) {
            return Err(StoreError::BadEntry {
                path: name.into(),
                problem: "is not a root's name: use letters, digits, '-', '_' and '.'".to_owned(),
            });
        }
        let bytes = serde_json::to_vec(root).map_err(std::io::Error::other)?;
        write_atomic(self.root(), &self.root_path(name), &bytes, self.syncs())
    }

    /// The root of this name.
    pub fn root_named(&self, name: &str) -> Result<Option<Root>> {
        let path = self.root_path(name);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|e| StoreError::DamagedRecord { path, problem: e.to_string() }),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Removes a root; whether there was one.
    pub fn remove_root(&self, name: &str) -> Result<bool> {
        match fs::remove_file(self.root_path(name)) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Names of all roots, sorted.
    pub fn root_names(&self) -> Result<Vec<String>> {
        let mut out = Vec::new();
        for entry in fs::read_dir(self.root().join("roots"))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            out.extend(name.strip_suffix(".json").map(str::to_owned));
        }
        out.sort();
        Ok(out)
    }

    /// All roots by name.
    pub fn roots(&self) -> Result<Vec<(String, Root)>> {
        let mut out = Vec::new();
        for name in self.root_names()? {
            if let Some(root) = self.root_named(&name)? {
                out.push((name, root));
            }
        }
        Ok(out)
    }
}
