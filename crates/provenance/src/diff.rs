//! Two runs compared: pins, machine and environment, actions with their keys and outputs, and what was
//! measured, with intervals.

use crate::interval::{self, Ratio, Side};
use schemars::JsonSchema;
use serde::Serialize;
use sim_model::Record;
use std::collections::{BTreeMap, BTreeSet};

/// One side's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunName {
    /// As it was asked for.
    pub name: String,
    /// Id of the run.
    pub run: String,
    /// Its pipeline.
    pub pipeline: String,
    /// Actions it reached.
    pub actions: u64,
}

/// A value that differs; absent on the side that has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    /// What.
    pub what: String,
    /// In the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
    /// In the second run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
}

/// A file of an output that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileChange {
    /// Path within the output.
    pub path: String,
    /// `+` only in the second run, `-` only in the first, `~` other content or mode.
    pub change: char,
}

/// An observation of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ActionName {
    /// Label of its record.
    pub label: String,
    /// Key.
    pub key: String,
    /// Observation of the key.
    pub generation: u32,
}

impl ActionName {
    /// The name of a record.
    pub fn of(r: &Record) -> Self {
        Self { label: r.label.clone(), key: r.key.to_string(), generation: r.generation }
    }
}

/// Two actions compared, or two observations of one: what `diff --format json` prints for actions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ActionDiff {
    /// Version of this document, 1.
    pub v: u32,
    /// First action.
    pub a: ActionName,
    /// Second action.
    pub b: ActionName,
    /// What differs: key, observation, status, components of the key, machine, time, sandbox, output.
    pub differs: Vec<Change>,
    /// Files of the outputs that differ, where both are in the store.
    pub files: Vec<FileChange>,
}

impl ActionDiff {
    /// Compares two records; `files` are those of their outputs that differ.
    pub fn of(a: &Record, b: &Record, files: Vec<FileChange>) -> Self {
        let mut list = differs(Some(a), Some(b));
        let output = list.iter().position(|c| c.what == "output").map(|i| list.remove(i));
        // Machine and tools are in the key's components where they count.
        list.extend(components(a, b));
        let parts = |r: &Record| -> Facts {
            let named = r.machine.parts().into_iter();
            named.map(|(k, v)| (format!("machine.{k}"), BTreeSet::from([v]))).collect()
        };
        list.extend(changes(parts(a), parts(b)));
        let mut add = |what: &str, a: String, b: String| {
            list.push(Change { what: what.to_owned(), a: Some(a), b: Some(b) });
        };
        let ms = |x: f64| format!("{x:.1} ms");
        add("wall", ms(a.usage.wall_ms), ms(b.usage.wall_ms));
        add("cpu", ms(a.usage.cpu_ms), ms(b.usage.cpu_ms));
        add("sandbox", a.sandbox.clone(), b.sandbox.clone());
        list.extend(output);
        list.retain(|c| c.a != c.b);
        Self { v: 1, a: ActionName::of(a), b: ActionName::of(b), differs: list, files }
    }
}

/// An action that is not the same in both runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ActionChange {
    /// Label.
    pub label: String,
    /// `only_a`, `only_b`, `changed` (another key), `again` (the same key, another observation).
    pub change: &'static str,
    /// Key, status and output that differ.
    pub differs: Vec<Change>,
    /// Components of the key that differ, in the order in which they enter it.
    pub components: Vec<Change>,
    /// Files of the output that differ, where both outputs are in the store.
    pub files: Vec<FileChange>,
}

/// What was measured of one case in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricChange {
    /// Label without the repeat.
    pub case: String,
    /// Name of the metric.
    pub metric: String,
    /// Unit.
    pub unit: String,
    /// First run; absent where it has no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<Side>,
    /// Second run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<Side>,
    /// Second over first, where the runs can be compared and each has two repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// `lower` or `higher` where the interval of the ratio excludes 1, `no_difference_shown` where it
    /// does not; `same_records`, `single_repeat`, `other_machine`, `only_a`, `only_b` say why there is
    /// no ratio.
    pub verdict: &'static str,
}

