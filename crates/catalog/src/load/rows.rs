//! Turns records, results and journal lines into rows, column by column as in the schema.

mod batch;
mod protocol;
mod trial;

use crate::duck::Cell;
use crate::error::CatalogError;
use crate::schema;
use crate::source::Source;
use sim_model::event::{Event, Line};
use sim_model::{Digest, Machine, Record, Status};
use std::collections::BTreeMap;

/// Bytes of a log that are kept for queries.
const LOG_TAIL: usize = 16 << 10;

/// Rows to append, by table.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) rows: BTreeMap<&'static str, Vec<Vec<Cell>>>,
}

/// Values that cells are made of.
pub(super) trait Into2 {
    fn cell(self) -> Cell;
}

impl Into2 for &str {
    fn cell(self) -> Cell {
        Cell::Text(self.to_owned())
    }
}

impl Into2 for String {
    fn cell(self) -> Cell {
        Cell::Text(self)
    }
}

impl Into2 for &String {
    fn cell(self) -> Cell {
        Cell::Text(self.clone())
    }
}

impl Into2 for &Digest {
    fn cell(self) -> Cell {
        Cell::Text(self.to_string())
    }
}

impl Into2 for bool {
    fn cell(self) -> Cell {
        Cell::Bool(self)
    }
}

impl Into2 for u32 {
    fn cell(self) -> Cell {
        Cell::Int(self.into())
    }
}

impl Into2 for u64 {
    /// Counts beyond what a BIGINT holds are not known rather than wrong.
    fn cell(self) -> Cell {
        i64::try_from(self).map_or(Cell::Null, Cell::Int)
    }
}

impl Into2 for f64 {
    fn cell(self) -> Cell {
        if self.is_finite() { Cell::Float(self) } else { Cell::Null }
    }
}

impl<T: Into2> Into2 for Option<T> {
    fn cell(self) -> Cell {
        self.map_or(Cell::Null, T::cell)
    }
}

/// A row from anything that makes cells.
macro_rules! row {
    ($($value:expr),* $(,)?) => { vec![$(crate::load::rows::Into2::cell($value)),*] };
}
pub(super) use row;

impl Tables {
    /// Adds a row; its width is that of the table.
    fn add(&mut self, table: &'static str, row: Vec<Cell>) {
        debug_assert_eq!(
            schema::tables().iter().find(|t| t.name == table).map(|t| t.columns.len()),
            Some(row.len()),
            "{table}"
        );
        self.rows.entry(table).or_default().push(row);
    }

    /// All rows of one record; `new_key` where no other generation brought its components.
    pub(super) fn record(
        &mut self,
        r: &Record,
        source: &dyn Source,
        new_key: bool,
    ) -> Result<(), CatalogError> {
        let key = r.key.to_string();
        let component =
            |path: &str| r.components.iter().find(|c| c.path == path).map(|c| c.value.as_str());
        let c = r.conditions.clone().unwrap_or_default();
        self.add(
            "actions",
            row![
                &key,
                r.generation,
                true,
                &r.label,
                r.label.split(['[', '/']).next().unwrap_or_default(),
                &r.kind,
                r.class.name(),
                r.status.name(),
                reason(r),
                timestamp(r.started_unix_ms),
                r.usage.wall_ms,
                r.usage.cpu_ms,
                r.usage.peak_tree_bytes,
                component("seed"),
                component("repeat"),
                component("kind.fingerprint"),
                r.output.as_ref().map(|o| o.digest.to_string()),
                &r.sandbox,
                &r.machine.identity(),
                c.governor,
                c.load_before,
                c.load_after,
                c.other_load,
                c.stolen,
                c.throttle_events,
                c.mhz_before,
                noisy(r),
                Some(r.warnings.join("; ")).filter(|w| !w.is_empty()),
                r.limits.get("timeout_s").or(r.limits.get("timeout")).copied(),
                r.limits.get("memory_bytes").or(r.limits.get("memory")).copied(),
                &r.tool_version,
            ],
        );
        if new_key {
            for c in &r.components {
                self.add("components", row![&key, &c.path, &c.value]);
                let name = c.path.strip_prefix("args.");
                if let Some(name) = name.filter(|_| matches!(&*r.kind, "fetch" | "build-engine")) {
                    self.add("pins", row![&key, &r.label, &r.kind, name, &c.value]);
                }
            }
        }
        for input in &r.inputs {
            self.add(
                "inputs",
                row![
                    &key,
                    r.generation,
                    &input.name,
                    input.tree.as_ref(),
                    input.key.as_ref(),
                    input.source.as_ref(),
                ],
            );
        }
        if let Some(o) = &r.output {
            self.add("outputs", row![&key, r.generation, &o.digest, o.bytes, o.files]);
        }
        if let Some(blob) = &r.log {
            let bytes = source.log(blob).map_err(CatalogError::Source)?;
            let tail = bytes.as_ref().map(|b| {
                String::from_utf8_lossy(&b[b.len().saturating_sub(LOG_TAIL)..]).replace('\0', "")
            });
            self.add(
                "logs",
                row![
                    &key,
                    r.generation,
                    &r.label,
                    blob,
                    bytes.as_ref().map(|b| b.len() as u64),
                    r.log_dropped,
                    tail,
                ],
            );
        }
        if r.kind == "trial" {
            self.trial(r, source)?;
        }
        if r.kind == "batch-protocol" {
            self.batch(r, source)?;
        }
        if r.kind == "protocol" {
            self.protocol(r, source)?;
        }
        Ok(())
    }

