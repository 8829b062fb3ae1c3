//! Rows of one verdict of a protocol, from its `report.json`.

use super::{Tables, row};
use crate::error::CatalogError;
use crate::source::Source;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sim_model::Record;
use std::collections::BTreeMap;

/// What is read of a report; it holds more.
#[derive(Deserialize)]
struct Report {
    protocol: Head,
    runtime: Runtime,
    candidates: Vec<Candidate>,
    selection: Selection,
    published: Option<Published>,
}

#[derive(Deserialize)]
struct Head {
    name: String,
    identity: String,
    reference_s: f64,
}

#[derive(Deserialize)]
struct Runtime {
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct Candidate {
    timestep_s: f64,
    scenarios: Vec<Scenario>,
    symmetry: Vec<Check>,
    convergence: Vec<Check>,
}

#[derive(Deserialize)]
struct Scenario {
    scenario: String,
    metrics: BTreeMap<String, f64>,
    checks: Vec<Check>,
}

/// A check of a report of either kind.
#[derive(Deserialize)]
pub(super) struct Check {
    pub(super) id: String,
    pub(super) metric: String,
    pub(super) operator: String,
    pub(super) limit: f64,
    pub(super) value: Option<f64>,
    pub(super) passed: bool,
}

#[derive(Deserialize)]
struct Selection {
    timestep_s: Option<f64>,
}

#[derive(Deserialize)]
struct Published {
    values: u64,
    equal: u64,
}

/// The report of a verdict of either kind; none of an action that leaves none.
pub(super) fn report<T: DeserializeOwned>(
    r: &Record,
    source: &dyn Source,
) -> Result<Option<T>, CatalogError> {
    let Some(output) = &r.output else { return Ok(None) };
    let bytes = source.file(&output.digest, "report.json").map_err(CatalogError::Source)?;
    Ok(bytes.and_then(|b| serde_json::from_slice(&b).ok()))
}

impl Tables {
    /// All rows of a verdict. Other actions of a protocol have no report and give none.
    pub(super) fn protocol(&mut self, r: &Record, source: &dyn Source) -> Result<(), CatalogError> {
        let Some(report) = report::<Report>(r, source)? else { return Ok(()) };
        let (key, generation) = (r.key.to_string(), r.generation);
        let published = report.published.as_ref();
        self.add(
            "protocols",
            row![
                &key,
                generation,
                &r.label,
                &report.protocol.name,
                report.runtime.versions.join(", "),
                &report.protocol.identity,
                report.selection.timestep_s,
                report.protocol.reference_s,
                published.map(|p| p.values),
                published.map(|p| p.equal),
            ],
        );
        for c in &report.candidates {
            let absolute = c.scenarios.iter().flat_map(|s| &s.checks);
            for check in absolute.chain(&c.symmetry).chain(&c.convergence) {
                // `kind.scenario.rest`
                let scenario = check.id.split('.').nth(1).map(str::to_owned);
                self.add(
                    "protocol_checks",
                    row![
                        &key,
                        generation,
                        &report.protocol.name,
                        c.timestep_s,
                        scenario,
                        &check.id,
                        &check.metric,
                        &check.operator,
                        check.limit,
                        check.value,
                        check.passed,
                    ],
                );
            }
            for s in &c.scenarios {
                for (metric, value) in &s.metrics {
                    self.add(
                        "protocol_metrics",
                        row![&key, generation, c.timestep_s, &s.scenario, metric, *value],
                    );
                }
            }
        }
        Ok(())
    }
}
