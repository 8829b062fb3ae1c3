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
//! An import unpacks into the store's `tmp/`, hashes every tree and log, and takes only what hashes to
//! its name; a record whose output did not arrive is refused. Members are plain files and folders at
//! these places, and links only below `trees/HASH/`; anything else refuses the whole archive.

use crate::tree::{LinkRule, remove_all, scan};
use crate::{Result, Root, Store, StoreError};
use fs_err as fs;
use sim_model::{Digest, Record};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Component, Path, PathBuf};

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

    /// Takes an export in. Roots keep their names unless one is there already. Nothing is taken
    /// before all of it was checked: an archive may come from anybody.
    pub fn import(&self, from: &Path) -> Result<Transferred> {
        let _lease = self.lease()?;
        let scratch = self.scratch("import-")?;
        let limit = unpack_limit(scratch.path());
        measure(from, limit)?;
        unpack(from, scratch.path(), limit)?;
        let found = Found::check(self, from, scratch.path())?;

        let mut moved = Transferred::default();
        for path in &found.trees {
            self.take(path, LinkRule::Keep)?;
            moved.trees += 1;
        }
        for path in &found.blobs {
            self.put_blob(&fs::read(path)?)?;
            moved.blobs += 1;
        }
        for record in &found.records {
            let mut known = false;
            for generation in 0.. {
                let Some(mine) = self.record_generation(&record.key, generation)? else { break };
                known |=
                    Record { generation: 0, ..mine } == Record { generation: 0, ..record.clone() };
            }
            if !known {
                self.put_record(record)?;
                moved.records += 1;
            }
        }
        for (name, root) in &found.roots {
            if self.root_named(name)?.is_none() {
                self.put_root(name, root)?;
            }
        }
        for path in &found.journals {
            let to = self.root().join("journal").join(path.file_name().unwrap_or_default());
            if !to.exists() {
                crate::write_atomic(self.root(), &to, &fs::read(path)?, self.syncs())?;
            }
        }
        remove_all(scratch.path()).map_err(|e| StoreError::at(scratch.path(), e))?;
        Ok(moved)
    }
}

/// What an unpacked archive holds, all of it checked.
struct Found {
    trees: Vec<PathBuf>,
    blobs: Vec<PathBuf>,
    records: Vec<Record>,
    roots: Vec<(String, Root)>,
    journals: Vec<PathBuf>,
}

impl Found {
    fn check(store: &Store, from: &Path, scratch: &Path) -> Result<Self> {
        // Named as in the archive: where it was unpacked is nobody's concern, and it is the archive
        // that is wrong, not the store.
        let bad = |path: &Path, problem: &dyn std::fmt::Display| {
            let name = path.strip_prefix(scratch).unwrap_or(path).display();
            StoreError::BadArchive {
                path: from.to_path_buf(),
                problem: format!("{name} {problem}"),
            }
        };
        let named = |folder: &str| -> Result<Vec<PathBuf>> {
            let dir = scratch.join(folder);
            if !dir.symlink_metadata().is_ok_and(|m| m.is_dir()) {
                return Ok(Vec::new());
            }
            let mut out = Vec::new();
            for entry in fs::read_dir(dir)? {
                out.push(entry?.path());
            }
            out.sort();
            Ok(out)
        };
        let digest_of = |path: &Path| -> Result<Digest> {
            let name = path.file_name().and_then(|n| n.to_str());
            name.and_then(|n| n.parse().ok()).ok_or_else(|| bad(path, &"is not named by a digest"))
        };
        let hashes = |path: &Path, found: Digest| match digest_of(path)? {
            expected if expected == found => Ok(found),
            _ => Err(bad(path, &format!("hashes to {found}, not to its name"))),
        };
        let (trees, blobs) = (named("trees")?, named("blobs")?);
        let mut arrived = BTreeSet::new();
        for path in &trees {
            digest_of(path)?;
            let node = scan(path, LinkRule::Keep)
                .map_err(|e| bad(path, &format!("cannot be kept: {e}")))?;
            arrived.insert(hashes(path, node.digest())?);
        }
        for path in &blobs {
            hashes(path, Digest::of(&fs::read(path)?))?;
        }
        let mut records = Vec::new();
        for path in named("records")? {
            let record = crate::records::decode(&fs::read(&path)?)
                .map_err(|e| bad(&path, &format!("is no record: {e}")))?
                .record;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let key = name.split_once('.').map_or(&*name, |(key, _)| key);
            if key != record.key.to_string() {
                return Err(bad(&path, &format!("is the record of {}", record.key)));
            }
            if let Some(tree) = &record.output
                && !arrived.contains(&tree.digest)
                && !store.has_tree(&tree.digest)
            {
                let problem = format!("has the output {}, which did not come along", tree.digest);
                return Err(bad(&path, &problem));
            }
            records.push(record);
        }
        let mut roots = Vec::new();
        for path in named("roots")? {
            let root = serde_json::from_slice(&fs::read(&path)?)
                .map_err(|e| bad(&path, &format!("is no root: {e}")))?;
            roots.push((path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), root));
        }
        // An account, not a result: what is here already stays.
        let mut journals = named("journal")?;
        journals.retain(|p| p.extension().is_some_and(|e| e == "jsonl"));
        for path in &journals {
            store.journal_lines(path).map_err(|e| bad(path, &format!("is no journal: {e}")))?;
        }
        Ok(Self { trees, blobs, records, roots, journals })
    }
}