    /// The files of an output tree.
    pub(super) fn tree(&mut self, tree: &Digest, source: &dyn Source) -> Result<(), CatalogError> {
        for f in source.list(tree).map_err(CatalogError::Source)?.into_iter().flatten() {
            let path = f.path.replace('\0', "");
            self.add("files", row![tree, path, f.bytes, f.digest.as_ref(), f.executable, f.link]);
        }
        Ok(())
    }

    /// A machine.
    pub(super) fn machine(&mut self, m: &Machine) {
        self.add(
            "machines",
            row![
                &m.identity(),
                &m.class(),
                &m.cpu_model,
                &m.cpu_signature,
                m.cpu_features.join(" "),
                m.cpus,
                m.ram_bytes,
                &m.os,
                &m.kernel,
                &m.platform,
                m.gpus.join("; "),
            ],
        );
    }
}

fn reason(r: &Record) -> Option<String> {
    (r.status != Status::Ok || !r.reason.is_empty()).then(|| r.reason.replace('\0', ""))
}

/// Why an observation is noisy, as one text.
fn noisy(r: &Record) -> Option<String> {
    let noisy = &r.conditions.as_ref()?.noisy;
    (!noisy.is_empty()).then(|| noisy.join("; "))
}

/// Milliseconds since 1970 as DuckDB reads a timestamp.
pub(super) fn timestamp(unix_ms: u64) -> String {
    let days = unix_ms / 86_400_000;
    let ms = unix_ms % 86_400_000;
    // Civil date from days, in eras of 400 years that start on 1 March.
    let z = days + 719_468;
    let of_era = z % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + z / 146_097 * 400 + u64::from(month <= 2);
    let (h, m, s, ms) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
    format!("{year:04}-{month:02}-{day:02} {h:02}:{m:02}:{s:02}.{ms:03}")
}

#[derive(Default)]
struct Run {
    start: Option<(u64, Event)>,
    end: Option<(u64, Event)>,
    sandbox: Option<String>,
}

/// Rows of `runs` and `events`.
pub(super) fn runs(lines: &[Line]) -> BTreeMap<&'static str, Vec<Vec<Cell>>> {
    let mut runs: BTreeMap<&str, Run> = BTreeMap::new();
    let mut events = Vec::new();
    for line in lines {
        let run = runs.entry(&line.run).or_default();
        let at = line.at_unix_ms;
        let none = None::<&str>;
        let mut add = |event: &str,
                       label: &str,
                       key: Option<&Digest>,
                       status: Option<&str>,
                       detail: Option<&str>| {
            events.push(row![&line.run, timestamp(at), event, label, key, status, detail]);
        };
        match &line.event {
            e @ Event::RunStarted { .. } => run.start = Some((at, e.clone())),
            Event::SandboxStarted { level } => run.sandbox = Some(level.clone()),
            e @ Event::RunFinished { .. } => run.end = Some((at, e.clone())),
            Event::StoreChecked { .. } => {}
            Event::ActionReused { label, key, status, .. } => {
                add("reused", label, Some(key), Some(status.name()), none);
            }
            Event::ActionStarted { label, key } => add("started", label, Some(key), none, none),
            Event::ActionFinished { label, key, status, reason, .. } => {
                let why = (!reason.is_empty()).then_some(reason.as_str());
                add("finished", label, Some(key), Some(status.name()), why);
            }
            Event::ActionHeld { label, key, .. } => add("held", label, Some(key), none, none),
            Event::ActionWaited { label, key } => add("waited", label, Some(key), none, none),
            Event::RunPlanned { .. } => {}
            Event::ActionSkipped { label, because, .. } => {
                add("skipped", label, None, none, Some(because));
            }
        }
    }
    let rows = runs.into_iter().map(|(id, run)| run_row(id, &run)).collect();
    BTreeMap::from([("runs", rows), ("events", events)])
}

fn run_row(id: &str, run: &Run) -> Vec<Cell> {
    let mut row = row![id];
    let started = run.start.as_ref().map(|(at, _)| timestamp(*at));
    let ended = run.end.as_ref().map(|(at, _)| timestamp(*at));
    let (mut first, mut last) =
        (row![None::<&str>, None::<&str>], row![None::<u64>, None::<&str>, None::<&str>]);
    let mut actions = Cell::Null;
    if let Some((_, Event::RunStarted { pipeline, file, actions: n, machine, tool_version })) =
        &run.start
    {
        first = row![pipeline, file];
        actions = (*n).cell();
        last = row![machine, run.sandbox.as_deref(), tool_version];
    }
    row.extend(first);
    row.extend(row![started, ended]);
    row.push(actions);
    row.extend(match &run.end {
        Some((_, Event::RunFinished { ran, reused, failed, skipped, wall_ms, interrupted })) => {
            row![*ran, *reused, *failed, *skipped, *wall_ms, *interrupted]
        }
        _ => vec![Cell::Null; 6],
    });
    row.extend(last);
    row
}
