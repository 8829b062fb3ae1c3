//! Starts processes for sim-pipe from a small process of its own.
//!
//! ```text
//! sim-pipe ─┬─ starter (one thread, little memory; clones on request)
//!           ├─ supervisor (own session; reaps, reports)
//!           │     └── the action's program, and whatever it starts
//!           └─ supervisor (pid 1 of a pid namespace) …
//! ```
//! `fork` copies the page tables of whoever calls it, and sim-pipe holds a whole plan. The starter is
//! this same program, executed once a run; what it clones becomes a child of sim-pipe itself
//! (`CLONE_PARENT`), which waits for it and is told by the kernel when it ends.

mod root;
mod serve;
mod wire;

pub use serve::serve;
pub(crate) use serve::{KEPT, pidfd};
pub(crate) use wire::{HostPath, Mount, Place, Request, RootView};

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use wire::{Setup, Started, receive, send};

/// The word on the command line that makes this program a starter.
const COMMAND: &str = "starter";
/// It clones and answers: one that says nothing for so long is stopped, and is replaced.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts processes. What it started ends with the thread that called, at the latest.
#[derive(Debug)]
pub(crate) struct Starter {
    exe: PathBuf,
    root: Option<RootView>,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    socket: UnixStream,
    process: std::process::Child,
}

impl Starter {
    /// Prepares one. `exe` is this program.
    pub(crate) fn new(exe: &Path, root: Option<RootView>) -> Result<Self, String> {
        let running = Running::new(exe, root.as_ref())?;
        Ok(Self { exe: exe.to_path_buf(), root, running: Mutex::new(Some(running)) })
    }

    /// Starts a process, which becomes a child of this one, and waits until it executes its program.
    /// `more` are the descriptors after standard output and error, the report and failures.
    pub(crate) fn start(
        &self,
        request: &Request,
        output: OwnedFd,
        report: OwnedFd,
        more: &[BorrowedFd<'_>],
    ) -> io::Result<u32> {
        // Somebody may have killed the starter; a second time in a row is no accident.
        let (pid, mut failure) = match self.ask(request, &output, &report, more) {
            Err(_) => self.ask(request, &output, &report, more)?,
            asked => asked?,
        };
        drop((output, report));
        let mut why = Vec::new();
        // One that is killed meanwhile resets the connection, and its end is told otherwise.
        let told = failure.write_all(b"!").and_then(|()| failure.read_to_end(&mut why));
        if told.is_err() || why.is_empty() {
            return Ok(pid.cast_unsigned());
        }
        // SAFETY: our own child, not reaped yet.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
        Err(reason(&why))
    }

    /// The process id, and the connection on which the process waits to be let go. Without that, it
    /// ends by itself: one whose number never arrived must not run beside its successor.
    fn ask(
        &self,
        request: &Request,
        output: &OwnedFd,
        report: &OwnedFd,
        more: &[BorrowedFd<'_>],
    ) -> io::Result<(i32, UnixStream)> {
        let (ours, its) = UnixStream::pair()?;
        let mut fds = vec![output.as_fd(), report.as_fd(), its.as_fd()];
        fds.extend_from_slice(more);
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let current = match running.take() {
            Some(current) => current,
            None => Running::new(&self.exe, self.root.as_ref()).map_err(io::Error::other)?,
        };
        send(&current.socket, request, &fds)?;
        let gone = || io::Error::other("the process that starts actions is gone");
        let started = receive::<Started>(&current.socket)?.ok_or_else(gone)?.0;
        *running = Some(current);
        Ok((started.map_err(io::Error::from_raw_os_error)?, ours))
    }
}

impl Running {
    fn new(exe: &Path, root: Option<&RootView>) -> Result<Self, String> {
        let told = |e: io::Error| format!("{}: {e}", exe.display());
        let (socket, its) = UnixStream::pair().map_err(told)?;
        socket.set_read_timeout(Some(PATIENCE)).map_err(told)?;
        socket.set_write_timeout(Some(PATIENCE)).map_err(told)?;
        let process = Command::new(exe)
            .arg(COMMAND)
            .stdin(Stdio::from(OwnedFd::from(its)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(told)?;
        let running = Self { socket, process };
        // SAFETY: getpid cannot fail.
        let parent = unsafe { libc::getpid() };
        send(&running.socket, &Setup { parent, root: root.cloned() }, &[]).map_err(told)?;
        let ready = receive::<Result<(), String>>(&running.socket).map_err(told)?;
        let (ready, _) = ready.ok_or_else(|| "the starter ended at once".to_owned())?;
        ready?;
        Ok(running)
    }
}

/// An error number and its text, as the child wrote them.
fn reason(bytes: &[u8]) -> io::Error {
    match bytes.split_first_chunk::<4>() {
        Some((number, text)) => {
            let number = io::Error::from_raw_os_error(i32::from_ne_bytes(*number));
            let text = String::from_utf8_lossy(text).into_owned();
            if text == number.to_string() { number } else { io::Error::new(number.kind(), text) }
        }
        None => io::Error::other("it failed and could not say why"),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It holds nothing that must be put back, and one that is stopped would not end by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
