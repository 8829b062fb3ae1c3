//! Lays a stored site out as ordinary files below `out/`, where it can be opened and copied.

use crate::error::CliError;
use fs_err as fs;
use sim_model::Digest;
use sim_store::Store;
use sim_store::tree::LinkRule;
use std::path::{Path, PathBuf};

/// Lays tree `digest` out at `to`, replacing an older site that this program put there. `to` is left
/// alone when it already is that tree.
pub(crate) fn lay_out(store: &Store, digest: &Digest, to: &Path) -> Result<PathBuf, CliError> {
    let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let parent = to.parent().unwrap_or(Path::new("."));
    let marker = parent.join(format!(".{name}.tree"));
    let digest_text = digest.to_string();
    let ours = fs::read_to_string(&marker).ok();
    // What somebody changed in it is put right.
    let unchanged =
        || sim_store::tree::scan(to, LinkRule::Keep).is_ok_and(|node| node.digest() == *digest);
    if ours.as_deref() == Some(digest_text.as_str()) && to.is_dir() && unchanged() {
        return Ok(to.to_path_buf());
    }
    if ours.is_none() && to.symlink_metadata().is_ok() {
        return Err(CliError::new(
            crate::error::exit::USAGE,
            format!("{} is there and was not written by sim-pipe", to.display()),
        )
        .hint("move it away, or choose another place with --output"));
    }
    fs::create_dir_all(parent)?;
    // A site that is half there must never look whole: built beside, then swapped.
    let fresh = parent.join(format!(".{name}.{}.new", std::process::id()));
    let old = parent.join(format!(".{name}.{}.old", std::process::id()));
    let _ = sim_store::tree::remove_all(&fresh);
    sim_store::tree::copy_all(&store.tree_path(digest), &fresh)?;
    if to.symlink_metadata().is_ok() {
        fs::rename(to, &old)?;
    }
    fs::rename(&fresh, to)?;
    fs::write(&marker, digest_text)?;
    let _ = sim_store::tree::remove_all(&old);
    Ok(to.to_path_buf())
}
