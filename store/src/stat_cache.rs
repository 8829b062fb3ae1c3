//! Digests of source files by what `stat` says of them, so that unchanged files are not read again.
//!
//! An entry is used only when device, inode, size, mtime, ctime and mode are all the same, and when
//! the file had been left alone for a while before it was hashed: a file that was written in the
//! same tick of the clock as it was hashed could change again without its times changing (the
//! "racy" case known from git), so such an entry is never trusted.

use crate::stamp::{Stamp, Watch};
use crate::{Result, Store, write_atomic};
use sim_model::Digest;
use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Two seconds: coarser than any file system's clock in use.
const RACY_NS: i128 = 2_000_000_000;
const MAGIC: &[u8; 16] = b"sim-pipe-stat-1\n";

#[derive(Clone, Copy, Debug)]
struct Entry {
    stamp: Stamp,
    digest: Digest,
}

/// The cache. A missing or damaged file is an empty cache.
#[derive(Debug, Default)]
pub struct StatCache {
    entries: HashMap<PathBuf, Entry>,
    changed: bool,
    /// What was looked at, where somebody wants to know.
    pub(crate) watch: Option<Watch>,
}

impl StatCache {
    /// Reads the cache of a store.
    pub fn load(store: &Store) -> Self {
        let bytes = std::fs::read(store.cache_file("stat-v1")).unwrap_or_default();
        Self { entries: decode(&bytes).unwrap_or_default(), ..Self::default() }
    }

    /// From now on, keeps what is looked at.
    pub fn watch(&mut self) {
        self.watch = Some(Watch::default());
    }

    /// What was looked at since [`Self::watch`].
    pub fn watched(&mut self) -> Option<Watch> {
        self.watch.take()
    }

    /// Writes it back if it changed.
    pub fn save(&self, store: &Store) -> Result<()> {
        if !self.changed || store.read_only() {
            return Ok(());
        }
        // A cache that checks itself: nothing is lost with it.
        let bytes = encode(&self.entries);
        write_atomic(store.root(), &store.cache_file("stat-v1"), &bytes, false)
    }

    /// The digest of `path`, if nothing about it changed since it was put here.
    pub fn get(&self, path: &Path, meta: &Metadata) -> Option<Digest> {
        let entry = self.entries.get(path)?;
        (entry.stamp == Stamp::of(meta)).then_some(entry.digest)
    }

    /// Remembers a digest that was computed after `meta` was read. `now_ns` is the wall clock in
    /// nanoseconds since 1970 from before `meta` was read.
    pub fn put(&mut self, path: &Path, meta: &Metadata, digest: Digest, now_ns: i128) {
        let stamp = Stamp::of(meta);
        let newest = stamp.mtime_ns.max(stamp.ctime_ns);
        // Racy, or from the future: its times prove nothing.
        if newest + RACY_NS > now_ns {
            if self.entries.remove(path).is_some() {
                self.changed = true;
            }
            return;
        }
        self.entries.insert(path.to_path_buf(), Entry { stamp, digest });
        self.changed = true;
    }
}

fn encode(entries: &HashMap<PathBuf, Entry>) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    for (path, e) in entries {
        let path = path.as_os_str().as_bytes();
        out.extend_from_slice(&(path.len() as u32).to_le_bytes());
        out.extend_from_slice(path);
        out.extend_from_slice(&e.stamp.device.to_le_bytes());
        out.extend_from_slice(&e.stamp.inode.to_le_bytes());
        out.extend_from_slice(&e.stamp.size.to_le_bytes());
        out.extend_from_slice(&e.stamp.mtime_ns.to_le_bytes());
        out.extend_from_slice(&e.stamp.ctime_ns.to_le_bytes());
        out.extend_from_slice(&e.stamp.mode.to_le_bytes());
        out.extend_from_slice(e.digest.as_bytes());
    }
    let sum = Digest::of(&out);
    out.extend_from_slice(sum.as_bytes());
    out
}

