//! What a user names on the command line: records by key or label, runs by id, pipeline or pin.

use crate::error::{CliError, exit};
use crate::text;
use sim_model::event::{Event, Line};
use sim_model::{Digest, Record, Status};
use sim_store::{Root, RootEntry, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

/// A record, and the name under which it was asked for.
pub(crate) struct Found {
    pub(crate) record: Record,
    /// The label that was asked for; the record's own where it was asked for by key. Two labels can
    /// share a key: the record then keeps the label under which it ran.
    pub(crate) label: String,
}

impl Found {
    /// `LABEL`, or `LABEL (ran as OTHER)`.
    pub(crate) fn title(&self) -> String {
        if self.label == self.record.label {
            self.label.clone()
        } else {
            format!("{} (ran as {})", self.label, self.record.label)
        }
    }
}

/// Roots whose name passes, the newest run first.
fn newest_roots(store: &Store, of: impl Fn(&str) -> bool) -> Result<Vec<Root>, CliError> {
    let mut roots = Vec::new();
    for name in store.root_names()?.into_iter().filter(|n| of(n)) {
        // A damaged one reaches nothing; `store verify` names it.
        roots.extend(store.root_named(&name).ok().flatten());
    }
    // Ids sort by time.
    let journals = store.journals()?;
    let mut roots: Vec<(String, Root)> =
        roots.into_iter().map(|r| (last_run(store, &r, &journals), r)).collect();
    roots.sort_by(|a, b| b.0.cmp(&a.0));
    Ok(roots.into_iter().map(|(_, root)| root).collect())
}

/// The last run that reached just this root. One that had nothing to do leaves the root as it is.
fn last_run(store: &Store, root: &Root, journals: &[PathBuf]) -> String {
    for path in journals.iter().rev() {
        let id = stem(path);
        if id <= root.run {
            break;
        }
        let mut first = String::new();
        let read = fs_err::File::open(path).map(|f| BufReader::new(f).read_line(&mut first));
        let (Ok(Ok(_)), Ok(line)) = (read, serde_json::from_str::<Line>(&first)) else { continue };
        let Event::RunStarted { pipeline, file, actions, .. } = &line.event else { continue };
        if *pipeline != root.pipeline || *file != root.file || *actions != root.entries.len() as u64
        {
            continue;
        }
        let Ok(lines) = store.journal_lines(path) else { continue };
        let reused: BTreeSet<(&str, &Digest, u32)> = lines
            .iter()
            .filter_map(|l| match &l.event {
                Event::ActionReused { label, key, generation, .. } => {
                    Some((label.as_str(), key, *generation))
                }
                _ => None,
            })
            .collect();
        if root.entries.iter().all(|e| reused.contains(&(e.label.as_str(), &e.key, e.generation))) {
            return id;
        }
    }
    root.run.clone()
}

/// What a label means: what the newest root reached under it, else the newest record that is ok, else
/// the newest record.
fn labelled(store: &Store, label: &str) -> Result<Option<Record>, CliError> {
    for root in newest_roots(store, |_| true)? {
        let Some(e) = root.entries.iter().find(|e| e.label == label) else { continue };
        if let Ok(Some(record)) = store.record_generation(&e.key, e.generation) {
            return Ok(Some(record));
        }
    }
    let of_label = store.records()?.0.into_iter().filter(|r| r.label == label);
    Ok(of_label.max_by_key(|r| (r.status == Status::Ok, r.started_unix_ms, r.generation)))
}

/// The record that the label `what` means, or the newest whose key begins with `what`.
pub(crate) fn record(store: &Store, what: &str) -> Result<Found, CliError> {
    if let Some(record) = labelled(store, what)? {
        return Ok(Found { record, label: what.to_owned() });
    }
    let hex = what.len() >= 4 && what.bytes().all(|b| b.is_ascii_hexdigit());
    let mut found = if hex { store.records()?.0 } else { Vec::new() };
    found.retain(|r| r.key.to_string().starts_with(what));
    let keys: BTreeSet<_> = found.iter().map(|r| r.key).collect();
    if keys.len() > 1 {
        let list: Vec<String> =
            found.iter().take(5).map(|r| format!("{} {}", r.key.short(), r.label)).collect();
        return Err(CliError::new(exit::NOTHING, format!("`{what}` begins {} keys", keys.len()))
            .hint(format!("write more of it: {}", list.join(", "))));
    }
    found.sort_by_key(|r| (r.started_unix_ms, r.generation));
    if let Some(record) = found.pop() {
        let label = record.label.clone();
        return Ok(Found { record, label });
    }
    match reused_as(store, what)? {
        Some(record) => Ok(Found { record, label: what.to_owned() }),
        None => {
            Err(CliError::new(exit::NOTHING, format!("no record has the key or label `{what}`"))
                .hint("`sim-pipe query 'from actions'` lists them; a key needs its first 4 digits"))
        }
    }
}

/// As [`record`], where `@N` after the name asks for one observation of the key.
pub(crate) fn observation(store: &Store, what: &str) -> Result<Found, CliError> {
    let (name, generation) = match what.rsplit_once('@') {
        Some((name, n)) if n.bytes().all(|b| b.is_ascii_digit()) && !n.is_empty() => {
            (name, n.parse::<u32>().ok())
        }
        _ => (what, None),
    };
    let found = match record(store, name) {
        // A label may end in `@7` itself.
        Err(e) => record(store, what).map_err(|_| e)?,
        Ok(found) => found,
    };
    match generation.filter(|_| found.label != what) {
        None => Ok(found),
        Some(n) => {
            let record = store.record_generation(&found.record.key, n)?.ok_or_else(|| {
                CliError::new(exit::NOTHING, format!("{name} has no observation {n}"))
                    .hint(format!("it has observations 0 to {}", found.record.generation))
            })?;
            Ok(Found { record, ..found })
        }
    }
}

/// The record that the last run used which knew this label, where no root reaches it and no action ran
/// under it: its record was there already, under the label of another.
fn reused_as(store: &Store, label: &str) -> Result<Option<Record>, CliError> {
    for path in store.journals()?.iter().rev() {
        for line in store.journal_lines(path)?.iter().rev() {
            match &line.event {
                Event::ActionReused { label: l, key, generation, .. } if l == label => {
                    return Ok(store.record_generation(key, *generation)?);
                }
                Event::ActionWaited { label: l, key } if l == label => {
                    return Ok(store.record(key)?.map(|s| s.record));
                }
                _ => {}
            }
        }
    }
    Ok(None)
}

/// The record that the newest run of a pipeline, whole or in part, used for a label. A label may be shortened as long as
/// one action remains.
pub(crate) fn by_label(store: &Store, pipeline: &str, label: &str) -> Result<Found, CliError> {
    let part = format!("{pipeline}.part");
    let roots = newest_roots(store, |name| name == pipeline || name == part)?;
    let mut seen = BTreeSet::new();
    let mut entries: Vec<RootEntry> = roots.into_iter().flat_map(|r| r.entries).collect();
    entries.retain(|e| seen.insert(e.label.clone()));
    let exact = entries.iter().find(|e| e.label == label);
    let starting: Vec<_> = entries.iter().filter(|e| e.label.starts_with(label)).collect();
    let entry = match (exact, starting.as_slice()) {
        (Some(e), _) => e,
        (None, [one]) => one,
        (None, []) => {
            if let Some(record) = labelled(store, label)? {
                return Ok(Found { record, label: label.to_owned() });
            }
            return Err(CliError::new(
                exit::NOTHING,
                format!("the last run of `{pipeline}` reached no action `{label}`"),
            )
            .hint("`sim-pipe plan --all PIPELINE` lists the labels"));
        }
        (None, several) => {
            let list: Vec<&str> = several.iter().take(5).map(|e| e.label.as_str()).collect();
            return Err(CliError::new(
                exit::NOTHING,
                format!("{} actions begin with `{label}`", several.len()),
            )
            .hint(format!("such as {}", list.join(", "))));
        }
    };
    let record = store.record_generation(&entry.key, entry.generation)?.ok_or_else(|| {
        CliError::new(exit::STORE, format!("the record of {} is gone", entry.label))
    })?;
    Ok(Found { record, label: entry.label.clone() })
}

/// How a run came to an action's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Its process ran.
    Ran,
    /// Its record was there.
    Reused,
    /// Another sim-pipe ran it meanwhile.
    Waited,
    /// The journal does not tell, or there is none any more.
    Unknown,
}

