//! The file of a protocol.

use crate::plant::Plant;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is driven, and what must hold of it.
pub trait Scenario: Clone + Serialize + DeserializeOwned {
    /// Its name, unique in a protocol.
    fn name(&self) -> &str;

    /// Absolute gates beside those of every scenario.
    fn gates(&self) -> &[Gate];

    /// What of it decides what is driven; windows and gates are for the verdict.
    fn driven(&self) -> Self;

    /// Says what is wrong with it.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol<S> {
    /// What is compared.
    pub protocol: Head,
    /// Absolute gates of every scenario.
    #[serde(rename = "gate", default)]
    pub gates: Vec<Gate>,
    /// What is driven.
    #[serde(rename = "scenario")]
    pub scenarios: Vec<S>,
    /// How far repeats may differ.
    pub determinism: Determinism,
    /// Quantities that must mirror.
    #[serde(default)]
    pub symmetry: Vec<Symmetry>,
    /// Limits of the difference to the reference step.
    #[serde(default)]
    pub convergence: Vec<Convergence>,
}

/// What is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Name of the protocol.
    pub name: String,
    /// Physics steps, s.
    pub candidates_s: Vec<f64>,
    /// The step that others are compared with, one of the candidates, s.
    pub reference_s: f64,
    /// Runs of each scenario with each step.
    pub repeats: u32,
}

/// A limit on a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Name of the check, where it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Name of the metric, see [`Plant::METRICS`].
    pub metric: String,
    /// How value and limit compare.
    pub op: Op,
    /// The limit, in the metric's unit.
    pub limit: f64,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// The value is the limit, exactly.
    #[serde(rename = "==")]
    Equal,
    /// The value is at most the limit.
    #[serde(rename = "<=")]
    AtMost,
    /// The value is at least the limit.
    #[serde(rename = ">=")]
    AtLeast,
    /// The value is less than the limit.
    #[serde(rename = "<")]
    Below,
}

impl Op {
    /// Whether `value` passes; what is not a number never does.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            #[expect(clippy::float_cmp, reason = "exactly is what is asked")]
            Self::Equal => value == limit,
            Self::AtMost => value <= limit,
            Self::AtLeast => value >= limit,
            Self::Below => value < limit,
        }
    }

    /// As it is written.
    pub fn text(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Below => "<",
        }
    }

    /// As it stands in the id of a check.
    pub fn word(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::AtMost => "at_most",
            Self::AtLeast => "at_least",
            Self::Below => "below",
        }
    }
}

impl Gate {
    /// The id of its check within a candidate.
    pub fn id(&self, scenario: &str) -> String {
        match &self.check {
            Some(check) => format!("absolute.{scenario}.{check}"),
            None => format!("absolute.{scenario}.{}.{}", self.metric, self.op.word()),
        }
    }
}

/// How far repeats may differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Determinism {
    /// Largest difference of any telemetry value.
    pub limit: f64,
}

/// A metric of two scenarios that mirror each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Symmetry {
    /// One scenario.
    pub left: String,
    /// Its mirror image.
    pub right: String,
    /// A metric that changes its sign.
    pub metric: String,
    /// Largest relative difference of its magnitudes.
    pub limit: f64,
}

/// Largest differences to the reference step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Convergence {
    /// Scenario.
    pub scenario: String,
    /// By quantity, see [`Plant::QUANTITIES`].
    pub limits: BTreeMap<String, f64>,
}

/// More repeats than this are a mistake.
const MOST_REPEATS: u32 = 1000;
/// Characters of a name.
const MOST_NAME: usize = 64;

/// The first that is there twice.
fn twice<T: PartialEq>(list: &[T]) -> Option<&T> {
    list.iter().enumerate().find(|(i, x)| list[..*i].contains(x)).map(|(_, x)| x)
}

/// Names stand in labels, ids of checks, names of files and tables.
fn word(what: &str, name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > MOST_NAME || !name.chars().all(fits) {
        let name: String = name.chars().take(MOST_NAME).collect();
        return Err(format!(
            "the {what} {name:?}: a name is 1 to {MOST_NAME} letters, digits, `_` and `-`"
        ));
    }
    Ok(())
}

/// A limit that is no number is none.
fn finite(what: &str, limit: f64) -> Result<(), String> {
    if limit.is_finite() { Ok(()) } else { Err(format!("{what}: the limit is {limit}")) }
}

