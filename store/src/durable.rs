//! What survives a power failure, without waiting for the disk after every action.
//!
//! A process that dies, however it dies, loses nothing that it wrote: the pages are the kernel's. Only
//! a machine that goes down can lose them. So a run does not sync each file. Before its first write
//! it leaves a synced marker in `unsynced/` that names this boot of the machine; at its end it syncs
//! the whole file system once and takes the marker away. Whoever finds a marker of another boot knows
//! that the machine went down in between, and hashes everything again before trusting any of it.
//!
//! Outside such a session every write is synced by itself.

use crate::verify::VerifyReport;
use crate::{Result, Store, StoreError, sync_dir};
use fs_err as fs;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

const FOLDER: &str = "unsynced";

/// Many writes with one sync at their end.
#[derive(Debug)]
pub struct WriteSession {
    store: Store,
    marker: PathBuf,
    _lock: File,
}

/// The kernel's name for the time since it started.
fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_else(|_| "unknown".to_owned())
}

impl Store {
    /// Begins a session: until it ends, nothing is synced file by file.
    pub fn begin_writes(&self) -> Result<WriteSession> {
        let folder = self.root().join(FOLDER);
        let marker = folder.join(format!("{}.{}", boot_id(), std::process::id()));
        let mut file = File::create(&marker).map_err(|e| StoreError::at(&marker, e))?;
        file.lock().map_err(|e| StoreError::at(&marker, e))?;
        file.write_all(b"written and not synced yet\n").map_err(|e| StoreError::at(&marker, e))?;
        file.sync_all().map_err(|e| StoreError::at(&marker, e))?;
        sync_dir(&folder)?;
        self.deferred.store(true, Ordering::SeqCst);
        Ok(WriteSession { store: self.clone(), marker, _lock: file })
    }

    /// Whether single writes must be synced.
    pub(crate) fn syncs(&self) -> bool {
        !self.deferred.load(Ordering::SeqCst)
    }

    /// Looks for what an earlier boot of the machine left unsynced. If there is any, everything is
    /// hashed again and what is damaged is set aside; the report says what.
    pub fn recover(&self) -> Result<Option<VerifyReport>> {
        let foreign = self.unsynced()?;
        if foreign.is_empty() {
            return Ok(None);
        }
        let report = self.verify(true, &[])?;
        self.sync_all()?;
        for path in foreign {
            // Another process may have done the same meanwhile.
            if let Err(e) = fs::remove_file(path)
                && e.kind() != std::io::ErrorKind::NotFound
            {
                return Err(e.into());
            }
        }
        Ok(Some(report))
    }

    /// Whether an earlier boot of the machine left anything unsynced.
    pub fn must_recover(&self) -> Result<bool> {
        Ok(!self.unsynced()?.is_empty())
    }

    /// Markers of other boots.
    fn unsynced(&self) -> Result<Vec<PathBuf>> {
        let folder = self.root().join(FOLDER);
        let mut foreign = Vec::new();
        if self.read_only() || !folder.is_dir() {
            return Ok(foreign);
        }
        let boot = boot_id();
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.rsplit_once('.').is_none_or(|(id, _)| id != boot) {
                foreign.push(path);
            }
        }
        Ok(foreign)
    }

    fn sync_all(&self) -> Result<()> {
        let root = fs::File::open(self.root())?;
        rustix::fs::syncfs(root.file())
            .map_err(|e| StoreError::at(self.root(), std::io::Error::from(e)))
    }
}

impl WriteSession {
    /// Syncs everything and ends the session. An error means that the disk did not take it all: the
    /// marker stays.
    pub fn finish(self) -> Result<()> {
        self.store.deferred.store(false, Ordering::SeqCst);
        self.store.sync_all()?;
        // Markers of processes of this boot that died: what they wrote is synced now, too.
        let folder = self.store.root().join(FOLDER);
        let boot = boot_id();
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let ours = name.rsplit_once('.').is_some_and(|(id, _)| id == boot);
            let dead = || File::open(&path).is_ok_and(|f| f.try_lock().is_ok());
            if path == self.marker || (ours && dead()) {
                let _ = fs::remove_file(&path);
            }
        }
        sync_dir(&folder)
    }
}

impl Drop for WriteSession {
    fn drop(&mut self) {
        self.store.deferred.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::LinkRule;
    use std::os::unix::fs::PermissionsExt as _;

    fn markers(store: &Store) -> usize {
        fs::read_dir(store.root().join(FOLDER)).expect("unsynced/").count()
    }

    fn put(store: &Store, text: &str) -> sim_model::Digest {
        let scratch = store.scratch("t-").expect("scratch");
        let tree = scratch.path().join("tree");
        fs::create_dir(&tree).expect("mkdir");
        fs::write(tree.join("f"), text).expect("write");
        store.take(&tree, LinkRule::Inside).expect("take").0.digest
    }

    #[test]
    fn a_session_leaves_a_marker_while_it_writes_and_none_after() {
        let dir = tempfile::tempdir().expect("tempdir");
        let store = Store::open(&dir.path().join("s")).expect("open");
        let session = store.begin_writes().expect("begin");
        assert_eq!(markers(&store), 1);
        assert!(!store.syncs());
        put(&store, "x");
        session.finish().expect("finish");
        assert_eq!(markers(&store), 0);
        assert!(store.syncs());
        assert!(store.recover().expect("recover").is_none());
    }

    #[test]
    fn after_a_power_failure_everything_is_hashed_before_it_is_trusted() {
        let dir = tempfile::tempdir().expect("tempdir");
        let store = Store::open(&dir.path().join("s")).expect("open");
        let session = store.begin_writes().expect("begin");
        let (torn, whole) = (put(&store, "torn"), put(&store, "whole"));
        // The machine goes down: the marker stays, and a file lost its content.
        let marker = session.marker.clone();
        drop(session);
        fs::rename(&marker, marker.with_file_name("another-boot.1")).expect("rename");
        let file = store.tree_path(&torn).join("f");
        fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("chmod");
        fs::write(&file, "").expect("truncate");

        let report = store.recover().expect("recover").expect("a check");
        assert_eq!(report.findings.len(), 1);
        assert!(!store.has_tree(&torn) && store.has_tree(&whole));
        assert_eq!(markers(&store), 0);
        assert!(store.recover().expect("recover").is_none());
    }
}
