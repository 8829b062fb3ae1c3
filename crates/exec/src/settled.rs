//! Remembers that a run had nothing to do, and on what that rests: until any of it changes, the next
//! run has nothing to do either, and need not plan, hash or read a record to know.
//!
//! What it rests on are the stamps (inode, size, times, mode) of everything that was looked at: the
//! pipeline's files and folders, sources, tools, records and stored results; and a question that
//! holds the rest: this program, the machine, the search path, the options. It is a cache: deleted, or
//! doubted for any reason, it costs one run that looks at everything again.

use crate::error::Result;
use crate::resolve::{Outcomes, Resolver};
use serde::{Deserialize, Serialize};
use sim_model::event::Event;
use sim_model::{Digest, Status, TreeRef};
use sim_store::{RunId, Store, Watch};
use std::path::PathBuf;
use std::time::Instant;

/// What a run was asked, and what was looked at to plan it.
#[derive(Clone, Debug)]
pub struct Question {
    /// Everything that decides what a run does and is no file.
    pub digest: Digest,
    /// What the planner looked at.
    pub planned: Watch,
}

/// A run that had nothing to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settled {
    /// Pipeline name.
    pub pipeline: String,
    /// Its actions, in plan order.
    pub actions: Vec<SettledAction>,
    /// Labels and outputs of its report actions.
    pub sites: Vec<(String, TreeRef)>,
    watch: Watch,
}

/// One of its actions, which ended `ok`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SettledAction {
    /// Label.
    pub label: String,
    /// Key.
    pub key: Digest,
    /// The generation that is used.
    pub generation: u32,
}

fn place(store: &Store, question: &Digest) -> PathBuf {
    store.cache_file(&format!("settled-{}", question.short()))
}

/// Keeps what a run found, if it all ended well and all it rests on can be watched. Called when
/// nothing is left to be written.
pub(crate) fn keep(
    resolver: &Resolver<'_>,
    question: &Question,
    outcomes: &Outcomes,
    wanted: &[bool],
    root: &str,
) -> Result<()> {
    let (store, plan) = (resolver.store, resolver.plan);
    let mut watch = Watch::anchored(vec![store.trees(), store.records_folder()]);
    watch.join(question.planned.clone());
    watch.join(resolver.watched());
    let mut settled = Settled {
        pipeline: plan.name.clone(),
        actions: Vec::new(),
        sites: Vec::new(),
        watch: Watch::default(),
    };
    if !watch.is_sure() {
        return Ok(());
    }
    let mut keys = Vec::new();
    for (i, action) in plan.actions.iter().enumerate().filter(|(i, _)| wanted[*i]) {
        let Some(outcome) = outcomes.get(&i).filter(|o| o.status == Some(Status::Ok)) else {
            return Ok(());
        };
        let Some(key) = outcome.key else { return Ok(()) };
        let generation = outcome.generation;
        keys.push((key, generation));
        settled.actions.push(SettledAction { label: action.label.clone(), key, generation });
        if let Some(tree) = &outcome.output {
            store.watch_tree(&tree.digest, &mut watch, crate::unix_ns());
            if action.kind == "report" {
                settled.sites.push((action.label.clone(), tree.clone()));
            }
        }
    }
    store.watch_records(&keys, &mut watch, crate::unix_ns());
    watch.follow(&store.root_path(root), crate::unix_ns());
    if !watch.is_sure() {
        return Ok(());
    }
    settled.watch = watch;
    let mut bytes = postcard::to_stdvec(&settled).map_err(std::io::Error::other)?;
    bytes.extend_from_slice(Digest::of(&bytes).as_bytes());
    Ok(store.write_cache(&place(store, &question.digest), &bytes)?)
}

/// What an earlier run with this question found, if it still holds.
fn recall(store: &Store, question: &Digest) -> Option<Settled> {
    let bytes = std::fs::read(place(store, question)).ok()?;
    let (body, sum) = bytes.split_last_chunk::<32>()?;
    let settled: Settled =
        (Digest::of(body).as_bytes() == sum).then(|| postcard::from_bytes(body).ok())??;
    settled.watch.holds().then_some(settled)
}

/// The whole run, when an earlier one with this question had nothing to do and nothing changed since.
/// Events are those of any run that reuses everything.
pub fn run_settled(
    store: &Store,
    question: &Digest,
    file: &str,
    machine: Digest,
    tool_version: &str,
    observer: &mut dyn crate::run::Observer,
) -> Result<Option<(Settled, f64)>> {
    let start = Instant::now();
    if store.read_only() {
        return Ok(None);
    }
    store.sweep()?;
    let _lease = store.lease()?;
    // After a power failure nothing is as it seems.
    if store.must_recover()? {
        return Ok(None);
    }
    let Some(settled) = recall(store, question) else { return Ok(None) };
    let mut journal = store.journal(&RunId::new(crate::unix_ms(), std::process::id()))?;
    let actions = settled.actions.len() as u64;
    let mut emit = |index: Option<usize>, event: Event| -> Result<()> {
        journal.write(crate::unix_ms(), &event)?;
        observer.event(index, &event);
        Ok(())
    };
    let (pipeline, file) = (settled.pipeline.clone(), file.to_owned());
    let tool_version = tool_version.to_owned();
    emit(None, Event::RunStarted { pipeline, file, actions, machine, tool_version })?;
    for (i, a) in settled.actions.iter().enumerate() {
        let (label, key, generation) = (a.label.clone(), a.key, a.generation);
        emit(Some(i), Event::ActionReused { label, key, status: Status::Ok, generation })?;
    }
    let wall_ms = start.elapsed().as_secs_f64() * 1e3;
    emit(
        None,
        Event::RunFinished {
            ran: 0,
            reused: actions,
            failed: 0,
            skipped: 0,
            wall_ms,
            interrupted: false,
        },
    )?;
    Ok(Some((settled, wall_ms)))
}
