//! The files of a research crate on their way into a folder, and from there into a ZIP file.

use crate::error::CliError;
use sha2::{Digest as _, Sha256};
use sim_provenance::ro_crate::Part;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// A crate that grows in a folder.
pub(super) struct Files {
    pub(super) folder: PathBuf,
    pub(super) parts: Vec<Part>,
    used: BTreeSet<String>,
}

impl Files {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, parts: Vec::new(), used: BTreeSet::new() }
    }

    /// A path in the crate that nothing else has, below `folder`.
    pub(super) fn place(&mut self, folder: &str, name: &str) -> String {
        let safe: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "-_./+@=".contains(c) { c } else { '_' })
            .collect();
        // No part may leave the crate or hide in it.
        let parts = safe.split('/').map(|p| p.trim_start_matches('.')).filter(|p| !p.is_empty());
        let safe = parts.collect::<Vec<_>>().join("/");
        let base = format!("{folder}/{}", if safe.is_empty() { "unnamed" } else { &safe });
        let mut path = base.clone();
        let mut n = 1;
        while !self.used.insert(path.clone()) {
            n += 1;
            path = format!("{base}~{n}");
        }
        path
    }

    /// Copies a file or folder to a path in the crate and lists it; gives the path as it is listed.
    pub(super) fn copy(
        &mut self,
        from: &Path,
        path: &str,
        name: &str,
        about: &str,
    ) -> Result<String, CliError> {
        let to = self.folder.join(path);
        if let Some(parent) = to.parent() {
            fs_err::create_dir_all(parent)?;
        }
        sim_store::tree::copy_all(from, &to)?;
        writable(&to)?;
        self.list(path, name, about)
    }

    /// Writes a file and lists it.
    pub(super) fn write(
        &mut self,
        path: &str,
        bytes: &[u8],
        name: &str,
        about: &str,
    ) -> Result<String, CliError> {
        let to = self.folder.join(path);
        if let Some(parent) = to.parent() {
            fs_err::create_dir_all(parent)?;
        }
        fs_err::write(&to, bytes)?;
        self.list(path, name, about)
    }

    /// Lists what lies at a path already.
    pub(super) fn list(&mut self, path: &str, name: &str, about: &str) -> Result<String, CliError> {
        let at = self.folder.join(path);
        let folder = at.is_dir();
        let path = if folder { format!("{path}/") } else { path.to_owned() };
        let sha256 = if folder {
            String::new()
        } else {
            let mut hasher = Sha256::new();
            std::io::copy(&mut fs_err::File::open(&at)?, &mut hasher)?;
            hex(&hasher.finalize())
        };
        self.parts.push(Part {
            path: path.clone(),
            name: name.to_owned(),
            about: about.to_owned(),
            media: if folder { "" } else { media(&path) },
            bytes: sim_store::gc::size_of(&at)?,
            sha256,
        });
        Ok(path)
    }
}

/// A copy out of the store is the user's own: what the store keeps read-only may be moved and removed.
fn writable(path: &Path) -> Result<(), CliError> {
    use std::os::unix::fs::PermissionsExt as _;
    let meta = fs_err::symlink_metadata(path)?;
    if meta.is_symlink() {
        return Ok(());
    }
    let mode = meta.permissions().mode() | 0o200;
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    if meta.is_dir() {
        for entry in fs_err::read_dir(path)? {
            writable(&entry?.path())?;
        }
    }
    Ok(())
}

fn media(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "json" => "application/json",
        "toml" => "application/toml",
        "txt" | "log" => "text/plain",
        "html" => "text/html",
        "csv" => "text/csv",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "py" => "text/x-python",
        "simpipe" => "application/zstd",
        _ => "application/octet-stream",
    }
}

/// Packs a folder into a ZIP file: sorted, without times, so that equal crates are equal files.
pub(super) fn pack(folder: &Path, to: &Path) -> Result<(), CliError> {
    let partial = to.with_extension("zip.partial");
    let mut zip = zip::ZipWriter::new(std::io::BufWriter::new(fs_err::File::create(&partial)?));
    let failed = |e: zip::result::ZipError| CliError::from(std::io::Error::other(e));
    let mut todo = vec![folder.to_path_buf()];
    let mut files = Vec::new();
    while let Some(dir) = todo.pop() {
        for entry in fs_err::read_dir(&dir)? {
            let path = entry?.path();
            if path.symlink_metadata()?.is_dir() {
                todo.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    for file in files {
        let name = file.strip_prefix(folder).unwrap_or(&file).to_string_lossy().into_owned();
        let meta = fs_err::symlink_metadata(&file)?;
        let options = zip::write::SimpleFileOptions::default()
            // The archive of the store is compressed already.
            .compression_method(if name.ends_with(".simpipe") {
                zip::CompressionMethod::Stored
            } else {
                zip::CompressionMethod::Deflated
            })
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(std::os::unix::fs::PermissionsExt::mode(&meta.permissions()))
            .large_file(meta.len() > 0xffff_0000);
        if meta.is_symlink() {
            let target = fs_err::read_link(&file)?.to_string_lossy().into_owned();
            zip.add_symlink(name, target, options).map_err(failed)?;
        } else {
            zip.start_file(name, options).map_err(failed)?;
            std::io::copy(&mut fs_err::File::open(&file)?, &mut zip)?;
        }
    }
    let mut file = zip.finish().map_err(failed)?;
    file.flush()?;
    drop(file);
    fs_err::rename(&partial, to)?;
    Ok(())
}
