//! The root that confined processes see: a small read-only file system in memory onto which the
//! allowed parts of the host are mounted. The starter builds it once, in namespaces of its own; each
//! process then gets a copy of the mounts, adds its folder and its inputs, and loses sight of the rest.

use super::wire::{Mount, Place, RootView};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Where the sources of mounts lie until a process has taken its own.
const SOURCES: &str = "/.sim-pipe";

type Step<T> = Result<T, String>;

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

pub(super) fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn step<T>(what: impl std::fmt::Display, result: io::Result<T>) -> Step<T> {
    result.map_err(|e| format!("{what}: {e}"))
}

/// This process has one thread, and paths in it are its own affair.
#[expect(clippy::disallowed_methods, reason = "a process that does nothing but this")]
pub(super) fn chdir(to: impl AsRef<Path>) -> io::Result<()> {
    std::env::set_current_dir(to)
}

/// `mount(2)`; an empty `from` or `kind` is none.
fn mount(from: &Path, to: &Path, kind: &str, flags: libc::c_ulong, data: &str) -> io::Result<()> {
    let (from, to) = (c_path(from)?, c_path(to)?);
    let (kind, data) = (CString::new(kind)?, CString::new(data)?);
    let none = |c: &CString| if c.is_empty() { std::ptr::null() } else { c.as_ptr() };
    // SAFETY: all pointers are C strings that live through the call, or null.
    check(unsafe { libc::mount(none(&from), to.as_ptr(), none(&kind), flags, none(&data).cast()) })
}

/// Makes a mount read-only, with all below it where `whole`. Flags that the host set stay.
fn read_only(path: &Path, whole: bool) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    const READ_ONLY: u64 = 1;
    const NO_SET_UID: u64 = 2;
    const RECURSIVE: libc::c_uint = 0x8000;
    let attributes =
        Attributes { set: READ_ONLY | NO_SET_UID, clear: 0, propagation: 0, user_namespace: 0 };
    let path = c_path(path)?;
    // SAFETY: a C string and a struct of the size that is said.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            if whole { RECURSIVE } else { 0 },
            &raw const attributes,
            size_of::<Attributes>(),
        )
    };
    check(result as libc::c_int)
}

fn pivot(new: &Path, old: &Path) -> io::Result<()> {
    let (new, old) = (c_path(new)?, c_path(old)?);
    // SAFETY: two C strings.
    check(unsafe { libc::syscall(libc::SYS_pivot_root, new.as_ptr(), old.as_ptr()) } as libc::c_int)
}

fn detach(path: &Path) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: a C string.
    check(unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) })
}

/// The place of a host path below another root.
fn below(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}

/// Mounts `from` at `to`, which is made for it.
fn bind(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        std::fs::create_dir_all(to)?;
    } else {
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(to, "")?;
    }
    mount(from, to, "", libc::MS_BIND | libc::MS_REC, "")
}

