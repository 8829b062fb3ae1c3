//! Locks between processes. The kernel releases them when their holder dies, however it dies.

use crate::{Result, Store, StoreError};
use sim_model::Digest;
use std::fs::{File, TryLockError};

/// Held while this process uses the store; `gc` waits for all of them.
#[derive(Debug)]
pub struct StoreLease {
    _file: File,
}

/// Held while this process runs a key; others that want the same key wait.
#[derive(Debug)]
pub struct KeyLock {
    _file: File,
}

impl Store {
    fn lock_file(&self, name: &str) -> Result<File> {
        let path = self.root().join(name);
        // Who may only read takes part by a lock that only reads.
        if self.read_only() {
            return File::open(&path).map_err(|e| StoreError::at(&path, e));
        }
        File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|e| StoreError::at(&path, e))
    }

    /// Takes part in the store: nothing is collected until the lease is dropped. Waits for a running
    /// `gc` to end.
    pub fn lease(&self) -> Result<StoreLease> {
        let file = self.lock_file("lock")?;
        file.lock_shared().map_err(|e| StoreError::at(&self.root().join("lock"), e))?;
        Ok(StoreLease { _file: file })
    }

    /// The whole store for this process alone, or [`StoreError::InUse`] at once.
    pub(crate) fn lease_alone(&self) -> Result<StoreLease> {
        let file = self.lock_file("lock")?;
        match file.try_lock() {
            Ok(()) => Ok(StoreLease { _file: file }),
            Err(TryLockError::WouldBlock) => {
                Err(StoreError::InUse { root: self.root().to_path_buf() })
            }
            Err(TryLockError::Error(e)) => Err(StoreError::at(&self.root().join("lock"), e)),
        }
    }

    /// The right to run `key`, or `None` when another process has it.
    pub fn try_lock_key(&self, key: &Digest) -> Result<Option<KeyLock>> {
        let file = self.lock_file(&format!("locks/{key}"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(KeyLock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => {
                Err(StoreError::at(&self.root().join("locks").join(key.to_string()), e))
            }
        }
    }

    /// Removes what dead processes left in `tmp/`, if no other process uses the store just now.
    pub fn sweep(&self) -> Result<()> {
        if self.read_only() {
            return Ok(());
        }
        let _alone = match self.lease_alone() {
            Ok(lease) => lease,
            Err(StoreError::InUse { .. }) => return Ok(()),
            Err(e) => return Err(e),
        };
        for entry in fs_err::read_dir(self.root().join("tmp"))? {
            let path = entry?.path();
            crate::tree::remove_all(&path).map_err(|e| StoreError::at(&path, e))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::Store;

    /// Several that begin one store at once, each sweeping what nobody uses: all of them get it.
    #[test]
    fn a_store_begun_by_several_at_once() {
        let dir = tempfile::tempdir().expect("tempdir");
        for i in 0..60 {
            let root = dir.path().join(i.to_string());
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        let store = Store::open(&root).expect("open");
                        store.sweep().expect("sweep");
                        store.lease().expect("lease");
                    });
                }
            });
        }
    }
}
