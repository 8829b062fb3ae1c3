//! Places that may have a result already. A substituter that fails is a miss, never an error of the
//! run; what it gives is checked byte for byte before it enters the store.

use crate::Result;
use sim_model::{Digest, Record};
use std::path::Path;

/// A source of records and trees made elsewhere.
pub trait Substituter: Send + Sync {
    /// Its name, for messages and provenance.
    fn name(&self) -> &str;
    /// The newest record of a key that it is willing to vouch for.
    fn record(&self, key: &Digest) -> Result<Option<Record>>;
    /// Lays the tree at `to`, a path that does not exist. The caller re-hashes it.
    fn fetch_tree(&self, digest: &Digest, to: &Path) -> Result<bool>;
    /// The bytes of a blob. The caller re-hashes them.
    fn fetch_blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>>;
}
