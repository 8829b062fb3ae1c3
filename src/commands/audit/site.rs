//! Is every page of the sites what the records make of it?
//!
//! A report is a pure function of records and outputs, and its code is compiled in. So the site is
//! written again, from the records as they are now, and compared file by file: a number that no record
//! gives, and a record that gives another number, both show. The site as it lies laid out for readers is
//! compared with the stored one in the same way.

use super::objects::Objects;
use super::plan::Settled;
use super::{Findings, numbers};
use crate::commands::run::{site_base, site_path};
use crate::error::CliError;
use crate::project::Project;
use sim_exec::{ExecError, Options, Resolver};
use sim_model::request::StageStatus;
use sim_model::{Described, PlannedAction, Record};
use sim_provenance::audit::What;
use sim_store::tree::{LinkRule, Node, diff, scan};
use sim_store::{Root, Store};
use std::path::Path;

/// A folder to write a site to: in the store, where there is room for what stores hold, unless it cannot
/// be written.
enum Place {
    Store(sim_store::Scratch),
    System(tempfile::TempDir),
}

impl Place {
    fn make(store: &Store) -> Result<Self, CliError> {
        if store.read_only() {
            return Ok(Self::System(tempfile::Builder::new().prefix("sim-pipe-audit-").tempdir()?));
        }
        Ok(Self::Store(store.scratch("audit-")?))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Store(scratch) => scratch.path(),
            Self::System(folder) => folder.path(),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Many inputs are copied, read-only as they are: an ordinary removal would stop at them.
        let _ = sim_store::tree::remove_all(self.path());
    }
}

/// What the check of sites needs.
pub(super) struct Sites<'a> {
    pub(super) project: &'a Project,
    pub(super) store: &'a Store,
    pub(super) root: &'a Root,
    pub(super) resolver: &'a Resolver<'a>,
    pub(super) options: &'a Options,
    pub(super) settled: &'a Settled,
    pub(super) objects: &'a Objects,
}

impl Sites<'_> {
    /// Checks the output of every report stage; `laid_out` names where the site is for readers.
    pub(super) fn check(
        &self,
        laid_out: Option<&Path>,
        found: &mut Findings,
    ) -> Result<(), CliError> {
        let actions = &self.project.plan.actions;
        let reports: Vec<usize> =
            (0..actions.len()).filter(|i| actions[*i].kind == "report").collect();
        let base = site_base(self.project, laid_out);
        for index in &reports {
            let action = &actions[*index];
            let Some(record) = self.recorded(action) else {
                found.left_out.push(format!("the site of {}: it has no record", action.label));
                continue;
            };
            let Some(tree) = &record.output else {
                found.left_out.push(format!("the site of {}: it gave none", action.label));
                continue;
            };
            if let Some(node) = self.objects.tree(&tree.digest) {
                let to = site_path(&base, &action.label, reports.len());
                self.compare_laid_out(action, node, &to, laid_out.is_some(), found)?;
                self.write_again(action, record, node, found)?;
                numbers::follow(
                    self.store,
                    self.objects,
                    action,
                    &self.store.tree_path(&tree.digest),
                    found,
                )?;
            } else {
                // Damaged, and named: the pages that are still as they were say nothing new.
                let path = self.store.tree_path(&tree.digest);
                if let Ok(node) = scan(&path, LinkRule::Keep) {
                    self.write_again(action, record, &node, found)?;
                }
            }
        }
        Ok(())
    }

    /// The record that the last run used for an action.
    fn recorded(&self, action: &PlannedAction) -> Option<&Record> {
        let entry = self.root.entries.iter().find(|e| e.label == action.label)?;
        self.objects.records.get(&(entry.key, entry.generation))
    }

    fn compare_laid_out(
        &self,
        action: &PlannedAction,
        stored: &Node,
        to: &Path,
        asked: bool,
        found: &mut Findings,
    ) -> Result<(), CliError> {
        if !to.is_dir() {
            if asked {
                found.add(
                    What::Page,
                    &action.label,
                    format!("there is no site in {}", to.display()),
                );
            } else {
                found.left_out.push(format!("the site as laid out: there is no {}", to.display()));
            }
            return Ok(());
        }
        let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let marker = to.parent().unwrap_or(Path::new(".")).join(format!(".{name}.tree"));
        let laid = std::fs::read_to_string(&marker).ok();
        if let Some(laid) = laid.filter(|l| *l != stored.digest().to_string()) {
            found.left_out.push(format!(
                "the site in {}: it is of another run (tree {}); `sim-pipe report` lays this one out",
                to.display(),
                laid.get(..12).unwrap_or(&laid)
            ));
            return Ok(());
        }
        let here = scan(to, LinkRule::Keep)?;
        found.checked.laid_out += here.tree_ref().files;
        for (mark, path) in diff(stored, &here) {
            let file = to.join(String::from_utf8_lossy(&path).as_ref());
            let file = file.strip_prefix(&self.project.root).unwrap_or(&file);
            let problem = match mark {
                '-' => "was removed from the site",
                '+' => "is no file of the site: the report did not write it",
                _ => "was changed by hand: the report wrote it otherwise",
            };
            found.file(What::Page, &action.label, file.display().to_string(), problem);
        }
        Ok(())
    }

    /// Writes the site again and compares it with what is stored.
    fn write_again(
        &self,
        action: &PlannedAction,
        record: &Record,
        stored: &Node,
        found: &mut Findings,
    ) -> Result<(), CliError> {
        let mut leave = |why: String| {
            found.left_out.push(format!("the pages of {}, written again: {why}", action.label));
            Ok(())
        };
        let written_by = Described::parse(&record.components).map(|d| d.fingerprint);
        if written_by.as_deref() != Ok(action.fingerprint.as_str()) {
            return leave("they were written by another version of the report".to_owned());
        }
        let outcomes = &self.settled.outcomes;
        let resolved = match self.resolver.resolve(action, outcomes) {
            Ok(resolved) => resolved,
            Err(e @ (ExecError::Source { .. } | ExecError::ToolMissing { .. })) => {
                return leave(e.to_string());
            }
            Err(e) => return Err(e.into()),
        };
        // An output that is gone cannot be read; it is a finding already.
        let gone = action.dependencies().find(|i| {
            let tree = outcomes.get(i).and_then(|o| o.output.as_ref());
            !outcomes.contains_key(i) || tree.is_some_and(|t| !self.store.has_tree(&t.digest))
        });
        if let Some(i) = gone {
            let label = &self.project.plan.actions[i].label;
            return leave(format!("the result of {label} is not known today, or gone"));
        }
        let scratch = Place::make(self.store)?;
        let dir = scratch.path();
        sim_exec::lay_out(self.resolver, self.options, action, &resolved, outcomes, dir)?;
        let request = serde_json::from_slice(&std::fs::read(dir.join("request.json"))?)?;
        let status = sim_stage_report::run(&request, dir);
        if status.status != StageStatus::Ok {
            found.add(
                What::Page,
                &action.label,
                format!("the report cannot be written again: {}", status.reason),
            );
            return Ok(());
        }
        let again = scan(&dir.join("out"), LinkRule::Keep)?;
        found.checked.sites += 1;
        found.checked.pages += again.tree_ref().files;
        for (mark, path) in diff(&again, stored) {
            let problem = match mark {
                '-' => "is not in the stored site: the records give this page",
                '+' => "is in the stored site, and nothing in the records gives it",
                _ => "is not what the records give",
            };
            let file = String::from_utf8_lossy(&path).into_owned();
            found.file(What::Page, &action.label, file, problem);
        }
        Ok(())
    }
}
