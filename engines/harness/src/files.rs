//! Writing files so that a reader sees either nothing or all of it.

use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Writes a file under another name, syncs it and renames it into place.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = Path::new(&name);
    let written = (|| {
        let mut file = File::create(part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(part, path)
    })();
    written.map_err(|e| {
        let _ = std::fs::remove_file(part);
        format!("{}: {e}", path.display())
    })
}