/// Two runs compared: what `diff --format json` prints for runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunDiff {
    /// Version of this document, 1.
    pub v: u32,
    /// First run.
    pub a: RunName,
    /// Second run.
    pub b: RunName,
    /// Pins: arguments of `fetch` and `build-engine` actions.
    pub pins: Vec<Change>,
    /// Machine, tools, sandbox, limits, version of sim-pipe.
    pub environment: Vec<Change>,
    /// Actions that are not the same in both.
    pub actions: Vec<ActionChange>,
    /// Actions that are the same in both: one record.
    pub same: u64,
    /// What was measured, by case.
    pub metrics: Vec<MetricChange>,
    /// How intervals are made.
    pub method: &'static str,
}

/// A number that an action measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Name of the metric.
    pub metric: String,
    /// Unit.
    pub unit: &'static str,
    /// Value.
    pub value: f64,
}

/// An action of a run.
#[derive(Clone, Debug)]
pub struct Member {
    /// Label in this run.
    pub label: String,
    /// The record it used.
    pub record: Record,
    /// What it measured; empty for what measures nothing.
    pub samples: Vec<Sample>,
}

impl RunDiff {
    /// Compares two runs. `files` gives the files that differ between two outputs.
    pub fn of<E>(
        (a, x): (RunName, &[Member]),
        (b, y): (RunName, &[Member]),
        mut files: impl FnMut(&Record, &Record) -> Result<Vec<FileChange>, E>,
    ) -> Result<Self, E> {
        let by_label = |m: &'_ [Member]| -> BTreeMap<String, usize> {
            m.iter().enumerate().map(|(i, m)| (m.label.clone(), i)).collect()
        };
        let (in_x, in_y) = (by_label(x), by_label(y));
        let mut actions = Vec::new();
        let mut same = 0;
        // The first run's order, then what only the second has.
        let labels = x.iter().chain(y.iter().filter(|m| !in_x.contains_key(&m.label)));
        for member in labels {
            let find = |side: &'_ [Member], at: &BTreeMap<String, usize>| {
                at.get(&member.label).map(|i| side[*i].record.clone())
            };
            let (r, s) = (find(x, &in_x), find(y, &in_y));
            let (change, alike) = match (&r, &s) {
                (Some(_), None) => ("only_a", false),
                (None, _) => ("only_b", false),
                (Some(r), Some(s)) if r.key != s.key => ("changed", false),
                (Some(r), Some(s)) => ("again", r.generation == s.generation),
            };
            if alike {
                same += 1;
                continue;
            }
            let listed = match (&r, &s) {
                (Some(r), Some(s)) => files(r, s)?,
                _ => Vec::new(),
            };
            actions.push(ActionChange {
                label: member.label.clone(),
                change,
                differs: differs(r.as_ref(), s.as_ref()),
                components: match (&r, &s) {
                    (Some(r), Some(s)) => components(r, s),
                    _ => Vec::new(),
                },
                files: listed,
            });
        }
        Ok(Self {
            v: 1,
            a,
            b,
            pins: changes(pins(x), pins(y)),
            environment: changes(environment(x), environment(y)),
            actions,
            same,
            metrics: metrics(x, y),
            method: interval::METHOD,
        })
    }
}

fn differs(a: Option<&Record>, b: Option<&Record>) -> Vec<Change> {
    type Part = (&'static str, fn(&Record) -> Option<String>);
    let parts: [Part; 5] = [
        ("key", |r| Some(r.key.to_string())),
        ("observation", |r| Some(r.generation.to_string())),
        ("status", |r| Some(r.status.name().to_owned())),
        ("reason", |r| (!r.reason.is_empty()).then(|| r.reason.clone())),
        ("output", |r| r.output.as_ref().map(|t| t.digest.to_string())),
    ];
    parts
        .into_iter()
        .map(|(what, get)| Change { what: what.to_owned(), a: a.and_then(get), b: b.and_then(get) })
        .filter(|c| c.a != c.b)
        .collect()
}

fn components(a: &Record, b: &Record) -> Vec<Change> {
    let map = |r: &'_ Record| -> BTreeMap<String, String> {
        r.components.iter().map(|c| (c.path.clone(), c.value.clone())).collect()
    };
    let (x, y) = (map(a), map(b));
    let gone = a.components.iter().filter(|c| !y.contains_key(&c.path));
    b.components
        .iter()
        .chain(gone)
        .map(|c| Change {
            what: c.path.clone(),
            a: x.get(&c.path).cloned(),
            b: y.get(&c.path).cloned(),
        })
        .filter(|c| c.a != c.b)
        .collect()
}

