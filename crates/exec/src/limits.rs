//! Limits that measured actions met: in this run, and in earlier ones on this machine.
//!
//! Nothing is kept beside the store: what is known of earlier runs is what their records say. An action
//! asks for no less than another where both are of one series (see [`Series`]) and none of its counts is
//! smaller.

use crate::error::Result;
use sim_model::moment;
use sim_model::plan::Series;
use sim_model::{Class, Component, Record, Status};
use sim_store::Store;

/// Where an action stands in its series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    same: Vec<Component>,
    pace: Vec<Component>,
    counts: Vec<u64>,
}

impl Place {
    /// The place of an action with these components; `None` for one that lacks a count.
    pub(crate) fn of(series: &Series, components: &[Component]) -> Option<Self> {
        let below = |c: &Component, of: &str| {
            c.path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let those = |paths: &[&str]| -> Vec<Component> {
            let wanted = |c: &&Component| paths.iter().any(|path| below(c, path));
            components.iter().filter(wanted).cloned().collect()
        };
        let count = |path: &&str| {
            components.iter().find(|c| c.path == *path).and_then(|c| c.value.parse().ok())
        };
        let counts = series.grows.iter().map(count).collect::<Option<Vec<u64>>>()?;
        Some(Self { same: those(series.same), pace: those(series.pace), counts })
    }

    /// Whether what stands at `other` would meet the limit that this one met.
    fn rules_out(&self, other: &Self, met: Status) -> bool {
        let paced = met != Status::TimedOut || self.pace == other.pace;
        self.same == other.same
            && paced
            && self.counts.iter().zip(&other.counts).all(|(a, b)| a <= b)
    }
}

/// A limit that was met in this run.
#[derive(Debug)]
pub(crate) struct Met {
    pub(crate) place: Place,
    pub(crate) status: Status,
    pub(crate) label: String,
    pub(crate) reason: String,
}

/// Whether this is how something ends that met a limit (P147).
pub(crate) fn is_limit(status: Status) -> bool {
    matches!(status, Status::TimedOut | Status::OutOfMemory)
}

impl Met {
    /// Why what stands at `place` is left out, if this rules it out (P148).
    pub(crate) fn rules_out(&self, place: &Place) -> Option<String> {
        let likely = match self.status {
            Status::OutOfMemory => "likely out of memory",
            _ => "likely a timeout",
        };
        let why = || format!("{likely}: {} ended so: {}", self.label, self.reason);
        self.place.rules_out(place, self.status).then(why)
    }
}

/// Records of this machine that say what did not find enough memory, and what did since.
#[derive(Debug, Default)]
pub(crate) struct Past {
    failed: Vec<Record>,
    passed: Vec<Record>,
}

impl Past {
    /// Reads them. Damaged records know nothing; `store verify` names them.
    pub(crate) fn read(store: &Store) -> Result<Self> {
        let measured = |r: &Record| r.class == Class::Measured;
        let (records, _) = store.records()?;
        let failed: Vec<Record> = records
            .iter()
            .filter(|r| measured(r) && r.status == Status::OutOfMemory)
            .cloned()
            .collect();
        if failed.is_empty() {
            return Ok(Self::default());
        }
        let passed =
            records.into_iter().filter(|r| measured(r) && r.status == Status::Ok).collect();
        Ok(Self { failed, passed })
    }

