//! Blobs: logs, named by the BLAKE3 of their bytes.

use crate::{Result, Store, StoreError, write_atomic};
use fs_err as fs;
use sim_model::Digest;
use std::path::PathBuf;

impl Store {
    pub(crate) fn blob_path(&self, digest: &Digest) -> PathBuf {
        let hex = digest.to_string();
        self.root().join("blobs").join(&hex[..2]).join(hex)
    }

    /// Where a log lies, if it is there.
    pub fn log_path(&self, digest: &Digest) -> PathBuf {
        self.blob_path(digest)
    }

    /// Keeps `bytes` and gives their name.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<Digest> {
        let digest = Digest::of(bytes);
        let path = self.blob_path(&digest);
        if !path.exists() {
            if let Some(dir) = path.parent() {
                fs::create_dir_all(dir)?;
            }
            write_atomic(self.root(), &path, bytes, self.syncs())?;
        }
        Ok(digest)
    }

    /// The bytes of a blob, checked against its name.
    pub fn blob(&self, digest: &Digest) -> Result<Vec<u8>> {
        let path = self.blob_path(digest);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(StoreError::MissingBlob { digest: *digest });
            }
            Err(e) => return Err(e.into()),
        };
        let found = Digest::of(&bytes);
        if found != *digest {
            return Err(StoreError::Damaged { path, expected: *digest, found });
        }
        Ok(bytes)
    }
}
