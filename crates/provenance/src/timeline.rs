//! What happened when in a run: its journal and records as intervals.

use sim_model::event::{Event, Line};
use sim_model::{Class, Digest, Record, Status};
use std::collections::BTreeMap;

/// One action that was started in a run. Times are milliseconds since 1970 UTC, and in this order:
/// `ready`, `taken`, `began`, `ended`, `kept`.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Label.
    pub label: String,
    /// Key.
    pub key: Digest,
    /// Generation of the record; absent where there is none.
    pub generation: Option<u32>,
    /// Kind; empty where there is no record.
    pub kind: String,
    /// Promise; absent where there is no record.
    pub class: Option<Class>,
    /// How it ended; absent where the run ended first.
    pub status: Option<Status>,
    /// Reason of the status.
    pub reason: String,
    /// When everything that it uses was there.
    pub ready: f64,
    /// When a worker took it.
    pub taken: f64,
    /// When its process was started; `kept` where none was.
    pub began: f64,
    /// When its last process ended.
    pub ended: f64,
    /// When its record was written, or another process's record was found.
    pub kept: f64,
    /// What it was held up by between `taken` and `began`, where that took long.
    pub held_by: Option<String>,
    /// Whether another sim-pipe ran it meanwhile.
    pub waited: bool,
    /// Worker lane, from 0: what runs at once lies in different lanes.
    pub lane: usize,
    /// Spans whose results it used, as indices.
    pub needs: Vec<usize>,
    /// CPU time of its processes, ms.
    pub cpu_ms: f64,
    /// Largest sampled memory of its processes, bytes.
    pub peak_bytes: u64,
    /// Warnings.
    pub warnings: Vec<String>,
}

impl Span {
    /// How long it occupied a worker, without the time it was held up, in milliseconds.
    pub fn busy_ms(&self) -> f64 {
        let held =
            if self.held_by.is_some() || self.waited { self.began - self.taken } else { 0.0 };
        self.kept - self.taken - held
    }
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Id.
    pub run: String,
    /// Pipeline's name.
    pub pipeline: String,
    /// First and last moment, milliseconds since 1970 UTC.
    pub start: f64,
    /// Last moment.
    pub end: f64,
    /// Sandbox level.
    pub sandbox: String,
    /// Version of sim-pipe.
    pub tool_version: String,
    /// What was started, in the order of starting.
    pub spans: Vec<Span>,
    /// Labels whose records were used, and when.
    pub reused: Vec<(String, f64)>,
    /// Labels that were skipped, what they needed, and when.
    pub skipped: Vec<(String, String, f64)>,
    /// Whether it came to its end: a killed run has none, an interrupted one did not.
    pub complete: bool,
}

