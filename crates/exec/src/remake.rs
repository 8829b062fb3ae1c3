//! Makes a lost output again, from what a record says of its action.

use crate::cancel::Cancel;
use crate::error::Result;
use crate::resolve::{Outcome, Outcomes, Resolved, Resolver};
use crate::run::{Context, Options};
use sim_model::PlannedAction;
use sim_store::Store;

/// Runs an action whose key is known once more, into the store `elsewhere`, and gives how it ended;
/// `None` when it was interrupted. Nothing of it enters the resolver's store. Whether it gave the bytes
/// that were lost is the caller's to compare.
pub fn remake(
    resolver: &Resolver<'_>,
    options: &Options,
    cancel: &Cancel,
    action: &PlannedAction,
    resolved: &Resolved,
    outcomes: &Outcomes,
    elsewhere: &Store,
) -> Result<Option<Outcome>> {
    let context = Context::new(resolver, options, cancel);
    context.start_sandbox(elsewhere)?;
    Ok(context.again(action, resolved, outcomes, elsewhere)?.map(Outcome::of))
}
