//! The report of a protocol, `report.json`: every check with its value, its limit and whether it holds.

use serde::Serialize;
use std::collections::BTreeMap;

/// Format of the report.
pub(crate) const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Report {
    pub(crate) format: u32,
    pub(crate) protocol: Head,
    /// As the simulator has it; equal in all runs.
    pub(crate) runtime: Runtime,
    /// By candidate, in the order of the protocol.
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) selection: Selection,
    /// What the plant's model assumes, and what must not be concluded from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) assumptions: Vec<String>,
    /// Beside published values, where some were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) published: Option<Published>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Head {
    pub(crate) name: String,
    /// SHA-256 of the protocol, the configuration and the fingerprint of all code that computes a metric
    /// or a check: a changed schedule, threshold or metric changes it, whatever the name says.
    pub(crate) identity: String,
    pub(crate) source_fingerprint: String,
    pub(crate) protocol_sha256: String,
    pub(crate) config_sha256: String,
    pub(crate) model_sha256: String,
    pub(crate) candidates_s: Vec<f64>,
    pub(crate) reference_s: f64,
    pub(crate) repeats: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Runtime {
    pub(crate) versions: Vec<String>,
    pub(crate) model: serde_json::Value,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Candidate {
    pub(crate) timestep_s: f64,
    pub(crate) passed: bool,
    /// Ids of the checks that fail.
    pub(crate) failures: Vec<String>,
    pub(crate) scenarios: Vec<ScenarioReport>,
    pub(crate) symmetry: Vec<Check>,
    pub(crate) convergence: Vec<Check>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ScenarioReport {
    pub(crate) scenario: String,
    pub(crate) metrics: BTreeMap<String, f64>,
    /// SHA-256 of each repeat's telemetry.
    pub(crate) telemetry_sha256: Vec<String>,
    pub(crate) checks: Vec<Check>,
    /// Why a repeat ended early, where one did.
    pub(crate) errors: Vec<String>,
}

/// A value that must hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Check {
    /// Unique within a candidate.
    pub(crate) id: String,
    pub(crate) metric: String,
    pub(crate) operator: &'static str,
    pub(crate) limit: f64,
    /// Absent where it could not be computed; the check then fails.
    pub(crate) value: Option<f64>,
    pub(crate) passed: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Selection {
    pub(crate) rule: &'static str,
    pub(crate) timestep_s: Option<f64>,
    pub(crate) checks_per_candidate: usize,
}

/// How far the metrics are from published ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Published {
    pub(crate) values: usize,
    /// Those that agree to the digits that were published.
    pub(crate) equal: usize,
    pub(crate) missing: Vec<String>,
    pub(crate) different: Vec<Different>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Different {
    pub(crate) id: String,
    pub(crate) published: f64,
    pub(crate) value: f64,
}