impl How {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::Reused => "reused",
            Self::Waited => "waited",
            Self::Unknown => "unknown",
        }
    }
}

/// One action of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunEntry {
    pub(crate) label: String,
    pub(crate) key: Digest,
    pub(crate) generation: u32,
    pub(crate) status: Status,
    pub(crate) how: How,
}

/// A run: what it reached, and its journal.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// As it was asked for, for messages.
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) pipeline: String,
    /// Pipeline file relative to the project's root.
    pub(crate) file: String,
    /// In plan order where a root tells it, else in the order in which they were settled.
    pub(crate) entries: Vec<RunEntry>,
    /// Lines of the journal; empty where it is not in this store.
    pub(crate) lines: Vec<Line>,
}

impl Run {
    /// The records of all entries; what is gone or damaged is an error.
    pub(crate) fn records(&self, store: &Store) -> Result<Vec<Record>, CliError> {
        self.entries
            .iter()
            .map(|e| {
                store.record_generation(&e.key, e.generation)?.ok_or_else(|| {
                    CliError::new(
                        exit::STORE,
                        format!("the record of {} ({}) is gone", e.label, e.key.short()),
                    )
                    .hint("a collection removed it: `store pin` keeps what a run reached")
                })
            })
            .collect()
    }

    /// The journal, which must be there.
    pub(crate) fn journal(&self) -> Result<&[Line], CliError> {
        if self.lines.is_empty() {
            return Err(CliError::new(
                exit::NOTHING,
                format!("the journal of run {} is not in this store", self.id),
            )
            .hint("`sim-pipe query 'from runs'` lists the runs that have one"));
        }
        Ok(&self.lines)
    }
}

