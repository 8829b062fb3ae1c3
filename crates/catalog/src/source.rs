//! What the catalog reads. The store implements it; the catalog knows no store.

use sim_model::event::Line;
use sim_model::{Digest, Record};

/// Why something could not be read.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// A file of a stored tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// Path within the tree, with `/`; bytes that are no UTF-8 replaced.
    pub path: String,
    /// Size in bytes; of the target's text for a symbolic link.
    pub bytes: u64,
    /// BLAKE3 of the content, where the tree records it.
    pub digest: Option<Digest>,
    /// Whether it may be executed.
    pub executable: bool,
    /// Target, for a symbolic link.
    pub link: Option<String>,
}

/// Records, trees, logs and journals.
pub trait Source {
    /// All records, older generations included. One that cannot be read is left out here and
    /// reported elsewhere.
    fn records(&self) -> Result<Vec<Record>, SourceError>;
    /// The files of a stored tree; `None` where the tree is gone.
    fn list(&self, tree: &Digest) -> Result<Option<Vec<TreeFile>>, SourceError>;
    /// The bytes of a file in a stored tree; `None` where tree or file is not there.
    fn file(&self, tree: &Digest, path: &str) -> Result<Option<Vec<u8>>, SourceError>;
    /// The bytes of a log; `None` where it is gone.
    fn log(&self, blob: &Digest) -> Result<Option<Vec<u8>>, SourceError>;
    /// The lines of all journals.
    fn journal(&self) -> Result<Vec<Line>, SourceError>;
}
