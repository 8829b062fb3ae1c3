//! Roots: what must be kept. The last run of each pipeline is one; `store pin` adds others.

use crate::{Result, Store, StoreError, write_atomic};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use sim_model::digest::Canonical;
use sim_model::{Digest, Status};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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
    /// Which project it was: a digest of where its root lies, seen from the store where the store lies
    /// in it. It keeps apart what two projects call by one name; absent in what `store pin` and older
    /// programs wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Digest>,
    /// What the run reached, in plan order.
    pub entries: Vec<RootEntry>,
    /// What it left out though it could have run, in plan order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// One action that a run left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Label.
    pub label: String,
    /// Why.
    pub reason: String,
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

/// The name of a root where another project has the pipeline's own.
fn shared_name(pipeline: &str, project: &Digest) -> String {
    format!("{pipeline}.{}", &project.to_string()[..8])
}

impl Store {
    /// What [`Root::project`] says of the project at this absolute path.
    pub fn project_id(&self, project: &Path) -> Digest {
        let mut c = Canonical::new("sim-pipe project v1");
        // A store in its project moves with it.
        match self.root().strip_prefix(project) {
            Ok(inside) => c.str("inside").bytes(inside.as_os_str().as_bytes()),
            Err(_) => c.str("outside").bytes(project.as_os_str().as_bytes()),
        };
        c.finish()
    }

    /// The name of the root of a pipeline of a project: the pipeline's own, unless another project
    /// has that in this store.
    pub fn root_name(&self, pipeline: &str, project: &Path) -> Result<String> {
        let id = self.project_id(project);
        #[derive(Deserialize)]
        struct Owner {
            project: Option<Digest>,
        }
        let theirs = match self.part_of_root::<Owner>(pipeline) {
            Ok(root) => root.and_then(|r| r.project).is_some_and(|p| p != id),
            // A damaged one belongs to nobody.
            Err(StoreError::DamagedRecord { .. }) => false,
            Err(e) => return Err(e),
        };
        Ok(if theirs { shared_name(pipeline, &id) } else { pipeline.to_owned() })
    }

    /// Where the root of this name is, or would be.
    pub fn root_path(&self, name: &str) -> std::path::PathBuf {
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
        self.part_of_root(name)
    }

    /// As much of a root as is asked for: reading all of a large one takes a while.
    fn part_of_root<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let path = self.root_path(name);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|e| StoreError::DamagedRecord { path, problem: e.to_string() }),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// The keys that the last whole run of a pipeline of a project reached, in plan order; none where
    /// there was no such run.
    pub fn last_keys(&self, pipeline: &str, project: &Path) -> Result<Vec<Digest>> {
        #[derive(Deserialize)]
        struct Keys {
            project: Option<Digest>,
            entries: Vec<Key>,
        }
        #[derive(Deserialize)]
        struct Key {
            key: Digest,
        }
        let id = self.project_id(project);
        for name in [pipeline.to_owned(), shared_name(pipeline, &id)] {
            let Some(keys) = self.part_of_root::<Keys>(&name)? else { continue };
            if keys.project.is_none_or(|p| p == id) {
                return Ok(keys.entries.into_iter().map(|e| e.key).collect());
            }
        }
        Ok(Vec::new())
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
