//! One member of the `trials` input: what was asked, and what came of it.

use serde_json::Value as Json;
use sim_engine_protocol::{JobResult, Mode, ProfileReport, Status};
use sim_model::request::Member;
use std::collections::BTreeMap;

/// A trial as the report sees it. What was asked comes from the action's arguments; where those
/// are absent, from the result.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    /// Label of the action.
    pub(crate) label: String,
    /// Stem of its page below `provenance/`.
    pub(crate) page: String,
    /// `ok`, `gate_failed`, `unsupported`, `refused`, `failed`, `timed_out`, `out_of_memory`, `skipped`,
    /// `not_run`, as the run recorded it, or `unreadable` where the result contradicts that.
    pub(crate) outcome: String,
    /// Why, for everything but `ok`.
    pub(crate) reason: String,
    /// `timed`, `memory`, `capture` …
    pub(crate) mode: String,
    /// Engine name.
    pub(crate) engine: String,
    /// Engine name for people, where given.
    pub(crate) engine_title: Option<String>,
    /// Place among the engines of its group, where given.
    pub(crate) engine_order: Option<i64>,
    /// The stage it belongs to: one suite on some engines.
    pub(crate) suite: String,
    /// `performance`, `precision` or `control`.
    pub(crate) purpose: String,
    /// Side of a control, `a` or `b`; else empty.
    pub(crate) side: String,
    /// Settings that differ from the adapter's own, as text; else empty.
    pub(crate) variant: String,
    /// Backend.
    pub(crate) backend: String,
    /// Worker threads asked for.
    pub(crate) threads: u64,
    /// Scenario name.
    pub(crate) scenario: String,
    /// Scenario title, where given.
    pub(crate) scenario_title: Option<String>,
    /// Dynamic bodies.
    pub(crate) size: u64,
    /// Worlds.
    pub(crate) worlds: u64,
    /// Physics steps of each world.
    pub(crate) steps: u64,
    /// Length of a step in seconds.
    pub(crate) timestep: f64,
    /// Repeat index.
    pub(crate) repeat: u64,
    /// Index of its record among the loaded ones.
    pub(crate) record: Option<usize>,
    /// What the adapter answered.
    pub(crate) result: Option<Box<JobResult>>,
}

impl Trial {
    /// The trial of a member, without its record and page.
    pub(crate) fn new(member: &Member, result: Result<Option<Box<JobResult>>, String>) -> Self {
        let none = BTreeMap::new();
        let args = member.action.as_ref().map_or(&none, |a| &a.args);
        let (result, unreadable) = match result {
            Ok(result) => (result, None),
            Err(problem) => (None, Some(problem)),
        };
        let r = result.as_deref();
        let scene = r.and_then(|r| r.scene.as_ref());
        let text = |name: &str| args.get(name).and_then(Json::as_str).map(str::to_owned);
        let count = |name: &str| args.get(name).and_then(Json::as_u64);
        let mut trial = Self {
            label: member.label.clone(),
            page: String::new(),
            outcome: member.outcome.clone(),
            reason: member.reason.clone(),
            mode: text("mode")
                .or_else(|| r.map(|r| r.mode.as_str().to_owned()))
                .unwrap_or_else(|| "timed".to_owned()),
            engine: text("engine")
                .or_else(|| r.map(|r| r.engine.name.clone()))
                .unwrap_or_else(|| "unknown".to_owned()),
            engine_title: text("engine_title"),
            engine_order: args.get("engine_order").and_then(Json::as_i64),
            suite: stage(&member.label).to_owned(),
            purpose: text("purpose").unwrap_or_else(|| "performance".to_owned()),
            side: text("side").unwrap_or_default(),
            variant: variant(args.get("settings")),
            backend: text("backend")
                .or_else(|| r.map(|r| r.backend.clone()))
                .unwrap_or_else(|| "cpu".to_owned()),
            threads: count("threads").or_else(|| r.map(|r| r.threads.into())).unwrap_or(1),
            scenario: text("scenario")
                .or_else(|| scene.map(|s| s.name.clone()))
                .unwrap_or_else(|| "unknown".to_owned()),
            scenario_title: text("scenario_title"),
            size: count("size").or_else(|| scene.map(|s| s.dynamic_bodies)).unwrap_or(0),
            worlds: count("worlds").or_else(|| r.map(|r| r.worlds.into())).unwrap_or(1),
            steps: count("steps").or_else(|| r.map(|r| r.steps)).unwrap_or(0),
            timestep: timestep(args.get("timestep"))
                .or_else(|| scene.map(|s| s.timestep))
                .unwrap_or(0.0),
            repeat: member
                .action
                .as_ref()
                .map(|a| u64::from(a.repeat))
                .or_else(|| count("repeat"))
                .unwrap_or(0),
            record: None,
            result,
        };
        let contradiction = unreadable.or_else(|| trial.contradiction());
        if let Some(problem) = contradiction {
            trial.outcome = "unreadable".to_owned();
            trial.reason = problem;
        }
        trial
    }