impl Timeline {
    /// From the lines of a journal and the records they name, by key and generation.
    pub fn of(lines: &[Line], records: &BTreeMap<(Digest, u32), Record>) -> Self {
        let mut out = Self::default();
        let mut open: BTreeMap<String, usize> = BTreeMap::new();
        // When each key's result was there, for those that need it.
        let mut done: BTreeMap<Digest, (f64, Option<usize>)> = BTreeMap::new();
        // A clock that is set back must not turn an interval around.
        let mut now = lines.first().map_or(0.0, |l| l.at_unix_ms as f64);
        (out.start, out.end) = (now, now);
        for line in lines {
            now = now.max(line.at_unix_ms as f64);
            out.end = now;
            match &line.event {
                Event::SandboxStarted { level } => out.sandbox.clone_from(level),
                Event::RunStarted { pipeline, tool_version, .. } => {
                    out.run.clone_from(&line.run);
                    out.pipeline.clone_from(pipeline);
                    out.tool_version.clone_from(tool_version);
                }
                Event::ActionReused { label, key, .. } => {
                    done.insert(*key, (now, None));
                    out.reused.push((label.clone(), now));
                }
                Event::ActionStarted { label, key } => {
                    open.insert(label.clone(), out.spans.len());
                    out.spans.push(Span {
                        label: label.clone(),
                        key: *key,
                        generation: None,
                        kind: String::new(),
                        class: None,
                        status: None,
                        reason: String::new(),
                        ready: out.start,
                        taken: now,
                        began: now,
                        ended: now,
                        kept: now,
                        held_by: None,
                        waited: false,
                        lane: 0,
                        needs: Vec::new(),
                        cpu_ms: 0.0,
                        peak_bytes: 0,
                        warnings: Vec::new(),
                    });
                }
                Event::ActionHeld { label, by, .. } => {
                    if let Some(i) = open.get(label) {
                        out.spans[*i].held_by = Some(by.clone());
                    }
                }
                Event::ActionFinished {
                    label, key, status, reason, generation, warnings, ..
                } => {
                    let Some(i) = open.remove(label) else { continue };
                    let span = &mut out.spans[i];
                    (span.status, span.reason) = (Some(*status), reason.clone());
                    (span.kept, span.key) = (now, *key);
                    span.generation = Some(*generation);
                    span.warnings.clone_from(warnings);
                    (span.began, span.ended) = (span.taken, now);
                    if let Some(r) = records.get(&(*key, *generation)) {
                        fill(span, r, &done);
                    }
                    done.insert(*key, (now, Some(i)));
                }
                Event::ActionWaited { label, key } => {
                    let Some(i) = open.remove(label) else { continue };
                    let span = &mut out.spans[i];
                    (span.kept, span.began, span.ended, span.waited) = (now, now, now, true);
                    done.insert(*key, (now, Some(i)));
                }
                Event::ActionSkipped { label, because, .. } => {
                    out.skipped.push((label.clone(), because.clone(), now));
                }
                Event::RunFinished { interrupted, .. } => out.complete = !interrupted,
                Event::StoreChecked { .. } | Event::RunPlanned { .. } => {}
            }
        }
        // What still ran when the journal ends was killed with the run.
        for i in open.into_values() {
            let span = &mut out.spans[i];
            (span.ended, span.kept) = (out.end, out.end);
        }
        lanes(&mut out.spans);
        out
    }

    /// How long it took, in milliseconds.
    pub fn wall_ms(&self) -> f64 {
        self.end - self.start
    }
}

fn fill(span: &mut Span, r: &Record, done: &BTreeMap<Digest, (f64, Option<usize>)>) {
    span.kind.clone_from(&r.kind);
    span.class = Some(r.class);
    span.cpu_ms = r.usage.cpu_ms;
    span.peak_bytes = r.usage.peak_tree_bytes;
    span.began = (r.started_unix_ms as f64).clamp(span.taken, span.kept);
    span.ended = (span.began + r.usage.wall_ms).clamp(span.began, span.kept);
    for input in &r.inputs {
        let Some((at, from)) = input.key.and_then(|k| done.get(&k)) else { continue };
        span.ready = span.ready.max(at.min(span.taken));
        span.needs.extend(from);
    }
    span.needs.sort_unstable();
    span.needs.dedup();
}

