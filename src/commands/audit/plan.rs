//! Does today's pipeline lead to the records that the last run used?

use super::Findings;
use crate::error::CliError;
use crate::project::Project;
use sim_exec::{ExecError, Outcome, Outcomes, Resolver};
use sim_model::Digest;
use sim_provenance::audit::What;
use sim_store::{Root, RootEntry, StoreError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of the plan's actions.
pub(super) struct Settled {
    /// Outcomes of the last run, by plan index; absent where today's plan would give another.
    pub(super) outcomes: Outcomes,
}

/// Unlike a run, which tries a failure again, this takes every record of the last run for an answer.
pub(super) fn check(
    project: &Project,
    resolver: &Resolver<'_>,
    root: &Root,
    found: &mut Findings,
) -> Result<Settled, CliError> {
    let plan = &project.plan;
    let used: BTreeMap<&str, &RootEntry> =
        root.entries.iter().map(|e| (e.label.as_str(), e)).collect();
    let left_out: BTreeMap<&str, &str> =
        root.left_out.iter().map(|l| (l.label.as_str(), l.reason.as_str())).collect();
    let mut outcomes = Outcomes::with_capacity(plan.actions.len());
    // The first action before it that is not known, for those that are not known themselves.
    let mut unknown: BTreeMap<usize, usize> = BTreeMap::new();
    for (i, action) in plan.actions.iter().enumerate() {
        let mut needs = action.dependencies().chain(action.after.iter().copied());
        if let Some(d) = needs.find(|d| unknown.contains_key(d)) {
            let first = unknown[&d];
            unknown.insert(i, first);
            let problem = format!("it depends on {}, which would run", plan.actions[first].label);
            found.add(What::Plan, &action.label, problem);
            continue;
        }
        if let Some(reason) = left_out.get(action.label.as_str()) {
            outcomes.insert(i, Arc::new(Outcome::left_out(reason)));
            continue;
        }
        if let Some(d) = resolver.blocked_by(action, &outcomes) {
            // Skipped, as in the run: no result, and none that could be wrong.
            let because = &plan.actions[d].label;
            if let Some(e) = used.get(action.label.as_str()) {
                let problem =
                    format!("it needs {because}, which did not end well, and has a record");
                found.about(What::Plan, &action.label, &e.key, problem);
            }
            let outcome = Outcome::blocked(plan, i, d, outcomes.get(&d).map(|o| &**o));
            outcomes.insert(i, Arc::new(outcome));
            continue;
        }
        let key = match resolver.resolve(action, &outcomes) {
            Ok(resolved) => {
                found.checked.plan += 1;
                resolved.key
            }
            Err(e @ (ExecError::Source { .. } | ExecError::ToolMissing { .. })) => {
                found.add(What::Plan, &action.label, e.to_string());
                outcomes.insert(i, Arc::new(Outcome::impossible(&e)));
                continue;
            }
            Err(e) => return Err(e.into()),
        };
        let generation = match used.get(action.label.as_str()) {
            Some(e) if e.key == key => Some(e.generation),
            _ => None,
        };
        let stored = match generation {
            Some(g) => resolver.store.stored_generation(&key, g),
            None => resolver.store.record(&key),
        };
        let stored = match stored {
            // Named with its file when the records are read.
            Err(StoreError::DamagedRecord { .. }) => None,
            other => other?,
        };
        if let Some(stored) = &stored {
            found.checked.failed += u64::from(!stored.record.status.reusable());
            outcomes.insert(i, Arc::new(Outcome::of(stored)));
        } else {
            unknown.insert(i, i);
        }
        if generation.is_none() {
            let problem = problem(used.get(action.label.as_str()), &key, stored.is_some());
            found.about(What::Plan, &action.label, &key, problem);
        } else if stored.is_none() {
            let problem = format!("its key is {} today, which is not recorded", key.short());
            found.about(What::Plan, &action.label, &key, problem);
        }
    }
    Ok(Settled { outcomes })
}

fn problem(used: Option<&&RootEntry>, key: &Digest, recorded: bool) -> String {
    match (used, recorded) {
        (_, false) => format!("its key is {} today, which is not recorded", key.short()),
        (Some(e), true) => {
            format!("the last run used key {}, today's is {}", e.key.short(), key.short())
        }
        (None, true) => "the last run did not reach it".to_owned(),
    }
}