/// No archive unpacks to more than this, or to more than what is free on the disk.
pub const MOST_BYTES: u64 = 64 << 30;
/// No archive has more members.
const MOST_MEMBERS: u64 = 4_000_000;
/// No name takes more: the members that hold long names are read into memory.
const MOST_NAME: u64 = 64 << 10;
const FOLDERS: [&str; 5] = ["trees", "blobs", "records", "roots", "journal"];

/// How many bytes may be unpacked into a folder.
pub fn unpack_limit(folder: &Path) -> u64 {
    let free =
        rustix::fs::statvfs(folder).map_or(MOST_BYTES, |s| s.f_bavail.saturating_mul(s.f_frsize));
    free.min(MOST_BYTES)
}

fn too_much(from: &Path, limit: u64) -> StoreError {
    let why = if limit == MOST_BYTES { "no archive may" } else { "the disk has no more room" };
    let problem =
        format!("it unpacks to more than {:.1} GiB: {why}", limit as f64 / f64::from(1_u32 << 30));
    StoreError::BadArchive { path: from.to_path_buf(), problem }
}

/// Gives at most so many bytes, then an error.
struct Limited<R> {
    inner: R,
    left: u64,
}

/// The error of [`Limited`], told apart from others by its kind.
const LIMIT: std::io::ErrorKind = std::io::ErrorKind::FileTooLarge;

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buf)?;
        self.left = self.left.checked_sub(read as u64).ok_or(LIMIT)?;
        Ok(read)
    }
}

type Decoder = Limited<zstd::Decoder<'static, BufReader<fs::File>>>;

fn opened(from: &Path, limit: u64) -> Result<tar::Archive<Decoder>> {
    let decoder = zstd::Decoder::new(fs::File::open(from)?)
        .map_err(|e| StoreError::BadArchive { path: from.to_path_buf(), problem: e.to_string() })?;
    let mut archive = tar::Archive::new(Limited { inner: decoder, left: limit });
    archive.set_preserve_permissions(true);
    archive.set_preserve_mtime(false);
    Ok(archive)
}

/// Reads the archive once without unpacking anything: its size, its kinds of members, and that no
/// name in it is a flood of its own.
fn measure(from: &Path, limit: u64) -> Result<()> {
    let bad = |problem: String| StoreError::BadArchive { path: from.to_path_buf(), problem };
    let fault = |e: std::io::Error| match e.kind() {
        k if k == LIMIT => too_much(from, limit),
        _ => bad(e.to_string()),
    };
    let mut archive = opened(from, limit)?;
    let mut members = 0_u64;
    for entry in archive.entries().map_err(fault)?.raw(true) {
        let entry = entry.map_err(fault)?;
        members += 1;
        if members > MOST_MEMBERS {
            return Err(bad(format!("it has more than {MOST_MEMBERS} members")));
        }
        let kind = entry.header().entry_type();
        let of_names = kind.is_gnu_longname() || kind.is_gnu_longlink();
        if !(of_names || kind.is_file() || kind.is_dir() || kind.is_symlink()) {
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            return Err(bad(format!("{name} is {}", kind_name(kind))));
        }
        if of_names && entry.size() > MOST_NAME {
            return Err(bad("a name in it is too long".to_owned()));
        }
        if entry.size() > limit {
            return Err(too_much(from, limit));
        }
    }
    if members == 0 {
        return Err(bad("it is empty".to_owned()));
    }
    Ok(())
}