type Facts = BTreeMap<String, BTreeSet<String>>;

fn changes(a: Facts, b: Facts) -> Vec<Change> {
    let join = |set: Option<&BTreeSet<String>>| {
        set.map(|s| s.iter().cloned().collect::<Vec<_>>().join("; "))
    };
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    names
        .into_iter()
        .map(|n| Change { what: n.clone(), a: join(a.get(n)), b: join(b.get(n)) })
        .filter(|c| c.a != c.b)
        .collect()
}

fn pins(members: &[Member]) -> Facts {
    let mut out = Facts::new();
    for m in members.iter().filter(|m| matches!(m.record.kind.as_str(), "fetch" | "build-engine")) {
        for c in &m.record.components {
            if let Some(name) = c.path.strip_prefix("args.") {
                let set: &mut BTreeSet<String> =
                    out.entry(format!("{} {name}", m.label)).or_default();
                set.insert(c.value.clone());
            }
        }
    }
    out
}

fn environment(members: &[Member]) -> Facts {
    let mut out = Facts::new();
    let mut add = |what: String, value: String| {
        out.entry(what).or_default().insert(value);
    };
    for m in members {
        let r = &m.record;
        for (part, value) in r.machine.parts() {
            add(format!("machine {part}"), value);
        }
        add("machine identity".to_owned(), r.machine.identity().to_string());
        add("sandbox".to_owned(), r.sandbox.clone());
        add("sim-pipe".to_owned(), r.tool_version.clone());
        for (limit, value) in &r.limits {
            add(format!("limit {limit}"), value.to_string());
        }
        if let Some(governor) = r.conditions.as_ref().and_then(|c| c.governor.clone()) {
            add("governor".to_owned(), governor);
        }
        for c in &r.components {
            if let Some(tool) = c.path.strip_prefix("tools.") {
                add(format!("tool {tool}"), c.value.clone());
            } else if let Some(name) = c.path.strip_prefix("env.") {
                add(format!("variable {name}"), c.value.clone());
            }
        }
    }
    out
}

