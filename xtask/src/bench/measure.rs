//! One child process: wall time, CPU time of its whole tree, peak memory.

use crate::shell;
use anyhow::{Context as _, Result, bail};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a process cost.
#[derive(Clone, Debug, Default)]
pub(super) struct Cost {
    /// Seconds from start to end.
    pub(super) wall: f64,
    /// CPU seconds, user and system, of the process and all its descendants that have ended.
    pub(super) cpu: f64,
    /// Largest resident size of any one process among them, bytes.
    pub(super) peak: u64,
    /// What it wrote to both streams.
    pub(super) said: String,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// By itself, with this exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It was ended when its time was over.
    TooLong,
}

/// Whether descendants that lose their parent become children of this process.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// From now on descendants that lose their parent become children of this process, so that what they
/// cost counts and what they leave behind is seen.
pub(super) fn adopt() {
    // SAFETY: takes a number, changes only whose children orphans become.
    let ok = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) } == 0;
    ADOPTS.store(ok, Ordering::Relaxed);
}

/// Runs to the end, or for so long.
pub(super) fn run(command: &mut Command, scratch: &Path, limit: Duration) -> Result<(Cost, End)> {
    let log = scratch.join("said.txt");
    let file = File::create(&log).with_context(|| log.display().to_string())?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let start = Instant::now();
    // Reaped by wait4 below, which gives its resource usage too.
    let child = command.spawn().with_context(|| shell::shown(command))?;
    let pid = child.id().cast_signed();
    let in_time = ends_within(pid, limit)?;
    if !in_time {
        super::processes::end(&super::processes::tree(pid));
    }
    let (status, mut usage) = reap(pid, 0)?.context("a child that ended")?;
    let wall = start.elapsed().as_secs_f64();
    // Its end may have orphaned others that have ended by now.
    if ADOPTS.load(Ordering::Relaxed) {
        while let Ok(Some((_, other))) = reap(-1, libc::WNOHANG) {
            usage.cpu += other.cpu;
            usage.peak = usage.peak.max(other.peak);
        }
    }
    let said = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
    let end = match status {
        _ if !in_time => End::TooLong,
        s if libc::WIFEXITED(s) => End::Code(libc::WEXITSTATUS(s)),
        s => End::Signal(libc::WTERMSIG(s)),
    };
    Ok((Cost { wall, said, ..usage }, end))
}

/// Runs to the end; an exit code other than 0 is an error that shows what was said.
pub(super) fn cost(command: &mut Command, scratch: &Path) -> Result<Cost> {
    let (cost, end) = run(command, scratch, Duration::from_secs(3600))?;
    if end != End::Code(0) {
        bail!("`{}` failed ({end:?}):\n{}", shell::shown(command), last_lines(&cost.said, 20));
    }
    Ok(cost)
}

/// The last lines of what was said.
pub(super) fn last_lines(said: &str, lines: usize) -> String {
    let all: Vec<&str> = said.lines().filter(|l| !l.trim().is_empty()).collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Whether a child ends within so long.
fn ends_within(pid: i32, limit: Duration) -> Result<bool> {
    // SAFETY: takes numbers; the result is checked before it is used.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as i32;
    if fd < 0 {
        bail!("pidfd_open: {}", std::io::Error::last_os_error());
    }
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let ms = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one live pollfd, and the descriptor is closed once, here.
    let ready = unsafe {
        let ready = libc::poll(&raw mut poll, 1, ms);
        libc::close(fd);
        ready
    };
    Ok(ready > 0)
}

/// Waits for a child and gives its status and what it cost; nothing where none has ended.
fn reap(pid: i32, flags: i32) -> Result<Option<(i32, Cost)>> {
    let mut status = 0;
    // SAFETY: a zeroed rusage is valid, and wait4 fills it for a child that is ours and not reaped.
    let (found, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(pid, &raw mut status, flags, &raw mut usage), usage)
    };
    if found < 0 {
        bail!("wait4: {}", std::io::Error::last_os_error());
    }
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    let cost = Cost {
        cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        peak: usage.ru_maxrss.cast_unsigned() * 1024,
        ..Cost::default()
    };
    Ok((found > 0).then_some((status, cost)))
}

/// The run with the least wall time of several.
pub(super) fn best(times: usize, mut run: impl FnMut() -> Result<Cost>) -> Result<Cost> {
    let mut best: Option<Cost> = None;
    for _ in 0..times.max(1) {
        let cost = run()?;
        if best.as_ref().is_none_or(|b| cost.wall < b.wall) {
            best = Some(cost);
        }
    }
    best.context("at least one run")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_measured_and_a_failing_or_slow_one_is_told() {
        let dir = crate::fetch::Scratch::new(&std::env::temp_dir().join("xtask-measure"))
            .expect("a folder");
        let cost = cost(Command::new("sh").args(["-c", "echo hello"]), &dir.0).expect("it ran");
        assert_eq!(cost.said, "hello\n");
        assert!(cost.peak > 0 && cost.wall > 0.0);
        let e = super::cost(Command::new("sh").args(["-c", "echo no; exit 3"]), &dir.0);
        assert!(e.expect_err("it failed").to_string().contains("no"));
        let slow = run(Command::new("sleep").arg("60"), &dir.0, Duration::from_millis(20));
        assert_eq!(slow.expect("it was ended").1, End::TooLong);
    }
}
