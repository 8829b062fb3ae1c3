//! The one place that reads the environment, the terminal and this program's own path.

use std::io::IsTerminal as _;
use std::path::PathBuf;

/// PATH, as given to actions and used to find tools.
pub(crate) fn path_var() -> String {
    std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned())
}

/// This program.
pub(crate) fn own_exe() -> std::io::Result<PathBuf> {
    // A program replaced while it runs (`cargo build`) shows up as "… (deleted)".
    let exe = std::env::current_exe()?;
    let text = exe.to_string_lossy();
    Ok(text.strip_suffix(" (deleted)").map_or(exe.clone(), PathBuf::from))
}

/// Whether to colour what goes to standard error. `NO_COLOR` wins over `auto`.
pub(crate) fn colour(choice: crate::global::Colour) -> bool {
    match choice {
        crate::global::Colour::Always => true,
        crate::global::Colour::Never => false,
        crate::global::Colour::Auto => {
            std::io::stderr().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
                && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
        }
    }
}

/// Whether progress can be drawn over itself.
pub(crate) fn interactive() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// Columns of the terminal, for wrapping; 100 when there is none.
pub(crate) fn width() -> usize {
    std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).unwrap_or(100)
}

/// `SIM_PIPE_LOCK_DIR`, else /tmp: not TMPDIR, which many systems set anew for each session, so that
/// two sessions would measure at once.
pub(crate) fn lock_folder() -> PathBuf {
    std::env::var_os("SIM_PIPE_LOCK_DIR")
        .filter(|v| !v.is_empty())
        .map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
}

/// `SIM_PIPE_STORE`.
pub(crate) fn store() -> Option<PathBuf> {
    std::env::var_os("SIM_PIPE_STORE").filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// Tells the C library's allocator to keep what is freed instead of giving it back to the system in
/// small pieces: a plan of ten thousand actions makes and frees many, and page faults dominate.
pub(crate) fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "mallopt only sets numbers of the allocator")]
    // SAFETY: called first thing in `main`, before any other thread exists.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, 512 << 20);
        libc::mallopt(libc::M_TOP_PAD, 16 << 20);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 << 20);
    }
}
