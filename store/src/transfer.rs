//! Export to and import from one file: a zstd-compressed tar of records, trees and logs.
//!
//! ```text
//! sim-pipe-export 1           first member, empty
//! records/KEY[.N]             record files as in the store
//! trees/HASH/…                trees
//! blobs/HASH                  logs
//! roots/NAME.json             the exported roots
//! journal/RUN.jsonl           what happened in their runs, where that is known
//! ```
//! An import unpacks beside the store, hashes every tree and log, and takes only what hashes to its
//! name; a record whose output did not arrive is refused.

use crate::tree::{LinkRule, remove_all, scan};
use crate::{Result, Root, Store, StoreError};
use fs_err as fs;
use sim_model::{Digest, Record};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

const MARK: &str = "sim-pipe-export 1";

/// What was moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    /// Records.
    pub records: usize,
    /// Trees.
    pub trees: usize,
    /// Logs.
    pub blobs: usize,
}

impl Store {
    /// Writes everything that these roots reach to `to`. With `inputs` the input trees (sources)
    /// go along too.
    pub fn export(&self, roots: &[String], inputs: bool, to: &Path) -> Result<Transferred> {
        let _lease = self.lease()?;
        let mut records: BTreeMap<(Digest, u32), Record> = BTreeMap::new();
        let mut chosen: BTreeMap<String, Root> = BTreeMap::new();
        for name in roots {
            let root = self.root_named(name)?.ok_or_else(|| StoreError::BadEntry {
                path: name.into(),
                problem: "is not a root of this store; `sim-pipe store ls` lists them".to_owned(),
            })?;
            let mut todo: Vec<Digest> = root.entries.iter().map(|e| e.key).collect();
            let mut seen = BTreeSet::new();
            while let Some(key) = todo.pop() {
                if !seen.insert(key) {
                    continue;
                }
                for generation in 0.. {
                    let Some(record) = self.record_generation(&key, generation)? else { break };
                    todo.extend(record.inputs.iter().filter_map(|i| i.key));
                    records.insert((key, generation), record);
                }
            }
            // Whose project it was means nothing elsewhere: the first that runs there takes it over.
            chosen.insert(name.clone(), Root { project: None, ..root });
        }

        let mut moved = Transferred::default();
        let partial = to.with_extension("partial");
        let file = BufWriter::new(fs::File::create(&partial)?);
        let mut tar = tar::Builder::new(zstd::Encoder::new(file, 3)?);
        tar.follow_symlinks(false);
        tar.mode(tar::HeaderMode::Deterministic);
        append(&mut tar, MARK, b"")?;
        let mut trees = BTreeSet::new();
        let mut blobs = BTreeSet::new();
        for record in records.values() {
            trees.extend(record.output.as_ref().map(|t| t.digest));
            if inputs {
                trees.extend(record.inputs.iter().filter_map(|i| i.tree));
            }
            blobs.extend(record.log);
        }
        for digest in trees.iter().filter(|d| self.has_tree(d)) {
            self.verified_tree(digest)?;
            let (name, path) = (format!("trees/{digest}"), self.tree_path(digest));
            if path.is_dir() {
                tar.append_dir_all(&name, &path)?;
            } else {
                tar.append_path_with_name(&path, &name)?;
            }
            moved.trees += 1;
        }
        for digest in blobs.iter().filter(|d| !self.log_was_lost(d)) {
            append(&mut tar, &format!("blobs/{digest}"), &self.blob(digest)?)?;
            moved.blobs += 1;
        }
        for ((key, generation), record) in &records {
            let name = if *generation == 0 {
                format!("records/{key}")
            } else {
                format!("records/{key}.{generation}")
            };
            append(&mut tar, &name, &crate::records::encode(record)?.0)?;
            moved.records += 1;
        }
        for (name, root) in &chosen {
            let bytes = serde_json::to_vec(root).map_err(std::io::Error::other)?;
            append(&mut tar, &format!("roots/{name}.json"), &bytes)?;
        }
        let runs: BTreeSet<String> = chosen.values().map(|r| format!("{}.jsonl", r.run)).collect();
        for path in self.journals()? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if runs.contains(&name) {
                append(&mut tar, &format!("journal/{name}"), &fs::read(&path)?)?;
            }
        }
        let mut file = tar.into_inner()?.finish()?;
        file.flush()?;
        file.get_ref().sync_all()?;
        fs::rename(&partial, to)?;
        Ok(moved)
    }

    /// Takes an export in. Roots keep their names unless one is there already.
    pub fn import(&self, from: &Path) -> Result<Transferred> {
        let _lease = self.lease()?;
        let bad = |problem: String| StoreError::BadArchive { path: from.to_path_buf(), problem };
        let scratch = self.scratch("import-")?;
        let file = BufReader::new(fs::File::open(from)?);
        let decoder = zstd::Decoder::new(file).map_err(|e| bad(e.to_string()))?;
        let mut archive = tar::Archive::new(decoder);
        archive.set_preserve_permissions(true);
        archive.set_preserve_mtime(false);
        let mut first = true;
        for entry in archive.entries().map_err(|e| bad(e.to_string()))? {
            let mut entry = entry.map_err(|e| bad(e.to_string()))?;
            let name = entry.path().map_err(|e| bad(e.to_string()))?.into_owned();
            if std::mem::take(&mut first) {
                if name.as_os_str() != MARK {
                    return Err(bad("it was not written by `sim-pipe store export`".to_owned()));
                }
                continue;
            }
            // `unpack_in` refuses names that leave the folder.
            if !entry.unpack_in(scratch.path()).map_err(|e| bad(e.to_string()))? {
                return Err(bad(format!("{} would be written outside", name.display())));
            }
        }
        if first {
            return Err(bad("it is empty".to_owned()));
        }

        let mut moved = Transferred::default();
        let named = |folder: &str| -> Result<Vec<std::path::PathBuf>> {
            let dir = scratch.path().join(folder);
            if !dir.is_dir() {
                return Ok(Vec::new());
            }
            let mut out: Vec<_> =
                fs::read_dir(dir)?.filter_map(|e| e.ok().map(|e| e.path())).collect();
            out.sort();
            Ok(out)
        };
        let digest_of = |path: &Path| -> Result<Digest> {
            path.file_name()
                .and_then(|n| n.to_str())
                .and_then(|n| n.parse().ok())
                .ok_or_else(|| bad(format!("{} is not named by a digest", path.display())))
        };
        for path in named("trees")? {
            let expected = digest_of(&path)?;
            let found = scan(&path, LinkRule::Keep)?.digest();
            if found != expected {
                return Err(StoreError::Damaged { path, expected, found });
            }
            self.take(&path, LinkRule::Keep)?;
            moved.trees += 1;
        }
        for path in named("blobs")? {
            let (expected, bytes) = (digest_of(&path)?, fs::read(&path)?);
            let found = Digest::of(&bytes);
            if found != expected {
                return Err(StoreError::Damaged { path, expected, found });
            }
            self.put_blob(&bytes)?;
            moved.blobs += 1;
        }
        for path in named("records")? {
            let Some(record) = crate::records::read_record(&path)? else { continue };
            if let Some(tree) = &record.output
                && !self.has_tree(&tree.digest)
            {
                return Err(StoreError::MissingTree { digest: tree.digest });
            }
            let same = |g: u32| -> Result<Option<bool>> {
                Ok(self.record_generation(&record.key, g)?.map(|mine| {
                    Record { generation: 0, ..mine } == Record { generation: 0, ..record.clone() }
                }))
            };
            let mut known = false;
            for generation in 0.. {
                match same(generation)? {
                    Some(true) => known = true,
                    Some(false) => {}
                    None => break,
                }
            }
            if !known {
                self.put_record(&record)?;
                moved.records += 1;
            }
        }
        for path in named("roots")? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let root: Root =
                serde_json::from_slice(&fs::read(&path)?).map_err(|e| bad(e.to_string()))?;
            if self.root_named(&name)?.is_none() {
                self.put_root(&name, &root)?;
            }
        }
        for path in named("journal")? {
            // An account, not a result: what cannot be read is refused, what is here already stays.
            self.journal_lines(&path)?;
            let name = path.file_name().unwrap_or_default();
            let to = self.root().join("journal").join(name);
            if path.extension().is_some_and(|e| e == "jsonl") && !to.exists() {
                crate::write_atomic(self.root(), &to, &fs::read(&path)?, self.syncs())?;
            }
        }
        remove_all(scratch.path()).map_err(|e| StoreError::at(scratch.path(), e))?;
        Ok(moved)
    }
}

fn append<W: Write>(tar: &mut tar::Builder<W>, name: &str, bytes: &[u8]) -> Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o444);
    header.set_entry_type(tar::EntryType::Regular);
    tar.append_data(&mut header, name, bytes)?;
    Ok(())
}
