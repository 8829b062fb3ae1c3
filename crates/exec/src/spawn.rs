//! A process in its confinement, as sim-pipe sees it.

use crate::starter::{Place, Request, Starter, pidfd};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

/// What to start.
pub(crate) struct Spec {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Working folder as the process sees it.
    pub(crate) cwd: PathBuf,
    /// Namespaces of its own.
    pub(crate) place: Option<Place>,
    /// Landlock rules.
    pub(crate) rules: Option<OwnedFd>,
    /// How many processes stand between the supervisor and the action's own program, and end
    /// everything when they are told to end: they are no part of what is asked to end by itself.
    pub(crate) wrappers: usize,
    /// Inherited by the program as [`crate::starter::KEPT`].
    pub(crate) keep: Option<OwnedFd>,
}

/// A started process. Dropping it neither kills nor waits.
pub(crate) struct Child {
    pub(crate) pid: u32,
    /// Readable once the supervisor ended.
    pub(crate) pidfd: OwnedFd,
    /// Standard output and error of everything in the tree.
    pub(crate) output: OwnedFd,
    report: OwnedFd,
    /// How many processes at the top of the tree wrap the program.
    wrappers: usize,
}

/// How it ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// Wait status of the program itself, as `waitpid` gives it.
    pub(crate) status: i32,
    /// Processes that it left behind and that were killed.
    pub(crate) left_behind: u32,
    /// CPU time of the whole tree in milliseconds.
    pub(crate) cpu_ms: f64,
}

/// An anonymous file with this content, read from its start.
pub(crate) fn memory_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    use std::io::{Seek, Write};
    // SAFETY: the name is a C string; the result is checked before it is owned.
    let fd = unsafe { libc::memfd_create(c"sim-pipe".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` is fresh and owned by nothing else.
    let mut file = unsafe { std::fs::File::from_raw_fd(fd) };
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

/// Starts the process and waits until it executes its program.
pub(crate) fn spawn(starter: &Starter, spec: Spec) -> io::Result<Child> {
    let (output, output_write) = io::pipe()?;
    let (report, report_write) = io::pipe()?;
    let Spec { program, args, env, cwd, place, rules, wrappers, keep } = spec;
    let more: Vec<_> = rules.iter().chain(&keep).map(AsFd::as_fd).collect();
    let (with_rules, kept) = (rules.is_some(), keep.is_some());
    let request = Request { program, args, env, cwd, place, rules: with_rules, kept };
    let pid = starter.start(&request, output_write.into(), report_write.into(), &more)?;
    // Not reaped yet, so the number is its own.
    let pidfd = pidfd(pid.cast_signed())?;
    Ok(Child { pid, pidfd, output: output.into(), report: report.into(), wrappers })
}

impl Child {
    /// Sends a signal to the whole session of the program, or, where it is wrapped, to everything in
    /// the wrapping: a wrapper that ends would take the program with it before it can end by itself.
    pub(crate) fn signal(&self, signal: libc::c_int) {
        if self.wrappers > 0 {
            for pid in self.program_tree().into_iter().skip(self.wrappers) {
                // SAFETY: at worst the process is gone.
                unsafe { libc::kill(pid.cast_signed(), signal) };
            }
            return;
        }
        // SAFETY: a pid that is not reaped yet, hence still ours.
        unsafe { libc::kill(-(self.pid.cast_signed()), signal) };
    }

    /// The program and everything it started.
    pub(crate) fn program_tree(&self) -> Vec<u32> {
        crate::usage::tree(self.pid).into_iter().skip(1).collect()
    }

    /// Kills everything in the tree but the supervisor, which then ends by itself.
    pub(crate) fn kill_tree(&self) {
        for pid in self.program_tree() {
            // SAFETY: at worst the process is gone.
            unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
        }
    }

    /// Kills the supervisor itself, for the case that it does not end.
    pub(crate) fn kill_supervisor(&self) {
        // SAFETY: a pid that is not reaped yet.
        unsafe { libc::kill(self.pid.cast_signed(), libc::SIGKILL) };
    }

    /// Reaps the supervisor, which must have ended (its pidfd is readable), and tells how it went.
    pub(crate) fn reap(&mut self) -> io::Result<Ended> {
        use std::io::Read;
        // SAFETY: siginfo is plain old data, and the pid is not reaped yet.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let ended = libc::WEXITED | libc::WNOWAIT;
            while libc::waitid(libc::P_PID, self.pid, &raw mut info, ended) < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
        // A supervisor that was killed could not sweep, and `bwrap`'s own child, should it be just
        // starting, would wait for ever for its dead parent. Both are in the supervisor's group.
        // SAFETY: the supervisor is not reaped yet, so the group is still ours.
        unsafe { libc::kill(-(self.pid.cast_signed()), libc::SIGKILL) };
        let mut status = 0;
        // SAFETY: rusage is plain old data.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: pointers to live values.
            let pid =
                unsafe { libc::wait4(self.pid.cast_signed(), &raw mut status, 0, &raw mut usage) };
            if pid >= 0 {
                break;
            }
            let e = io::Error::last_os_error();
            if e.kind() != io::ErrorKind::Interrupted {
                return Err(e);
            }
        }
        let ms = |t: libc::timeval| t.tv_sec as f64 * 1e3 + t.tv_usec as f64 / 1e3;
        let cpu_ms = ms(usage.ru_utime) + ms(usage.ru_stime);
        let mut message = [0u8; 8];
        let mut report = std::fs::File::from(self.report.try_clone()?);
        let [a, b, c, d, e, f, g, h] = match report.read_exact(&mut message) {
            Ok(()) => message,
            // The supervisor was killed: its own status stands for the program's.
            Err(_) => return Ok(Ended { status, left_behind: 0, cpu_ms }),
        };
        Ok(Ended {
            status: i32::from_ne_bytes([a, b, c, d]),
            left_behind: u32::from_ne_bytes([e, f, g, h]),
            cpu_ms,
        })
    }

    /// Waits for the end and leaves the output unread: a probe writes a line at most. Waiting for the
    /// end of the output instead would be for ever, should something that holds it be left behind.
    pub(crate) fn wait_blocking(&mut self) -> io::Result<i32> {
        self.reap().map(|e| e.status)
    }
}
