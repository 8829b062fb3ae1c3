//! Watches one process tree: log, timeout, memory cap, cancellation.

use crate::cancel::Cancel;
use crate::spawn::{Child, Ended};
use crate::usage;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// Memory is sampled this often (P153).
const SAMPLE: Duration = Duration::from_millis(200);
/// Between TERM and KILL after a timeout or a memory kill.
const GRACE: Duration = Duration::from_secs(2);
/// Between TERM and KILL when the user interrupts.
const CANCEL_GRACE: Duration = Duration::from_millis(300);
/// A supervisor that has not ended this long after KILL is killed itself.
const SUPERVISOR_GRACE: Duration = Duration::from_secs(5);

/// Why a process was ended by us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Timeout,
    Memory,
    Cancelled,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) ended: Ended,
    pub(crate) stopped: Option<Stop>,
    pub(crate) wall: Duration,
    pub(crate) peak_bytes: u64,
    pub(crate) log: Log,
}

impl Finished {
    /// What did not even start.
    pub(crate) fn nothing() -> Self {
        Self {
            ended: Ended { status: 0, left_behind: 0, cpu_ms: 0.0 },
            stopped: None,
            wall: Duration::ZERO,
            peak_bytes: 0,
            log: Log::default(),
        }
    }
}

/// The log with a cap: its beginning and its end are kept.
#[derive(Debug, Default)]
pub(crate) struct Log {
    head: Vec<u8>,
    tail: std::collections::VecDeque<u8>,
    pub(crate) dropped: u64,
}

impl Log {
    const HEAD: usize = 1 << 20;
    const TAIL: usize = 1 << 20;

    fn push(&mut self, bytes: &[u8]) {
        let room = Self::HEAD - self.head.len();
        let (first, rest) = bytes.split_at(bytes.len().min(room));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(Self::TAIL);
        self.tail.drain(..over);
        self.dropped += over as u64;
    }

    /// All that was kept, with a line that says where something is missing.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let mut out = self.head;
        if self.dropped > 0 {
            out.extend_from_slice(
                format!("\n[sim-pipe: {} bytes of log left out here]\n", self.dropped).as_bytes(),
            );
        }
        out.extend(self.tail);
        out
    }
}

/// Watches to the end, whatever the end is. The process was asked for at `start`.
pub(crate) fn run(
    mut child: Child,
    start: Instant,
    timeout: Duration,
    memory_cap: u64,
    cancel: &Cancel,
) -> io::Result<Finished> {
    nonblocking(child.output.as_raw_fd())?;
    let mut log = Log::default();
    let mut reader = std::fs::File::from(child.output.try_clone()?);
    let mut open = true;
    let mut stopping: Option<(Stop, Instant, u8)> = None;
    let mut peak_bytes = 0;
    let mut next_sample = start + SAMPLE;

    loop {
        let now = Instant::now();
        let deadline = match &stopping {
            None => start + timeout,
            Some((_, next, _)) => *next,
        };
        let wake = deadline.min(next_sample);
        let ready = poll(
            [
                child.pidfd.as_raw_fd(),
                if open { child.output.as_raw_fd() } else { -1 },
                // Once stopping, the event would only wake us again and again.
                if stopping.is_none() { cancel.fd().as_raw_fd() } else { -1 },
            ],
            wake.saturating_duration_since(now),
        )?;
        if ready[1] {
            open = drain(&mut reader, &mut log)?;
        }
        if ready[0] {
            break;
        }
        let now = Instant::now();
        if now >= next_sample {
            next_sample = now + SAMPLE;
            let bytes = usage::resident(&child.program_tree());
            peak_bytes = peak_bytes.max(bytes);
            if bytes > memory_cap && stopping.is_none() {
                // Growing without bound: no grace, it could take the machine down.
                child.kill_tree();
                stopping = Some((Stop::Memory, now + SUPERVISOR_GRACE, 2));
            }
        }
        stopping = match stopping {
            None if ready[2] || cancel.is_set() => {
                child.signal(libc::SIGTERM);
                Some((Stop::Cancelled, now + CANCEL_GRACE, 1))
            }
            None if now >= start + timeout => {
                child.signal(libc::SIGTERM);
                Some((Stop::Timeout, now + GRACE, 1))
            }
            Some((why, next, 1)) if now >= next => {
                child.kill_tree();
                Some((why, now + SUPERVISOR_GRACE, 2))
            }
            Some((why, next, _)) if now >= next => {
                // Something forks faster than it is killed, or cannot die yet: once more, hard.
                child.kill_tree();
                child.kill_supervisor();
                Some((why, now + SUPERVISOR_GRACE, 3))
            }
            other => other,
        };
    }
    let wall = start.elapsed();
    let ended = child.reap()?;
    // What was written before the end is still in the pipe.
    drain(&mut reader, &mut log)?;
    Ok(Finished { ended, stopped: stopping.map(|s| s.0), wall, peak_bytes, log })
}

/// Reads what is there; false at the end of the stream.
fn drain(reader: &mut std::fs::File, log: &mut Log) -> io::Result<bool> {
    let mut buffer = [0u8; 64 << 10];
    // Bounded, so that a flood cannot keep us from looking at the clock.
    for _ in 0..64 {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(n) => log.push(&buffer[..n]),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(true)
}

fn nonblocking(fd: RawFd) -> io::Result<()> {
    // SAFETY: fcntl with integer arguments on a live descriptor.
    let result = unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Waits until one is readable or hung up, or the time is over. Descriptors of -1 are ignored.
fn poll<const N: usize>(fds: [RawFd; N], timeout: Duration) -> io::Result<[bool; N]> {
    let mut set = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // Rounded up, so that a wake-up is never just before the deadline.
    let ms = timeout.as_micros().div_ceil(1000).min(60_000) as libc::c_int;
    // SAFETY: `set` is an array of N live pollfd.
    let n = unsafe { libc::poll(set.as_mut_ptr(), N as libc::nfds_t, ms) };
    if n < 0 {
        let e = io::Error::last_os_error();
        if e.kind() != io::ErrorKind::Interrupted {
            return Err(e);
        }
        return Ok([false; N]);
    }
    Ok(set.map(|p| p.revents != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_keeps_its_beginning_and_its_end() {
        let mut log = Log::default();
        log.push(b"first");
        for _ in 0..40 {
            log.push(&[b'x'; 100_000]);
        }
        log.push(b"last");
        let dropped = log.dropped;
        assert_eq!(dropped, 5 + 4_000_000 + 4 - (Log::HEAD + Log::TAIL) as u64);
        let bytes = log.into_bytes();
        assert!(bytes.starts_with(b"first") && bytes.ends_with(b"last"));
        let note = format!("[sim-pipe: {dropped} bytes of log left out here]");
        assert!(String::from_utf8_lossy(&bytes).contains(&note));
    }
}
