//! Locks between processes. The kernel releases them when their holder dies, however it dies.

use crate::{Result, Store, StoreError};
use sim_model::Digest;
use std::fs::{File, TryLockError};
use std::path::Path;

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

fn writable(path: &Path) -> Result<File> {
    let mut options = File::options();
    let options = options.create(true).truncate(false).read(true).write(true);
    options.open(path).map_err(|e| StoreError::at(path, e))
}

/// Locks one byte, which need not be there, for this opening of the file: the lock ends when it is
/// closed, by whatever closes it.
#[expect(unsafe_code, reason = "no library at hand has locks of open file descriptions")]
fn try_lock_byte(file: &File, at: i64) -> std::io::Result<bool> {
    use std::os::fd::AsRawFd;
    // SAFETY: `flock` is plain old data; the call gets a live descriptor and a pointer to it.
    let result = unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        lock.l_type = libc::F_WRLCK as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = at;
        lock.l_len = 1;
        libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock)
    };
    if result == 0 {
        return Ok(true);
    }
    let e = std::io::Error::last_os_error();
    match e.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(false),
        _ => Err(e),
    }
}

fn share(file: File, path: &Path) -> Result<StoreLease> {
    file.lock_shared().map_err(|e| StoreError::at(path, e))?;
    Ok(StoreLease { _file: file })
}

/// A lease of a store that is only being made.
pub(crate) fn first_lease(root: &Path) -> Result<StoreLease> {
    let path = root.join("lock");
    share(writable(&path)?, &path)
}

impl Store {
    fn lock_file(&self, name: impl AsRef<Path>) -> Result<File> {
        let path = self.root().join(name);
        // Who may only read takes part by a lock that only reads.
        if self.read_only() {
            return File::open(&path).map_err(|e| StoreError::at(&path, e));
        }
        writable(&path)
    }

    /// Takes part in the store: nothing is collected until the lease is dropped. Waits for a running
    /// `gc` to end.
    pub fn lease(&self) -> Result<StoreLease> {
        share(self.lock_file("lock")?, &self.root().join("lock"))
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

    /// The right to run `key`, or `None` when another process has it. Two keys that begin with the
    /// same 63 bits share a lock, which costs a wait and no more.
    pub fn try_lock_key(&self, key: &Digest) -> Result<Option<KeyLock>> {
        // One file for all keys: a file for each would have to be made and removed.
        let name = Path::new("locks").join("keys");
        let file = self.lock_file(&name)?;
        let [a, b, c, d, e, f, g, h, ..] = *key.as_bytes();
        let at = i64::from_be_bytes([a >> 1, b, c, d, e, f, g, h]).min(i64::MAX - 1);
        Ok(try_lock_byte(&file, at)
            .map_err(|e| StoreError::at(&self.root().join(name), e))?
            .then_some(KeyLock { _file: file }))
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
    use super::*;

    #[test]
    fn a_key_is_locked_once_and_others_are_free() {
        let dir = tempfile::tempdir().expect("tempdir");
        let store = Store::open(&dir.path().join("s")).expect("open");
        let (a, b) = (Digest::of(b"a"), Digest::from_bytes([0xff; 32]));
        let first = store.try_lock_key(&a).expect("lock").expect("free");
        assert!(store.try_lock_key(&a).expect("lock").is_none());
        let other = store.try_lock_key(&b).expect("lock").expect("free");
        assert!(store.try_lock_key(&b).expect("lock").is_none());
        drop(first);
        assert!(store.try_lock_key(&a).expect("lock").is_some());
        drop(other);
    }

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
