//! The scheduler: reuses what is recorded, fills the cores with pure and machine actions, and gives
//! measured ones the machine for themselves, in the plan's order.
//!
//! One thread decides; workers only run what they are given. An action's life:
//!
//! ```text
//! waiting ─▶ resolved ─▶ reused
//!    │           └─▶ queued ─▶ running ─▶ finished
//!    └─▶ skipped (what it needs did not end well, or it is left out)
//! ```

use crate::cancel::Cancel;
use crate::error::Result;
use crate::limits::{Met, Place, is_limit};
use crate::look::{self, Look};

use crate::resolve::{NotRun, Outcome, Outcomes, Resolved, Resolver};
use crate::run::{Context, Done, Observer, Options};
use crate::settled;
use sim_model::event::Event;
use sim_model::{Class, Component, Machine, Plan, Status};
use sim_store::{JournalWriter, LeftOut, Root, RootEntry, RunId, Store, WriteSession};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// How a run went.
#[derive(Debug, Default)]
pub struct Summary {
    /// The run's id.
    pub run: String,
    /// Actions that ran.
    pub ran: u64,
    /// Actions whose record was used.
    pub reused: u64,
    /// Actions that were skipped: something they need did not end well, or they were left out.
    pub skipped: u64,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Outcomes by plan index; absent for what was not asked for or not reached.
    pub outcomes: Outcomes,
    /// Sandbox level; absent when nothing ran.
    pub sandbox: Option<&'static str>,
    /// Wall milliseconds.
    pub wall_ms: f64,
}

impl Summary {
    /// Plan indices of actions that ended in anything but `ok`, skipped ones not counted.
    pub fn failed(&self) -> impl Iterator<Item = usize> + '_ {
        let mut failed: Vec<usize> = self
            .outcomes
            .iter()
            .filter(|(_, o)| o.status.is_some_and(|s| s != Status::Ok))
            .map(|(i, _)| *i)
            .collect();
        failed.sort_unstable();
        failed.into_iter()
    }
}

