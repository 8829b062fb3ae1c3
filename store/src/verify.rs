//! Verification: re-hashes everything and checks that records name what is there.

use crate::records::read_record;
use crate::substituter::Substituter;
use crate::tree::LinkRule;
use crate::{Result, Store, StoreError};
use fs_err as fs;
use rayon::prelude::*;
use sim_model::{Class, Digest, Record};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Something that does not hold.
#[derive(Debug)]
pub struct Finding {
    /// What is wrong, with the path.
    pub error: StoreError,
    /// Labels of the records that name it.
    pub used_by: Vec<String>,
    /// What `--repair` did; `None` when nothing was asked or nothing could be done.
    pub repaired: Option<String>,
}

/// A tree that records name and that is not there any more.
struct Lost<'a> {
    /// Of its finding.
    place: usize,
    digest: Digest,
    users: Vec<&'a (PathBuf, Record)>,
    /// What the makers said.
    why_not: Vec<String>,
}

/// The outcome of a verification.
#[derive(Debug, Default)]
pub struct VerifyReport {
    /// Records read.
    pub records: usize,
    /// Trees hashed.
    pub trees: usize,
    /// Blobs hashed.
    pub blobs: usize,
    /// Bytes hashed.
    pub bytes: u64,
    /// What does not hold.
    pub findings: Vec<Finding>,
}

/// A way to have a lost tree again.
pub trait Maker {
    /// How, as a participle with what follows it, such as `fetched from mirror`.
    fn how(&self) -> String;
    /// Lays the tree at `to`, a path that does not exist; the caller hashes it. `users` are the records
    /// that name it as their output. The error says why it cannot.
    fn make(
        &self,
        digest: &Digest,
        users: &[&Record],
        to: &Path,
    ) -> std::result::Result<(), String>;
}

impl<T: Substituter> Maker for T {
    fn how(&self) -> String {
        format!("fetched from {}", self.name())
    }

    fn make(&self, digest: &Digest, _: &[&Record], to: &Path) -> std::result::Result<(), String> {
        match self.fetch_tree(digest, to) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("{} does not have it", self.name())),
            Err(e) => Err(format!("{}: {e}", self.name())),
        }
    }
}

impl Store {
    /// Re-hashes every tree and blob, checks every record. With `repair`, damaged things are moved to
    /// `quarantine/`. A tree that one of the `makers` can make comes back and its records stay;
    /// otherwise the records that name it are moved out too, so that the next run makes it again.
    pub fn verify(&self, repair: bool, makers: &[&dyn Maker]) -> Result<VerifyReport> {
        let mut report = VerifyReport::default();
        let mut records: Vec<(PathBuf, Record)> = Vec::new();
        for path in self.record_files()? {
            match read_record(&path) {
                Ok(Some(record)) => {
                    let name = self.record_path(&record.key, record.generation);
                    if name == path {
                        records.push((path, record));
                    } else {
                        let error = StoreError::DamagedRecord {
                            path: path.clone(),
                            problem: format!("it belongs at {}", name.display()),
                        };
                        report.findings.push(self.quarantined(error, vec![], path, repair));
                    }
                }
                Ok(None) => {}
                Err(error) => {
                    report.findings.push(self.quarantined(error, vec![], path, repair));
                }
            }
        }
        report.records = records.len();

        let (digests, strangers) = self.tree_digests()?;
        report.trees = digests.len();
        let checked: Vec<(Digest, Result<u64>)> = digests
            .par_iter()
            .map(|d| (*d, self.verified_tree(d).map(|n| n.tree_ref().bytes)))
            .collect();
        let mut bad: BTreeMap<Digest, StoreError> = BTreeMap::new();
        for (digest, result) in checked {
            match result {
                Ok(bytes) => report.bytes += bytes,
                Err(e) => {
                    bad.insert(digest, e);
                }
            }
        }
        for path in strangers {
            let error = StoreError::BadEntry {
                path: path.clone(),
                problem: "is not named by a digest".to_owned(),
            };
            report.findings.push(self.quarantined(error, vec![], path, repair));
        }
        // Trees that records name and that are not there. Inputs are not needed to use a result.
        for (_, record) in &records {
            if let Some(tree) = &record.output
                && !self.has_tree(&tree.digest)
            {
                bad.entry(tree.digest).or_insert(StoreError::MissingTree { digest: tree.digest });
            }
        }
        let mut lost = Vec::new();
        for (digest, error) in bad {
            let users: Vec<&(PathBuf, Record)> = records
                .iter()
                .filter(|(_, r)| r.output.as_ref().is_some_and(|t| t.digest == digest))
                .collect();
            let used_by = users.iter().map(|(_, r)| r.label.clone()).collect();
            let finding = self.quarantined(error, used_by, self.tree_path(&digest), repair);
            lost.push(Lost { place: report.findings.len(), digest, users, why_not: Vec::new() });
            report.findings.push(finding);
        }
        if repair {
            for (place, said) in self.make_again(lost, makers)? {
                report.findings[place].repaired = Some(said);
            }
        }

        for name in self.root_names()? {
            if let Err(error) = self.root_named(&name) {
                let path = self.root().join("roots").join(format!("{name}.json"));
                report.findings.push(self.quarantined(error, vec![], path, repair));
            }
        }

        for (path, record) in &records {
            if let Some(log) = &record.log {
                report.blobs += 1;
                match self.blob(log) {
                    Ok(bytes) => report.bytes += bytes.len() as u64,
                    // Known since an earlier repair; the result itself does not need it.
                    Err(StoreError::MissingBlob { .. }) if self.log_was_lost(log) => {}
                    Err(error) => {
                        let blob = self.blob_path(log);
                        let mut finding =
                            self.quarantined(error, vec![record.label.clone()], blob, repair);
                        if repair && path.exists() {
                            finding.repaired = Some("the log is lost, the result stays".to_owned());
                        }
                        report.findings.push(finding);
                    }
                }
            }
        }
        Ok(report)
    }

