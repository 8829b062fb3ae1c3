//! The store: content-addressed trees and blobs, records by key, roots, and the journal.
//!
//! ```text
//! .sim-pipe/
//!   format              "sim-pipe store 1"
//!   lock                shared while a run or a query uses the store, exclusive for gc
//!   trees/HASH          a read-only folder or file, named by its content
//!   blobs/AB/HASH       logs
//!   records/AB/KEY      first record of a key; KEY.1, KEY.2 … later observations
//!   locks/keys          one byte a key, locked by the process that runs it
//!   roots/NAME.json     what the last run of a pipeline (or a pin) reaches
//!   journal/RUN.jsonl   what happened, one line an event
//!   cache/              stat cache and tool identities; may be deleted at any time
//!   quarantine/         what `verify --repair` took out
//!   unsynced/           markers of runs whose writes the disk may not have yet
//!   tmp/                unfinished work; swept when nobody uses it
//! ```
//!
//! Order of writing: the tree is complete under `tmp/` and renamed into place; only then is the
//! record written the same way. So a record never names bytes that are not there. [`durable`] says
//! how that holds across a power failure, too. Nothing in `trees/`, `blobs/` and `records/` is ever changed.

mod blobs;
pub mod difference;
mod durable;
mod error;
pub mod gc;
mod hash;
mod journal;
mod locks;
pub mod path_bytes;
mod reach;
mod records;
mod roots;
pub mod source;
mod stamp;
mod stat_cache;
pub mod substituter;
pub mod transfer;
pub mod tree;
mod untouched;
pub mod verify;

pub use durable::WriteSession;
pub use error::{Result, StoreError};
pub use journal::{JournalWriter, RunId};
pub use locks::{KeyLock, StoreLease};
pub use reach::Chain;
pub use records::{Brief, Stored, decode as decode_record};
pub use roots::{LeftOut, Root, RootEntry};
pub use stamp::{Stamp, Watch};
pub use stat_cache::StatCache;

use fs_err as fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Version of the on-disk layout. A store of a newer format is refused.
pub const FORMAT: u32 = 1;

/// A store on disk. Cheap to clone; any number of processes may use one at once.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    read_only: bool,
    /// Whether single writes are left unsynced, for the end of a [`WriteSession`]. Clones share it.
    deferred: Arc<AtomicBool>,
}

impl Store {
    /// Opens the store in `root`, creating it when absent.
    pub fn open(root: &Path) -> Result<Self> {
        if root.metadata().is_ok_and(|m| !m.is_dir()) {
            return Err(StoreError::NotAFolder { root: root.to_path_buf() });
        }
        fs::create_dir_all(root)?;
        let root = fs::canonicalize(root)?;
        let format = root.join("format");
        if !format.exists() {
            Self::may_begin(&root)?;
            for dir in Self::FOLDERS {
                fs::create_dir_all(root.join(dir))?;
            }
            // As any user of the store: or another process that has just opened it would sweep away
            // what is being written here.
            let _lease = locks::first_lease(&root)?;
            write_atomic(&root, &format, format!("sim-pipe store {FORMAT}\n").as_bytes(), true)?;
        }
        let store = Self::open_existing(&root)?;
        for dir in Self::FOLDERS {
            let dir = root.join(dir);
            if !dir.is_dir() {
                fs::create_dir_all(dir)?;
            }
        }
        let tmp = root.join("tmp");
        if fs::metadata(&tmp)?.dev() != fs::metadata(&root)?.dev() {
            return Err(StoreError::TmpElsewhere { tmp });
        }
        Ok(store)
    }

    /// Whether a store may be made in `root`: where there is nothing, or nothing else.
    pub fn may_begin(root: &Path) -> Result<()> {
        let entries = match fs::read_dir(root) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let foreign = entries.filter_map(std::result::Result::ok).find(|e| {
            !matches!(e.file_name().to_str(), Some("format" | "tmp" | "lock"))
                && !Self::FOLDERS.iter().any(|f| e.file_name() == **f)
        });
        match foreign {
            Some(e) => Err(StoreError::NotAStore { root: root.to_path_buf(), found: e.path() }),
            None => Ok(()),
        }
    }

