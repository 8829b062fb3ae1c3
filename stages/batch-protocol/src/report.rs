//! The report, `report.json`: every check with its value, its limit and whether it holds, and what was not
//! measured.

use serde::Serialize;
use std::collections::BTreeMap;

/// Format of the report.
pub(crate) const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Report {
    pub(crate) format: u32,
    pub(crate) protocol: Head,
    pub(crate) engine: EngineHead,
    /// Whether every check holds.
    pub(crate) passed: bool,
    /// Ids of the checks that fail.
    pub(crate) failures: Vec<String>,
    pub(crate) agreement: AgreementReport,
    pub(crate) scales: Vec<ScaleReport>,
    /// What the protocol asks for and this run does not answer, with the reason.
    pub(crate) not_measured: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Head {
    pub(crate) name: String,
    /// SHA-256 of the protocol, the configuration and the fingerprint of all code that computes a metric
    /// or a check.
    pub(crate) identity: String,
    pub(crate) source_fingerprint: String,
    pub(crate) protocol_sha256: String,
    pub(crate) config_sha256: String,
    pub(crate) model_sha256: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct EngineHead {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) backend: String,
    pub(crate) precision: String,
    pub(crate) versions: BTreeMap<String, String>,
    /// Version of the simulator in the plant.
    pub(crate) plant_version: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct AgreementReport {
    pub(crate) rows: usize,
    pub(crate) checks: Vec<Check>,
    /// Why the run ended early or cannot be compared.
    pub(crate) error: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ScaleReport {
    pub(crate) worlds: u32,
    /// Control steps of every world.
    pub(crate) steps: u64,
    /// Those that the protocol declares for a GPU.
    pub(crate) declared_steps: u64,
    pub(crate) setup_s: f64,
    pub(crate) warmup_s: f64,
    pub(crate) measured_s: f64,
    /// Control steps of all worlds a second; absent where the run ended early.
    pub(crate) transitions_per_s: Option<f64>,
    /// Physics steps of all worlds a second.
    pub(crate) world_physics_steps_per_s: Option<f64>,
    pub(crate) peak_memory_bytes: Option<u64>,
    pub(crate) checks: Vec<Check>,
    pub(crate) error: Option<String>,
}

/// A value that must hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Check {
    /// Unique within the report.
    pub(crate) id: String,
    pub(crate) metric: String,
    pub(crate) operator: &'static str,
    pub(crate) limit: f64,
    /// Absent where it could not be computed; the check then fails.
    pub(crate) value: Option<f64>,
    pub(crate) passed: bool,
}
