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

pub(crate) use serve::KEPT;
pub use serve::serve;
pub(crate) use wire::{Mount, Place, Request, RootView};

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use wire::{Setup, Started, receive, send};

/// The word on the command line that makes this program a starter.
const COMMAND: &str = "starter";

/// A running starter. It ends when this is dropped, and when the thread that started it ends.
#[derive(Debug)]
pub(crate) struct Starter {
    socket: Mutex<Option<UnixStream>>,
    process: std::process::Child,
}

impl Starter {
    /// Starts one. `exe` is this program.
    pub(crate) fn new(exe: &Path, root: Option<RootView>) -> Result<Self, String> {
        let told = |e: io::Error| format!("{}: {e}", exe.display());
        let (ours, its) = UnixStream::pair().map_err(told)?;
        let process = Command::new(exe)
            .arg(COMMAND)
            .stdin(Stdio::from(OwnedFd::from(its)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(told)?;
        // SAFETY: getpid cannot fail.
        let parent = unsafe { libc::getpid() };
        let starter = Self { socket: Mutex::new(None), process };
        send(&ours, &Setup { parent, root }, &[]).map_err(told)?;
        let ready = receive::<Result<(), String>>(&ours).map_err(told)?;
        let (ready, _) = ready.ok_or_else(|| "the starter ended at once".to_owned())?;
        ready?;
        *starter.socket.lock().unwrap_or_else(PoisonError::into_inner) = Some(ours);
        Ok(starter)
    }

    /// Starts a process, which becomes a child of this one, and waits until it executes its program.
    /// `fds` are standard output and error, the supervisor's report, rules, and the kept one.
    pub(crate) fn start(
        &self,
        request: &Request,
        output: OwnedFd,
        report: OwnedFd,
        more: &[BorrowedFd<'_>],
    ) -> io::Result<u32> {
        let (failure, failure_write) = io::pipe()?;
        let mut fds = vec![output.as_fd(), report.as_fd(), failure_write.as_fd()];
        fds.extend_from_slice(more);
        let started = {
            let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
            let socket = socket.as_ref().ok_or_else(|| io::Error::other("no starter"))?;
            send(socket, request, &fds)?;
            receive::<Started>(socket)?
        };
        drop((output, report, failure_write));
        let gone = || io::Error::other("the process that starts actions is gone");
        let pid = started.ok_or_else(gone)?.0.map_err(io::Error::from_raw_os_error)?;
        let mut why = Vec::new();
        let mut failure = failure;
        failure.read_to_end(&mut why)?;
        if why.is_empty() {
            return Ok(pid.cast_unsigned());
        }
        // SAFETY: our own child, not reaped yet.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
        Err(reason(&why))
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

impl Drop for Starter {
    fn drop(&mut self) {
        // Closed: it ends by itself.
        self.socket.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = self.process.wait();
    }
}
