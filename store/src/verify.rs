//! Verification: re-hashes everything and checks that records name what is there.

use crate::records::read_record;
use crate::substituter::Substituter;
use crate::{Result, Store, StoreError};
use fs_err as fs;
use rayon::prelude::*;
use sim_model::{Class, Digest, Record};
use std::collections::BTreeMap;
use std::path::PathBuf;

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

impl Store {
    /// Re-hashes every tree and blob, checks every record. With `repair`, damaged things are moved to
    /// `quarantine/`; a tree that a substituter has is fetched again; otherwise the records that name
    /// it are moved out too, so that the next run makes it again.
    pub fn verify(&self, repair: bool, substituters: &[&dyn Substituter]) -> Result<VerifyReport> {
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
        for (digest, error) in bad {
            let users: Vec<&(PathBuf, Record)> = records
                .iter()
                .filter(|(_, r)| r.output.as_ref().is_some_and(|t| t.digest == digest))
                .collect();
            let used_by = users.iter().map(|(_, r)| r.label.clone()).collect();
            let mut finding = self.quarantined(error, used_by, self.tree_path(&digest), repair);
            if repair {
                finding.repaired = Some(self.refetch(&digest, &users, substituters)?);
            }
            report.findings.push(finding);
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

    fn refetch(
        &self,
        digest: &Digest,
        users: &[&(PathBuf, Record)],
        substituters: &[&dyn Substituter],
    ) -> Result<String> {
        for substituter in substituters {
            let scratch = self.scratch("repair-")?;
            let to = scratch.path().join("tree");
            if matches!(substituter.fetch_tree(digest, &to), Ok(true)) {
                let found = crate::tree::scan(&to, crate::tree::LinkRule::Keep)?.digest();
                if found == *digest {
                    self.take(&to, crate::tree::LinkRule::Keep)?;
                    return Ok(format!("fetched from {}", substituter.name()));
                }
            }
        }
        for (path, _) in users {
            self.quarantine(path)?;
        }
        let observations = users.iter().filter(|(_, r)| r.class == Class::Measured).count();
        Ok(match users.len() {
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
        })
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