impl<S: Scenario> Protocol<S> {
    /// Parses and checks the file of a plant's protocol. The error names the place.
    pub fn parse<P: Plant<Scenario = S>>(text: &str) -> Result<Self, String> {
        let protocol: Self = toml::from_str(text).map_err(|e| e.to_string().trim().to_owned())?;
        let head = &protocol.protocol;
        if !head.candidates_s.contains(&head.reference_s) {
            return Err(format!("reference_s = {} is none of candidates_s", head.reference_s));
        }
        if head.candidates_s.iter().any(|dt| !(dt.is_finite() && *dt > 0.0)) {
            return Err("a candidate is not a positive number".to_owned());
        }
        if let Some(dt) = twice(&head.candidates_s) {
            return Err(format!("candidates_s has {dt} twice"));
        }
        if !(2..=MOST_REPEATS).contains(&head.repeats) {
            return Err(format!(
                "repeats is {}: from 2, so that there is something to compare, to {MOST_REPEATS}",
                head.repeats
            ));
        }
        let names: Vec<&str> = protocol.scenarios.iter().map(S::name).collect();
        if names.is_empty() {
            return Err("there is no [[scenario]]".to_owned());
        }
        for name in &names {
            word("scenario", name)?;
        }
        if let Some(name) = twice(&names) {
            return Err(format!("two scenarios are called `{name}`"));
        }
        for scenario in &protocol.scenarios {
            scenario.check().map_err(|e| format!("scenario `{}`: {e}", scenario.name()))?;
            let ids: Vec<String> =
                protocol.gates_of(scenario).map(|g| g.id(scenario.name())).collect();
            if ids.is_empty() {
                return Err(format!("scenario `{}` has no gate", scenario.name()));
            }
            if let Some(id) = twice(&ids) {
                return Err(format!("two checks are called `{id}`"));
            }
            for gate in protocol.gates_of(scenario) {
                finite(&gate.id(scenario.name()), gate.limit)?;
                if let Some(check) = &gate.check {
                    word("check", check)?;
                }
            }
        }
        finite("determinism", protocol.determinism.limit)?;
        for s in &protocol.symmetry {
            finite(&format!("symmetry of {}", s.metric), s.limit)?;
            if s.left == s.right {
                return Err(format!(
                    "symmetry of {}: `{}` is its own mirror image",
                    s.metric, s.left
                ));
            }
        }
        for c in &protocol.convergence {
            for (quantity, limit) in &c.limits {
                finite(&format!("convergence of {} in {}", quantity, c.scenario), *limit)?;
            }
        }
        let quantities = protocol
            .convergence
            .iter()
            .flat_map(|c| c.limits.keys().map(|quantity| format!("{}.{quantity}", c.scenario)));
        if let Some(id) = twice(&quantities.collect::<Vec<_>>()) {
            return Err(format!("two limits of convergence are called `{id}`"));
        }
        let gates = protocol.scenarios.iter().flat_map(S::gates).chain(&protocol.gates);
        let metrics = gates.map(|g| &g.metric).chain(protocol.symmetry.iter().map(|s| &s.metric));
        for metric in metrics {
            if !P::METRICS.contains(&metric.as_str()) {
                return Err(format!("there is no metric `{metric}`"));
            }
        }
        let of = protocol.symmetry.iter().flat_map(|s| [&s.left, &s.right]);
        for name in of.chain(protocol.convergence.iter().map(|c| &c.scenario)) {
            if !names.contains(&name.as_str()) {
                return Err(format!("there is no scenario `{name}`"));
            }
        }
        for c in &protocol.convergence {
            if let Some(other) = c.limits.keys().find(|q| !P::QUANTITIES.contains(&q.as_str())) {
                return Err(format!("there is no quantity `{other}` to converge"));
            }
        }
        Ok(protocol)
    }

    /// The gates of a scenario: its own, and those of every scenario that it does not replace.
    pub fn gates_of<'a>(&'a self, scenario: &'a S) -> impl Iterator<Item = &'a Gate> {
        let own =
            |g: &Gate| scenario.gates().iter().any(|o| (&o.metric, o.op) == (&g.metric, g.op));
        self.gates.iter().filter(move |g| !own(g)).chain(scenario.gates())
    }
}
