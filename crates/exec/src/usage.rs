//! Memory of a whole tree of processes, and the processes in it.

use std::fs;

/// All descendants of `root`, itself included, by the kernel's own lists of children.
pub(crate) fn tree(root: u32) -> Vec<u32> {
    let mut out = vec![root];
    let mut next = 0;
    while next < out.len() && out.len() < 100_000 {
        let pid = out[next];
        next += 1;
        for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            out.extend(children.split_whitespace().filter_map(|c| c.parse::<u32>().ok()));
        }
    }
    out
}

/// Anonymous and shared resident memory of these processes in bytes (P153). File-backed pages are
/// left out: the kernel can drop them.
pub(crate) fn resident(pids: &[u32]) -> u64 {
    pids.iter().map(|pid| resident_of(*pid)).sum()
}

fn resident_of(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status
        .lines()
        .filter_map(|l| l.strip_prefix("RssAnon:").or_else(|| l.strip_prefix("RssShmem:")))
        .filter_map(|v| v.split_whitespace().next()?.parse::<u64>().ok())
        .map(|kib| kib * 1024)
        .sum()
}
