//! Source files and folders of a project: their digests for keys, and snapshots of them for actions.

use crate::hash::hash_file;
use crate::tree::{LinkRule, Node};
use crate::{Result, StatCache, Store, StoreError};
use fs_err as fs;
use sim_model::TreeRef;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Hashes the file or folder at `path`, reading only files that the cache does not know. Hidden
/// folders of version control (`.git`, `.hg`, `.jj`), `target` folders of cargo, and `.sim-pipe` are
/// left out of folders: they are not source.
pub fn hash(path: &Path, cache: &mut StatCache, now_ns: i128) -> Result<Node> {
    hash_below(path, cache, now_ns, 0)
}

/// Whether a folder's entry is left out of sources.
pub fn skipped(name: &[u8], is_dir: bool, parent: &Path) -> bool {
    match name {
        b".git" | b".hg" | b".jj" | b".sim-pipe" => true,
        b"target" => is_dir && parent.join("Cargo.toml").is_file(),
        b"__pycache__" => is_dir,
        // A store under any name: an input that holds its own results would never be the same twice.
        _ => is_dir && is_store(&parent.join(std::ffi::OsStr::from_bytes(name))),
    }
}

fn is_store(dir: &Path) -> bool {
    std::fs::read(dir.join("format")).is_ok_and(|b| b.starts_with(b"sim-pipe store "))
}

fn hash_below(path: &Path, cache: &mut StatCache, now_ns: i128, depth: usize) -> Result<Node> {
    if depth > 200 {
        return Err(StoreError::BadEntry {
            path: path.to_path_buf(),
            problem: "lies more than 200 folders deep".to_owned(),
        });
    }
    let meta = fs::symlink_metadata(path)?;
    if let Some(watch) = &mut cache.watch {
        watch.itself(path, &meta, now_ns);
        // Through however many links: the end tells of any that leads elsewhere.
        watch.follow(path, now_ns);
    }
    let kind = meta.file_type();
    if kind.is_symlink() {
        // The top may be a link (a user's `data -> /big/disk`): its target is meant.
        if depth == 0 {
            return hash_below(&fs::canonicalize(path)?, cache, now_ns, 1);
        }
        let target = fs::read_link(path)?.as_os_str().as_bytes().to_vec();
        return Ok(Node::Link { target });
    }
    if kind.is_file() {
        let executable = meta.permissions().mode() & 0o111 != 0;
        if let Some(digest) = cache.get(path, &meta) {
            return Ok(Node::File { digest, executable, bytes: meta.len() });
        }
        let (digest, bytes) = hash_file(path, meta.len())?;
        cache.put(path, &meta, digest, now_ns);
        return Ok(Node::File { digest, executable, bytes });
    }
    if !kind.is_dir() {
        return Err(StoreError::BadEntry {
            path: path.to_path_buf(),
            problem: "is neither a file, a folder nor a link".to_owned(),
        });
    }
    if depth == 0 && is_store(path) {
        return Err(StoreError::BadEntry {
            path: path.to_path_buf(),
            problem: "is a store of sim-pipe and cannot be an input".to_owned(),
        });
    }
    let mut entries = BTreeMap::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        if skipped(name.as_bytes(), entry.file_type()?.is_dir(), path) {
            // A folder is left out as a store for what lies in it.
            if let Some(watch) = &mut cache.watch {
                watch.follow(&entry.path().join("format"), now_ns);
            }
            continue;
        }
        let node = hash_below(&entry.path(), cache, now_ns, depth + 1)?;
        entries.insert(name.as_bytes().to_vec(), node);
    }
    Ok(Node::Dir(entries))
}

impl Store {
    /// A snapshot of sources in the store. `files` are (path below the snapshot, path on disk); one
    /// entry with an empty path is the snapshot itself.
    pub fn snapshot(&self, files: &[(String, std::path::PathBuf)]) -> Result<(TreeRef, Node)> {
        let scratch = self.scratch("source-")?;
        let top = scratch.path().join("tree");
        for (to, from) in files {
            let to = if to.is_empty() { top.clone() } else { top.join(to) };
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
            }
            copy_source(&fs::canonicalize(from)?, &to)?;
        }
        self.take(&top, LinkRule::Keep)
    }
}

fn copy_source(from: &Path, to: &Path) -> Result<()> {
    let meta = fs::symlink_metadata(from)?;
    if !meta.is_dir() {
        return crate::tree::copy_all(from, to);
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if !skipped(name.as_bytes(), entry.file_type()?.is_dir(), from) {
            copy_source(&entry.path(), &to.join(name))?;
        }
    }
    Ok(())
}
