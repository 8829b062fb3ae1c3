//! Records by key. A key's first record is `KEY`, later ones `KEY.1`, `KEY.2` …; none is replaced.
//!
//! A record file is one line naming the format and the BLAKE3 of what follows, then JSON:
//! `sim-pipe record 1 HASH\n{…}\n`. A flipped bit, a cut or a foreign file is found on reading.

use crate::{Result, Store, StoreError, Watch, sync_dir};
use fs_err as fs;
use serde::Deserialize;
use sim_model::record::RECORD_VERSION;
use sim_model::{Digest, Record, Status, TreeRef};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The part of a record that tells whether and how its result is used.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Brief {
    /// Key.
    pub key: Digest,
    /// Generation.
    pub generation: u32,
    /// How it ended.
    pub status: Status,
    /// Why, for everything but `ok`.
    #[serde(default)]
    pub reason: String,
    /// Outputs.
    #[serde(default)]
    pub output: Option<TreeRef>,
    /// BLAKE3 of the record's JSON text.
    #[serde(skip, default = "unnamed")]
    pub digest: Digest,
}

fn unnamed() -> Digest {
    Digest::from_bytes([0; 32])
}

impl From<&Stored> for Brief {
    fn from(stored: &Stored) -> Self {
        let r = &stored.record;
        Self {
            key: r.key,
            generation: r.generation,
            status: r.status,
            reason: r.reason.clone(),
            output: r.output.clone(),
            digest: stored.digest,
        }
    }
}

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
        let Some((path, bytes)) = self.newest(key)? else { return Ok(None) };
        decode(&bytes).map(Some).map_err(|problem| StoreError::DamagedRecord { path, problem })
    }

    /// The same without most of it: what a run asks ten thousand times.
    pub fn brief(&self, key: &Digest) -> Result<Option<Brief>> {
        let Some((path, bytes)) = self.newest(key)? else { return Ok(None) };
        let brief = open(&bytes).and_then(|(body, digest)| {
            let brief: Brief = serde_json::from_slice(body).map_err(|e| e.to_string())?;
            Ok(Brief { digest, ..brief })
        });
        brief.map(Some).map_err(|problem| StoreError::DamagedRecord { path, problem })
    }

    fn newest(&self, key: &Digest) -> Result<Option<(PathBuf, Vec<u8>)>> {
        let mut newest = None;
        for generation in 0.. {
            let path = self.record_path(key, generation);
            match std::fs::read(&path) {
                Ok(bytes) => newest = Some((path, bytes)),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => break,
                Err(e) => return Err(StoreError::at(&path, e)),
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

    /// Adds records, given by key and generation, to what is watched, and that they are the newest of
    /// their keys. When one is not, nothing can be concluded from them. Gives the place of the first
    /// record in the watch; the others follow.
    pub fn watch_records(&self, keys: &[(Digest, u32)], watch: &mut Watch, now_ns: i128) -> usize {
        let mut newest = std::collections::HashMap::new();
        let shards: std::collections::BTreeSet<u8> =
            keys.iter().map(|k| k.0.as_bytes()[0]).collect();
        for shard in shards {
            let dir = self.root().join("records").join(format!("{shard:02x}"));
            // Looked at before it is listed: what comes in between shows.
            watch.follow(&dir, now_ns);
            for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let Some(name) = name.to_str() else { continue };
                let (key, generation) = name.split_once('.').unwrap_or((name, "0"));
                if let (Ok(key), Ok(generation)) =
                    (key.parse::<Digest>(), generation.parse::<u32>())
                {
                    let known = newest.entry(key).or_insert(generation);
                    *known = generation.max(*known);
                }
            }
        }
        let first = watch.len();
        for (key, generation) in keys {
            let path = self.record_path(key, *generation);
            match path.symlink_metadata() {
                Ok(meta) if newest.get(key) == Some(generation) => {
                    watch.itself(&path, &meta, now_ns);
                }
                _ => watch.give_up(),
            }
        }
        first
    }

    /// Whether a generation of a key is the newest, told by the name of the next one alone.
    pub fn is_newest(&self, key: &Digest, generation: u32) -> bool {
        let next = generation.checked_add(1).map(|next| self.record_path(key, next));
        next.is_some_and(|next| {
            next.symlink_metadata().is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound)
        })
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
    let (body, digest) = open(bytes)?;
    let record = serde_json::from_slice(body).map_err(|e| e.to_string())?;
    Ok(Stored { record, digest })
}

/// The JSON text of a record file, which is what its first line says, and its digest.
fn open(bytes: &[u8]) -> std::result::Result<(&[u8], Digest), String> {
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
    Ok((body, found))
}