fn kind_name(kind: tar::EntryType) -> &'static str {
    match kind {
        k if k.is_hard_link() => "a hard link; an archive of a store holds none",
        k if k.is_symlink() => "a link where a file or a folder must be",
        k if k.is_file() => "a file where a folder must be",
        k if k.is_dir() => "a folder where a file must be",
        _ => "neither a file, a folder nor a link",
    }
}

fn unpack(from: &Path, to: &Path, limit: u64) -> Result<()> {
    let bad = |problem: String| StoreError::BadArchive { path: from.to_path_buf(), problem };
    let fault = |e: std::io::Error| match e.kind() {
        k if k == LIMIT => too_much(from, limit),
        std::io::ErrorKind::StorageFull => StoreError::at(to, e),
        _ => bad(e.to_string()),
    };
    let mut archive = opened(from, limit)?;
    let mut first = true;
    // Files and links: nothing may come below one, or in its place.
    let mut leaves: HashSet<PathBuf> = HashSet::new();
    for entry in archive.entries().map_err(fault)? {
        let mut entry = entry.map_err(fault)?;
        let name = entry.path().map_err(fault)?.into_owned();
        let kind = entry.header().entry_type();
        if std::mem::take(&mut first) {
            if name.as_os_str() != MARK || !kind.is_file() {
                return Err(bad("it was not written by `sim-pipe store export`".to_owned()));
            }
            continue;
        }
        member(&name, kind).map_err(|problem| bad(format!("{} {problem}", name.display())))?;
        if name.ancestors().any(|a| leaves.contains(a)) {
            return Err(bad(format!("{} is in it twice, or lies below a file", name.display())));
        }
        if !kind.is_dir() {
            leaves.insert(name.clone());
        }
        if !entry.unpack_in(to).map_err(fault)? {
            return Err(bad(format!("{} would be written outside", name.display())));
        }
    }
    Ok(())
}

/// Whether a member may be there: a plain file or folder of a store, and links only in a tree.
fn member(name: &Path, kind: tar::EntryType) -> std::result::Result<(), String> {
    let mut parts = Vec::new();
    for part in name.components() {
        match part {
            Component::Normal(part) => parts.push(part),
            _ => return Err("would be written outside".to_owned()),
        }
    }
    let Some(folder) =
        parts.first().and_then(|f| FOLDERS.iter().find(|known| f.to_str() == Some(**known)))
    else {
        return Err("belongs to no archive of a store".to_owned());
    };
    let fine = match (parts.len(), *folder) {
        (1, _) => kind.is_dir(),
        (2, "trees") => kind.is_file() || kind.is_dir(),
        (_, "trees") => kind.is_file() || kind.is_dir() || kind.is_symlink(),
        (2, _) => kind.is_file(),
        _ => return Err("lies deeper than anything there".to_owned()),
    };
    if fine { Ok(()) } else { Err(format!("is {}", kind_name(kind))) }
}