fn decode(bytes: &[u8]) -> Option<HashMap<PathBuf, Entry>> {
    let (body, sum) = bytes.split_last_chunk::<32>()?;
    if Digest::of(body).as_bytes() != sum {
        return None;
    }
    let mut rest = body.strip_prefix(MAGIC)?;
    fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
        let (head, tail) = rest.split_first_chunk::<N>()?;
        *rest = tail;
        Some(*head)
    }
    let mut out = HashMap::new();
    while !rest.is_empty() {
        let len = u32::from_le_bytes(take(&mut rest)?) as usize;
        let path = rest.get(..len)?.to_vec();
        rest = &rest[len..];
        let stamp = Stamp {
            device: u64::from_le_bytes(take(&mut rest)?),
            inode: u64::from_le_bytes(take(&mut rest)?),
            size: u64::from_le_bytes(take(&mut rest)?),
            mtime_ns: i128::from_le_bytes(take(&mut rest)?),
            ctime_ns: i128::from_le_bytes(take(&mut rest)?),
            mode: u32::from_le_bytes(take(&mut rest)?),
        };
        let digest = Digest::from_bytes(take(&mut rest)?);
        out.insert(PathBuf::from(std::ffi::OsString::from_vec(path)), Entry { stamp, digest });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    const LATER: i128 = i128::MAX / 4;

    #[test]
    fn round_trip_and_damage() {
        let dir = tempfile::tempdir().expect("tempdir");
        let store = Store::open(&dir.path().join("s")).expect("open");
        let file = dir.path().join("f");
        std::fs::write(&file, "x").expect("write");
        let meta = std::fs::metadata(&file).expect("stat");
        let mut cache = StatCache::load(&store);
        cache.put(&file, &meta, Digest::of(b"x"), LATER);
        cache.save(&store).expect("save");
        assert_eq!(StatCache::load(&store).get(&file, &meta), Some(Digest::of(b"x")));
        let path = store.cache_file("stat-v1");
        let mut bytes = std::fs::read(&path).expect("read");
        bytes[40] ^= 1;
        std::fs::write(&path, bytes).expect("write");
        assert_eq!(StatCache::load(&store).get(&file, &meta), None);
    }

    #[test]
    fn racy_and_future_files_are_not_trusted() {
        let dir = tempfile::tempdir().expect("tempdir");
        let file = dir.path().join("f");
        std::fs::write(&file, "x").expect("write");
        let meta = std::fs::metadata(&file).expect("stat");
        let written = i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec());
        let mut cache = StatCache::default();
        cache.put(&file, &meta, Digest::of(b"x"), written + 1);
        assert_eq!(cache.get(&file, &meta), None);
        cache.put(&file, &meta, Digest::of(b"x"), written + 3_000_000_000);
        assert_eq!(cache.get(&file, &meta), Some(Digest::of(b"x")));
        // The clock was set back: the file now seems to come from the future.
        cache.put(&file, &meta, Digest::of(b"x"), written - 3_000_000_000);
        assert_eq!(cache.get(&file, &meta), None);
    }

    #[test]
    fn same_size_and_mtime_but_other_content_is_seen_by_ctime() {
        let dir = tempfile::tempdir().expect("tempdir");
        let file = dir.path().join("f");
        std::fs::write(&file, "x").expect("write");
        let meta = std::fs::metadata(&file).expect("stat");
        let mut cache = StatCache::default();
        cache.put(&file, &meta, Digest::of(b"x"), LATER);
        std::fs::write(&file, "y").expect("write");
        let times = std::fs::FileTimes::new().set_modified(meta.modified().expect("mtime"));
        std::fs::File::options()
            .write(true)
            .open(&file)
            .and_then(|f| f.set_times(times))
            .expect("set the mtime back");
        let now = std::fs::metadata(&file).expect("stat");
        assert_eq!((now.len(), now.mtime_nsec()), (meta.len(), meta.mtime_nsec()));
        assert_eq!(cache.get(&file, &now), None);
    }
}
