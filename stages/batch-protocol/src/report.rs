//! The report, `report.json`: every check with its value, its limit and whether it holds, and what was not
//! measured.

use serde::{Deserialize, Serialize};
pub use sim_protocol::Check;
use std::collections::BTreeMap;

/// Format of the report.
pub const FORMAT: u32 = 2;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: u32,
    /// What was asked.
    pub protocol: Head,
    /// Who was asked.
    pub engine: EngineHead,
    /// Whether every check holds.
    pub passed: bool,
    /// Ids of the checks that fail.
    pub failures: Vec<String>,
    /// One world beside the plant.
    pub agreement: AgreementReport,
    /// By number of worlds.
    pub scales: Vec<ScaleReport>,
    /// What the protocol asks for and this run does not answer, with the reason.
    pub not_measured: Vec<String>,
}

/// The protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Its name.
    pub name: String,
    /// Physics step, s.
    pub physics_dt_s: f64,
    /// Control step, s.
    pub control_dt_s: f64,
    /// SHA-256 of the protocol, the configuration and the fingerprint of all code that computes a metric
    /// or a check.
    pub identity: String,
    /// Fingerprint of the code that computes a metric or a check.
    pub source_fingerprint: String,
    /// SHA-256 of the protocol's file.
    pub protocol_sha256: String,
    /// SHA-256 of the configuration's file.
    pub config_sha256: String,
    /// SHA-256 of the model that was made of it.
    pub model_sha256: String,
}

/// The batched engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineHead {
    /// Name.
    pub name: String,
    /// Version that it says it has.
    pub version: String,
    /// Backend.
    pub backend: String,
    /// Precision.
    pub precision: String,
    /// Versions of what it rests on.
    pub versions: BTreeMap<String, String>,
    /// Version of the simulator in the plant.
    pub plant_version: String,
}

/// One world beside the plant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgreementReport {
    /// Rows that were compared.
    pub rows: usize,
    /// Differences with their limits.
    pub checks: Vec<Check>,
    /// Why the run ended early or cannot be compared.
    pub error: Option<String>,
}

/// A number of worlds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleReport {
    /// Worlds.
    pub worlds: u32,
    /// Control steps of every world.
    pub steps: u64,
    /// Those that the protocol declares for a GPU.
    pub declared_steps: u64,
    /// From the start to the first step, s.
    pub setup_s: f64,
    /// Chunks before the measured ones, s.
    pub warmup_s: f64,
    /// Sum over the measured chunks, s.
    pub measured_s: f64,
    /// Control steps of all worlds a second; absent where the run ended early.
    pub transitions_per_s: Option<f64>,
    /// Physics steps of all worlds a second.
    pub world_physics_steps_per_s: Option<f64>,
    /// Largest resident memory after a chunk, bytes.
    pub peak_memory_bytes: Option<u64>,
    /// Gates.
    pub checks: Vec<Check>,
    /// Why it ended early.
    pub error: Option<String>,
}