    /// Notes that a log goes because of its age, so that nobody takes its absence for damage.
    pub(crate) fn let_go_of_log(&self, log: &Digest) -> Result<()> {
        let note = self.root().join("quarantine").join(log.to_string());
        crate::write_atomic(self.root(), &note, b"collected by `store gc`\n", true)
    }

    /// Whether a repair has set the log aside, or a collection has taken it: it is gone for good, and
    /// said to be.
    pub fn log_was_lost(&self, log: &Digest) -> bool {
        // One that the same action wrote again is there again.
        !self.blob_path(log).exists()
            && self.root().join("quarantine").join(log.to_string()).exists()
    }

    /// Makes lost trees again where that can be, and lets go of the records of all others. Gives what
    /// was done about each.
    fn make_again(
        &self,
        mut lost: Vec<Lost<'_>>,
        makers: &[&dyn Maker],
    ) -> Result<Vec<(usize, String)>> {
        let mut done = Vec::new();
        // One may be needed to make another.
        loop {
            let before = lost.len();
            let mut left = Vec::new();
            for mut one in lost {
                match self.make_one(&mut one, makers)? {
                    Some(said) => done.push((one.place, said)),
                    None => left.push(one),
                }
            }
            lost = left;
            if lost.is_empty() || lost.len() == before {
                break;
            }
        }
        for one in lost {
            done.push((one.place, self.let_go(&one)?));
        }
        Ok(done)
    }

    fn make_one(&self, lost: &mut Lost<'_>, makers: &[&dyn Maker]) -> Result<Option<String>> {
        lost.why_not.clear();
        let users: Vec<&Record> = lost.users.iter().map(|(_, r)| r).collect();
        for maker in makers {
            let scratch = self.scratch("repair-")?;
            let to = scratch.path().join("tree");
            match maker.make(&lost.digest, &users, &to) {
                Ok(()) => {
                    let found = crate::tree::scan(&to, LinkRule::Keep)?.digest();
                    if found == lost.digest {
                        self.take(&to, LinkRule::Keep)?;
                        return Ok(Some(maker.how()));
                    }
                    lost.why_not.push(format!("{}, it has other bytes", maker.how()));
                }
                Err(why) => lost.why_not.push(why),
            }
        }
        Ok(None)
    }

    /// Moves the records of a lost tree out, and says what that means.
    fn let_go(&self, lost: &Lost<'_>) -> Result<String> {
        for (path, _) in &lost.users {
            self.quarantine(path)?;
        }
        let users = lost.users.len();
        let observations = lost.users.iter().filter(|(_, r)| r.class == Class::Measured).count();
        let said = match users {
            0 => "moved to quarantine/; where it is a source, the next run that needs it takes it again"
                .to_owned(),
            // Bytes that were measured cannot be made again.
            1 if observations == 1 => {
                "moved to quarantine/ with its record; an observation is lost, the next run observes \
                 anew"
                    .to_owned()
            }
            n if observations > 0 => format!(
                "moved to quarantine/ with {n} records; {observations} of them are observations and \
                 lost, the next run observes anew"
            ),
            1 => "moved to quarantine/ with its record; the next run makes it again".to_owned(),
            n => format!("moved to quarantine/ with {n} records; the next run makes it again"),
        };
        let why = lost.why_not.iter().filter(|_| users > observations).map(String::as_str);
        let why: Vec<&str> = why.collect();
        Ok(if why.is_empty() { said } else { format!("{said} (not now: {})", why.join("; ")) })
    }

    fn quarantined(
        &self,
        error: StoreError,
        used_by: Vec<String>,
        path: PathBuf,
        repair: bool,
    ) -> Finding {
        let repaired = (repair && path.symlink_metadata().is_ok())
            .then(|| match self.quarantine(&path) {
                Ok(()) => Some("moved to quarantine/".to_owned()),
                Err(_) => None,
            })
            .flatten();
        Finding { error, used_by, repaired }
    }

    /// Moves something damaged out of the way, to `quarantine/`.
    pub fn quarantine(&self, path: &std::path::Path) -> Result<()> {
        let folder = self.root().join("quarantine");
        fs::create_dir_all(&folder)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let to = (0..)
            .map(|i| folder.join(if i == 0 { name.clone() } else { format!("{name}~{i}") }))
            .find(|p| p.symlink_metadata().is_err());
        let Some(to) = to else { return Ok(()) };
        // Moving a read-only folder to another parent needs write permission on it.
        if path.is_dir() {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
        }
        fs::rename(path, to)?;
        Ok(())
    }
}
