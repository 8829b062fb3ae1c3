//! Profile replays: the device's own timestamps, checked and summed up.

use crate::engine::{EngineError, Profiled, Simulation};
use crate::files::write_atomically;
use sim_engine_protocol::{DEVICE_SAMPLES_FILE, Description, Job, ProfileReport};
use std::path::Path;

/// Why a backend has no device timestamps, which is known before anything is simulated (P073, P074).
pub(crate) fn no_device(description: &Description, job: &Job) -> Option<String> {
    if job.backend == "cpu" {
        return Some("the backend cpu runs on the processor, which has no clock of its own".into());
    }
    let reason = || format!("the adapter reads no device clock on backend {}", job.backend);
    (!description.capabilities.device_timestamps).then(reason)
}

/// The rollout with device timestamps. Samples that are not whole are an error: no partial number
/// stands for a device time.
pub(crate) fn profile(
    simulation: &mut dyn Simulation,
    job: &Job,
    out: &Path,
) -> Result<ProfileReport, EngineError> {
    let profiled = simulation.profile(job.steps)?;
    simulation.sync()?;
    let samples = match profiled {
        Profiled::Unavailable(reason) => return Ok(ProfileReport::Unavailable { reason }),
        Profiled::Samples(samples) => samples,
    };
    let time = samples.time(job.steps).map_err(|problems| {
        let list: Vec<String> = problems.iter().map(ToString::to_string).collect();
        EngineError::failed(format!("device samples: {}", list.join("; ")))
    })?;
    let text = serde_json::to_vec(&*samples)
        .map_err(|e| EngineError::failed(format!("device samples: {e}")))?;
    write_atomically(&out.join(DEVICE_SAMPLES_FILE), &text).map_err(EngineError::failed)?;
    Ok(ProfileReport::Timestamps(time))
}
