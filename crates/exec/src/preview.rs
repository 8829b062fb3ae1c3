//! What a run would do, without doing it.

use crate::error::Result;
use crate::look::{Look, look};
use crate::resolve::{Outcome, Outcomes, Resolved, Resolver};
use crate::run::Options;
use sim_model::Status;
use sim_store::{StoreError, Stored};
use std::sync::Arc;

/// What would become of one action.
#[derive(Debug)]
pub enum State {
    /// Its record would be used.
    Reused(Box<Stored>),
    /// It would run; its key is known.
    WouldRun(Box<Resolved>),
    /// Something before it would run first, so its key is not known yet; the index of the first.
    Waits(usize),
    /// It would not run, because what it needs is recorded as not `ok`; the index of that.
    Blocked(usize),
    /// It could not run, and why.
    Impossible(String),
    /// It would be left out, and why.
    LeftOut(String),
}

/// What a run would do.
#[derive(Debug)]
pub struct Preview {
    /// By plan index.
    pub states: Vec<State>,
    /// What is known.
    pub outcomes: Outcomes,
}

/// Walks the plan against the store. Nothing is written but disposable caches.
pub fn preview(resolver: &Resolver<'_>, options: &Options) -> Result<Preview> {
    let plan = resolver.plan;
    let mut states: Vec<State> = Vec::with_capacity(plan.actions.len());
    let mut outcomes = Outcomes::with_capacity(plan.actions.len());
    for (i, action) in plan.actions.iter().enumerate() {
        let needs = action.dependencies().chain(action.after.iter().copied());
        let waits =
            needs.into_iter().find(|d| matches!(states[*d], State::WouldRun(_) | State::Waits(_)));
        let state = if let Some(d) = waits {
            State::Waits(match states[d] {
                State::Waits(first) => first,
                _ => d,
            })
        } else {
            match look(resolver, options, &outcomes, i)? {
                Look::Blocked(d) => {
                    let ended = outcomes.get(&d).map(|o| &**o);
                    let outcome = Outcome::blocked(plan, i, d, ended);
                    outcomes.insert(i, Arc::new(outcome));
                    State::Blocked(d)
                }
                Look::Impossible(e) => {
                    outcomes.insert(i, Arc::new(Outcome::impossible(&e)));
                    State::Impossible(e.to_string())
                }
                Look::LeftOut(reason) => {
                    outcomes.insert(i, Arc::new(Outcome::left_out(&reason)));
                    State::LeftOut(reason)
                }
                Look::Reuse(brief) => {
                    let stored = resolver.store.stored_generation(&brief.key, brief.generation)?;
                    let Some(stored) = stored else {
                        let path = action.label.clone().into();
                        return Err(StoreError::DamagedRecord {
                            path,
                            problem: "its record went away meanwhile".to_owned(),
                        }
                        .into());
                    };
                    outcomes.insert(i, Arc::new(Outcome::of(&stored)));
                    State::Reused(Box::new(stored))
                }
                Look::Run(resolved) => State::WouldRun(Box::new(resolved)),
            }
        };
        states.push(state);
    }
    resolver.save()?;
    Ok(Preview { states, outcomes })
}

impl Preview {
    /// How many actions are in each state: reused, would run, waiting, would not run.
    pub fn counts(&self) -> [usize; 4] {
        let mut n = [0; 4];
        for state in &self.states {
            n[match state {
                State::Reused(_) => 0,
                State::WouldRun(_) => 1,
                State::Waits(_) => 2,
                State::Blocked(_) | State::Impossible(_) | State::LeftOut(_) => 3,
            }] += 1;
        }
        n
    }

    /// Reused records that are not `ok`.
    pub fn not_ok(&self) -> impl Iterator<Item = (usize, &Stored)> {
        self.states.iter().enumerate().filter_map(|(i, s)| match s {
            State::Reused(stored) if stored.record.status != Status::Ok => Some((i, &**stored)),
            _ => None,
        })
    }
}
