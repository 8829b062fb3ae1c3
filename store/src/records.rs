//! Records by key. A key's first record is `KEY`, later ones `KEY.1`, `KEY.2` …; none is replaced.
//!
//! A record file is one line naming the format and the BLAKE3 of what follows, then JSON:
//! `sim-pipe record 1 HASH\n{…}\n`. A flipped bit, a cut or a foreign file is found on reading.

use crate::{Result, Store, StoreError, sync_dir};
use fs_err as fs;
use sim_model::record::RECORD_VERSION;
use sim_model::{Digest, Record};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A record as it lies in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The record.
    pub record: Record,
    /// BLAKE3 of its JSON text: what names this observation in provenance.
    pub digest: Digest,
}

impl Store {
    pub(crate) fn record_path(&self, key: &Digest, generation: u32) -> PathBuf {
        let hex = key.to_string();
        let dir = self.root().join("records").join(&hex[..2]);
        if generation == 0 { dir.join(hex) } else { dir.join(format!("{hex}.{generation}")) }
    }

    /// The newest record of a key.
    pub fn record(&self, key: &Digest) -> Result<Option<Stored>> {
        let mut newest = None;
        for generation in 0.. {
            match read_stored(&self.record_path(key, generation))? {
                Some(record) => newest = Some(record),
                None => break,
            }
        }
        Ok(newest)
    }

    /// One record of a key.
    pub fn record_generation(&self, key: &Digest, generation: u32) -> Result<Option<Record>> {
        read_record(&self.record_path(key, generation))
    }

    /// One record of a key, as stored.
    pub fn stored_generation(&self, key: &Digest, generation: u32) -> Result<Option<Stored>> {
        read_stored(&self.record_path(key, generation))
    }

    /// Writes a record as the next generation of its key and gives it as stored. The trees and
    /// blobs it names must be in the store.
    pub fn put_record(&self, record: &Record) -> Result<Stored> {
        if self.read_only() {
            return Err(StoreError::ReadOnly { root: self.root().to_path_buf() });
        }
        let first = self.record_path(&record.key, 0);
        let dir = first.parent().unwrap_or(self.root()).to_path_buf();
        if !dir.is_dir() {
            fs::create_dir_all(&dir)?;
        }
        let mut generation = 0;
        loop {
            let path = self.record_path(&record.key, generation);
            if !path.exists() {
                let record = Record { generation, ..record.clone() };
                let (bytes, digest) = encode(&record)?;
                let mut file = crate::new_file(&self.root().join("tmp"), "record-")?;
                file.write_all(&bytes).map_err(|e| StoreError::at(&path, e))?;
                if self.syncs() {
                    file.as_file().sync_all().map_err(|e| StoreError::at(&path, e))?;
                }
                match file.persist_noclobber(&path) {
                    Ok(_) => {
                        if self.syncs() {
                            sync_dir(&dir)?;
                        }
                        return Ok(Stored { record, digest });
                    }
                    Err(e) if e.error.kind() == std::io::ErrorKind::AlreadyExists => {}
                    Err(e) => return Err(StoreError::at(&path, e.error)),
                }
            }
            generation += 1;
        }
    }

    /// Every record file, sorted by path.
    pub(crate) fn record_files(&self) -> Result<Vec<PathBuf>> {
        let mut out = Vec::new();
        for shard in fs::read_dir(self.root().join("records"))? {
            let shard = shard?.path();
            if shard.is_dir() {
                for entry in fs::read_dir(&shard)? {
                    out.push(entry?.path());
                }
            }
        }
        out.sort();
        Ok(out)
    }

    /// Every record that can be read, older generations included, with the files that cannot.
    pub fn records(&self) -> Result<(Vec<Record>, Vec<StoreError>)> {
        let mut good = Vec::new();
        let mut bad = Vec::new();
        for path in self.record_files()? {
            match read_record(&path) {
                Ok(Some(record)) => good.push(record),
                Ok(None) => {}
                Err(e) => bad.push(e),
            }
        }
        Ok((good, bad))
    }
}

/// The bytes of a record file, and the digest in its first line.
pub(crate) fn encode(record: &Record) -> Result<(Vec<u8>, Digest)> {
    let mut body = serde_json::to_vec(record).map_err(std::io::Error::other)?;
    body.push(b'\n');
    let digest = Digest::of(&body);
    let mut out = format!("sim-pipe record {RECORD_VERSION} {digest}\n").into_bytes();
    out.extend_from_slice(&body);
    Ok((out, digest))
}

/// Reads and checks a record file; `None` when it is not there.
pub(crate) fn read_record(path: &Path) -> Result<Option<Record>> {
    Ok(read_stored(path)?.map(|s| s.record))
}

fn read_stored(path: &Path) -> Result<Option<Stored>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    decode(&bytes)
        .map(Some)
        .map_err(|problem| StoreError::DamagedRecord { path: path.to_path_buf(), problem })
}

/// Decodes the bytes of a record file. The error is a sentence about the file, "it …".
pub fn decode(bytes: &[u8]) -> std::result::Result<Stored, String> {
    let newline = bytes.iter().position(|b| *b == b'\n').ok_or("it has no first line")?;
    let head = std::str::from_utf8(&bytes[..newline]).map_err(|_| "its first line is not text")?;
    let body = &bytes[newline + 1..];
    let mut words = head.split(' ');
    if (words.next(), words.next()) != (Some("sim-pipe"), Some("record")) {
        return Err("it is not a record".to_owned());
    }
    let version: u32 =
        words.next().and_then(|v| v.parse().ok()).ok_or("its first line has no version")?;
    if version > RECORD_VERSION {
        return Err(format!("it has version {version}, this program knows up to {RECORD_VERSION}"));
    }
    let expected: Digest =
        words.next().and_then(|d| d.parse().ok()).ok_or("its first line has no digest")?;
    let found = Digest::of(body);
    if found != expected {
        return Err(format!("its content hashes to {found}, its first line says {expected}"));
    }
    let record = serde_json::from_slice(body).map_err(|e| e.to_string())?;
    Ok(Stored { record, digest: found })
}