/// Gives each span the first lane that is free when it starts.
fn lanes(spans: &mut [Span]) {
    let mut free: Vec<f64> = Vec::new();
    for span in spans {
        let lane = free.iter().position(|until| *until <= span.taken);
        span.lane = lane.unwrap_or(free.len());
        if span.lane == free.len() {
            free.push(0.0);
        }
        // An action that ended within the millisecond it began still has its lane for itself.
        free[span.lane] = span.kept.max(span.taken + 1e-3);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use sim_model::record::{RECORD_VERSION, RecordInput, Usage};
    use sim_model::{Conditions, Machine, TreeRef};

    pub(crate) fn record(label: &str, class: Class, started: u64, wall_ms: f64) -> Record {
        Record {
            version: RECORD_VERSION,
            key: Digest::of(label.as_bytes()),
            generation: 0,
            label: label.to_owned(),
            kind: "command".to_owned(),
            class,
            status: Status::Ok,
            reason: String::new(),
            output: Some(TreeRef { digest: Digest::of(b"out"), bytes: 3, files: 1 }),
            inputs: vec![],
            components: vec![],
            argv: vec!["sh".to_owned(), "-c".to_owned(), "true".to_owned()],
            log: None,
            log_dropped: 0,
            sandbox: "namespaces".to_owned(),
            started_unix_ms: started,
            usage: Usage { wall_ms, cpu_ms: 1.0, peak_tree_bytes: 0 },
            machine: Machine {
                cpu_model: "Test CPU".into(),
                cpu_signature: "6/143/8".into(),
                cpu_features: vec![],
                cpus: 2,
                ram_bytes: 1 << 34,
                os: "Debian 12".into(),
                kernel: "6.18".into(),
                platform: "x86_64-linux".into(),
                gpus: vec![],
                installation: Digest::of(b"here"),
            },
            conditions: (class == Class::Measured).then(Conditions::default),
            limits: BTreeMap::new(),
            warnings: vec![],
            tool_version: "0.1.0".to_owned(),
        }
    }

    /// `a` and `b` at once, then `c`, which uses both and is held for a while, then `d`, which is
    /// measured; `old` is reused and `late` is still running at the end.
    pub(crate) fn sample() -> Timeline {
        let uses = |mut r: Record, labels: &[&str]| {
            r.inputs = labels
                .iter()
                .map(|l| RecordInput {
                    name: (*l).to_owned(),
                    tree: None,
                    key: Some(Digest::of(l.as_bytes())),
                    source: None,
                })
                .collect();
            r
        };
        let records = [
            record("a", Class::Pure, 1_010, 500.0),
            record("b", Class::Machine, 1_020, 900.0),
            uses(record("c", Class::Pure, 5_000, 1_000.0), &["a", "b", "old"]),
            uses(record("d", Class::Measured, 6_200, 700.5), &["c"]),
        ];
        let records = records.into_iter().map(|r| ((r.key, 0), r)).collect();
        let key = |l: &str| Digest::of(l.as_bytes());
        let started = |l: &str| Event::ActionStarted { label: l.to_owned(), key: key(l) };
        let finished = |l: &str| Event::ActionFinished {
            label: l.to_owned(),
            key: key(l),
            status: Status::Ok,
            reason: String::new(),
            wall_ms: 0.0,
            generation: 0,
            warnings: vec![],
        };
        let events = [
            (
                1_000,
                Event::RunStarted {
                    pipeline: "sample".to_owned(),
                    file: "sample.toml".to_owned(),
                    actions: 6,
                    machine: key("machine"),
                    tool_version: "0.1.0".to_owned(),
                },
            ),
            (
                1_001,
                Event::ActionReused {
                    label: "old".to_owned(),
                    key: key("old"),
                    status: Status::Ok,
                    generation: 0,
                },
            ),
            (1_002, started("a")),
            (1_003, started("b")),
            (1_520, finished("a")),
            (1_930, finished("b")),
            (1_931, started("c")),
            (
                3_931,
                Event::ActionHeld {
                    label: "c".to_owned(),
                    key: key("c"),
                    by: "another sim-pipe measures".to_owned(),
                },
            ),
            (6_010, finished("c")),
            (6_150, started("d")),
            (6_910, finished("d")),
            (6_911, started("late")),
            // A clock that was set back.
            (
                6_500,
                Event::ActionSkipped {
                    label: "e".to_owned(),
                    because: "late".to_owned(),
                    reason: String::new(),
                },
            ),
        ];
        let lines: Vec<Line> = events
            .into_iter()
            .map(|(at_unix_ms, event)| Line { v: 1, at_unix_ms, run: "r1".to_owned(), event })
            .collect();
        Timeline::of(&lines, &records)
    }

    #[test]
    fn intervals_are_in_order_and_lanes_never_overlap() {
        let t = sample();
        let labels: Vec<&str> = t.spans.iter().map(|s| s.label.as_str()).collect();
        assert_eq!(labels, ["a", "b", "c", "d", "late"]);
        for s in &t.spans {
            let times = [s.ready, s.taken, s.began, s.ended, s.kept];
            assert!(times.is_sorted(), "{}: {times:?}", s.label);
        }
        assert_eq!(t.spans.iter().map(|s| s.lane).collect::<Vec<_>>(), [0, 1, 0, 0, 0]);
        let c = &t.spans[2];
        assert_eq!((c.needs.as_slice(), c.ready), (&[0, 1][..], 1_930.0));
        assert_eq!((c.began, c.ended), (5_000.0, 6_000.0));
        assert_eq!(c.busy_ms(), 1_010.0);
        assert_eq!(t.spans[4].status, None);
        assert!(!t.complete);
        assert_eq!(t.wall_ms(), 5_911.0);
    }
}