/// What a worker says.
enum Told {
    Held(sim_model::Digest, &'static str),
    Done(Result<Done>),
}

struct Job {
    index: usize,
    resolved: Resolved,
    outcomes: Outcomes,
    forced: bool,
}

struct Scheduler<'a, 'o> {
    resolver: &'a Resolver<'a>,
    plan: &'a Plan,
    options: &'a Options,
    observer: &'o mut dyn Observer,
    journal: Option<JournalWriter>,
    /// How many dependencies of each action are not settled.
    waiting: Vec<usize>,
    dependents: Vec<Vec<usize>>,
    wanted: Vec<bool>,
    unblocked: Vec<usize>,
    queue: VecDeque<(usize, Resolved)>,
    measured: BTreeSet<(u64, usize)>,
    measured_resolved: HashMap<usize, Resolved>,
    /// Places of those in their series.
    places: HashMap<usize, Place>,
    /// Limits that were met in this run.
    met: Vec<Met>,
    outcomes: Outcomes,
    summary: Summary,
    /// Begun with the first action that runs.
    session: Option<WriteSession>,
}

/// Runs a plan. An error is about the run as a whole; failing actions are in the summary.
pub fn run(
    store: &Store,
    plan: &Plan,
    root: &Path,
    machine: Machine,
    options: &Options,
    cancel: &Cancel,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let start = Instant::now();
    store.sweep()?;
    let _lease = store.lease()?;
    let identity = machine.identity();
    let resolver = Resolver::new(store, plan, root, machine, options.path_var.clone());
    if options.question.is_some() {
        resolver.watch();
    }
    let id = RunId::new(crate::unix_ms(), std::process::id());
    let journal = if store.read_only() { None } else { Some(store.journal(&id)?) };
    let n = plan.actions.len();
    let mut s = Scheduler {
        resolver: &resolver,
        plan,
        options,
        observer,
        journal,
        waiting: vec![0; n],
        dependents: vec![Vec::new(); n],
        wanted: wanted(plan, options),
        unblocked: Vec::new(),
        queue: VecDeque::new(),
        measured: BTreeSet::new(),
        measured_resolved: HashMap::new(),
        places: HashMap::new(),
        met: Vec::new(),
        outcomes: Outcomes::with_capacity(n),
        summary: Summary { run: id.as_str().to_owned(), ..Summary::default() },
        session: None,
    };
    let actions = s.wanted.iter().filter(|w| **w).count() as u64;
    s.emit(
        None,
        Event::RunStarted {
            pipeline: plan.name.clone(),
            file: options.pipeline_file.clone(),
            actions,
            machine: identity,
            tool_version: options.tool_version.clone(),
        },
    )?;
    if let Some(report) = store.recover()? {
        let set_aside = report.findings.len() as u64;
        s.emit(None, Event::StoreChecked { trees: report.trees as u64, set_aside })?;
    }
    if options.resume.is_some() && !store.read_only() {
        s.session = Some(store.begin_writes()?);
        s.keep_plan()?;
    }
    let context = Context::new(&resolver, options, cancel);
    let result = s.drive(&context, cancel);
    s.summary.wall_ms = start.elapsed().as_secs_f64() * 1e3;
    s.summary.interrupted = cancel.is_set();
    let root_name = s.finish(&id)?;
    // Caches that cannot be written cost time, no results: a disk may be full by now.
    let _ = resolver.save();
    if let Some(session) = s.session.take() {
        session.finish()?;
    }
    // Not worth a run that did something: it comes again only when there is nothing left.
    if let (Ok(()), 0, Some(question), Some(root_name)) =
        (&result, s.summary.ran, &options.question, root_name)
    {
        let _ = settled::keep(&resolver, question, &s.outcomes, &s.wanted, &root_name);
    }
    result.map(|()| {
        let mut summary = s.summary;
        summary.outcomes = s.outcomes;
        summary
    })
}

/// Marks what was asked for and everything that it needs.
fn wanted(plan: &Plan, options: &Options) -> Vec<bool> {
    let Some(only) = &options.only else { return vec![true; plan.actions.len()] };
    let mut wanted = vec![false; plan.actions.len()];
    let mut todo = only.clone();
    while let Some(i) = todo.pop() {
        if !std::mem::replace(&mut wanted[i], true) {
            let a = &plan.actions[i];
            todo.extend(a.dependencies().chain(a.after.iter().copied()));
        }
    }
    wanted
}

impl Scheduler<'_, '_> {
    fn emit(&mut self, index: Option<usize>, event: Event) -> Result<()> {
        if let Some(journal) = &mut self.journal {
            journal.write(crate::unix_ms(), &event)?;
        }
        self.observer.event(&self.summary.run, index, &event);
        Ok(())
    }

