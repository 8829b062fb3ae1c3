//! Shaders that a driver compiled are kept in a folder that was filled ahead: the first compilation takes
//! minutes on a processor, and belongs to no trial.
//!
//! `SIM_ENGINE_CACHE` names the folder, which cannot be written to; a run works on a copy. Mesa is the one
//! driver that is told: others keep caches of their own, or none.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the folder that was filled ahead.
const GIVEN: &str = "SIM_ENGINE_CACHE";
/// Mesa's own variable.
const MESA: &str = "MESA_SHADER_CACHE_DIR";
/// Mesa leaves its cache out where it takes the program for privileged, and where this says so.
const OFF: &str = "MESA_SHADER_CACHE_DISABLE";

/// Names the folder to this program itself, once it is prepared.
const PREPARED: &str = "SIM_NEXUS_SHADER_FOLDER";

/// The folder that drivers of this process keep compiled shaders in.
pub struct Cache {
    folder: PathBuf,
    before: usize,
    own: bool,
}

impl Cache {
    /// A folder that begins with what was compiled ahead, if anything was: `keep`, or one of this process's
    /// own, removed when this is dropped. Drivers read its name from the environment, which a process
    /// cannot safely change for itself: the program starts itself again in its place, with the same
    /// arguments, and gets here a second time.
    pub fn enter(keep: Option<&Path>) -> io::Result<Self> {
        if let Some(folder) = std::env::var_os(PREPARED) {
            let folder = PathBuf::from(folder);
            return Ok(Self { before: files(&folder), folder, own: keep.is_none() });
        }
        let own = || std::env::temp_dir().join(format!("nexus-shaders-{}", std::process::id()));
        let folder = keep.map_or_else(own, Path::to_owned);
        fs::create_dir_all(&folder)?;
        if let Some(given) = std::env::var_os(GIVEN) {
            copy(Path::new(&given), &folder)?;
        }
        Err(Command::new(std::env::current_exe()?)
            .args(std::env::args_os().skip(1))
            .env(PREPARED, &folder)
            .env(MESA, &folder)
            .env_remove(OFF)
            .exec())
    }

    /// Files that this process added.
    pub fn added(&self) -> usize {
        files(&self.folder).saturating_sub(self.before)
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        if self.own {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Files that the driver of this process holds compiled shaders in; none where no folder was named.
pub(crate) fn kept() -> Option<usize> {
    std::env::var_os(MESA).map(|folder| files(Path::new(&folder)))
}

fn files(folder: &Path) -> usize {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let count = |path: PathBuf| if path.is_dir() { files(&path) } else { 1 };
    entries.flatten().map(|e| count(e.path())).sum()
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            // Not the mode of what cannot be written to.
            fs::write(&to, fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_holds_everything_and_can_be_written_to() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (deep, file) = (from.path().join("a/b"), from.path().join("a/b/shader"));
        fs::create_dir_all(&deep).unwrap();
        fs::write(&file, "compiled").unwrap();
        let mut mode = fs::metadata(&file).unwrap().permissions();
        mode.set_readonly(true);
        fs::set_permissions(&file, mode).unwrap();
        copy(from.path(), to.path()).unwrap();
        let copied = to.path().join("a/b/shader");
        assert_eq!(fs::read_to_string(&copied).unwrap(), "compiled");
        fs::write(&copied, "again").unwrap();
        assert_eq!(files(to.path()), 1);
    }
}
