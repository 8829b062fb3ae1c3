//! What `stat` says of a file or folder, to tell later whether it changed.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Everything that changes when a file's content or a folder's entries do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) mtime_ns: i128,
    pub(crate) ctime_ns: i128,
    pub(crate) mode: u32,
}

impl Stamp {
    /// Of what `stat` or `lstat` said.
    pub fn of(meta: &Metadata) -> Self {
        let ns = |s: i64, n: i64| i128::from(s) * 1_000_000_000 + i128::from(n);
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.len(),
            mtime_ns: ns(meta.mtime(), meta.mtime_nsec()),
            ctime_ns: ns(meta.ctime(), meta.ctime_nsec()),
            mode: meta.mode(),
        }
    }

    #[expect(clippy::unnecessary_cast, reason = "the types differ between processors")]
    fn of_stat(stat: &rustix::fs::Stat) -> Self {
        let ns = |s: i64, n: u64| i128::from(s) * 1_000_000_000 + i128::from(n);
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            mtime_ns: ns(stat.st_mtime as i64, stat.st_mtime_nsec as u64),
            ctime_ns: ns(stat.st_ctime as i64, stat.st_ctime_nsec as u64),
            mode: stat.st_mode,
        }
    }

    /// Whether a later change would show: the last one is longer ago than a tick of the file system's
    /// clock. `now_ns` is the wall clock in nanoseconds since 1970, from before the stamp was taken.
    ///
    /// Nobody can set a change time, so one that is no whole millisecond shows a clock that ticks
    /// with the kernel's timer, every 10 ms or faster. Others may tick every two seconds.
    pub fn settled(&self, now_ns: i128) -> bool {
        let tick = if self.ctime_ns % 1_000_000 == 0 { 2_000_000_000 } else { 20_000_000 };
        self.mtime_ns.max(self.ctime_ns) + tick < now_ns
    }
}

/// Paths and what was there when they were looked at: while all of it is still the same, whatever
/// was concluded from them holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// Folders from which paths are told, where many lie: a short path is looked up sooner.
    anchors: Vec<OsString>,
    seen: Vec<Seen>,
    /// Something cannot be watched.
    unsure: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    /// Index in [`Watch::anchors`]; none for an absolute path.
    anchor: Option<u8>,
    #[serde(with = "crate::path_bytes")]
    path: PathBuf,
    /// Whether the path itself was looked at, or what it leads to.
    link: bool,
    stamp: Option<Stamp>,
}

fn look(path: &Path, link: bool) -> Option<Stamp> {
    let meta = if link { path.symlink_metadata() } else { path.metadata() };
    meta.ok().map(|m| Stamp::of(&m))
}

impl Watch {
    /// Looks at what a path leads to. To be called before it is read.
    pub fn follow(&mut self, path: &Path, now_ns: i128) {
        self.add(path, false, look(path, false), now_ns);
    }

    /// Takes what is known of the path itself, links not followed.
    pub fn itself(&mut self, path: &Path, meta: &Metadata, now_ns: i128) {
        self.add(path, true, Some(Stamp::of(meta)), now_ns);
    }

    fn add(&mut self, path: &Path, link: bool, stamp: Option<Stamp>, now_ns: i128) {
        self.unsure |= stamp.is_some_and(|s| !s.settled(now_ns));
        let anchored = |(i, anchor): (usize, &OsString)| {
            let inside = path.strip_prefix(anchor).ok().filter(|p| !p.as_os_str().is_empty())?;
            Some((u8::try_from(i).ok()?, inside))
        };
        let seen = match self.anchors.iter().enumerate().find_map(anchored) {
            Some((i, inside)) => Seen { anchor: Some(i), path: inside.to_path_buf(), link, stamp },
            None => Seen { anchor: None, path: path.to_path_buf(), link, stamp },
        };
        self.seen.push(seen);
    }

    /// Says that something was looked at that no stamp can tell of.
    pub fn give_up(&mut self) {
        self.unsure = true;
    }

    /// One that looks up what lies in these absolute folders from there.
    pub fn anchored(anchors: Vec<PathBuf>) -> Self {
        Self {
            anchors: anchors.into_iter().map(PathBuf::into_os_string).collect(),
            ..Self::default()
        }
    }

