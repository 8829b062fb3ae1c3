//! Garbage collection: keeps what roots reach, and every observation.

use crate::tree::remove_all;
use crate::{Result, Store, StoreError};
use fs_err as fs;
use sim_model::{Class, Digest, Record};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What to collect.
#[derive(Clone, Copy, Debug, Default)]
pub struct GcOptions {
    /// Only say what would go.
    pub dry_run: bool,
    /// Collect observations (records of measured actions) that no root reaches, too. They cannot be
    /// made again: by default they stay.
    pub observations: bool,
    /// Collect logs, too.
    pub logs: Option<LogRetention>,
}

/// Which logs go. The records stay, and say what they said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRetention {
    /// Logs of actions that were started before this, milliseconds since 1970 UTC.
    pub before_unix_ms: u64,
    /// Logs of actions that did not end `ok`, too: they are the ones that are read.
    pub failed_too: bool,
}

impl LogRetention {
    /// Whether the log of this record may go. One that another record names as well must be free to go
    /// for that one, too.
    fn frees(&self, record: &Record) -> bool {
        record.started_unix_ms < self.before_unix_ms
            && (self.failed_too || record.status == sim_model::Status::Ok)
    }
}

/// One thing that goes or stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GcItem {
    /// Path in the store.
    pub path: PathBuf,
    /// Bytes on disk.
    pub bytes: u64,
    /// Label or kind of thing, for people.
    pub what: String,
}

/// What a collection did, or would do.
#[derive(Clone, Debug, Default)]
pub struct GcReport {
    /// Removed (or to be removed).
    pub removed: Vec<GcItem>,
    /// Records kept, with the root that reaches them (`observation` for those kept as such).
    pub kept: BTreeMap<Digest, String>,
}

impl GcReport {
    /// Bytes freed.
    pub fn bytes(&self) -> u64 {
        self.removed.iter().map(|i| i.bytes).sum()
    }
}

impl Store {
    /// Collects. Fails with [`StoreError::InUse`] while any process holds a lease.
    pub fn gc(&self, options: GcOptions) -> Result<GcReport> {
        let _alone = self.lease_alone()?;
        let (records, damaged) = self.records()?;
        if let Some(e) = damaged.into_iter().next() {
            // What a damaged record reaches is unknown: collecting could lose it.
            return Err(e);
        }
        let mut by_key: BTreeMap<Digest, Vec<&Record>> = BTreeMap::new();
        for record in &records {
            by_key.entry(record.key).or_default().push(record);
        }

        let mut report = GcReport::default();
        for (name, root) in self.roots()? {
            let mut todo: Vec<Digest> = root.entries.iter().map(|e| e.key).collect();
            while let Some(key) = todo.pop() {
                if report.kept.contains_key(&key) {
                    continue;
                }
                report.kept.insert(key, name.clone());
                for record in by_key.get(&key).into_iter().flatten() {
                    todo.extend(record.inputs.iter().filter_map(|i| i.key));
                }
            }
        }
        if !options.observations {
            for record in records.iter().filter(|r| r.class == Class::Measured) {
                report.kept.entry(record.key).or_insert_with(|| "observation".to_owned());
            }
        }

        let mut trees = BTreeSet::new();
        let mut blobs = BTreeSet::new();
        // What logs are, that go though a record names them.
        let mut labels: BTreeMap<Digest, String> = BTreeMap::new();
        for record in records.iter().filter(|r| report.kept.contains_key(&r.key)) {
            trees.extend(record.output.as_ref().map(|t| t.digest));
            trees.extend(record.inputs.iter().filter_map(|i| i.tree));
            blobs.extend(record.log);
        }

        blobs.extend(self.kept_plans()?);

        let mut go = |path: PathBuf, what: String| -> Result<()> {
            let bytes = size_of(&path)?;
            if !options.dry_run {
                remove_all(&path).map_err(|e| StoreError::at(&path, e))?;
            }
            report.removed.push(GcItem { path, bytes, what });
            Ok(())
        };
        // Records first: one must never name a tree that is already gone.
        for record in records.iter().filter(|r| !report.kept.contains_key(&r.key)) {
            go(
                self.record_path(&record.key, record.generation),
                format!("record of {}", record.label),
            )?;
        }
        let (digests, strangers) = self.tree_digests()?;
        for digest in digests.iter().filter(|d| !trees.contains(d)) {
            go(self.tree_path(digest), "tree".to_owned())?;
        }
        for path in strangers {
            go(path, "not a tree".to_owned())?;
        }
        if let Some(retention) = options.logs {
            let kept = records.iter().filter(|r| report.kept.contains_key(&r.key));
            let mut freed: BTreeMap<Digest, (bool, &Record)> = BTreeMap::new();
            for record in kept {
                let Some(log) = record.log else { continue };
                freed.entry(log).or_insert((true, record)).0 &= retention.frees(record);
            }
            for (log, (free, record)) in freed {
                if free && self.blob_path(&log).exists() {
                    if !options.dry_run {
                        self.let_go_of_log(&log)?;
                    }
                    blobs.remove(&log);
                    labels.insert(log, format!("log of {}", record.label));
                }
            }
        }
        for shard in fs::read_dir(self.root().join("blobs"))? {
            for blob in fs::read_dir(shard?.path())? {
                let path = blob?.path();
                let digest = path.file_name().and_then(|n| n.to_str()).and_then(|n| n.parse().ok());
                if !digest.is_some_and(|d| blobs.contains(&d)) {
                    let what = digest.and_then(|d| labels.get(&d).cloned());
                    go(path, what.unwrap_or_else(|| "log".to_owned()))?;
                }
            }
        }
        for folder in ["tmp", "locks"] {
            for entry in fs::read_dir(self.root().join(folder))? {
                go(entry?.path(), folder.to_owned())?;
            }
        }
        Ok(report)
    }
}

/// Bytes of everything below a path, links not followed.
pub fn size_of(path: &Path) -> Result<u64> {
    let meta = fs::symlink_metadata(path)?;
    if !meta.is_dir() {
        return Ok(meta.len());
    }
    let mut bytes = 0;
    for entry in fs::read_dir(path)? {
        bytes += size_of(&entry?.path())?;
    }
    Ok(bytes)
}
