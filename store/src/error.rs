//! Everything that can go wrong in the store, by name.

use sim_model::Digest;
use std::path::{Path, PathBuf};

/// Result of a store operation.
pub type Result<T> = std::result::Result<T, StoreError>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file system refused; the message names the path.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// No store there.
    #[error("there is no store in {}", root.display())]
    Missing {
        /// Where it was looked for.
        root: PathBuf,
    },
    /// A folder with other things in it.
    #[error("{} is not a store and not empty: it holds {}", root.display(), found.display())]
    NotAStore {
        /// The folder.
        root: PathBuf,
        /// Something in it.
        found: PathBuf,
    },
    /// Something that is no folder at all.
    #[error("{} is a file, not a store", root.display())]
    NotAFolder {
        /// The path.
        root: PathBuf,
    },
    /// The format file says something else.
    #[error("{} does not name a store format: {text:?}", path.display())]
    BadFormatFile {
        /// The file.
        path: PathBuf,
        /// What it says.
        text: String,
    },
    /// A store written by a later program.
    #[error(
        "the store in {} has format {found}; this program knows formats up to {}", root.display(), crate::FORMAT
    )]
    NewerFormat {
        /// The store.
        root: PathBuf,
        /// Its format.
        found: u32,
    },
    /// Unfinished work would have to be copied instead of moved.
    #[error("{} lies on another file system than the store", tmp.display())]
    TmpElsewhere {
        /// The store's `tmp/`.
        tmp: PathBuf,
    },
    /// The store cannot be written by this process.
    #[error("the store in {} is read-only", root.display())]
    ReadOnly {
        /// The store.
        root: PathBuf,
    },
    /// Someone else holds a lock that was asked for without waiting.
    #[error("the store in {} is in use by another process", root.display())]
    InUse {
        /// The store.
        root: PathBuf,
    },
    /// A record that does not hold what its first line promises.
    #[error("record {} is damaged: {problem}", path.display())]
    DamagedRecord {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A tree that a record names is not there.
    #[error("tree {digest} is not in the store")]
    MissingTree {
        /// Which.
        digest: Digest,
    },
    /// A blob that a record names is not there.
    #[error("blob {digest} is not in the store")]
    MissingBlob {
        /// Which.
        digest: Digest,
    },
    /// Content that does not hash to its name.
    #[error("{} should hash to {expected}, it hashes to {found}", path.display())]
    Damaged {
        /// What.
        path: PathBuf,
        /// Its name.
        expected: Digest,
        /// Its content.
        found: Digest,
    },
    /// Something in a tree that cannot be kept.
    #[error("{} {problem}", path.display())]
    BadEntry {
        /// What, relative to the tree.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// A source changed while it was read.
    #[error("{} changed while it was being read", path.display())]
    ChangedWhileRead {
        /// What.
        path: PathBuf,
    },
    /// An archive that is not one of ours, or is damaged.
    #[error("the archive {}: {problem}", path.display())]
    BadArchive {
        /// The archive.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl StoreError {
    /// An I/O error with its path.
    pub(crate) fn at(path: &Path, e: std::io::Error) -> Self {
        Self::Io(std::io::Error::new(e.kind(), format!("{}: {e}", path.display())))
    }

    /// Whether the file system was full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Io(e) if matches!(
            e.kind(),
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
        ) || e.raw_os_error() == Some(28))
    }
}
