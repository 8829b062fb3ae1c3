//! Shaders that a driver compiled are kept in a folder that was filled ahead: the first compilation takes
//! minutes on a processor, and belongs to no trial.
//!
//! `SIM_ENGINE_CACHE` names the folder, which cannot be written to; a run works on a copy. Mesa is the one
//! driver that is told: others keep caches of their own, or none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Names the folder that was filled ahead.
const GIVEN: &str = "SIM_ENGINE_CACHE";
/// Mesa's own variable.
const MESA: &str = "MESA_SHADER_CACHE_DIR";
/// Mesa leaves its cache out where it takes the program for privileged, and where this says so.
const OFF: &str = "MESA_SHADER_CACHE_DISABLE";

/// The folder that drivers of this process keep compiled shaders in.
pub struct Cache {
    folder: PathBuf,
    before: usize,
    own: bool,
}

impl Cache {
    /// A copy of what was compiled ahead, or an empty folder; removed when this is dropped.
    ///
    /// To be called before anything else of the process, which must have no other thread yet: it sets
    /// variables of the environment.
    pub fn for_run() -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("nexus-shaders-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Self::in_folder(folder, true)
    }

    /// A folder to be kept, beginning with what was compiled ahead, if anything was. As with
    /// [`Cache::for_run`], to be called first.
    pub fn to_keep(folder: &Path) -> io::Result<Self> {
        Self::in_folder(folder.to_owned(), false)
    }

    fn in_folder(folder: PathBuf, own: bool) -> io::Result<Self> {
        if let Some(given) = std::env::var_os(GIVEN) {
            copy(Path::new(&given), &folder)?;
        }
        // SAFETY: the process has one thread, as the callers promise.
        unsafe {
            std::env::set_var(MESA, &folder);
            std::env::remove_var(OFF);
        }
        let before = files(&folder);
        Ok(Self { folder, before, own })
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
