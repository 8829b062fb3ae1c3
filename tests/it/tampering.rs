//! Changes what a store holds, as people and disks do.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// Makes a file readable and writable, changes it, and puts its mode back.
pub(crate) fn tamper(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(path).expect("stat").permissions();
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("chmod");
    tick(path);
    let mut bytes = fs::read(path).expect("read");
    change(&mut bytes);
    fs::write(path, bytes).expect("write");
    fs::set_permissions(path, mode).expect("chmod back");
}

/// Waits until the clock of file systems is past everything around `path`: what is changed in the
/// same tick as it was made is not seen to be changed, and no hand is that fast.
pub(crate) fn tick(path: &Path) {
    use std::os::unix::fs::MetadataExt as _;
    let time = |m: fs::Metadata| (m.ctime(), m.ctime_nsec());
    let around = path.ancestors().take(4).filter_map(|p| p.symlink_metadata().ok());
    let newest = around.map(time).max().expect("a time");
    loop {
        let probe = tempfile::tempfile().expect("a file");
        let (s, n) = time(probe.metadata().expect("stat"));
        // Some ticks, not one: what marks a tree as taken in has that much room.
        if (s, n - 30_000_000) > newest || s > newest.0 + 1 {
            return;
        }
    }
}

/// Makes a stored tree look untouched, as one does whose bytes went bad on the disk.
pub(crate) fn as_if_by_the_disk(tree: &Path) {
    tick(tree);
    const APART: Duration = Duration::from_secs(40 * 365 * 86_400);
    let file = fs::File::open(tree).expect("open");
    loop {
        // The change time comes from a clock that may be a tick behind ours.
        let now = std::time::UNIX_EPOCH + Duration::from_millis(sim_exec::unix_ms());
        let taken = now - APART - Duration::from_millis(5);
        file.set_times(fs::FileTimes::new().set_modified(taken)).expect("set the time");
        use std::os::unix::fs::MetadataExt as _;
        let meta = file.metadata().expect("stat");
        let changed = Duration::new(meta.ctime() as u64, meta.ctime_nsec() as u32);
        let late = (std::time::UNIX_EPOCH + changed).duration_since(taken + APART);
        if late.is_ok_and(|late| late < Duration::from_millis(15)) {
            return;
        }
    }
}
