//! Runs pure actions again and compares the bytes: a promise of `pure` that nobody checks is none.
//!
//! The repeat happens elsewhere, in a store of its own below the first one's `tmp/`, so at another
//! path where the sandbox does not hide it, at another time, in other processes. Nothing of it is
//! kept. Its inputs are those of the recorded result, so one impure action does not make all
//! others look so.

use crate::cancel::Cancel;
use crate::error::{ExecError, Result};
use crate::resolve::{Outcome, Outcomes, Resolver};
use crate::run::{Context, Options};
use sim_model::{Class, Digest, Status};
use sim_store::Store;
use sim_store::difference::{Difference, differences};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A repeat that came out otherwise than what is recorded.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// The action.
    pub label: String,
    /// Its key.
    pub key: Digest,
    /// Which repeat, from 1.
    pub round: u32,
    /// What is recorded, and how the repeat ended, where these differ.
    pub ended: Option<(String, String)>,
    /// Files that differ.
    pub files: Vec<Difference>,
}

/// The outcome of a check.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Actions that ran again.
    pub actions: usize,
    /// Pure actions without a result to compare with.
    pub without_result: usize,
    /// Actions of other classes, which promise less.
    pub not_pure: usize,
    /// What does not agree, in plan order.
    pub disagreements: Vec<Disagreement>,
    /// Whether it was interrupted.
    pub interrupted: bool,
}

/// Runs every pure action whose outcome is known `rounds` times more. `outcomes` are those of a run.
pub fn check(
    resolver: &Resolver<'_>,
    options: &Options,
    cancel: &Cancel,
    outcomes: &Outcomes,
    rounds: u32,
) -> Result<Checked> {
    let store = resolver.store;
    let _lease = store.lease()?;
    let scratch = store.scratch("check-")?;
    let elsewhere = Store::open(&scratch.path().join("elsewhere"))?;
    // Thrown away at the end: not worth waiting for the disk.
    let _session = elsewhere.begin_writes()?;
    let context = Context::new(resolver, options, cancel);
    context.start_sandbox(&elsewhere)?;
    let mut checked = Checked::default();
    let mut todo = Vec::new();
    for (index, action) in resolver.plan.actions.iter().enumerate() {
        let Some(outcome) = outcomes.get(&index) else { continue };
        if action.class != Class::Pure {
            checked.not_pure += 1;
        } else if outcome.status.is_some_and(Status::reusable) {
            checked.actions += 1;
            todo.extend((1..=rounds).map(|round| (index, round)));
        } else {
            checked.without_result += 1;
        }
    }
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Disagreement)>> = Mutex::default();
    let failure: Mutex<Option<ExecError>> = Mutex::default();
    let workers = options.jobs.clamp(1, todo.len().max(1));
    // What one starts may belong to the thread of another: none ends before all have.
    let end = std::sync::Barrier::new(workers);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((index, round)) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if cancel.is_set() {
                        break;
                    }
                    match compare(&context, *index, *round, outcomes, &elsewhere) {
                        Ok(None) => {}
                        Ok(Some(d)) => {
                            found.lock().unwrap_or_else(PoisonError::into_inner).push((*index, d))
                        }
                        Err(e) => {
                            // The store or the system: nothing more is started.
                            next.store(todo.len(), Ordering::Relaxed);
                            *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
                        }
                    }
                }
                end.wait();
            });
        }
    });
    if let Some(e) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(e);
    }
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(index, d)| (*index, d.round));
    checked.disagreements = found.into_iter().map(|(_, d)| d).collect();
    checked.interrupted = cancel.is_set();
    Ok(checked)
}

fn compare(
    context: &Context<'_>,
    index: usize,
    round: u32,
    outcomes: &Outcomes,
    elsewhere: &Store,
) -> Result<Option<Disagreement>> {
    let (resolver, action) = (context.resolver, &context.resolver.plan.actions[index]);
    let Some(recorded) = outcomes.get(&index) else { return Ok(None) };
    let resolved = resolver.resolve(action, outcomes)?;
    if Some(resolved.key) != recorded.key {
        let path = action.inputs.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(ExecError::Unsettled { label: action.label.clone(), path });
    }
    let Some(again) = context.again(action, &resolved, outcomes, elsewhere)? else {
        return Ok(None);
    };
    let again = Outcome::of(again);
    let how = |o: &Outcome| {
        if o.reason.is_empty() {
            o.word().to_owned()
        } else {
            format!("{}: {}", o.word(), o.reason)
        }
    };
    let ended = ((recorded.status, &recorded.reason) != (again.status, &again.reason))
        .then(|| (how(recorded), how(&again)));
    let files = match (&recorded.output, &again.output) {
        (Some(a), Some(b)) if a.digest != b.digest => {
            differences(&resolver.store.tree_path(&a.digest), &elsewhere.tree_path(&b.digest))?
        }
        _ => Vec::new(),
    };
    let one_sided = recorded.output.is_some() != again.output.is_some();
    Ok((ended.is_some() || one_sided || !files.is_empty()).then(|| Disagreement {
        label: action.label.clone(),
        key: resolved.key,
        round,
        ended: ended.or_else(|| one_sided.then(|| (output(recorded), output(&again)))),
        files,
    }))
}

fn output(outcome: &Outcome) -> String {
    if outcome.output.is_some() { "an output" } else { "no output" }.to_owned()
}