/// Whether this names a run: an id or the beginning of one, `last`, a pipeline, or a pin.
pub(crate) fn is_run(store: &Store, what: &str) -> Result<bool, CliError> {
    Ok(what == "last"
        || root(store, what)?.is_some()
        || store.journals()?.iter().any(|p| stem(p).starts_with(what) && what.len() >= 9))
}

fn stem(path: &std::path::Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn root(store: &Store, what: &str) -> Result<Option<Root>, CliError> {
    for name in [what.to_owned(), format!("pin.{what}")] {
        let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !name.is_empty()
            && name.chars().all(fine)
            && let Some(root) = store.root_named(&name)?
        {
            return Ok(Some(root));
        }
    }
    Ok(None)
}

/// The run of this name; without a name the last one.
pub(crate) fn run(store: &Store, what: Option<&str>) -> Result<Run, CliError> {
    let what = what.unwrap_or("last");
    let journals = store.journals()?;
    if what != "last"
        && let Some(root) = root(store, what)?
    {
        let path = journals.iter().find(|p| stem(p) == root.run);
        let lines = path.map_or(Ok(Vec::new()), |p| store.journal_lines(p))?;
        return Ok(of_root(what, root, lines));
    }
    let matching: Vec<_> = match what {
        "last" => journals.last().into_iter().collect(),
        _ => journals.iter().filter(|p| stem(p).starts_with(what)).collect(),
    };
    match matching.as_slice() {
        [] => Err(CliError::new(exit::NOTHING, format!("there is no run `{what}`")).hint(
            "`sim-pipe query 'from runs'` lists runs, `sim-pipe store ls` pipelines and pins",
        )),
        [one] => {
            let mut run = of_journal(store, &stem(one), store.journal_lines(one)?)?;
            if what == "last" {
                // The plan's order is worth more than the order in which things happened.
                in_order_of_roots(store, &mut run)?;
            }
            Ok(run)
        }
        several => {
            let list: Vec<String> = several.iter().rev().take(5).map(|p| stem(p)).collect();
            Err(CliError::new(
                exit::NOTHING,
                format!("`{what}` begins the ids of {}", text::count(several.len(), "run")),
            )
            .hint(format!("such as {}", list.join(", "))))
        }
    }
}

fn in_order_of_roots(store: &Store, run: &mut Run) -> Result<(), CliError> {
    for name in [run.pipeline.clone(), format!("{}.part", run.pipeline)] {
        let Some(root) = store.root_named(&name)? else { continue };
        let order: BTreeMap<&str, usize> =
            root.entries.iter().enumerate().map(|(i, e)| (e.label.as_str(), i)).collect();
        if run.entries.iter().all(|e| order.contains_key(e.label.as_str())) {
            run.entries.sort_by_key(|e| order[e.label.as_str()]);
            return Ok(());
        }
    }
    Ok(())
}

fn of_root(name: &str, root: Root, lines: Vec<Line>) -> Run {
    let how: BTreeMap<&str, How> = lines
        .iter()
        .filter_map(|l| match &l.event {
            Event::ActionFinished { label, .. } => Some((label.as_str(), How::Ran)),
            Event::ActionReused { label, .. } => Some((label.as_str(), How::Reused)),
            Event::ActionWaited { label, .. } => Some((label.as_str(), How::Waited)),
            _ => None,
        })
        .collect();
    let entries = root
        .entries
        .iter()
        .map(|e| RunEntry {
            label: e.label.clone(),
            key: e.key,
            generation: e.generation,
            status: e.status,
            how: how.get(e.label.as_str()).copied().unwrap_or(How::Unknown),
        })
        .collect();
    Run {
        name: name.to_owned(),
        id: root.run,
        pipeline: root.pipeline,
        file: root.file,
        entries,
        lines,
    }
}

fn of_journal(store: &Store, id: &str, lines: Vec<Line>) -> Result<Run, CliError> {
    let (mut pipeline, mut file) = (String::new(), String::new());
    let mut entries = Vec::new();
    for line in &lines {
        let (label, key, generation, status, how) = match &line.event {
            Event::RunStarted { pipeline: p, file: f, .. } => {
                (pipeline, file) = (p.clone(), f.clone());
                continue;
            }
            Event::ActionReused { label, key, status, generation } => {
                (label, *key, *generation, *status, How::Reused)
            }
            Event::ActionFinished { label, key, status, generation, .. } => {
                (label, *key, *generation, *status, How::Ran)
            }
            Event::ActionWaited { label, key } => {
                let Some(stored) = store.record(key)? else { continue };
                (label, *key, stored.record.generation, stored.record.status, How::Waited)
            }
            _ => continue,
        };
        entries.push(RunEntry { label: label.clone(), key, generation, status, how });
    }
    Ok(Run { name: id.to_owned(), id: id.to_owned(), pipeline, file, entries, lines })
}