    fn drive(&mut self, context: &Context<'_>, cancel: &Cancel) -> Result<()> {
        for (i, action) in self.plan.actions.iter().enumerate() {
            if !self.wanted[i] {
                continue;
            }
            let needs: BTreeSet<usize> =
                action.dependencies().chain(action.after.iter().copied()).collect();
            self.waiting[i] = needs.len();
            for d in needs {
                self.dependents[d].push(i);
            }
            if self.waiting[i] == 0 {
                self.unblocked.push(i);
            }
        }

        let (send_job, receive_job) = mpsc::channel::<Job>();
        let receive_job = Mutex::new(receive_job);
        let (send_done, receive_done) = mpsc::channel::<(usize, Told)>();
        std::thread::scope(|scope| {
            // The channel must close before the scope waits for the workers.
            let send_job = send_job;
            let mut workers = 0;
            let mut running = 0;
            let mut running_measured = false;
            let mut failure = None;
            loop {
                if failure.is_none() && !cancel.is_set() {
                    match self.settle_unblocked() {
                        Ok(()) => {}
                        Err(e) => failure = Some(e),
                    }
                }
                let stop = failure.is_some()
                    || cancel.is_set()
                    || (!self.options.keep_going && self.any_failed());
                while !stop && !running_measured && running < self.options.jobs.max(1) {
                    let next = match self.queue.pop_front() {
                        Some(next) => next,
                        None if running == 0 => {
                            let Some((_, index)) = self.measured.pop_first() else { break };
                            let Some(resolved) = self.measured_resolved.remove(&index) else {
                                break;
                            };
                            running_measured = true;
                            (index, resolved)
                        }
                        None => break,
                    };
                    if workers <= running {
                        workers += 1;
                        let (jobs, done) = (&receive_job, send_done.clone());
                        scope.spawn(move || work(context, jobs, &done));
                    }
                    let (index, resolved) = next;
                    if self.summary.sandbox.is_none()
                        && let Err(e) = self.prepare_to_run(context)
                    {
                        failure = Some(e);
                        break;
                    }
                    let action = &self.plan.actions[index];
                    let started =
                        Event::ActionStarted { label: action.label.clone(), key: resolved.key };
                    if let Err(e) = self.emit(Some(index), started) {
                        failure = Some(e);
                        break;
                    }
                    let outcomes = self.relevant_outcomes(index);
                    let forced = self.options.remeasure && action.class == Class::Measured;
                    if send_job.send(Job { index, resolved, outcomes, forced }).is_err() {
                        break;
                    }
                    running += 1;
                }
                if running == 0 {
                    break;
                }
                let Ok((index, told)) = receive_done.recv() else { break };
                let done = match told {
                    Told::Done(done) => done,
                    Told::Held(key, by) => {
                        let label = self.plan.actions[index].label.clone();
                        let event = Event::ActionHeld { label, key, by: by.to_owned() };
                        if let Err(e) = self.emit(Some(index), event) {
                            failure = failure.or(Some(e));
                        }
                        continue;
                    }
                };
                running -= 1;
                running_measured = false;
                if let Err(e) = done.and_then(|d| self.finished(index, d)) {
                    // A broken store or system: nothing more is started, what runs may end.
                    failure = failure.or(Some(e));
                }
            }
            drop(send_job);
            failure.map_or(Ok(()), Err)
        })
    }

    /// What only a run that executes something needs. Called on the thread that drives the run, with
    /// which every process ends.
    fn prepare_to_run(&mut self, context: &Context<'_>) -> Result<()> {
        let level = context.start_sandbox(self.resolver.store)?;
        self.summary.sandbox = Some(level);
        self.emit(None, Event::SandboxStarted { level: level.to_owned() })?;
        if self.session.is_none() {
            self.session = Some(self.resolver.store.begin_writes()?);
            if self.plan.actions.iter().any(|a| a.class == Class::Measured) {
                self.keep_plan()?;
            }
        }
        Ok(())
    }

    fn any_failed(&self) -> bool {
        let left_out = |o: &Outcome| o.not_run == Some(NotRun::LeftOut);
        self.outcomes.values().any(|o| o.status != Some(Status::Ok) && !left_out(o))
    }

    /// The outcomes that one action may look at: all of them for one with provenance, else only those
    /// of its dependencies. Others stay absent, which keeps the copy small.
    fn relevant_outcomes(&self, index: usize) -> Outcomes {
        let action = &self.plan.actions[index];
        let provenance =
            action.inputs.values().any(|i| *i == sim_model::plan::PlannedInput::Provenance);
        if provenance {
            return self.outcomes.clone();
        }
        action
            .dependencies()
            .chain(action.after.iter().copied())
            .filter_map(|i| Some((i, self.outcomes.get(&i)?.clone())))
            .collect()
    }

    /// Resolves what has become ready; reuses, skips or queues it.
    fn settle_unblocked(&mut self) -> Result<()> {
        while !self.unblocked.is_empty() {
            let batch = std::mem::take(&mut self.unblocked);
            let looks = look::all(self.resolver, self.options, &self.outcomes, &batch);
            for (index, look) in batch.into_iter().zip(looks) {
                self.decide(index, look?)?;
            }
        }
        Ok(())
    }

