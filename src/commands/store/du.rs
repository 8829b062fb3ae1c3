//! `sim-pipe store du`: what takes how much space, by folder, by stage kind and by class.

use crate::error::{CliResult, exit};
use crate::format::Format;
use crate::global::Global;
use crate::text;
use sim_model::{Digest, Record};
use sim_provenance::listing::{Folder, Share, StoreSize};
use sim_store::gc::size_of;
use sim_store::{Store, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const FOLDERS: [&str; 7] = ["trees", "blobs", "records", "journal", "cache", "quarantine", "tmp"];

pub(super) fn run(global: &Global, store: &Store, format: Format) -> CliResult {
    let size = measure(store)?;
    if format.json(global) {
        format.print(global, &size)?;
    } else {
        show(&size);
    }
    Ok(exit::OK)
}

fn measure(store: &Store) -> Result<StoreSize, StoreError> {
    let (records, damaged) = store.records()?;
    for e in damaged {
        text::say(&format!("not counted: {e}"));
    }
    let mut folders = Vec::new();
    for name in FOLDERS {
        let path = store.root().join(name);
        folders.push(Folder {
            name: name.to_owned(),
            count: count(&path)?,
            bytes: size_of(&path)?,
        });
    }
    let mut sizes = Sizes { store, trees: BTreeMap::new(), logs: BTreeMap::new() };
    let kinds = sizes.shares(&records, |r| r.kind.clone())?;
    let classes = sizes.shares(&records, |r| r.class.name().to_owned())?;
    let outputs: BTreeSet<Digest> =
        records.iter().filter_map(|r| r.output.as_ref()).map(|t| t.digest).collect();
    let named: BTreeSet<Digest> =
        records.iter().flat_map(|r| r.inputs.iter().filter_map(|i| i.tree)).collect();
    let mut sources = Folder { name: "sources".to_owned(), count: 0, bytes: 0 };
    let mut unreached = Folder { name: "unreached".to_owned(), count: 0, bytes: 0 };
    for entry in fs_err::read_dir(store.trees())? {
        let entry = entry?;
        let digest: Option<Digest> = entry.file_name().to_str().and_then(|n| n.parse().ok());
        if digest.is_some_and(|d| outputs.contains(&d)) {
            continue;
        }
        let of = match digest {
            Some(d) if named.contains(&d) => &mut sources,
            _ => &mut unreached,
        };
        of.count += 1;
        of.bytes += size_of(&entry.path())?;
    }
    Ok(StoreSize {
        v: 1,
        store: store.root().display().to_string(),
        bytes: folders.iter().map(|f| f.bytes).sum(),
        folders,
        kinds,
        classes,
        sources,
        unreached,
    })
}

/// Trees, blobs, records and the like: what lies in the folder, looking through shards.
fn count(folder: &Path) -> Result<u64, StoreError> {
    let mut n = 0;
    let sharded = folder.ends_with("blobs") || folder.ends_with("records");
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        let shard = sharded && entry.file_type().is_ok_and(|t| t.is_dir());
        n += if shard { fs_err::read_dir(entry.path())?.count() as u64 } else { 1 };
    }
    Ok(n)
}

struct Sizes<'a> {
    store: &'a Store,
    /// Bytes of outputs on disk; none where they are gone.
    trees: BTreeMap<Digest, Option<u64>>,
    logs: BTreeMap<Digest, Option<u64>>,
}

impl Sizes<'_> {
    /// Shares by a name, largest first.
    fn shares(
        &mut self,
        records: &[Record],
        name: impl Fn(&Record) -> String,
    ) -> Result<Vec<Share>, StoreError> {
        let mut shares: BTreeMap<String, Share> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut oldest: Vec<&Record> = records.iter().collect();
        oldest.sort_by_key(|r| (r.started_unix_ms, r.key, r.generation));
        for r in oldest {
            let share = shares
                .entry(name(r))
                .or_insert_with(|| Share { name: name(r), ..Share::default() });
            share.records += 1;
            if let Some(tree) = r.output.as_ref().filter(|t| seen.insert(t.digest)) {
                let path = self.store.tree_path(&tree.digest);
                let bytes = measured(&mut self.trees, tree.digest, &path)?;
                share.outputs += u64::from(bytes.is_some());
                share.output_bytes += bytes.unwrap_or(0);
            }
            if let Some(log) = r.log.filter(|l| seen.insert(*l)) {
                let path = self.store.log_path(&log);
                let bytes = measured(&mut self.logs, log, &path)?;
                share.logs += u64::from(bytes.is_some());
                share.log_bytes += bytes.unwrap_or(0);
            }
        }
        let mut out: Vec<Share> = shares.into_values().collect();
        out.sort_by(|a, b| {
            let bytes = |s: &Share| s.output_bytes + s.log_bytes;
            bytes(b).cmp(&bytes(a)).then_with(|| a.name.cmp(&b.name))
        });
        Ok(out)
    }
}

fn measured(
    known: &mut BTreeMap<Digest, Option<u64>>,
    digest: Digest,
    path: &Path,
) -> Result<Option<u64>, StoreError> {
    if let Some(bytes) = known.get(&digest) {
        return Ok(*bytes);
    }
    let bytes = if path.symlink_metadata().is_ok() { Some(size_of(path)?) } else { None };
    known.insert(digest, bytes);
    Ok(bytes)
}

fn show(size: &StoreSize) {
    for f in &size.folders {
        text::out(&format!("{:>10}  {:>7}  {}", text::bytes(f.bytes), f.count, f.name));
    }
    text::out(&format!("{:>10}  {:>7}  {}", text::bytes(size.bytes), "", size.store));
    for (title, shares) in [("kind", &size.kinds), ("class", &size.classes)] {
        text::out(&format!(
            "\n{:>10}  {:>7}  {:>10}  {:>7}  {:>7}  by {title}",
            "outputs", "", "logs", "", "records"
        ));
        for s in shares {
            text::out(&format!(
                "{:>10}  {:>7}  {:>10}  {:>7}  {:>7}  {}",
                text::bytes(s.output_bytes),
                s.outputs,
                text::bytes(s.log_bytes),
                s.logs,
                s.records,
                s.name
            ));
        }
    }
    for (f, what) in [
        (&size.sources, "snapshots of sources"),
        (&size.unreached, "trees that no record names; `store gc` removes them"),
    ] {
        if f.count > 0 {
            text::out(&format!("\n{:>10}  {:>7}  {what}", text::bytes(f.bytes), f.count));
        }
    }
}