    /// Opens a store that must be there, without writing anything.
    pub fn open_existing(root: &Path) -> Result<Self> {
        let path = root.join("format");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(StoreError::Missing { root: root.to_path_buf() });
            }
            Err(e) => return Err(e.into()),
        };
        let version = text
            .strip_prefix("sim-pipe store ")
            .and_then(|v| v.trim().parse::<u32>().ok())
            .ok_or_else(|| StoreError::BadFormatFile { path: path.clone(), text: text.clone() })?;
        if version > FORMAT {
            return Err(StoreError::NewerFormat { root: root.to_path_buf(), found: version });
        }
        let root = fs::canonicalize(root)?;
        // Where the folder of records is gone, it can be made again or not.
        let records = Some(root.join("records")).filter(|p| p.exists());
        let written = records.as_deref().unwrap_or(&root);
        let read_only = rustix::fs::access(written, rustix::fs::Access::WRITE_OK).is_err();
        Ok(Self { root, read_only, deferred: Arc::default() })
    }

    const FOLDERS: [&str; 10] = [
        "trees",
        "blobs",
        "records",
        "locks",
        "roots",
        "journal",
        "cache",
        "quarantine",
        "tmp",
        "unsynced",
    ];

    /// The store's folder, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether this process may not write to it.
    pub fn read_only(&self) -> bool {
        self.read_only
    }

    /// The folder of trees.
    pub fn trees(&self) -> PathBuf {
        self.root.join("trees")
    }

    /// The folder with all records.
    pub fn records_folder(&self) -> PathBuf {
        self.root.join("records")
    }

    /// The folder in which [`Store::scratch`] makes folders.
    pub fn scratch_folder(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// A file of the disposable cache.
    pub fn cache_file(&self, name: &str) -> PathBuf {
        self.root.join("cache").join(name)
    }

    /// Writes a file of the disposable cache, whole or not at all.
    pub fn write_cache(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        write_atomic(&self.root, path, bytes, false)
    }

    /// A new empty folder below `tmp/`, removed with all it holds when the guard is dropped.
    pub fn scratch(&self, prefix: &str) -> Result<Scratch> {
        let dir = tempfile::Builder::new().prefix(prefix).tempdir_in(self.scratch_folder())?;
        Ok(Scratch { path: dir.keep() })
    }
}

/// A folder below `tmp/`. Unlike a plain temporary folder it can hold read-only folders.
#[derive(Debug)]
#[must_use = "dropped, it is removed"]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the folder and gives its path.
    pub fn keep(self) -> PathBuf {
        let path = self.path.clone();
        std::mem::forget(self);
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is swept by the next gc.
        let _ = tree::remove_all(&self.path);
    }
}

/// Writes `bytes` to `path` so that a reader sees all of it or nothing; with `sync`, after a power
/// failure too. `root` is the store, whose `tmp/` is on the same file system.
pub(crate) fn write_atomic(root: &Path, path: &Path, bytes: &[u8], sync: bool) -> Result<()> {
    use std::io::Write;
    let tmp = root.join("tmp");
    let mut attempts = 0;
    loop {
        fs::create_dir_all(&tmp)?;
        let mut file = new_file(&tmp, "write-")?;
        file.write_all(bytes).map_err(|e| StoreError::at(path, e))?;
        if sync {
            file.as_file().sync_all().map_err(|e| StoreError::at(path, e))?;
        }
        match file.persist(path) {
            Ok(_) => break,
            // Who writes without a lease (the first of several that begin a store at once does) may
            // have its file swept away by a run that begins.
            Err(e) if e.error.kind() == std::io::ErrorKind::NotFound && attempts < 10 => {
                attempts += 1;
            }
            Err(e) => return Err(StoreError::at(path, e.error)),
        }
    }
    if sync { sync_dir(path.parent().unwrap_or(root)) } else { Ok(()) }
}

/// A temporary file that others may read once it is in place, as far as the umask lets them.
pub(crate) fn new_file(dir: &Path, prefix: &str) -> std::io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    tempfile::Builder::new()
        .prefix(prefix)
        .permissions(std::fs::Permissions::from_mode(0o644))
        .tempfile_in(dir)
}

/// Makes renames in a folder durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<()> {
    fs::File::open(dir)?.sync_all()?;
    Ok(())
}
