//! Finds the archive of a store in a research crate, so that a crate can be imported as it is.

use crate::commands::export::ARCHIVE;
use crate::error::{CliError, exit};
use crate::text;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// An archive to import: the file itself, or what was taken out of a crate.
pub(super) struct Archive {
    pub(super) path: PathBuf,
    _unpacked: Option<tempfile::TempDir>,
}

/// The archive that `path` is or holds: an exported file, a crate's folder, or a crate's ZIP file.
pub(super) fn archive(path: &Path) -> Result<Archive, CliError> {
    let none = || {
        CliError::new(exit::NOTHING, format!("{} holds no {ARCHIVE}", path.display()))
            .hint("`sim-pipe export ro-crate` writes crates that hold one")
    };
    if path.is_dir() {
        let inside = path.join(ARCHIVE);
        if !inside.is_file() {
            return Err(none());
        }
        return Ok(Archive { path: inside, _unpacked: None });
    }
    let mut head = [0; 4];
    let mut file = fs_err::File::open(path)?;
    if file.read_exact(&mut head).is_err() || head != *b"PK\x03\x04" {
        return Ok(Archive { path: path.to_path_buf(), _unpacked: None });
    }
    let broken = |e: zip::result::ZipError| {
        CliError::new(exit::STORE, format!("the crate {}: {e}", path.display()))
    };
    let mut zip = zip::ZipArchive::new(fs_err::File::open(path)?).map_err(broken)?;
    let mut member = match zip.by_name(ARCHIVE) {
        Ok(member) => member,
        Err(zip::result::ZipError::FileNotFound) => return Err(none()),
        Err(e) => return Err(broken(e)),
    };
    let folder = tempfile::Builder::new().prefix("sim-pipe-import-").tempdir()?;
    let to = folder.path().join(ARCHIVE);
    // What a crate says of its members' sizes is not to be believed.
    let limit = sim_store::transfer::unpack_limit(folder.path());
    let copied = std::io::copy(
        &mut (&mut member).take(limit.saturating_add(1)),
        &mut fs_err::File::create(&to)?,
    )?;
    if copied > limit {
        let message =
            format!("{ARCHIVE} in {} is larger than {}", path.display(), text::bytes(limit));
        return Err(CliError::new(exit::STORE, message));
    }
    Ok(Archive { path: to, _unpacked: Some(folder) })
}
