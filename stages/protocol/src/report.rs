//! The report of a protocol, `report.json`: every check with its value, its limit and whether it holds.

use serde::{Deserialize, Serialize};
pub use sim_protocol::Check;
use std::collections::BTreeMap;

/// Format of the report.
pub const FORMAT: u32 = 1;

/// The report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: u32,
    /// What was compared.
    pub protocol: Head,
    /// As the simulator has it; equal in all runs.
    pub runtime: Runtime,
    /// By candidate, in the order of the protocol.
    pub candidates: Vec<Candidate>,
    /// What is selected.
    pub selection: Selection,
    /// What the plant's model assumes, and what must not be concluded from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    /// Beside published values, where some were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
}

/// Which protocol it is of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Name.
    pub name: String,
    /// SHA-256 of the protocol, the configuration and the fingerprint of all code that computes a metric
    /// or a check: a changed schedule, threshold or metric changes it, whatever the name says.
    pub identity: String,
    /// Fingerprint of that code.
    pub source_fingerprint: String,
    /// SHA-256 of the protocol's file.
    pub protocol_sha256: String,
    /// SHA-256 of the configuration's file.
    pub config_sha256: String,
    /// SHA-256 of the model made from the configuration.
    pub model_sha256: String,
    /// Physics steps that were compared, s.
    pub candidates_s: Vec<f64>,
    /// The one that others are compared with, s.
    pub reference_s: f64,
    /// Runs of each scenario with each step.
    pub repeats: u32,
}

/// The simulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Runtime {
    /// Versions that it said it has.
    pub versions: Vec<String>,
    /// Facts of the model, by name.
    pub model: serde_json::Value,
}

/// A physics step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The step, s.
    pub timestep_s: f64,
    /// Whether every check holds.
    pub passed: bool,
    /// Ids of the checks that fail.
    pub failures: Vec<String>,
    /// By scenario, in the order of the protocol.
    pub scenarios: Vec<ScenarioReport>,
    /// Quantities that must mirror.
    pub symmetry: Vec<Check>,
    /// Differences to the reference step.
    pub convergence: Vec<Check>,
}

/// What came of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioReport {
    /// Its name.
    pub scenario: String,
    /// Metrics of the first repeat; units are in their names.
    pub metrics: BTreeMap<String, f64>,
    /// SHA-256 of each repeat's telemetry.
    pub telemetry_sha256: Vec<String>,
    /// Absolute gates and repeatability.
    pub checks: Vec<Check>,
    /// Why a repeat ended early, where one did.
    pub errors: Vec<String>,
}

/// What is selected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// By which rule.
    pub rule: String,
    /// The step, s; none where none passes.
    pub timestep_s: Option<f64>,
    /// Checks of a candidate that is compared with the reference.
    pub checks_per_candidate: usize,
}

/// How far the metrics are from published ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Published values.
    pub values: usize,
    /// Those that agree to the digits that were published.
    pub equal: usize,
    /// Those that nothing here is the value of.
    pub missing: Vec<String>,
    /// The others.
    pub different: Vec<Different>,
}

/// A value that is not the published one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Different {
    /// Scenario, metric and step.
    pub id: String,
    /// As published.
    pub published: f64,
    /// As found.
    pub value: f64,
}