/// Builds the root and goes there. The old one is gone afterwards.
pub(crate) fn build(view: &RootView) -> Step<()> {
    step("a user namespace", own_user())?;
    // SAFETY: it takes no pointer; this process has one thread.
    step("a mount namespace", check(unsafe { libc::unshare(libc::CLONE_NEWNS) }))?;
    let none = Path::new("");
    let private = libc::MS_REC | libc::MS_PRIVATE;
    step("private mounts", mount(none, Path::new("/"), "", private, ""))?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    let memory = Path::new("tmpfs");
    step("a file system in memory", mount(memory, Path::new("/tmp"), "tmpfs", flags, "mode=0755"))?;
    for dir in ["/tmp/new", "/tmp/old"] {
        step(dir, std::fs::create_dir(dir))?;
    }
    step("pivot", pivot(Path::new("/tmp"), Path::new("/tmp/old")))?;
    step("chdir", chdir("/"))?;
    // A root must be a mount of its own.
    step("the new root", mount(Path::new("/new"), Path::new("/new"), "", libc::MS_BIND, ""))?;

    for path in &view.read {
        step(path.display(), show(path))?;
    }
    for (path, target) in &view.links {
        step(path.display(), link(path, target))?;
    }
    for dir in ["/new/proc", "/new/dev", "/new/dev/shm", "/new/tmp"] {
        step(dir, std::fs::create_dir_all(dir))?;
    }
    for (name, to) in [("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
        step(name, symlink(format!("/proc/self/{to}"), Path::new("/new/dev").join(name)))?;
    }
    for device in view.devices.iter().filter(|d| below("/old", d).exists()) {
        step(device.display(), bind(&below("/old", device), &below("/new", device)))?;
    }
    for (i, (source, fixed)) in view.sources.iter().enumerate() {
        let to = below("/new", &source_place(i));
        step(source.display(), bind(&below("/old", source), &to))?;
        if *fixed {
            step(source.display(), read_only(&to, true))?;
        }
    }
    // A kernel lets a user mount /proc only where it sees one already.
    let host_proc = below("/new", &Path::new(SOURCES).join("proc"));
    step("/proc", bind(Path::new("/old/proc"), &host_proc))?;
    step("chdir", chdir("/new"))?;
    step("pivot", pivot(Path::new("."), Path::new(".")))?;
    step("the old root", detach(Path::new(".")))?;
    step("chdir", chdir("/"))?;
    step("the root read-only", read_only(Path::new("/"), false))
}

/// Shows one host path in the new root, read-only. It has no link in it.
fn show(path: &Path) -> io::Result<()> {
    let (from, to) = (below("/old", path), below("/new", path));
    bind(&from, &to)?;
    read_only(&to, true)
}

/// A link in the new root, unless something is there.
fn link(path: &Path, target: &Path) -> io::Result<()> {
    let at = below("/new", path);
    if at.symlink_metadata().is_ok() {
        return Ok(());
    }
    if let Some(parent) = at.parent() {
        std::fs::create_dir_all(parent)?;
    }
    symlink(target, at)
}

fn source_place(index: usize) -> PathBuf {
    Path::new(SOURCES).join(index.to_string())
}

/// In a copy of the starter's namespaces, as the first process of a pid namespace: puts everything in
/// its place and lets go of the rest.
pub(crate) fn enter(place: &Place) -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount(Path::new("proc"), Path::new("/proc"), "proc", flags, "")?;
    // To root, with or without capabilities, these are files of its own: switches of the machine.
    // SAFETY: it takes nothing and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    let switches = ["sys", "irq", "bus", "fs", "acpi", "sysrq-trigger"];
    for part in switches.iter().filter(|_| root) {
        let path = Path::new("/proc").join(part);
        if path.exists() {
            mount(&path, &path, "", libc::MS_BIND | libc::MS_REC, "")?;
            read_only(&path, true)?;
        }
    }
    let mut points = false;
    for Mount { source, part, to } in &place.mounts {
        let mut from = source_place(*source);
        // Joined to an empty path, a file would look like a folder.
        if !part.as_os_str().is_empty() {
            from.push(part);
        }
        let told = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", to.display()));
        if to.starts_with(&place.points) && !points {
            // Cheaper than making and removing them on a disk.
            let flags = libc::MS_NOSUID | libc::MS_NODEV;
            mount(Path::new("tmpfs"), &place.points, "tmpfs", flags, "mode=0755").map_err(told)?;
            points = true;
        }
        if points || !to.exists() {
            bind(&from, to).map_err(told)?;
        } else {
            mount(&from, to, "", libc::MS_BIND | libc::MS_REC, "").map_err(told)?;
        }
    }
    if points {
        read_only(&place.points, false)?;
    }
    let sources = std::fs::read_dir(SOURCES)?;
    for source in sources.flatten() {
        detach(&source.path())?;
    }
    // SAFETY: eight bytes of a constant.
    unsafe { libc::sethostname(c"sim-pipe".as_ptr(), 8) };
    if !place.network {
        loopback_up();
    }
    Ok(())
}

/// Enters a user namespace, in which this user keeps its number. Keyrings of a user are those of a
/// user in a namespace, so every action has one of its own.
pub(crate) fn own_user() -> io::Result<()> {
    // SAFETY: these take no pointers that are not null.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: as above; the caller has one thread, which `unshare` demands.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
}

/// Begins a session keyring of its own. A kernel without keyrings has nothing to leave.
pub(crate) fn own_keyring() {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: a command and a null name.
    unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<u8>()) };
}

/// Brings `lo` up; without it a program cannot even talk to itself. Failing is harmless.
fn loopback_up() {
    // SAFETY: `ifreq` is plain old data; the ioctl gets a pointer to it.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return;
        }
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        libc::ioctl(fd, libc::SIOCSIFFLAGS as _, &raw const request);
        libc::close(fd);
    }
}

/// Gives up every capability for good. A program without any can change no mount.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: libc::c_int,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header { version: VERSION_3, pid: 0 };
    let nothing = [0u32; 6];
    // SAFETY: prctl with integers; capset gets two structs of the sizes that version 3 says.
    unsafe {
        let mut capability: libc::c_ulong = 0;
        while libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) == 0 {
            capability += 1;
        }
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        check(libc::syscall(libc::SYS_capset, &raw const header, nothing.as_ptr()) as libc::c_int)
    }
}
