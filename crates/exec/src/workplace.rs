//! The folder in which actions run, one after the other.
//!
//! Making and removing a dozen files and folders for every action costs more than a small action
//! itself, and some file systems search past everything that was removed lately. So a worker keeps its
//! folder, if the last action left no trace in it but its outputs. Whatever it did leave, it left in a
//! folder that the next one does not get.

use crate::error::Result;
use crate::sandbox::{POINTS, PRIVATE_SHM, PRIVATE_TMP};
use fs_err as fs;
use rustix::fs::{Mode, OFlags};
use sim_store::{Scratch, Store};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The names of an action's folders.
pub(crate) const FOLDERS: [&str; 6] = ["in", "out", "home", "tmp", PRIVATE_TMP, PRIVATE_SHM];
/// The mode of the folder itself.
pub(crate) const MODE: u32 = 0o700;
/// What the action is told.
pub(crate) const REQUEST: &str = "request.json";

/// A folder ready for an action.
#[derive(Debug)]
pub(crate) struct Workplace {
    scratch: Scratch,
    /// What each folder was when it was made, by path below the top, which is the empty path.
    made: Vec<(PathBuf, Made)>,
    /// Whether every change of a folder changes its time.
    exact: bool,
}

/// A folder, but for what lies in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Made {
    mode: u32,
    owner: (u32, u32),
    flags: Option<u32>,
    /// Changes with everything else: contents, modes, owners, attributes, flags, times.
    changed: (i64, i64),
}

impl Made {
    /// Of a folder itself; `None` for anything else, a link to a folder included.
    fn of(path: &Path) -> io::Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(folder) => std::fs::File::from(folder),
            Err(rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        let meta = folder.metadata()?;
        let flags = rustix::fs::ioctl_getflags(&folder).ok().map(|f| f.bits());
        // Attributes such as access lists, which new files would take over.
        let mut names = [0u8; 256];
        let plain = match rustix::fs::flistxattr(&folder, &mut names[..]) {
            Ok(length) => length == 0,
            Err(e) => e == rustix::io::Errno::NOTSUP,
        };
        Ok(plain.then(|| Self {
            mode: meta.mode(),
            owner: (meta.uid(), meta.gid()),
            flags,
            changed: (meta.ctime(), meta.ctime_nsec()),
        }))
    }
}

/// Folders that nobody but an action changes: not the top, `in` and `out`, which each action is given
/// anew.
fn fixed() -> impl Iterator<Item = PathBuf> {
    let inside = POINTS.iter().map(|p| Path::new(PRIVATE_TMP).join(p));
    ["home", "tmp", PRIVATE_TMP, PRIVATE_SHM].into_iter().map(PathBuf::from).chain(inside)
}

impl Workplace {
    /// A new one in a store.
    pub(crate) fn new(store: &Store) -> Result<Self> {
        let scratch = store.scratch("action-")?;
        let top = scratch.path();
        // As it is set again after each action, which may have locked everybody out.
        fs::set_permissions(top, std::fs::Permissions::from_mode(MODE))?;
        for dir in FOLDERS {
            fs::create_dir(top.join(dir))?;
        }
        for point in POINTS {
            fs::create_dir(top.join(PRIVATE_TMP).join(point))?;
        }
        let exact = changes_show(&top.join("out"))?;
        let mut made = Vec::new();
        for path in fixed().chain([PathBuf::new(), PathBuf::from("in"), PathBuf::from("out")]) {
            if let Some(folder) = Made::of(&top.join(&path))? {
                made.push((path, folder));
            }
        }
        Ok(Self { scratch, made, exact })
    }

    pub(crate) fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// The same for another action; nothing when the last one left something behind. Then, or when
    /// anything cannot be told for sure, all of it is removed. `links` are names of links in the top
    /// that whoever gave the action its inputs made there.
    pub(crate) fn again(self, links: &[OsString]) -> Option<Self> {
        self.renew(links).is_ok_and(|renewed| renewed).then_some(self)
    }