    fn decide(&mut self, index: usize, look: Look) -> Result<()> {
        let plan = self.plan;
        let action = &plan.actions[index];
        match look {
            Look::Blocked(cause) => {
                let because = plan.actions[cause].label.clone();
                let ended = self.outcomes.get(&cause).map(|o| &**o);
                let outcome = Outcome::blocked(plan, index, cause, ended);
                self.skip(index, because, outcome)?;
            }
            Look::Impossible(e) => self.skip(index, e.to_string(), Outcome::impossible(&e))?,
            Look::LeftOut(reason) => self.leave_out(index, &reason)?,
            Look::Reuse(stored) => {
                self.summary.reused += 1;
                let event = Event::ActionReused {
                    label: action.label.clone(),
                    key: stored.key,
                    status: stored.status,
                    generation: stored.generation,
                };
                self.emit(Some(index), event)?;
                if is_limit(stored.status) {
                    let record =
                        self.resolver.store.record_generation(&stored.key, stored.generation)?;
                    let components = record.map(|r| r.components).unwrap_or_default();
                    self.limit_met(index, &components, stored.status, &stored.reason)?;
                }
                self.settle(index, Outcome::of(stored));
            }
            Look::Run(_) if self.resolver.store.read_only() => {
                let root = self.resolver.store.root().to_path_buf();
                return Err(sim_store::StoreError::ReadOnly { root }.into());
            }
            Look::Run(resolved) if action.class == Class::Measured => {
                if let Some(series) = action.series.as_ref().filter(|s| s.ends_at_limit) {
                    let components = self.resolver.explain(action, &resolved);
                    if let Some(place) = Place::of(series, &components) {
                        if let Some(why) = self.met.iter().find_map(|met| met.rules_out(&place)) {
                            return self.leave_out(index, &why);
                        }
                        self.places.insert(index, place);
                    }
                }
                self.measured.insert((action.order, index));
                self.measured_resolved.insert(index, resolved);
            }
            Look::Run(resolved) => self.queue.push_back((index, resolved)),
        }
        Ok(())
    }

    fn skip(&mut self, index: usize, because: String, outcome: Outcome) -> Result<()> {
        self.summary.skipped += 1;
        let label = self.plan.actions[index].label.clone();
        let reason = match outcome.not_run {
            Some(NotRun::LeftOut) => outcome.reason.clone(),
            _ => String::new(),
        };
        self.emit(Some(index), Event::ActionSkipped { label, because, reason })?;
        self.settle(index, outcome);
        Ok(())
    }

    fn leave_out(&mut self, index: usize, reason: &str) -> Result<()> {
        self.skip(index, reason.to_owned(), Outcome::left_out(reason))
    }

    /// After an action met a limit: leaves out what waits for its turn and asks for no less. The plan's
    /// order is ascending, so what could have told of it sooner has run (P149).
    fn limit_met(
        &mut self,
        index: usize,
        components: &[Component],
        status: Status,
        reason: &str,
    ) -> Result<()> {
        let action = &self.plan.actions[index];
        let series = action.series.as_ref().filter(|s| s.ends_at_limit);
        let Some(place) = series.and_then(|s| Place::of(s, components)) else { return Ok(()) };
        let (label, reason) = (action.label.clone(), reason.to_owned());
        let met = Met { place, status, label, reason };
        let ruled_out: Vec<(usize, String)> =
            self.places.iter().filter_map(|(i, p)| Some((*i, met.rules_out(p)?))).collect();
        self.met.push(met);
        let mut ruled_out: Vec<(u64, usize, String)> = ruled_out
            .into_iter()
            .map(|(i, why)| (self.plan.actions[i].order, i, why))
            .filter(|(order, i, _)| self.measured.contains(&(*order, *i)))
            .collect();
        ruled_out.sort();
        for (order, i, why) in ruled_out {
            self.measured.remove(&(order, i));
            self.measured_resolved.remove(&i);
            self.places.remove(&i);
            self.leave_out(i, &why)?;
        }
        Ok(())
    }

    /// Keeps the plan with the run (P279).
    fn keep_plan(&mut self) -> Result<()> {
        let plan = crate::save_plan::saved_plan(self.resolver, self.options)?;
        let bytes = serde_json::to_vec(&plan).map_err(std::io::Error::other)?;
        let plan = self.resolver.store.put_blob(&bytes)?;
        let resumes = self.options.resume.as_ref().map(|r| r.run.clone());
        self.emit(None, Event::RunPlanned { plan, resumes })
    }

