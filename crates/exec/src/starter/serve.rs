//! The starter's own process: a loop that clones a child for each request.
//!
//! It has one thread and little memory, so a clone costs little, and everything between clone and
//! exec may allocate.

use super::root::{self, check};
use super::wire::{Request, Setup, Started, receive, send};
use crate::supervise::supervise;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;

/// The number under which a program finds the descriptor that is kept for it.
pub(crate) const KEPT: RawFd = 3;
/// Descriptors that must not be overwritten are moved here.
const HIGH: RawFd = 100;

/// Serves requests on standard input until it is closed.
pub fn serve() -> io::Result<()> {
    // SAFETY: descriptor 0 is a socket that whoever started this process made for it, and nothing
    // else here uses standard input.
    let input = unsafe { OwnedFd::from_raw_fd(0) };
    // Out of the way, with /dev/null in its place: descriptors that come must not be 0, 1 or 2.
    let socket = UnixStream::from(high(&input)?);
    drop(input);
    let null = std::fs::File::open("/dev/null")?;
    debug_assert_eq!(null.as_raw_fd(), 0, "0 was free");
    let Some((setup, _)) = receive::<Setup>(&socket)? else { return Ok(()) };
    die_with(setup.parent)?;
    let parent = pidfd(setup.parent)?;
    let ready = setup.root.as_ref().map_or(Ok(()), root::build);
    send(&socket, &ready, &[])?;
    if ready.is_err() {
        return Ok(());
    }
    while let Some((request, fds)) = receive::<Request>(&socket)? {
        let started: Started = start(&request, fds, setup.parent, &parent, &socket)
            .map_err(|e| e.raw_os_error().unwrap_or(0));
        send(&socket, &started, &[])?;
    }
    Ok(())
}

fn high(fd: &impl AsRawFd) -> io::Result<OwnedFd> {
    // SAFETY: a live descriptor; the result is fresh and owned by nothing else.
    unsafe {
        let fd = libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, HIGH);
        check(fd)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

fn die_with(parent: libc::pid_t) -> io::Result<()> {
    // SAFETY: integers only.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        if libc::getppid() == parent { Ok(()) } else { Err(io::Error::other("no parent")) }
    }
}

/// A descriptor of a process, readable once it ended.
pub(crate) fn pidfd(pid: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: integers only; the result is fresh and owned by nothing else.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0) as RawFd;
        check(fd)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// The descriptors of one request.
struct Fds {
    output: OwnedFd,
    report: OwnedFd,
    failure: OwnedFd,
    rules: Option<OwnedFd>,
    kept: Option<OwnedFd>,
}

fn start(
    request: &Request,
    fds: Vec<OwnedFd>,
    parent: libc::pid_t,
    parent_fd: &OwnedFd,
    socket: &UnixStream,
) -> io::Result<i32> {
    let mut fds = fds.into_iter();
    let mut next = || fds.next().ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF));
    let fds = Fds {
        output: next()?,
        report: next()?,
        failure: next()?,
        rules: if request.rules { Some(next()?) } else { None },
        kept: if request.kept { Some(next()?) } else { None },
    };
    // With this process's own parent as the parent: whoever asked can wait for the child.
    let mut flags = libc::CLONE_PARENT | libc::SIGCHLD;
    if let Some(place) = &request.place {
        flags |= libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
        if !place.network {
            flags |= libc::CLONE_NEWNET;
        }
    }
    // SAFETY: a plain fork with flags; this process has one thread, so the child may do anything.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(flags), 0, 0, 0, 0) };
    let pid = pid as libc::pid_t;
    check(pid)?;
    if pid == 0 {
        // Or sim-pipe would not see it when the starter dies.
        // SAFETY: this process neither uses nor drops it.
        unsafe { libc::close(socket.as_raw_fd()) };
        // Kept apart: it must be there when everything else went wrong.
        if let Ok(failure) = high(&fds.failure) {
            fail(&failure, &child(request, fds, parent, parent_fd));
        }
        // SAFETY: the process ends here.
        unsafe { libc::_exit(125) };
    }
    Ok(pid)
}

