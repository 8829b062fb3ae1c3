//! Which processes are there, and ending those that this program started.

use std::collections::HashMap;

/// Parent and state of each process, by id.
fn all() -> HashMap<i32, (i32, char)> {
    let mut out = HashMap::new();
    let Ok(entries) = std::fs::read_dir("/proc") else { return out };
    for entry in entries.filter_map(Result::ok) {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name may hold anything, brackets too.
        let Some((_, rest)) = stat.rsplit_once(") ") else { continue };
        let mut words = rest.split(' ');
        let state = words.next().and_then(|w| w.chars().next()).unwrap_or('?');
        if let Some(parent) = words.next().and_then(|w| w.parse().ok()) {
            out.insert(pid, (parent, state));
        }
    }
    out
}

/// A process and all its descendants, the process first.
pub(super) fn tree(root: i32) -> Vec<i32> {
    let all = all();
    let mut out = vec![root];
    let mut at = 0;
    while at < out.len() {
        let parent = out[at];
        out.extend(all.iter().filter(|(_, (p, _))| *p == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    out
}

/// Ids of live processes whose command line, joined by spaces, satisfies this.
pub(super) fn running(is: impl Fn(&str) -> bool) -> Vec<i32> {
    let mut out = Vec::new();
    for pid in all().into_iter().filter(|(_, (_, s))| !matches!(s, 'Z' | 'X')).map(|(p, _)| p) {
        let Ok(bytes) = std::fs::read(format!("/proc/{pid}/cmdline")) else { continue };
        let line = String::from_utf8_lossy(&bytes).trim_end_matches('\0').replace('\0', " ");
        if is(&line) {
            out.push(pid);
        }
    }
    out
}

/// Sends a signal to one process.
pub(super) fn signal(pid: i32, signal: i32) {
    // SAFETY: takes two numbers; a process that is gone is no harm.
    unsafe { libc::kill(pid, signal) };
}

/// Ends processes that this program started: all are stopped first, so that none starts another.
pub(super) fn end(pids: &[i32]) {
    for pid in pids {
        signal(*pid, libc::SIGSTOP);
    }
    for pid in pids {
        signal(*pid, libc::SIGKILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_child_is_found_and_ended_with_its_own() {
        let line = format!("sleep 63.{}", std::process::id());
        let mut child =
            Command::new("sh").args(["-c", &format!("{line} & wait")]).spawn().expect("sh starts");
        let pid = child.id().cast_signed();
        while running(|l| l == line).is_empty() {
            std::thread::yield_now();
        }
        let all = tree(pid);
        assert!(all.len() == 2 && all[0] == pid, "{all:?}");
        end(&all);
        child.wait().expect("it ended");
        // It was sent its end, and has that end when the kernel comes to it.
        while !running(|l| l == line).is_empty() {
            std::thread::yield_now();
        }
    }
}
