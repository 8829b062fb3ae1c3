//! Rows of one verdict on an engine in a batch, from its `report.json`.

use super::protocol::{Check, report};
use super::{Tables, row};
use crate::error::CatalogError;
use crate::source::Source;
use serde::Deserialize;
use sim_model::Record;

/// What is read of a report; it holds more.
#[derive(Deserialize)]
struct Report {
    protocol: Head,
    engine: Engine,
    agreement: Agreement,
    scales: Vec<Scale>,
}

#[derive(Deserialize)]
struct Head {
    name: String,
}

#[derive(Deserialize)]
struct Engine {
    name: String,
    version: String,
    backend: String,
}

#[derive(Deserialize)]
struct Agreement {
    checks: Vec<Check>,
}

#[derive(Deserialize)]
struct Scale {
    worlds: u32,
    steps: u64,
    declared_steps: u64,
    measured_s: f64,
    transitions_per_s: Option<f64>,
    world_physics_steps_per_s: Option<f64>,
    peak_memory_bytes: Option<u64>,
    checks: Vec<Check>,
    error: Option<String>,
}

impl Tables {
    /// All rows of a verdict. Other actions of such a protocol have no report and give none.
    pub(super) fn batch(&mut self, r: &Record, source: &dyn Source) -> Result<(), CatalogError> {
        let Some(report) = report::<Report>(r, source)? else { return Ok(()) };
        let (key, generation, engine) = (r.key.to_string(), r.generation, &report.engine);
        for s in &report.scales {
            self.add(
                "batch_scales",
                row![
                    &key,
                    generation,
                    &report.protocol.name,
                    &engine.name,
                    &engine.backend,
                    s.worlds,
                    s.steps,
                    s.declared_steps,
                    s.measured_s,
                    s.transitions_per_s,
                    s.world_physics_steps_per_s,
                    s.peak_memory_bytes,
                    s.error.as_ref(),
                ],
            );
        }
        let agreement = report.agreement.checks.iter().map(|c| (None, c));
        let scales =
            report.scales.iter().flat_map(|s| s.checks.iter().map(|c| (Some(s.worlds), c)));
        for (worlds, check) in agreement.chain(scales) {
            self.add(
                "batch_checks",
                row![
                    &key,
                    generation,
                    &report.protocol.name,
                    &engine.name,
                    &engine.version,
                    &engine.backend,
                    worlds,
                    &check.id,
                    &check.metric,
                    &check.operator,
                    check.limit,
                    check.value,
                    check.passed,
                ],
            );
        }
        Ok(())
    }
}
