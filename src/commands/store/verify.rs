//! `sim-pipe store verify`.

use crate::commands::run::on_signal;
use crate::error::{CliError, CliResult, exit};
use crate::global::Global;
use crate::{recorded, text};
use sim_exec::Cancel;
use sim_model::{Class, Digest, Record, Status};
use sim_store::Store;
use sim_store::verify::Maker;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;

pub(super) fn verify(global: &Global, store: &Store, repair: bool) -> CliResult {
    let _lease = store.lease()?;
    let cancel = Cancel::new()?;
    let signal = on_signal(&cancel)?;
    let quiet = global.json || global.quiet;
    let rerun = Rerun { store, cancel: &cancel, quiet, ran: RefCell::default() };
    let report = store.verify(repair, &[&rerun])?;
    for f in &report.findings {
        if global.json {
            let line = serde_json::json!({
                "v": 1, "finding": f.error.to_string(), "used_by": f.used_by, "repaired": f.repaired,
            });
            text::out(&line.to_string());
            continue;
        }
        text::out(&f.error.to_string());
        if !f.used_by.is_empty() {
            text::out(&format!("  used by {}", f.used_by.join(", ")));
        }
        if let Some(done) = &f.repaired {
            text::out(&format!("  {done}"));
        }
    }
    let verdict = match report.findings.len() {
        0 => "clean".to_owned(),
        n => text::count(n, "finding"),
    };
    text::say(&format!(
        "{verdict} · {}, {} and {} checked ({})",
        text::count(report.records, "record"),
        text::count(report.trees, "tree"),
        text::count(report.blobs, "log"),
        text::bytes(report.bytes)
    ));
    let by = signal.load(Ordering::SeqCst);
    if by != 0 {
        return Ok(128u8.saturating_add(by as u8));
    }
    let left = report.findings.iter().any(|f| f.repaired.is_none());
    Ok(if left { exit::AUDIT } else { exit::OK })
}

/// Runs the action again whose output is lost, as its record says.
struct Rerun<'a> {
    store: &'a Store,
    cancel: &'a Cancel,
    quiet: bool,
    /// What ran in vain, and why: it is not run a second time.
    ran: RefCell<BTreeMap<Digest, String>>,
}

impl Maker for Rerun<'_> {
    fn how(&self) -> String {
        "made again by running its action".to_owned()
    }

    fn make(&self, digest: &Digest, users: &[&Record], to: &Path) -> Result<(), String> {
        let machine = sim_exec::detect_machine().identity();
        // What was measured cannot come out the same, and a class of machine must be this one.
        let repeats = |r: &&&Record| match r.class {
            Class::Pure => true,
            Class::Machine => r.machine.identity() == machine,
            Class::Measured => false,
        };
        let mut why = "no record of it is of a pure action".to_owned();
        // One that copied it needs what is lost; another may not.
        for record in users.iter().filter(repeats) {
            if self.cancel.is_set() {
                return Err("interrupted".to_owned());
            }
            if let Some(known) = self.ran.borrow().get(&record.key) {
                why.clone_from(known);
                continue;
            }
            match self.rerun(record, digest, to) {
                Ok(()) => return Ok(()),
                Err(e) => why = e.message,
            }
        }
        Err(why)
    }
}

impl Rerun<'_> {
    fn rerun(&self, record: &Record, digest: &Digest, to: &Path) -> Result<(), CliError> {
        let parts = recorded::parts(self.store, record)?;
        if !self.quiet {
            text::say(&format!("running {} again", record.label));
        }
        let scratch = self.store.scratch("again-")?;
        let elsewhere = Store::open(&scratch.path().join("elsewhere"))?;
        // Taken from there at once: not worth waiting for the disk.
        let _session = elsewhere.begin_writes()?;
        let failed = |message: String| CliError::new(exit::ACTION, message);
        let outcome = sim_exec::remake(
            &parts.resolver(self.store, record),
            &recorded::options()?,
            self.cancel,
            parts.action(),
            &parts.resolved,
            &parts.outcomes,
            &elsewhere,
        )?
        .ok_or_else(|| failed("interrupted".to_owned()))?;
        let ended = outcome.status.map_or("not run", Status::name);
        let Some(tree) = &outcome.output else {
            return Err(failed(format!("run again, it ended {ended}: {}", outcome.reason)));
        };
        if tree.digest != *digest {
            let (now, then) = (tree.digest.short(), digest.short());
            let why = format!("run again, it gave other bytes: tree {now} instead of {then}");
            self.ran.borrow_mut().insert(record.key, why.clone());
            return Err(failed(why));
        }
        sim_store::tree::copy_all(&elsewhere.tree_path(&tree.digest), to)?;
        Ok(())
    }
}