    fn finished(&mut self, index: usize, done: Done) -> Result<()> {
        let label = self.plan.actions[index].label.clone();
        match done {
            Done::Interrupted => {}
            Done::Waited(stored) => {
                self.summary.reused += 1;
                self.emit(Some(index), Event::ActionWaited { label, key: stored.key })?;
                self.settle(index, Outcome::of(*stored));
            }
            Done::Ran(stored) => {
                self.summary.ran += 1;
                let r = &stored.record;
                let event = Event::ActionFinished {
                    label,
                    key: r.key,
                    status: r.status,
                    reason: r.reason.clone(),
                    wall_ms: r.usage.wall_ms,
                    generation: r.generation,
                    warnings: r.warnings.clone(),
                };
                self.emit(Some(index), event)?;
                if is_limit(r.status) {
                    self.limit_met(index, &r.components, r.status, &r.reason)?;
                }
                self.settle(index, Outcome::of(&*stored));
            }
        }
        Ok(())
    }

    fn settle(&mut self, index: usize, outcome: Outcome) {
        self.outcomes.insert(index, Arc::new(outcome));
        for i in 0..self.dependents[index].len() {
            let d = self.dependents[index][i];
            self.waiting[d] -= 1;
            if self.waiting[d] == 0 {
                self.unblocked.push(d);
            }
        }
    }

    /// Writes the root and the end of the journal. Gives the root's name, if it is that of a whole run.
    fn finish(&mut self, id: &RunId) -> Result<Option<String>> {
        let failed = self.outcomes.values();
        let failed = failed.filter(|o| o.status.is_some_and(|s| s != Status::Ok)).count() as u64;
        let event = Event::RunFinished {
            ran: self.summary.ran,
            reused: self.summary.reused,
            failed,
            skipped: self.summary.skipped,
            wall_ms: self.summary.wall_ms,
            interrupted: self.summary.interrupted,
        };
        self.emit(None, event)?;
        if self.resolver.store.read_only() {
            return Ok(None);
        }
        let entries: Vec<RootEntry> = self
            .plan
            .actions
            .iter()
            .enumerate()
            .filter_map(|(i, action)| {
                let o = self.outcomes.get(&i)?;
                Some(RootEntry {
                    label: action.label.clone(),
                    key: o.key?,
                    generation: o.generation,
                    status: o.status?,
                })
            })
            .collect();
        let left_out = self.plan.actions.iter().enumerate().filter_map(|(i, action)| {
            let o = self.outcomes.get(&i).filter(|o| o.not_run == Some(NotRun::LeftOut))?;
            Some(LeftOut { label: action.label.clone(), reason: o.reason.clone() })
        });
        let left_out = left_out.collect();
        let root = Root {
            version: 1,
            pipeline: self.plan.name.clone(),
            file: self.options.pipeline_file.clone(),
            run: id.as_str().to_owned(),
            project: Some(self.resolver.store.project_id(&self.resolver.root)),
            entries,
            left_out,
        };
        // A run of a part, or an interrupted one, must not let go of what an earlier run reached.
        let whole = self.options.only.is_none() && !self.summary.interrupted;
        let name = self.resolver.store.root_name(&self.plan.name, &self.resolver.root)?;
        let name = if whole { name } else { format!("{name}.part") };
        // What ran has another key or another generation than before.
        let unchanged = whole
            && self.summary.ran == 0
            && self
                .resolver
                .store
                .root_named(&name)
                .ok()
                .flatten()
                .is_some_and(|old| old == Root { run: old.run.clone(), ..root.clone() });
        if !unchanged {
            self.resolver.store.put_root(&name, &root)?;
        }
        Ok(whole.then_some(name))
    }
}

/// A worker: runs jobs until there are no more.
fn work(
    context: &Context<'_>,
    jobs: &Mutex<mpsc::Receiver<Job>>,
    done: &mpsc::Sender<(usize, Told)>,
) {
    let mut place = None;
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        let action = &context.resolver.plan.actions[job.index];
        let key = job.resolved.key;
        // Nobody listens any more only when the run is over.
        let tell = |by| drop(done.send((job.index, Told::Held(key, by))));
        let Job { resolved, outcomes, forced, .. } = job;
        let result = context.execute(action, resolved, &outcomes, forced, &mut place, &tell);
        if done.send((job.index, Told::Done(result))).is_err() {
            return;
        }
    }
}
