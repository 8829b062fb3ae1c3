//! What an adapter says of its capture against the file it wrote.

use fs_err as fs;
use sim_engine_protocol::capture::Capture;
use sim_engine_protocol::{JobResult, Pose, Status};
use std::path::Path;

/// Whether the capture in `results` is the one that the result tells of: its header, and the last
/// frame, where that is the final state, against the poses in `final.json`.
pub(crate) fn agrees(result: &JobResult, results: &Path) -> Result<(), String> {
    if !matches!(result.outcome.status, Status::Ok | Status::GateFailed) {
        return Ok(());
    }
    let Some(said) = &result.capture else {
        return Err("the result tells of no capture".to_owned());
    };
    if said.file != "capture.bin" {
        return Err(format!("it is in {:?}, not in capture.bin", said.file));
    }
    let bytes = fs::read(results.join("capture.bin")).map_err(|e| e.to_string())?;
    let capture = Capture::read(&bytes).map_err(|e| format!("capture.bin {e}"))?;
    let has = capture.header;
    if (has.bodies, has.frames, has.steps_per_frame)
        != (said.bodies, said.frames, said.steps_per_frame)
    {
        return Err(format!("the file has {has:?}, the result says {said:?}"));
    }
    let Some(scene) = &result.scene else { return Err("the result names no scene".to_owned()) };
    if has.bodies != scene.dynamic_bodies || has.timestep != scene.timestep {
        return Err(format!("the file has {has:?} of a scene with {scene:?}"));
    }
    if has.steps_per_frame == 0 || has.frames != result.steps / has.steps_per_frame + 1 {
        let steps = result.steps;
        return Err(format!("{} frames of {steps} steps, {has:?}", has.frames));
    }
    let last = results.join("final.json");
    if !result.steps.is_multiple_of(has.steps_per_frame) || !last.is_file() {
        return Ok(());
    }
    let poses = poses(&last)?;
    let single = |pose: &Pose| {
        let [x, y, z] = pose.position;
        let [a, b, c, d] = pose.orientation;
        [x, y, z, a, b, c, d].map(|v| v as f32)
    };
    if poses.iter().map(single).eq(capture.frame(has.frames - 1)) {
        return Ok(());
    }
    Err("its last frame is not the final state in final.json".to_owned())
}

#[derive(serde::Deserialize)]
struct FinalPoses {
    poses: Vec<Pose>,
}

/// The poses in a `final.json`.
pub(crate) fn poses(path: &Path) -> Result<Vec<Pose>, String> {
    let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
    let last: FinalPoses =
        serde_json::from_str(&text).map_err(|e| format!("final.json is not valid: {e}"))?;
    Ok(last.poses)
}
