//! One calibration run, and the gathering of all.

use crate::PEAKS;
use fs_err as fs;
use serde::{Deserialize, Serialize};
use sim_engine_protocol::{CalibratedSize, Gates, Job, Mode, PROTOCOL, Status};
use sim_model::request::{Request, StatusFile};
use sim_stage_sdk::{IoContext, StageError, arg, input, ok, one_line, optional_arg};
use sim_stage_trial::{
    CALIBRATION_FILE, CALIBRATION_FORMAT, CalibratedScenario, Calibrations, Ran, adapter,
};
use std::collections::BTreeMap;
use std::path::Path;

/// What one run found.
#[derive(Debug, Serialize, Deserialize)]
struct Peaks {
    scenario: String,
    size: u64,
    /// Absent where the engine cannot do it.
    peaks: Option<BTreeMap<String, u64>>,
    /// Why there are none.
    reason: Option<String>,
}

/// Runs the adapter once, in its own process. A scene that the engine does not do, or a size for which it
/// has no memory, is a finding: other scenes' trials need not wait for it.
pub(crate) fn run(request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
    let job = Job {
        protocol: PROTOCOL,
        mode: Mode::Calibrate,
        scene: "scene.json".to_owned(),
        // Peaks are those of one environment (P031).
        worlds: 1,
        steps: arg(request, "steps")?,
        warmup: 0,
        threads: arg(request, "threads")?,
        seed: request.seed,
        backend: arg(request, "backend")?,
        // Whether the state is sound is for trials to say. A robot's job has to have limits.
        gates: Gates {
            base_height_min_m: Some(0.0),
            base_height_max_m: Some(100.0),
            base_drift_m: Some(100.0),
            base_upright: Some(-1.0),
            ..Gates::default()
        },
        sample_interval_ms: 10,
        capture_interval_s: 1.0 / 60.0,
        timed_state: None,
        calibrated: None,
        settings: optional_arg(request, "settings")?.unwrap_or_default(),
    };
    let Ran { result, results, job: path, .. } = adapter(request, dir, &job)?;
    let out = dir.join("out");
    fs::copy(&path, out.join("job.json")).at(&path)?;
    let from = results.join("result.json");
    fs::copy(&from, out.join("result.json")).at(&from)?;
    let reason = result.outcome.reason.as_deref().map(one_line);
    let (scenario, size) = (arg(request, "scenario")?, arg(request, "size")?);
    let (peaks, reason) = match (result.outcome.status, result.calibration) {
        (Status::Ok, Some(found)) if found.steps == job.steps => (Some(found.peaks), None),
        (Status::Unsupported | Status::OutOfMemory | Status::Refused, _) => (None, reason),
        (status, _) => {
            let why = reason.unwrap_or_else(|| "not all steps were calibrated".to_owned());
            return Err(StageError::Failed(format!("{}: {why}", status.as_str())));
        }
    };
    write(&out.join(PEAKS), &Peaks { scenario, size, peaks, reason })?;
    Ok(ok())
}

/// The largest peak of all runs, by scenario, size and buffer.
pub(crate) fn gather(request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
    let mut sizes: BTreeMap<String, BTreeMap<u64, BTreeMap<String, u64>>> = BTreeMap::new();
    let mut scenarios: BTreeMap<String, CalibratedScenario> = BTreeMap::new();
    for name in request.inputs.keys() {
        let path = input(request, dir, name)?;
        let text = fs::read_to_string(&path).at(&path)?;
        let run: Peaks = serde_json::from_str(&text)
            .map_err(|e| StageError::Failed(format!("{}: {e}", path.display())))?;
        let scenario = scenarios.entry(run.scenario.clone()).or_default();
        match run.peaks {
            Some(peaks) => {
                let known = sizes.entry(run.scenario).or_default().entry(run.size).or_default();
                for (buffer, peak) in peaks {
                    let most = known.entry(buffer).or_default();
                    *most = peak.max(*most);
                }
            }
            None => {
                let reason = run.reason.unwrap_or_else(|| "no reason was given".to_owned());
                scenario.without.insert(run.size, reason);
            }
        }
    }
    for (name, found) in sizes {
        let scenario = scenarios.entry(name).or_default();
        // One run of a size that found no way says that its peaks are not whole.
        let whole = found.into_iter().filter(|(size, _)| !scenario.without.contains_key(size));
        scenario.sizes = whole.map(|(size, peaks)| CalibratedSize { size, peaks }).collect();
    }
    let all = Calibrations {
        format: CALIBRATION_FORMAT,
        engine: arg(request, "engine")?,
        backend: arg(request, "backend")?,
        scenarios,
    };
    write(&dir.join("out").join(CALIBRATION_FILE), &all)?;
    Ok(ok())
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), StageError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| StageError::Failed(format!("{} as JSON: {e}", path.display())))?;
    fs::write(path, text + "\n").at(path)
}
