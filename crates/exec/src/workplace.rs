//! The folder in which actions run, one after the other.
//!
//! Making and removing a dozen files and folders for every action costs more than a small action
//! itself, and some file systems search past everything that was removed lately. So a worker keeps its
//! folder, if the last action left no trace in it but its outputs. Whatever it did leave, it left in a
//! folder that the next one does not get.

use crate::error::Result;
use crate::sandbox::{POINTS, PRIVATE_SHM, PRIVATE_TMP};
use fs_err as fs;
use sim_store::{Scratch, Store};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The names of an action's folders.
pub(crate) const FOLDERS: [&str; 6] = ["in", "out", "home", "tmp", PRIVATE_TMP, PRIVATE_SHM];
/// What the action is told.
pub(crate) const REQUEST: &str = "request.json";

/// A folder ready for an action.
#[derive(Debug)]
pub(crate) struct Workplace {
    scratch: Scratch,
    /// Mode and owner of every folder in it when it was made.
    owned: (u32, u32, u32),
}

impl Workplace {
    /// A new one in a store.
    pub(crate) fn new(store: &Store) -> Result<Self> {
        let scratch = store.scratch("action-")?;
        for dir in FOLDERS {
            fs::create_dir(scratch.path().join(dir))?;
        }
        for point in POINTS {
            fs::create_dir(scratch.path().join(PRIVATE_TMP).join(point))?;
        }
        let owned = owned(&fs::symlink_metadata(scratch.path().join("out"))?);
        Ok(Self { scratch, owned })
    }

    pub(crate) fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// The same for another action; nothing when the last one left something behind. Then, or when
    /// anything cannot be told for sure, all of it is removed.
    pub(crate) fn again(self) -> Option<Self> {
        self.renew().is_ok_and(|renewed| renewed).then_some(self)
    }

    fn renew(&self) -> io::Result<bool> {
        let top = self.path();
        for entry in std::fs::read_dir(top)? {
            let name = entry?.file_name();
            if name != REQUEST && !FOLDERS.iter().any(|f| name == **f) {
                return Ok(false);
            }
        }
        let out = top.join("out");
        sim_store::tree::remove_all(&out)?;
        std::fs::create_dir(&out)?;
        let inputs = top.join("in");
        for entry in std::fs::read_dir(&inputs)? {
            let entry = entry?;
            if !entry.file_type()?.is_symlink() {
                return Ok(false);
            }
            std::fs::remove_file(entry.path())?;
        }
        let private = top.join(PRIVATE_TMP);
        let mut folders = vec![inputs, top.join("home"), top.join("tmp"), top.join(PRIVATE_SHM)];
        folders.extend(POINTS.iter().map(|p| private.join(p)));
        for folder in folders {
            if !self.as_made(&folder)? || std::fs::read_dir(&folder)?.next().is_some() {
                return Ok(false);
            }
        }
        if !self.as_made(&private)? || std::fs::read_dir(&private)?.count() != POINTS.len() {
            return Ok(false);
        }
        // Written again in place: no other name may lead to it.
        let request = top.join(REQUEST);
        let meta = std::fs::symlink_metadata(&request)?;
        Ok(meta.is_file()
            && meta.nlink() == 1
            && meta.mode() & 0o7777 & !0o022 == 0o644
            && plain(&request))
    }

    fn as_made(&self, folder: &Path) -> io::Result<bool> {
        let meta = std::fs::symlink_metadata(folder)?;
        Ok(meta.is_dir() && owned(&meta) == self.owned && plain(folder))
    }
}

fn owned(meta: &Metadata) -> (u32, u32, u32) {
    (meta.mode(), meta.uid(), meta.gid())
}

/// Whether there are no extended attributes, such as access lists that new files would take over.
fn plain(path: &Path) -> bool {
    let mut names = [0u8; 256];
    match rustix::fs::llistxattr(path, &mut names) {
        Ok(length) => length == 0,
        Err(e) => e == rustix::io::Errno::NOTSUP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn fresh() -> (tempfile::TempDir, Store, Workplace) {
        let dir = tempfile::tempdir().expect("tempdir");
        let store = Store::open(&dir.path().join("s")).expect("open");
        let place = Workplace::new(&store).expect("made");
        fs::write(place.path().join(REQUEST), "{}").expect("write");
        (dir, store, place)
    }

    #[test]
    fn one_that_was_only_used_as_meant_is_used_again_without_what_was_in_it() {
        let (_dir, _store, place) = fresh();
        symlink("/x", place.path().join("in/a")).expect("link");
        fs::write(place.path().join("out/x"), "").expect("write");
        let place = place.again().expect("as it was made");
        assert_eq!(fs::read_dir(place.path().join("in")).expect("in").count(), 0);
        assert_eq!(fs::read_dir(place.path().join("out")).expect("out").count(), 0);
        fs::remove_dir(place.path().join("out")).expect("taken");
        assert!(place.again().is_some());
    }

    #[test]
    fn any_trace_ends_it() {
        let mode = |m| std::fs::Permissions::from_mode(m);
        type Trace<'t> = (&'t str, &'t dyn Fn(&Path));
        let traces: [Trace<'_>; 8] = [
            ("a file", &|p| fs::write(p.join("status.json"), "").expect("write")),
            ("a file in home", &|p| fs::write(p.join("home/x"), "").expect("write")),
            ("a file in its /tmp", &|p| fs::write(p.join("private-tmp/x"), "").expect("write")),
            ("a mode", &|p| fs::set_permissions(p.join("tmp"), mode(0o700)).expect("chmod")),
            ("a file in place of a folder", &|p| {
                fs::remove_dir(p.join("tmp")).expect("rm");
                fs::write(p.join("tmp"), "").expect("write");
            }),
            ("a folder of inputs", &|p| fs::create_dir(p.join("in/many")).expect("mkdir")),
            ("another name of the request", &|p| {
                fs::hard_link(p.join(REQUEST), p.join("out/x")).expect("link");
                fs::rename(p.join("out"), p.join("../elsewhere")).expect("taken");
            }),
            ("no request", &|p| fs::remove_file(p.join(REQUEST)).expect("rm")),
        ];
        for (what, leave) in traces {
            let (_dir, _store, place) = fresh();
            let path = place.path().to_path_buf();
            leave(&path);
            assert!(place.again().is_none(), "{what}");
            assert!(!path.exists(), "{what}");
        }
    }
}
