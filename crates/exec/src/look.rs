//! What is to be done about actions whose dependencies are all settled, many at a time.

use crate::error::{ExecError, Result};
use crate::resolve::{Outcomes, Resolved, Resolver};
use crate::run::{Options, good_enough, usable};
use sim_model::Class;
use sim_store::{Brief, StoreError};

/// What is to be done about an action.
pub(crate) enum Look {
    /// Nothing: this one, before it, did not end well.
    Blocked(usize),
    /// Nothing: it cannot be keyed.
    Impossible(ExecError),
    /// Nothing: it is left out, for this reason.
    LeftOut(String),
    /// Its record is used.
    Reuse(Brief),
    /// It runs.
    Run(Resolved),
}

/// Fewer are looked at sooner than a thread is started.
const WORTH_A_THREAD: usize = 64;

/// Looks at all of `batch`, in its order.
pub(crate) fn all(
    resolver: &Resolver<'_>,
    options: &Options,
    outcomes: &Outcomes,
    batch: &[usize],
) -> Vec<Result<Look>> {
    let threads = options.jobs.min(batch.len() / WORTH_A_THREAD).max(1);
    let each = |part: &[usize]| -> Vec<Result<Look>> {
        part.iter().map(|index| look(resolver, options, outcomes, *index)).collect()
    };
    if threads == 1 {
        return each(batch);
    }
    // Plain threads: hashing a large source uses the pool's, under a lock.
    std::thread::scope(|scope| {
        let parts = batch.chunks(batch.len().div_ceil(threads));
        let running: Vec<_> = parts.map(|part| scope.spawn(move || each(part))).collect();
        running
            .into_iter()
            .flat_map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

/// Looks at one.
pub(crate) fn look(
    resolver: &Resolver<'_>,
    options: &Options,
    outcomes: &Outcomes,
    index: usize,
) -> Result<Look> {
    let action = &resolver.plan.actions[index];
    if let Some(reason) = &action.skip {
        return Ok(Look::LeftOut(reason.to_string()));
    }
    if let Some(cause) = resolver.blocked_by(action, outcomes) {
        return Ok(Look::Blocked(cause));
    }
    let resolved = match resolver.resolve(action, outcomes) {
        Ok(resolved) => resolved,
        // A missing part of an output or tool concerns this action alone.
        Err(e @ (ExecError::Source { .. } | ExecError::ToolMissing { .. })) => {
            return Ok(Look::Impossible(e));
        }
        Err(e) => return Err(e),
    };
    let again = options.remeasure && action.class == Class::Measured;
    // Hashing an output again is for the run itself to do.
    let ahead = options.ahead.as_ref().filter(|_| !options.verify && !again);
    if let Some(brief) = ahead.and_then(|a| a.brief(&resolved.key))
        && good_enough(options, &brief)
    {
        return Ok(Look::Reuse(brief));
    }
    let stored = match resolver.store.brief(&resolved.key) {
        Ok(stored) => stored,
        // A damaged record is as good as none; `store verify` names it.
        Err(StoreError::DamagedRecord { .. }) => None,
        Err(e) => return Err(e.into()),
    };
    match stored {
        Some(brief) if !again && usable(resolver.store, options, &brief)? => {
            return Ok(Look::Reuse(brief));
        }
        // How it ended in the run that this one goes on with.
        Some(brief) if options.keeps(&brief) => return Ok(Look::Reuse(brief)),
        _ => {}
    }
    if !options.retry_known
        && let Some(reason) = resolver.known_failure(action, &resolved)?
    {
        return Ok(Look::LeftOut(reason));
    }
    Ok(Look::Run(resolved))
}
