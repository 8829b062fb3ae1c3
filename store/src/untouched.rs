//! Whether a stored tree was touched since it was taken in, told by its times alone, so that a run can
//! afford to ask it of every result that it uses.
//!
//! Trees are read-only, but their owner may change them all the same. When a tree is taken in, the
//! last thing done to it is to set its top's modification time to forty years before that moment.
//! Nobody can set a change time: so the two times of the top, forty years apart, say when the tree was
//! taken in and that nothing was done to the top since; and nothing below may have a change time
//! later than the top's. A tree that was touched is hashed; if it still is what its name says, it is
//! marked anew.
//!
//! This finds edits by people and programs. It does not find a disk that loses bits: `--verify` and
//! `store verify` hash.

use crate::{Result, Store, StoreError, Watch};
use fs_err as fs;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT, utimensat};
use rustix::time::{ClockId, clock_gettime};
use sim_model::Digest;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// How far the two times of a marked top lie apart: no clock is set back that far.
const APART_NS: i128 = 40 * 365 * 86_400 * NS;
/// How much later than asked for the change time may be: some ticks of the kernel's clock.
const TICKS_NS: i128 = 20_000_000;
const NS: i128 = 1_000_000_000;

/// Marks a tree as taken in. What cannot be marked is hashed each time it is used.
pub(crate) fn mark(path: &Path) {
    // The clock that change times come from.
    let now = clock_gettime(ClockId::RealtimeCoarse);
    let then = i128::from(now.tv_sec) - APART_NS / NS;
    let Ok(tv_sec) = i64::try_from(then) else { return };
    let times = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec, tv_nsec: now.tv_nsec },
    };
    let _ = utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW);
}

/// Whether marking it was the last that was done to it.
fn marked(meta: &Metadata) -> bool {
    let ns = |s: i64, n: i64| i128::from(s) * NS + i128::from(n);
    let marked = ns(meta.mtime(), meta.mtime_nsec()) + APART_NS;
    let changed = ns(meta.ctime(), meta.ctime_nsec());
    (0..TICKS_NS).contains(&(changed - marked))
}

fn untouched(path: &Path, meta: &Metadata) -> Result<bool> {
    if !marked(meta) {
        return Ok(false);
    }
    let taken = (meta.ctime(), meta.ctime_nsec());
    Ok(!meta.is_dir() || below_is_older(path, taken)?)
}

fn below_is_older(dir: &Path, taken: (i64, i64)) -> Result<bool> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        if (meta.ctime(), meta.ctime_nsec()) > taken
            || meta.is_dir() && !below_is_older(&entry.path(), taken)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Adds a tree and all below it to what is watched; false when it was touched.
fn watch_all(path: &Path, meta: &Metadata, watch: &mut Watch, now_ns: i128) -> Result<bool> {
    let taken = (meta.ctime(), meta.ctime_nsec());
    watch.itself(path, meta, now_ns);
    let mut todo = if meta.is_dir() { vec![path.to_path_buf()] } else { Vec::new() };
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let (meta, path) = (entry.metadata()?, entry.path());
            if (meta.ctime(), meta.ctime_nsec()) > taken {
                return Ok(false);
            }
            watch.itself(&path, &meta, now_ns);
            if meta.is_dir() {
                todo.push(path);
            }
        }
    }
    Ok(marked(meta))
}

impl Store {
    /// Adds a tree to what is watched, if it was not touched since it was taken in; otherwise
    /// nothing can be concluded from it.
    pub fn watch_tree(&self, digest: &Digest, watch: &mut Watch, now_ns: i128) {
        let path = self.tree_path(digest);
        let meta = fs::symlink_metadata(&path);
        if !meta.is_ok_and(|m| watch_all(&path, &m, watch, now_ns).unwrap_or(false)) {
            watch.give_up();
        }
    }