/// Says why nothing was executed, and ends.
fn fail(to: &OwnedFd, e: &io::Error) -> ! {
    let to = to.as_raw_fd();
    let text = e.to_string();
    let number = e.raw_os_error().unwrap_or(0).to_ne_bytes();
    // SAFETY: live buffers; the process ends here.
    unsafe {
        libc::write(to, number.as_ptr().cast(), number.len());
        libc::write(to, text.as_ptr().cast(), text.len().min(2000));
        libc::_exit(125)
    }
}

/// The child: becomes the supervisor, and in another process the program. Returns only on failure.
fn child(request: &Request, fds: Fds, parent: libc::pid_t, parent_fd: &OwnedFd) -> io::Error {
    match prepare(request, &fds, parent_fd) {
        Ok(()) => {}
        Err(e) => return e,
    }
    // SAFETY: one thread.
    let pid = unsafe { libc::fork() };
    if let Err(e) = check(pid) {
        return e;
    }
    if pid > 0 {
        // In a pid namespace of its own, its parent is outside and has no number.
        let parent = if request.place.is_some() { 0 } else { parent };
        // SAFETY: a forked child that does not return.
        unsafe { supervise(pid, fds.report.as_raw_fd(), parent) }
    }
    match execute(request, fds) {
        Err(e) => e,
        Ok(never) => match never {},
    }
}

/// What holds for the supervisor and the program.
fn prepare(request: &Request, fds: &Fds, parent: &OwnedFd) -> io::Result<()> {
    // SAFETY: system calls with integers and pointers to live values.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        // Let go once sim-pipe knows this process.
        let mut go = 0u8;
        if libc::read(fds.failure.as_raw_fd(), (&raw mut go).cast(), 1) != 1 {
            libc::_exit(125);
        }
        // A parent that died before that sends no signal.
        let mut gone = libc::pollfd { fd: parent.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        if libc::poll(&raw mut gone, 1, 0) != 0 {
            libc::_exit(125);
        }
        libc::setsid();
        // The caller's mask must not decide which bits a file of an output has.
        libc::umask(0o022);
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        // The caller's settings of signals are none of the program's business.
        for signal in 1..=libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut empty: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut empty);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const empty, std::ptr::null_mut());
        check(libc::fcntl(0, libc::F_SETFD, 0))?;
        check(libc::dup2(fds.output.as_raw_fd(), 1))?;
        check(libc::dup2(fds.output.as_raw_fd(), 2))?;
        match &request.place {
            Some(place) => root::enter(place),
            None => check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1)),
        }
    }
}

fn execute(request: &Request, fds: Fds) -> io::Result<std::convert::Infallible> {
    // SAFETY: system calls with integers and pointers to live C strings.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        root::own_keyring();
        if request.place.is_some() {
            root::own_user()?;
            root::drop_capabilities()?;
        }
        root::chdir(&request.cwd)?;
        let rules = fds.rules.as_ref().map(high).transpose()?;
        if let Some(kept) = &fds.kept {
            let kept = high(kept)?;
            check(libc::dup2(kept.as_raw_fd(), KEPT))?;
        }
        // Whatever sim-pipe's caller had open is no business of the program.
        libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int);
        if fds.kept.is_some() {
            check(libc::fcntl(KEPT, libc::F_SETFD, 0))?;
        }
        // Owned numbers may be the program's by now: the kernel closes what is left.
        std::mem::forget(fds);
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        if let Some(rules) = rules {
            let result = libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0);
            check(result as libc::c_int)?;
        }
        let word = |text: &OsStr| CString::new(text.as_bytes());
        let program = word(request.program.as_os_str())?;
        let args = std::iter::once(Ok(program.clone()))
            .chain(request.args.iter().map(|a| word(a)))
            .collect::<Result<Vec<_>, _>>()?;
        let env = request
            .env
            .iter()
            .map(|(k, v)| {
                let mut text = k.as_bytes().to_vec();
                text.push(b'=');
                text.extend_from_slice(v.as_bytes());
                CString::new(text)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let pointers = |words: &[CString]| -> Vec<*const libc::c_char> {
            words.iter().map(|w| w.as_ptr()).chain([std::ptr::null()]).collect()
        };
        libc::execvpe(program.as_ptr(), pointers(&args).as_ptr(), pointers(&env).as_ptr());
    }
    Err(io::Error::last_os_error())
}