    /// Why an `ok` cannot be believed.
    fn contradiction(&self) -> Option<String> {
        if self.outcome != "ok" {
            return None;
        }
        let Some(r) = self.result.as_deref() else {
            return Some("the action ended ok and left no result.json".to_owned());
        };
        if r.outcome.status != Status::Ok {
            return Some(format!("the result says {}", r.outcome.status.as_str()));
        }
        // A backend without a device clock says so and simulates nothing.
        let simulated =
            r.mode != Mode::Profile || matches!(r.profile, Some(ProfileReport::Timestamps(_)));
        if simulated && self.steps != 0 && r.steps != self.steps {
            return Some(format!("{} of {} steps were completed", r.steps, self.steps));
        }
        if r.mode != Mode::Timed {
            return None;
        }
        let (Some(ms), Some(ns)) = (r.ms_per_step, r.phases.measured_ns) else {
            return Some("the result holds no sample".to_owned());
        };
        // elapsed seconds x 1000 / steps, over all worlds.
        let expected = ns as f64 * 1e-6 / r.steps as f64;
        if !(ms.is_finite() && ms > 0.0 && (ms - expected).abs() <= 1e-6 * expected) {
            return Some(format!(
                "ms_per_step {ms:?} is not measured time over steps {expected:?}"
            ));
        }
        None
    }

    /// Whether it counts.
    pub(crate) fn passed(&self) -> bool {
        self.outcome == "ok"
    }

    /// The sample of a timed trial that passed.
    pub(crate) fn ms_per_step(&self) -> Option<f64> {
        if self.passed() && self.mode == "timed" { self.result.as_ref()?.ms_per_step } else { None }
    }

    /// Steps x worlds over elapsed seconds; bodies do not count.
    pub(crate) fn world_steps_per_second(&self) -> Option<f64> {
        Some(self.worlds as f64 * 1000.0 / self.ms_per_step()?)
    }
}

/// The stage of a label.
pub(crate) fn stage(label: &str) -> &str {
    label.split(['[', '/']).next().unwrap_or_default()
}

/// Settings as `name value`, in order.
fn variant(json: Option<&Json>) -> String {
    let value = |v: &Json| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    let settings = json.and_then(Json::as_object).into_iter().flatten();
    let list: Vec<String> = settings.map(|(k, v)| format!("{k} {}", value(v))).collect();
    list.join(", ")
}

/// A step length given as a number, or as a fraction such as `1/240`.
fn timestep(json: Option<&Json>) -> Option<f64> {
    match json? {
        Json::Number(n) => n.as_f64(),
        Json::String(s) => match s.split_once('/') {
            Some((a, b)) => Some(a.trim().parse::<f64>().ok()? / b.trim().parse::<f64>().ok()?),
            None => s.trim().parse().ok(),
        },
        _ => None,
    }
    .filter(|dt| dt.is_finite())
}