    /// Whether a tree is there and is what its name says, hashing it only where its times say that it
    /// was touched.
    pub fn intact(&self, digest: &Digest) -> Result<bool> {
        let path = self.tree_path(digest);
        let meta = match fs::symlink_metadata(&path) {
            Ok(meta) => meta,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(e.into()),
        };
        if untouched(&path, &meta).unwrap_or(false) {
            return Ok(true);
        }
        match self.verified_tree(digest) {
            Ok(_) => {
                if !self.read_only() {
                    mark(&path);
                }
                Ok(true)
            }
            Err(
                StoreError::Damaged { .. }
                | StoreError::MissingTree { .. }
                | StoreError::BadEntry { .. }
                | StoreError::ChangedWhileRead { .. },
            ) => Ok(false),
            Err(e) => Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::LinkRule;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    type Change = fn(&Path);

    /// Waits until the clock of the file system is past what it says of `path`: a change in the same
    /// tick could not be seen, and no hand is that fast.
    fn tick(dir: &Path, path: &Path) {
        let time = |p: &Path| {
            let meta = fs::symlink_metadata(p).expect("stat");
            (meta.ctime(), meta.ctime_nsec())
        };
        let ns = |(s, n): (i64, i64)| i128::from(s) * NS + i128::from(n);
        loop {
            fs::write(dir.join("probe"), "").expect("write");
            if ns(time(&dir.join("probe"))) > ns(time(path)) + TICKS_NS {
                return;
            }
        }
    }

    fn writable(path: &Path) {
        fs::set_permissions(path, Permissions::from_mode(0o755)).expect("chmod");
    }

    #[test]
    fn every_change_by_hand_is_seen() {
        let changes: [(&str, Change); 8] = [
            ("another content, and all modes put back", |t| {
                writable(t);
                writable(&t.join("d"));
                fs::set_permissions(t.join("d/f"), Permissions::from_mode(0o644)).expect("chmod");
                fs::write(t.join("d/f"), "y").expect("write");
                for (path, mode) in [("d/f", 0o444), ("d", 0o555), ("", 0o555)] {
                    fs::set_permissions(t.join(path), Permissions::from_mode(mode)).expect("chmod");
                }
            }),
            ("another content", |t| {
                writable(&t.join("d/f"));
                fs::write(t.join("d/f"), "y").expect("write");
            }),
            ("another executable bit", |t| writable(&t.join("d/f"))),
            ("a new file", |t| {
                writable(t);
                fs::write(t.join("new"), "").expect("write");
            }),
            ("a new file below", |t| {
                writable(&t.join("d"));
                fs::write(t.join("d/new"), "").expect("write");
            }),
            ("a file less", |t| {
                writable(&t.join("d"));
                fs::remove_file(t.join("d/f")).expect("remove");
            }),
            ("another target", |t| {
                writable(t);
                fs::remove_file(t.join("l")).expect("remove");
                symlink("x", t.join("l")).expect("ln");
            }),
            ("another name", |t| {
                writable(&t.join("d"));
                fs::rename(t.join("d/f"), t.join("d/g")).expect("mv");
            }),
        ];
        for (what, change) in changes {
            let dir = tempfile::tempdir().expect("tempdir");
            let store = Store::open(&dir.path().join("store")).expect("open");
            let out = dir.path().join("out");
            let make = || {
                fs::create_dir_all(out.join("d")).expect("mkdir");
                fs::write(out.join("d/f"), "x").expect("write");
                symlink("d/f", out.join("l")).expect("ln");
                store.take(&out, LinkRule::Inside).expect("take").0.digest
            };
            let digest = make();
            let path = store.tree_path(&digest);
            let meta = || fs::symlink_metadata(&path).expect("stat");
            assert!(untouched(&path, &meta()).expect("look"), "{what}: as it was taken in");
            tick(dir.path(), &path);
            change(&path);
            assert!(!store.intact(&digest).expect("look"), "{what}");
            // Made again, it takes the place of the damaged one, which is set aside.
            assert_eq!(make(), digest);
            assert!(store.intact(&digest).expect("look"), "{what}");
            assert!(store.verified_tree(&digest).is_ok(), "{what}");
            let aside = fs::read_dir(store.root().join("quarantine")).expect("read").count();
            assert_eq!(aside, 1, "{what}");
        }
    }

    #[test]
    fn what_was_touched_and_is_the_same_is_marked_anew() {
        let dir = tempfile::tempdir().expect("tempdir");
        let store = Store::open(&dir.path().join("store")).expect("open");
        fs::write(dir.path().join("f"), "x").expect("write");
        let digest = store.copy_in(&dir.path().join("f"), LinkRule::Inside).expect("take").0.digest;
        let path = store.tree_path(&digest);
        // As a copy of a whole store is, or one by an older program.
        let now = fs::File::options().read(true).open(&path).expect("open");
        now.file().set_modified(std::time::UNIX_EPOCH).expect("touch");
        let meta = || fs::symlink_metadata(&path).expect("stat");
        assert!(!untouched(&path, &meta()).expect("look"));
        assert!(store.intact(&digest).expect("look"));
        assert!(untouched(&path, &meta()).expect("look"));
        crate::tree::remove_all(&path).expect("remove");
        assert!(!store.intact(&digest).expect("look"));
    }
}