    /// Why what stands at `place` is left out, where an earlier run saw it, or something smaller, run
    /// out of memory under a cap that was no lower (P150, P151). Something as large that passed later
    /// takes that back.
    pub(crate) fn rules_out(&self, series: &Series, place: &Place, cap: u64) -> Option<String> {
        let at = |r: &Record| Place::of(series, &r.components);
        let known = self.failed.iter().filter(|r| {
            let was = r.limits.get("memory_bytes").copied().unwrap_or(0.0);
            let no_lower = was >= cap as f64;
            no_lower && at(r).is_some_and(|p| p.rules_out(place, Status::OutOfMemory))
        });
        let taken_back = |failed: &Record| {
            self.passed.iter().any(|r| {
                r.started_unix_ms > failed.started_unix_ms
                    && at(r).zip(at(failed)).is_some_and(|(passed, failed)| {
                        failed.rules_out(&passed, Status::OutOfMemory)
                    })
            })
        };
        let newest =
            known.filter(|r| !taken_back(r)).max_by_key(|r| (r.started_unix_ms, r.generation))?;
        Some(format!(
            "known to run out of memory here: {} did on {}: {}; --retry-known-failures runs it again",
            newest.label,
            moment::day_and_minute(newest.started_unix_ms),
            newest.reason
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERIES: Series = Series {
        case: String::new(),
        same: &["args.engine", "args.settings"],
        pace: &["args.steps"],
        grows: &["args.worlds", "args.size"],
        ends_at_limit: true,
    };

    fn place(text: &str) -> Place {
        let component = |pair: &str| {
            let (path, value) = pair.split_once('=').expect("a pair");
            Component { path: format!("args.{path}"), value: value.to_owned() }
        };
        let components: Vec<Component> = text.split(' ').map(component).collect();
        Place::of(&SERIES, &components).expect("a place")
    }

    /// P148: at least as many bodies and worlds, of the same engine and settings; a timeout says
    /// something of trials with as many steps only.
    #[test]
    fn what_asks_for_no_less_is_ruled_out() {
        let met = place("engine=a steps=10 worlds=2 size=100");
        let memory = |other: &str| met.rules_out(&place(other), Status::OutOfMemory);
        let time = |other: &str| met.rules_out(&place(other), Status::TimedOut);
        for larger in ["worlds=2 size=100", "worlds=2 size=101", "worlds=3 size=100"] {
            assert!(memory(&format!("engine=a steps=10 {larger}")), "{larger}");
            assert!(time(&format!("engine=a steps=10 {larger}")), "{larger}");
        }
        for other in ["worlds=1 size=1000", "worlds=64 size=99"] {
            assert!(!memory(&format!("engine=a steps=10 {other}")), "{other}");
        }
        assert!(!memory("engine=b steps=10 worlds=2 size=100"));
        assert!(!memory("engine=a settings.substeps=4 steps=10 worlds=2 size=100"));
        assert!(memory("engine=a steps=11 worlds=2 size=100"));
        assert!(!time("engine=a steps=11 worlds=2 size=100"));
    }

    fn record(label: &str, status: Status, day: u64, cap: f64, text: &str) -> Record {
        let component = |pair: &str| {
            let (path, value) = pair.split_once('=').expect("a pair");
            serde_json::json!({"path": format!("args.{path}"), "value": value})
        };
        let components: Vec<_> = text.split(' ').map(component).collect();
        let digest = "00".repeat(32);
        serde_json::from_value(serde_json::json!({
            "version": 1, "key": digest, "generation": 0, "label": label, "kind": "trial",
            "class": "measured", "status": status.name(), "reason": "too much", "inputs": [],
            "components": components, "argv": [], "sandbox": "none",
            "started_unix_ms": day * 86_400_000, "limits": {"memory_bytes": cap, "timeout_s": 1.0},
            "usage": {"wall_ms": 1.0, "cpu_ms": 1.0, "peak_tree_bytes": 1}, "tool_version": "1",
            "machine": {"cpu_model": "", "cpu_signature": "", "cpu_features": [], "cpus": 1,
                "ram_bytes": 1, "os": "", "kernel": "", "platform": "", "gpus": [],
                "installation": digest},
        }))
        .expect("a record")
    }

    /// P151: known under caps that are no higher, until something as large passes.
    #[test]
    fn a_later_success_or_a_higher_cap_takes_it_back() {
        let small = "engine=a steps=10 worlds=1 size=100";
        let large = "engine=a steps=99 worlds=2 size=100";
        let failed = record("t/small", Status::OutOfMemory, 10, 1000.0, small);
        let past = |passed: Vec<Record>| Past { failed: vec![failed.clone()], passed };
        let known = |past: &Past, at: &str, cap| past.rules_out(&SERIES, &place(at), cap);
        let alone = past(vec![]);
        let why = known(&alone, large, 1000).expect("known");
        assert_eq!(
            why,
            "known to run out of memory here: t/small did on 1970-01-11 00:00 UTC: too much; \
             --retry-known-failures runs it again"
        );
        assert!(known(&alone, small, 999).is_some());
        assert!(known(&alone, small, 1001).is_none());
        assert!(known(&alone, "engine=a steps=10 worlds=1 size=99", 1000).is_none());
        assert!(known(&alone, "engine=b steps=10 worlds=1 size=100", 1000).is_none());
        let passed = |day, at| past(vec![record("t", Status::Ok, day, 1000.0, at)]);
        assert!(known(&passed(11, large), small, 1000).is_none());
        assert!(known(&passed(9, large), small, 1000).is_some(), "an earlier one");
        let smaller = "engine=a steps=10 worlds=1 size=50";
        assert!(known(&passed(11, smaller), small, 1000).is_some(), "a smaller one");
    }

    #[test]
    fn what_has_no_size_has_no_place() {
        assert_eq!(Place::of(&SERIES, &[]), None);
    }

    #[test]
    fn the_reason_names_the_limit_and_who_met_it() {
        let met = Met {
            place: place("engine=a steps=10 worlds=1 size=1"),
            status: Status::TimedOut,
            label: "t/r0".to_owned(),
            reason: "it ran longer than its timeout of 1 s".to_owned(),
        };
        let why = met.rules_out(&place("engine=a steps=10 worlds=1 size=2"));
        let expected = "likely a timeout: t/r0 ended so: it ran longer than its timeout of 1 s";
        assert_eq!(why.as_deref(), Some(expected));
    }
}
