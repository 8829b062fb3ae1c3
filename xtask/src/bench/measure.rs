//! One child process: wall time, CPU time of its whole tree, peak memory.

use crate::shell;
use anyhow::{Context as _, Result, bail};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What a process cost.
#[derive(Clone, Debug, Default)]
pub(super) struct Cost {
    /// Seconds from start to end.
    pub(super) wall: f64,
    /// CPU seconds, user and system, of the process and all that it waited for.
    pub(super) cpu: f64,
    /// Largest resident size of any one process among them, bytes.
    pub(super) peak: u64,
    /// What it wrote to both streams.
    pub(super) said: String,
}

/// Runs to the end; an exit code other than 0 is an error that shows what was said.
pub(super) fn cost(command: &mut Command, scratch: &Path) -> Result<Cost> {
    let log = scratch.join("said.txt");
    let file = File::create(&log).with_context(|| log.display().to_string())?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let start = Instant::now();
    // Reaped by wait4 below, which gives its resource usage too.
    let child = command.spawn().with_context(|| shell::shown(command))?;
    let mut status = 0;
    // SAFETY: a zeroed rusage is valid, and wait4 fills it for a child that is ours and not reaped.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::wait4(child.id().cast_signed(), &raw mut status, 0, &raw mut usage) < 0 {
            bail!("wait4: {}", std::io::Error::last_os_error());
        }
        usage
    };
    let wall = start.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
    if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
        let end: String = said.lines().rev().take(20).collect::<Vec<_>>().join("\n");
        bail!("`{}` failed (wait status {status}):\n{end}", shell::shown(command));
    }
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    Ok(Cost {
        wall,
        cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        peak: usage.ru_maxrss.cast_unsigned() * 1024,
        said,
    })
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

/// The middle of some numbers.
pub(super) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// The least of some numbers.
pub(super) fn least(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_least() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
        assert!((least(&[3.0, 1.0, 2.0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_child_is_measured_and_a_failing_one_is_an_error() {
        let dir = crate::fetch::Scratch::new(&std::env::temp_dir().join("xtask-measure"))
            .expect("a folder");
        let cost = cost(Command::new("sh").args(["-c", "echo hello"]), &dir.0).expect("it ran");
        assert_eq!(cost.said, "hello\n");
        assert!(cost.peak > 0 && cost.wall > 0.0);
        let e = super::cost(Command::new("sh").args(["-c", "echo no; exit 3"]), &dir.0);
        assert!(e.expect_err("it failed").to_string().contains("no"));
    }
}
