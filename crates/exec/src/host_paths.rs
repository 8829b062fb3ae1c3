//! Which paths of the host an action may read: the system's programs and libraries, the folders on
//! PATH with the tool installations around them, and sim-pipe itself. Never a home folder as a whole.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const SYSTEM: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/opt",
    "/nix",
    "/sys",
    "/proc",
    "/run/current-system",
];

/// Devices that an action may use.
pub(crate) const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// GPU devices, present where a driver is.
pub(crate) const GPU_DEVICES: [&str; 4] =
    ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0", "/dev/dri"];

/// Readable paths, existing ones only, without any that lies below another.
pub(crate) fn readable(path_var: &str, own_exe: &Path) -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let mut out: BTreeSet<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    out.insert(own_exe.to_path_buf());
    for dir in path_var.split(':').filter(|d| d.starts_with('/')) {
        let dir = PathBuf::from(dir);
        if !dir.is_dir() {
            continue;
        }
        out.extend(installation(&dir, home.as_deref()));
        out.insert(dir);
    }
    if let Some(rustup) = rustup_home() {
        out.insert(rustup);
    }
    for var in ["DUCKDB_LIB_DIR"] {
        if let Some(dir) = std::env::var_os(var) {
            out.insert(PathBuf::from(dir));
        }
    }
    // An action has a /tmp of its own: the host's, should PATH name it, would take its place.
    out.remove(Path::new("/tmp"));
    // Nor is a search path a reason to show everything, or the host's devices.
    let shown = |p: &PathBuf| {
        p.is_absolute() && p != Path::new("/") && !p.starts_with("/dev") && p.exists()
    };
    let existing: Vec<PathBuf> = out.into_iter().filter(shown).collect();
    let covered = |p: &PathBuf| existing.iter().any(|other| other != p && p.starts_with(other));
    existing.iter().filter(|p| !covered(p)).cloned().collect()
}

/// Where rustup keeps its toolchains, when there are any.
pub(crate) fn rustup_home() -> Option<PathBuf> {
    std::env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".rustup")))
        .filter(|p| p.is_dir())
}

/// What of the installation around a `bin`, `sbin` or `shims` folder the programs in it need. A folder
/// named `bin` may lie in anything, a project with its data included, so only what installations are
/// made of is taken. Not for cargo's folder, which holds credentials, nor for one that is a home
/// folder or holds one.
fn installation(bin: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let name = bin.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let Some(parent) = bin.parent() else { return Vec::new() };
    let personal = ["", ".cargo", ".local"];
    let parent_name = parent.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let holds_home = home.is_some_and(|h| h.starts_with(parent))
        || parent == Path::new("/root")
        || parent.parent() == Some(Path::new("/home"));
    if personal.contains(&parent_name) || holds_home {
        return Vec::new();
    }
    match name {
        "bin" | "sbin" => PARTS.iter().map(|part| parent.join(part)).collect(),
        // pyenv and its like: nothing else names a folder so.
        "shims" => vec![parent.to_path_buf()],
        _ => Vec::new(),
    }
}

/// What an installation is made of: programs, libraries, and what these read. The last ones are those
/// of Python environments, Java, Go and CUDA.
const PARTS: [&str; 18] = [
    "bin",
    "sbin",
    "lib",
    "lib32",
    "lib64",
    "libexec",
    "share",
    "include",
    "etc",
    "ssl",
    "pyvenv.cfg",
    "conf",
    "jmods",
    "jre",
    "pkg",
    "go.env",
    "nvvm",
    "targets",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_folders_are_readable_and_homes_are_not() {
        let home = Path::new("/home/u");
        let i = |p: &str| {
            let first = installation(Path::new(p), Some(home)).into_iter().next();
            first.map(|p| p.display().to_string())
        };
        assert_eq!(i("/home/u/.pyenv/shims").as_deref(), Some("/home/u/.pyenv"));
        assert_eq!(i("/opt/tool/bin").as_deref(), Some("/opt/tool/bin"));
        let parts = installation(Path::new("/data/project/bin"), Some(home));
        assert!(parts.contains(&"/data/project/lib".into()));
        assert!(!parts.contains(&"/data/project".into()), "what lies beside bin stays unseen");
        assert_eq!(i("/home/u/.cargo/bin"), None);
        assert_eq!(i("/home/u/.local/bin"), None);
        assert_eq!(i("/home/u/bin"), None);
        assert_eq!(i("/home/other/bin"), None);
        assert_eq!(i("/root/bin"), None);
        assert_eq!(i("/bin"), None);
    }
}
