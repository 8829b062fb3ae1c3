//! Capture runs: world 0's poses at a fixed cadence, written as they come, and whether the run ended
//! where the timed one did.

use crate::engine::{EngineError, Simulation};
use crate::files::write_atomically;
use sim_engine_protocol::capture::CaptureHeader;
use sim_engine_protocol::{
    CAPACITY_SAMPLES_FILE, CapacityReport, CaptureReport, Job, Pose, Repeatability, Scene,
    StateComparison,
};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

const FILE: &str = "capture.bin";

/// Steps the simulation through its horizon and writes `capture.bin`. The cadence is the whole
/// number of steps nearest to the job's interval, at least one.
pub(crate) fn capture(
    simulation: &mut dyn Simulation,
    scene: &Scene,
    job: &Job,
    out: &Path,
) -> Result<CaptureReport, EngineError> {
    let steps_per_frame = ((job.capture_interval_s / scene.timestep).round() as u64).max(1);
    let header = CaptureHeader {
        bodies: scene.dynamic_count() as u64,
        frames: job.steps / steps_per_frame + 1,
        steps_per_frame,
        timestep: scene.timestep,
    };
    let part = out.join("capture.bin.part");
    let io = |e: std::io::Error| EngineError::failed(format!("{FILE}: {e}"));
    let mut file = BufWriter::new(File::create(&part).map_err(io)?);
    file.write_all(&header.to_bytes()).map_err(io)?;
    let mut poses = Vec::new();
    for frame in 0..header.frames {
        if frame > 0 {
            simulation.step(steps_per_frame)?;
            simulation.sync()?;
        }
        poses.clear();
        simulation.poses(0, &mut poses)?;
        if poses.len() as u64 != header.bodies {
            let reason = format!("{} poses of {} bodies", poses.len(), header.bodies);
            return Err(EngineError::failed(reason));
        }
        write_frame(&mut file, &poses).map_err(io)?;
    }
    simulation.step(job.steps % steps_per_frame)?;
    simulation.sync()?;
    file.into_inner().map_err(|e| io(e.into_error()))?.sync_all().map_err(io)?;
    std::fs::rename(&part, out.join(FILE)).map_err(io)?;
    Ok(CaptureReport {
        file: FILE.into(),
        frames: header.frames,
        bodies: header.bodies,
        steps_per_frame,
        interval_s: steps_per_frame as f64 * scene.timestep,
        final_state: StateComparison::NotCompared { reason: "the run has not ended".into() },
        capacities: capacities(simulation, job, out)?,
    })
}

/// What every step asked of buffers of fixed size, written down (P044).
fn capacities(
    simulation: &mut dyn Simulation,
    job: &Job,
    out: &Path,
) -> Result<Option<CapacityReport>, EngineError> {
    let Some(samples) = simulation.capacity_samples()? else { return Ok(None) };
    let wrong = |e: String| EngineError::failed(format!("capacity samples: {e}"));
    let report = samples.report(job.steps).map_err(wrong)?;
    let text = serde_json::to_vec(&samples).map_err(|e| wrong(e.to_string()))?;
    write_atomically(&out.join(CAPACITY_SAMPLES_FILE), &text).map_err(EngineError::failed)?;
    Ok(Some(report))
}

/// The digest of world 0 at the end of a capture against that of the timed run. An engine that
/// promises the same bits and ends in others did not replay that run: an error.
pub(crate) fn compare(
    timed: Option<&str>,
    ended: &str,
    promise: &Repeatability,
) -> Result<StateComparison, EngineError> {
    match (timed, promise) {
        (None, _) => Ok(StateComparison::NotCompared {
            reason: "the job names no final state of a timed run".into(),
        }),
        (Some(timed), _) if timed == ended => Ok(StateComparison::Same),
        (Some(_), Repeatability::Varies { reason }) => {
            Ok(StateComparison::Differs { reason: reason.clone() })
        }
        (Some(timed), Repeatability::Bitwise) => Err(EngineError::failed(format!(
            "the capture ends in state {ended}, the timed run in {timed}, and the adapter says \
             that runs repeat bit for bit"
        ))),
    }
}

fn write_frame(file: &mut impl Write, poses: &[Pose]) -> std::io::Result<()> {
    for pose in poses {
        for x in pose.position.iter().chain(&pose.orientation) {
            file.write_all(&(*x as f32).to_le_bytes())?;
        }
    }
    Ok(())
}