    /// Nothing is removed or made before everything was looked at.
    fn renew(&self, own: &[OsString]) -> io::Result<bool> {
        let top = self.path();
        if !self.exact {
            return Ok(false);
        }
        let mut links = Vec::new();
        for entry in std::fs::read_dir(top)? {
            let entry = entry?;
            let name = entry.file_name();
            if own.contains(&name) && entry.file_type()?.is_symlink() {
                links.push(entry.path());
            } else if name != REQUEST && !FOLDERS.iter().any(|f| name == **f) {
                return Ok(false);
            }
        }
        for path in fixed() {
            if Made::of(&top.join(&path))? != self.as_made(&path) {
                return Ok(false);
            }
        }
        for path in ["", "in"] {
            // Changed by whoever gave the action its inputs, so their times say nothing.
            let (Some(now), Some(made)) =
                (Made::of(&top.join(path))?, self.as_made(Path::new(path)))
            else {
                return Ok(false);
            };
            if now != (Made { changed: now.changed, ..made }) {
                return Ok(false);
            }
        }
        // Written again in place: no other name may lead to it.
        let request = std::fs::symlink_metadata(top.join(REQUEST))?;
        if !request.is_file() || request.nlink() != 1 {
            return Ok(false);
        }
        for entry in std::fs::read_dir(top.join("in"))? {
            let entry = entry?;
            if !entry.file_type()?.is_symlink() {
                return Ok(false);
            }
            links.push(entry.path());
        }
        links.iter().try_for_each(std::fs::remove_file)?;
        std::fs::remove_file(top.join(REQUEST))?;
        let out = top.join("out");
        sim_store::tree::remove_all(&out)?;
        std::fs::create_dir(&out)?;
        Ok(true)
    }

    fn as_made(&self, path: &Path) -> Option<Made> {
        self.made.iter().find(|(p, _)| p == path).map(|(_, made)| *made)
    }
}

/// Whether the file system notes every change with another time: older ones tick every few
/// milliseconds, in which a small action can come and go.
fn changes_show(folder: &Path) -> io::Result<bool> {
    let times = || -> io::Result<_> {
        let meta = std::fs::symlink_metadata(folder)?;
        Ok((meta.ctime(), meta.ctime_nsec(), meta.permissions()))
    };
    let mut last = times()?;
    for _ in 0..3 {
        std::fs::set_permissions(folder, last.2.clone())?;
        let now = times()?;
        if (now.0, now.1) == (last.0, last.1) {
            return Ok(false);
        }
        last = now;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

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
        // As a run does, whatever the action did.
        fs::set_permissions(place.path(), std::fs::Permissions::from_mode(MODE)).expect("chmod");
        let place = place.again(&[]).expect("as it was made");
        assert_eq!(fs::read_dir(place.path().join("in")).expect("in").count(), 0);
        assert_eq!(fs::read_dir(place.path().join("out")).expect("out").count(), 0);
        fs::write(place.path().join(REQUEST), "{}").expect("write");
        symlink("in/a", place.path().join("source")).expect("link");
        let place = place.again(&["source".into()]).expect("its own link");
        assert!(!place.path().join("source").is_symlink());
        fs::write(place.path().join(REQUEST), "{}").expect("write");
        fs::remove_dir(place.path().join("out")).expect("taken");
        assert!(place.again(&[]).is_some());
    }

    #[test]
    fn any_trace_ends_it() {
        let mode = |m| std::fs::Permissions::from_mode(m);
        type Trace<'t> = (&'t str, &'t dyn Fn(&Path));
        let traces: [Trace<'_>; 13] = [
            ("a link that nobody was given", &|p| symlink("/x", p.join("other")).expect("link")),
            ("a file in place of a link", &|p| fs::write(p.join("source"), "").expect("write")),
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
            ("a link in place of its inputs", &|p| {
                fs::create_dir(p.join("../victim")).expect("mkdir");
                symlink("/x", p.join("../victim/l")).expect("link");
                fs::remove_dir(p.join("in")).expect("rm");
                symlink("../victim", p.join("in")).expect("link");
            }),
            ("another mode of the folder itself", &|p| {
                fs::set_permissions(p, mode(0o711)).expect("chmod");
            }),
            ("another time", &|p| {
                let home = fs::File::open(p.join("home")).expect("open");
                home.file().set_modified(std::time::UNIX_EPOCH).expect("touch");
            }),
            ("no request", &|p| fs::remove_file(p.join(REQUEST)).expect("rm")),
        ];
        for (what, leave) in traces {
            let (_dir, _store, place) = fresh();
            let path = place.path().to_path_buf();
            leave(&path);
            assert!(place.again(&["source".into()]).is_none(), "{what}");
            assert!(!path.exists(), "{what}");
            let victim = path.with_file_name("victim").join("l");
            assert!(
                !path.with_file_name("victim").exists() || fs::symlink_metadata(victim).is_ok()
            );
        }
    }
}
