//! Reads what this machine is.

use fs_err as fs;
use sim_model::{Digest, Machine};
use std::collections::BTreeSet;

/// Vector extensions that change generated code or rounding.
const FEATURES: [&str; 18] = [
    "sse4_1",
    "sse4_2",
    "avx",
    "avx2",
    "fma",
    "f16c",
    "avx512f",
    "avx512dq",
    "avx512bw",
    "avx512vl",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "avx_vnni",
    "amx_tile",
    "asimd",
    "sve",
    "sve2",
];

/// Reads the machine. What cannot be read is an empty text, never a guess.
pub fn detect() -> Machine {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        cpuinfo
            .lines()
            .find(|l| l.split(':').next().is_some_and(|k| k.trim() == name))
            .and_then(|l| l.split_once(':'))
            .map(|(_, v)| v.trim().to_owned())
            .unwrap_or_default()
    };
    let flags = field("flags") + " " + &field("Features");
    let flags: BTreeSet<&str> = flags.split_whitespace().collect();
    let mut features: Vec<String> =
        FEATURES.iter().filter(|f| flags.contains(**f)).map(|f| (*f).to_owned()).collect();
    features.sort();
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let ram_kib: u64 = meminfo
        .lines()
        .find_map(|l| l.strip_prefix("MemTotal:"))
        .and_then(|v| v.split_whitespace().next())
        .and_then(|v| v.parse().ok())
        .unwrap_or(0);
    let os_release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let os = os_release
        .lines()
        .find_map(|l| l.strip_prefix("PRETTY_NAME="))
        .map(|v| v.trim_matches('"').to_owned())
        .unwrap_or_else(|| std::env::consts::OS.to_owned());
    // The machine-id itself is confidential by its own documentation: only a digest leaves.
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let installation = Digest::of(format!("sim-pipe installation\n{id}\n{host}").as_bytes());
    Machine {
        cpu_model: field("model name"),
        cpu_signature: format!("{}/{}/{}", field("cpu family"), field("model"), field("stepping")),
        cpu_features: features,
        cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        ram_bytes: ram_kib * 1024,
        os,
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
            .unwrap_or_default()
            .trim()
            .to_owned(),
        platform: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        gpus: gpus(),
        installation,
    }
}

/// NVIDIA GPUs by what their driver writes to /proc: model and driver version.
fn gpus() -> Vec<String> {
    let version = fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let driver = version
        .lines()
        .next()
        .and_then(|l| l.split_whitespace().find(|w| w.chars().filter(|c| *c == '.').count() >= 1))
        .unwrap_or_default()
        .to_owned();
    let mut out = Vec::new();
    for entry in fs::read_dir("/proc/driver/nvidia/gpus").into_iter().flatten().flatten() {
        let text = fs::read_to_string(entry.path().join("information")).unwrap_or_default();
        let model = text
            .lines()
            .find_map(|l| l.strip_prefix("Model:"))
            .map(str::trim)
            .unwrap_or_default()
            .to_owned();
        out.push(format!("{model}, driver {driver}"));
    }
    out.sort();
    out
}