fn append<W: Write>(tar: &mut tar::Builder<W>, name: &str, bytes: &[u8]) -> Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o444);
    header.set_entry_type(tar::EntryType::Regular);
    tar.append_data(&mut header, name, bytes)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().expect("tempdir");
        let store = Store::open(&dir.path().join("store")).expect("open");
        store.put_blob(b"a log").expect("blob");
        let scratch = store.scratch("t-").expect("scratch");
        fs::write(scratch.path().join("file"), "kept").expect("write");
        let inner = scratch.path().join("tree");
        fs::create_dir(&inner).expect("mkdir");
        fs::write(inner.join("file"), "kept").expect("write");
        store.take(&inner, LinkRule::Keep).expect("take");
        (dir, store)
    }

    /// An archive with one member after the mark, its name and target unchecked.
    fn forged(dir: &Path, name: &str, kind: tar::EntryType, target: &str, bytes: &[u8]) -> PathBuf {
        let path = dir.join("forged.simpipe");
        let file = fs::File::create(&path).expect("create");
        let mut tar = tar::Builder::new(zstd::Encoder::new(file, 3).expect("zstd"));
        append(&mut tar, MARK, b"").expect("mark");
        let mut header = tar::Header::new_gnu();
        let raw = header.as_old_mut();
        raw.name[..name.len()].copy_from_slice(name.as_bytes());
        raw.linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        tar.append(&header, bytes).expect("member");
        tar.into_inner().expect("tar").finish().expect("zstd");
        path
    }

    #[test]
    fn a_forged_archive_is_refused_and_the_store_stays() {
        use tar::EntryType as Kind;
        let (dir, store) = store();
        let absolute = store.trees().display().to_string();
        let hash = "0".repeat(64);
        let inside = format!("trees/{hash}");
        let cases: [(&str, Kind, &str, &str); 15] = [
            ("trees", Kind::Symlink, "../../trees", "a link"),
            ("trees", Kind::Symlink, &absolute, "a link"),
            ("blobs", Kind::Symlink, "../../blobs", "a link"),
            ("records", Kind::Symlink, "../../records", "a link"),
            ("roots", Kind::Symlink, "../../roots", "a link"),
            ("journal", Kind::Symlink, "../../journal", "a link"),
            ("trees", Kind::Link, "../../trees", "a hard link"),
            (&inside, Kind::Link, "/etc/passwd", "a hard link"),
            (&inside, Kind::Symlink, "../../../trees", "a link"),
            ("trees/../../evil", Kind::Regular, "", "outside"),
            ("../evil", Kind::Regular, "", "outside"),
            ("/tmp/evil", Kind::Regular, "", "outside"),
            ("trees", Kind::Regular, "", "a file where"),
            ("format", Kind::Regular, "", "belongs to no archive"),
            ("blobs/x", Kind::Fifo, "", "neither"),
        ];
        for (name, kind, target, said) in cases {
            let from = forged(dir.path(), name, kind, target, b"");
            let error = store.import(&from).expect_err(name);
            assert!(matches!(error, StoreError::BadArchive { .. }), "{name}: {error:?}");
            assert!(error.to_string().contains(said), "{name}: {error}");
            assert!(store.verify(false, &[]).expect("verify").findings.is_empty());
            assert_eq!(store.tree_digests().expect("trees").0.len(), 1, "{name}");
            assert_eq!(fs::read_dir(store.scratch_folder()).expect("tmp").count(), 0, "{name}");
        }
    }

    #[test]
    fn what_does_not_hash_to_its_name_is_the_archives_fault() {
        let (dir, store) = store();
        for name in [
            format!("blobs/{}", "0".repeat(64)),
            format!("trees/{}", "0".repeat(64)),
            format!("records/{}", "0".repeat(64)),
            "roots/a.json".to_owned(),
        ] {
            let from = forged(dir.path(), &name, tar::EntryType::Regular, "", b"something");
            let error = store.import(&from).expect_err(&name);
            assert!(matches!(error, StoreError::BadArchive { .. }), "{name}: {error:?}");
        }
    }

    #[test]
    fn an_archive_unpacks_to_no_more_than_its_limit() {
        let (dir, _) = store();
        let bytes = vec![0; 4 << 20];
        let from = forged(dir.path(), "blobs/x", tar::EntryType::Regular, "", &bytes);
        assert!(from.metadata().expect("metadata").len() < 10_000);
        measure(&from, 8 << 20).expect("fits");
        let error = measure(&from, 1 << 20).expect_err("too much");
        assert!(error.to_string().contains("it unpacks to more than"), "{error}");
        let error = unpack(&from, dir.path(), 1 << 20).expect_err("too much");
        assert!(error.to_string().contains("it unpacks to more than"), "{error}");
        let long = forged(dir.path(), "x", tar::EntryType::GNULongName, "", &bytes);
        let error = measure(&long, 8 << 20).expect_err("a name");
        assert!(error.to_string().contains("too long"), "{error}");
    }
}
