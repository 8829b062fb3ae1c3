//! What a `calibrate` stage found, for the trial that runs one of its workloads.

use crate::CALIBRATION;
use fs_err as fs;
use serde::{Deserialize, Serialize};
use sim_engine_protocol::{
    CAPACITY_SAMPLES_FILE, Calibrated, CalibratedSize, CapacitySamples, JobResult,
};
use sim_model::request::Request;
use sim_stage_sdk::{IoContext, StageError, arg, input};
use std::collections::BTreeMap;
use std::path::Path;

/// Version of [`Calibrations`].
pub const CALIBRATION_FORMAT: u32 = 1;
/// Name of the file in a calibration's tree.
pub const CALIBRATION_FILE: &str = "calibration.json";

/// All that was calibrated for one engine on one backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibrations {
    /// [`CALIBRATION_FORMAT`].
    pub format: u32,
    /// Engine.
    pub engine: String,
    /// Backend.
    pub backend: String,
    /// By scenario.
    pub scenarios: BTreeMap<String, CalibratedScenario>,
}

/// One scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibratedScenario {
    /// Sizes, ascending, with the peaks of all runs.
    pub sizes: Vec<CalibratedSize>,
    /// Sizes that could not be calibrated, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub without: BTreeMap<u64, String>,
}

impl Calibrations {
    /// What a trial of that scenario and size is told.
    pub fn of(&self, scenario: &str, size: u64) -> Calibrated {
        let Some(found) = self.scenarios.get(scenario) else {
            let reason = format!("no suite of the `calibrate` stage has {scenario}");
            return Calibrated { size, sizes: Vec::new(), reason: Some(reason) };
        };
        Calibrated {
            size,
            sizes: found.sizes.clone(),
            reason: found.without.values().next().cloned(),
        }
    }
}

/// The part of the request's calibration that its scenario needs; none where it has no such input.
pub(crate) fn of_request(request: &Request, dir: &Path) -> Result<Option<Calibrated>, StageError> {
    if !request.inputs.contains_key(CALIBRATION) {
        return Ok(None);
    }
    let path = input(request, dir, CALIBRATION)?.join(CALIBRATION_FILE);
    let text = fs::read_to_string(&path).at(&path)?;
    let wrong = |problem: String| StageError::Failed(format!("{CALIBRATION_FILE} {problem}"));
    let all: Calibrations =
        serde_json::from_str(&text).map_err(|e| wrong(format!("is not valid: {e}")))?;
    let (engine, backend): (String, String) = (arg(request, "engine")?, arg(request, "backend")?);
    if all.format != CALIBRATION_FORMAT {
        return Err(wrong(format!("has format {}: this knows {CALIBRATION_FORMAT}", all.format)));
    }
    if (&all.engine, &all.backend) != (&engine, &backend) {
        let (found, on) = (&all.engine, &all.backend);
        return Err(wrong(format!("is of {found} on {on}, the trial of {engine} on {backend}")));
    }
    let scenario: String = arg(request, "scenario")?;
    Ok(Some(all.of(&scenario, arg(request, "size")?)))
}

/// Whether the peaks that a capture tells of are those of the samples beside it.
pub(crate) fn same_peaks(result: &JobResult, results: &Path) -> Result<(), String> {
    let Some(said) = result.capture.as_ref().and_then(|c| c.capacities.as_ref()) else {
        return Ok(());
    };
    let name = CAPACITY_SAMPLES_FILE;
    let text = fs::read_to_string(results.join(name)).map_err(|_| format!("there is no {name}"))?;
    let samples: CapacitySamples =
        serde_json::from_str(&text).map_err(|e| format!("{name} is not valid: {e}"))?;
    let found = samples.report(result.steps).map_err(|problem| format!("{name}: {problem}"))?;
    if found == *said { Ok(()) } else { Err(format!("its peaks are not those of {name}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_that_nobody_calibrated_is_told_from_one_that_could_not_be() {
        let sizes = vec![CalibratedSize { size: 5, peaks: BTreeMap::new() }];
        let part = CalibratedScenario { sizes, without: BTreeMap::from([(9, "too large".into())]) };
        let none = CalibratedScenario { sizes: vec![], ..part.clone() };
        let all = Calibrations {
            format: CALIBRATION_FORMAT,
            engine: "e".into(),
            backend: "cpu".into(),
            scenarios: BTreeMap::from([("some".into(), part), ("none".into(), none)]),
        };
        assert_eq!(all.of("some", 4).choose().map(|s| s.size), Ok(5));
        assert!(all.of("some", 6).choose().unwrap_err().contains("ends at 5"));
        assert!(all.of("none", 6).choose().unwrap_err().contains("too large"));
        let unknown = all.of("other", 6).choose().unwrap_err();
        assert!(unknown.contains("no suite of the `calibrate` stage has other"), "{unknown}");
    }
}