    /// Adds what another one saw.
    pub fn join(&mut self, other: Self) {
        let Self { anchors, seen, unsure } = other;
        self.seen.extend(seen.into_iter().map(|s| match s.anchor {
            Some(i) => {
                Seen { anchor: None, path: Path::new(&anchors[usize::from(i)]).join(s.path), ..s }
            }
            None => s,
        }));
        self.unsure |= unsure;
    }

    /// Whether a later change of anything would show.
    pub fn is_sure(&self) -> bool {
        !self.unsure
    }

    /// How many paths were looked at.
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Whether nothing was looked at.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Whether all of it is as it was.
    pub fn holds(&self) -> bool {
        !self.unsure && self.still().iter().all(|still| *still)
    }

    /// Of each path, in the order in which they were added, whether it is as it was.
    pub fn still(&self) -> Vec<bool> {
        use rayon::prelude::*;
        use rustix::fs::{AtFlags, CWD, Mode, OFlags, open, statat};
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let anchors = self.anchors.iter().map(|a| open(a.as_os_str(), flags, Mode::empty()));
        let Ok(anchors) = anchors.collect::<Result<Vec<_>, _>>() else {
            return vec![false; self.seen.len()];
        };
        let same = |seen: &Seen| {
            let from = match seen.anchor {
                Some(i) => anchors.get(usize::from(i)).map(AsFd::as_fd),
                None => Some(CWD),
            };
            let Some(from) = from else { return false };
            let how = if seen.link { AtFlags::SYMLINK_NOFOLLOW } else { AtFlags::empty() };
            statat(from, &seen.path, how).ok().map(|stat| Stamp::of_stat(&stat)) == seen.stamp
        };
        let mut still = vec![false; self.seen.len()];
        let parts = self.seen.par_chunks(2048).zip(still.par_chunks_mut(2048));
        parts.for_each(|(part, still)| {
            still.iter_mut().zip(part).for_each(|(still, seen)| *still = same(seen));
        });
        still
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const LATER: i128 = i128::MAX / 4;

    #[test]
    fn any_change_of_what_was_seen_shows() {
        let dir = tempfile::tempdir().expect("tempdir");
        let at = |name: &str| dir.path().join(name);
        let changes: [(&str, &dyn Fn()); 5] = [
            ("content", &|| fs::write(at("f"), "other").expect("write")),
            ("a new entry", &|| fs::write(at("d/new"), "").expect("write")),
            ("what was not there", &|| fs::write(at("none"), "").expect("write")),
            ("a link's target", &|| {
                fs::remove_file(at("l")).expect("rm");
                std::os::unix::fs::symlink("d", at("l")).expect("ln");
            }),
            ("a removal", &|| fs::remove_file(at("f")).expect("rm")),
        ];
        for (what, change) in changes {
            let _ = fs::remove_file(at("none"));
            let _ = fs::remove_file(at("l"));
            fs::create_dir_all(at("d")).expect("mkdir");
            fs::write(at("f"), "x").expect("write");
            std::os::unix::fs::symlink("f", at("l")).expect("ln");
            let mut watch = Watch::anchored(vec![at("d")]);
            for name in ["f", "d", "none", "l", "d/x"] {
                watch.follow(&at(name), LATER);
            }
            assert!(watch.holds() && watch.is_sure(), "{what}");
            change();
            assert!(!watch.holds(), "{what}");
        }
    }

    #[test]
    fn what_changed_just_now_is_not_trusted() {
        let dir = tempfile::tempdir().expect("tempdir");
        let file = dir.path().join("f");
        fs::write(&file, "x").expect("write");
        let ctime = look(&file, true).expect("there").ctime_ns;
        let sure = |now| {
            let mut watch = Watch::default();
            watch.follow(&file, now);
            watch.is_sure() && watch.holds()
        };
        assert!(!sure(ctime + 1) && !sure(ctime - 5_000_000_000));
        assert!(sure(ctime + 3_000_000_000));
        let whole = Stamp { ctime_ns: 7_000_000_000, mtime_ns: 0, ..look(&file, true).expect("s") };
        assert!(!whole.settled(8_000_000_000) && whole.settled(10_000_000_000));
    }
}
