//! Remembers that a run had nothing to do, and on what that rests: until any of it changes, the next
//! run has nothing to do either, and need not plan, hash or read a record to know.
//!
//! What it rests on are the stamps (inode, size, times, mode) of everything that was looked at: the
//! pipeline's files and folders, sources, tools, records and stored results; and a question that
//! holds the rest: this program, the machine, the search path, the options. It is a cache: deleted, or
//! doubted for any reason, it costs one run that looks at everything again.
//!
//! Where only some of it changed, the records and results whose stamps still hold are known all the
//! same: the run that follows need not open them.

use crate::error::Result;
use crate::resolve::{Outcomes, Resolver};
use serde::{Deserialize, Serialize};
use sim_model::event::Event;
use sim_model::{Digest, Status, TreeRef};
use sim_store::{Brief, RunId, Store, StoreLease, Watch};
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
    /// What was asked, whole: a file's name holds a part of it.
    question: Digest,
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

/// What else is known of the actions of a [`Settled`], in their order. In a file of its own: a run with
/// nothing to do needs none of it.
#[derive(Debug, Serialize, Deserialize)]
struct Known {
    /// Digest of the file it belongs to.
    of: Digest,
    /// Place of the first action's record in the watch; the others follow.
    first_record: u32,
    actions: Vec<KnownAction>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KnownAction {
    output: Option<TreeRef>,
    record: Digest,
    /// What was looked at of its output: from, and one past the last, in the watch.
    seen: (u32, u32),
}

fn place(store: &Store, what: &str, question: &Digest) -> PathBuf {
    store.cache_file(&format!("{what}-{}", question.short()))
}

/// Writes a cache file that ends with its digest, and gives that.
fn write<T: Serialize>(store: &Store, path: &std::path::Path, value: &T) -> Result<Digest> {
    let mut bytes = postcard::to_stdvec(value).map_err(std::io::Error::other)?;
    let digest = Digest::of(&bytes);
    bytes.extend_from_slice(digest.as_bytes());
    store.write_cache(path, &bytes)?;
    Ok(digest)
}

fn read<T: serde::de::DeserializeOwned>(path: &std::path::Path) -> Option<(T, Digest)> {
    let bytes = std::fs::read(path).ok()?;
    let (body, sum) = bytes.split_last_chunk::<32>()?;
    let digest = Digest::of(body);
    let value = (digest.as_bytes() == sum).then(|| postcard::from_bytes(body).ok())??;
    Some((value, digest))
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
        question: question.digest,
        watch: Watch::default(),
    };
    if !watch.is_sure() {
        return Ok(());
    }
    let (mut keys, mut known) = (Vec::new(), Vec::new());
    for (i, action) in plan.actions.iter().enumerate().filter(|(i, _)| wanted[*i]) {
        let Some(outcome) = outcomes.get(&i).filter(|o| o.status == Some(Status::Ok)) else {
            return Ok(());
        };
        let (Some(key), Some(record)) = (outcome.key, outcome.record) else { return Ok(()) };
        let generation = outcome.generation;
        keys.push((key, generation));
        settled.actions.push(SettledAction { label: action.label.clone(), key, generation });
        let from = watch.len() as u32;
        if let Some(tree) = &outcome.output {
            store.watch_tree(&tree.digest, &mut watch, crate::unix_ns());
            if action.kind == "report" {
                settled.sites.push((action.label.clone(), tree.clone()));
            }
        }
        let (output, seen) = (outcome.output.clone(), (from, watch.len() as u32));
        known.push(KnownAction { output, record, seen });
    }
    let first_record = store.watch_records(&keys, &mut watch, crate::unix_ns()) as u32;
    watch.follow(&store.root_path(root), crate::unix_ns());
    if !watch.is_sure() {
        return Ok(());
    }
    settled.watch = watch;
    let of = write(store, &place(store, "settled", &question.digest), &settled)?;
    let known = Known { of, first_record, actions: known };
    write(store, &place(store, "known", &question.digest), &known)?;
    Ok(())
}

/// What an earlier run with this question found, with what still holds of it.
fn recall(store: &Store, question: &Digest) -> Option<(Settled, Digest, Vec<bool>)> {
    let (settled, digest) = read::<Settled>(&place(store, "settled", question))?;
    if settled.question != *question {
        return None;
    }
    let still = settled.watch.still();
    Some((settled, digest, still))
}

/// What is remembered of a question, where some of it changed.
#[derive(Debug)]
pub struct Memory {
    settled: Settled,
    /// Digest of the file that it is from.
    of: Digest,
    /// Of each path that was looked at, whether it is as it was.
    still: Vec<bool>,
    /// Nothing of it is collected meanwhile.
    lease: StoreLease,
}

impl Memory {
    /// The records whose files and outputs are as they were, if those are most of them.
    pub(crate) fn most(self, store: &Store) -> Option<(Vec<Brief>, StoreLease)> {
        let (known, _) = read::<Known>(&place(store, "known", &self.settled.question))?;
        if known.of != self.of {
            return None;
        }
        let holds = |from: usize, to: usize| {
            self.still.get(from..to).is_some_and(|part| part.iter().all(|still| *still))
        };
        let first = known.first_record as usize;
        let each = self.settled.actions.iter().zip(known.actions).enumerate();
        let briefs: Vec<Brief> = each
            .filter(|(i, (a, k))| {
                holds(first + i, first + i + 1)
                    && holds(k.seen.0 as usize, k.seen.1 as usize)
                    && store.is_newest(&a.key, a.generation)
            })
            .map(|(_, (a, k))| Brief {
                key: a.key,
                generation: a.generation,
                status: Status::Ok,
                reason: String::new(),
                output: k.output,
                digest: k.record,
            })
            .collect();
        (briefs.len() * 2 > self.settled.actions.len()).then_some((briefs, self.lease))
    }
}

/// What is remembered of a question.
#[derive(Debug)]
pub enum Remembered {
    /// Nothing is to be done. Everything was said and written; with the wall milliseconds it took.
    Settled(Settled, f64),
    /// Something changed; what is remembered all the same.
    Changed(Memory),
    /// Nothing is known.
    Nothing,
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
) -> Result<Remembered> {
    let start = Instant::now();
    if store.read_only() {
        return Ok(Remembered::Nothing);
    }
    store.sweep()?;
    let lease = store.lease()?;
    // After a power failure nothing is as it seems.
    if store.must_recover()? {
        return Ok(Remembered::Nothing);
    }
    let Some((settled, of, still)) = recall(store, question) else {
        return Ok(Remembered::Nothing);
    };
    if !still.iter().all(|still| *still) {
        return Ok(Remembered::Changed(Memory { settled, of, still, lease }));
    }
    let id = RunId::new(crate::unix_ms(), std::process::id());
    let mut journal = store.journal(&id)?;
    let actions = settled.actions.len() as u64;
    let mut emit = |index: Option<usize>, event: Event| -> Result<()> {
        journal.write(crate::unix_ms(), &event)?;
        observer.event(id.as_str(), index, &event);
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
    Ok(Remembered::Settled(settled, wall_ms))
}