/// A label without its repeat: `trial/box/r3/timed` is a sample of `trial/box/timed`.
pub fn case(label: &str) -> String {
    let repeat = |part: &str| {
        part.strip_prefix('r')
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    label.split('/').filter(|p| !repeat(p)).collect::<Vec<_>>().join("/")
}

#[derive(Default)]
struct Group {
    unit: &'static str,
    values: Vec<f64>,
    machines: BTreeSet<String>,
    records: BTreeSet<(String, u32)>,
}

fn groups(members: &[Member]) -> BTreeMap<(String, String), Group> {
    let mut out: BTreeMap<(String, String), Group> = BTreeMap::new();
    for m in members {
        for s in &m.samples {
            let group = out.entry((case(&m.label), s.metric.clone())).or_default();
            group.unit = s.unit;
            group.values.push(s.value);
            group.machines.insert(m.record.machine.identity().to_string());
            group.records.insert((m.record.key.to_string(), m.record.generation));
        }
    }
    out
}

fn metrics(a: &[Member], b: &[Member]) -> Vec<MetricChange> {
    let (x, y) = (groups(a), groups(b));
    let names: BTreeSet<&(String, String)> = x.keys().chain(y.keys()).collect();
    let compare = |name: &(String, String)| {
        let (g, h) = (x.get(name), y.get(name));
        let mut ratio = None;
        let verdict = match (g, h) {
            (Some(_), None) => "only_a",
            (None, _) => "only_b",
            (Some(g), Some(h)) if g.records == h.records => "same_records",
            (Some(g), Some(h)) if g.machines != h.machines => "other_machine",
            (Some(g), Some(h)) => {
                ratio = interval::ratio(&g.values, &h.values);
                match &ratio {
                    None => "single_repeat",
                    Some(r) if r.high < 1.0 => "lower",
                    Some(r) if r.low > 1.0 => "higher",
                    Some(_) => "no_difference_shown",
                }
            }
        };
        MetricChange {
            case: name.0.clone(),
            metric: name.1.clone(),
            unit: g.or(h).map_or("", |g| g.unit).to_owned(),
            a: g.and_then(|g| interval::side(&g.values)),
            b: h.and_then(|h| interval::side(&h.values)),
            ratio,
            verdict,
        }
    };
    names.into_iter().map(compare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::tests::record;
    use sim_model::{Class, Component, Digest};

    fn member(label: &str, values: &[f64], change: impl FnOnce(&mut Record)) -> Member {
        let mut record = record(label, Class::Measured, 0, 1.0);
        change(&mut record);
        let sample = |v: &f64| Sample { metric: "wall".into(), unit: "ms", value: *v };
        Member { label: label.to_owned(), record, samples: values.iter().map(sample).collect() }
    }

    fn name(name: &str) -> RunName {
        RunName { name: name.into(), run: name.into(), pipeline: "p".into(), actions: 0 }
    }

    fn compare(a: &[Member], b: &[Member]) -> RunDiff {
        RunDiff::of((name("a"), a), (name("b"), b), |_, _| Ok::<_, ()>(vec![])).expect("no error")
    }

    #[test]
    fn repeats_of_one_case_are_one_sample() {
        assert_eq!(case("trial[m]/box/30x1/r12/timed"), "trial[m]/box/30x1/timed");
        assert_eq!(case("time/r0"), "time");
        assert_eq!(case("ring/r/rx1/r1x"), "ring/r/rx1/r1x");
    }

    #[test]
    fn what_changed_and_what_did_not() {
        let put = |n: u32| {
            move |r: &mut Record| {
                r.key = Digest::of(&n.to_le_bytes());
                r.components = vec![Component { path: "args.steps".into(), value: n.to_string() }];
            }
        };
        let a = [
            member("same", &[], |_| {}),
            member("gone", &[], |_| {}),
            member("moved", &[], put(1)),
            member("pin", &[], |r| {
                r.kind = "fetch".into();
                put(3)(r);
            }),
        ];
        let b = [
            member("same", &[], |_| {}),
            member("moved", &[], put(2)),
            member("pin", &[], |r| {
                r.kind = "fetch".into();
                put(4)(r);
            }),
            member("new", &[], |r| r.sandbox = "none".into()),
        ];
        let d = compare(&a, &b);
        let shown: Vec<(&str, &str)> =
            d.actions.iter().map(|a| (a.label.as_str(), a.change)).collect();
        assert_eq!(
            shown,
            [("gone", "only_a"), ("moved", "changed"), ("pin", "changed"), ("new", "only_b")]
        );
        assert_eq!(d.same, 1);
        let steps = Change { what: "args.steps".into(), a: Some("1".into()), b: Some("2".into()) };
        assert_eq!(d.actions[1].components, [steps]);
        assert_eq!(d.pins[0].what, "pin steps");
        assert_eq!(d.environment.len(), 1, "{:?}", d.environment);
        assert_eq!(d.environment[0].b.as_deref(), Some("namespaces; none"));
    }

    #[test]
    fn measurements_are_compared_only_where_they_can_be() {
        let again = |n: u32| move |r: &mut Record| r.generation = n;
        let with = |values: &[f64], g: u32| {
            let mut out = Vec::new();
            for (i, v) in values.iter().enumerate() {
                out.push(member(&format!("t/r{i}"), &[*v], again(g)));
            }
            out
        };
        let verdict = |a: &[Member], b: &[Member]| compare(a, b).metrics[0].verdict;
        let fast = with(&[1.0, 1.01, 0.99], 0);
        assert_eq!(verdict(&fast, &with(&[2.0, 2.02, 1.98], 1)), "higher");
        assert_eq!(verdict(&with(&[2.0, 2.02, 1.98], 1), &fast), "lower");
        assert_eq!(verdict(&fast, &with(&[1.01, 0.99, 1.0], 1)), "no_difference_shown");
        assert_eq!(verdict(&fast, &fast), "same_records");
        assert_eq!(verdict(&fast, &with(&[5.0], 1)), "single_repeat");
        assert_eq!(verdict(&fast, &[member("other", &[], |_| {})]), "only_a");
        let mut elsewhere = with(&[2.0, 2.0], 1);
        elsewhere.iter_mut().for_each(|m| m.record.machine.cpus = 64);
        let d = compare(&fast, &elsewhere);
        assert_eq!((d.metrics[0].verdict, &d.metrics[0].ratio), ("other_machine", &None));
    }
}
