//! Reads captures: the folders that trials of mode `capture` left.

use crate::solid::{Solid, solids};
use fs_err as fs;
use sim_engine_protocol::capture::Capture;
use sim_engine_protocol::{JobResult, Mode, Scene, StateComparison};
use sim_model::request::Member;
use std::path::{Component, Path, PathBuf};

/// A capture in memory.
pub(crate) struct Loaded {
    pub(crate) engine: String,
    pub(crate) scene: String,
    pub(crate) scene_digest: String,
    pub(crate) solids: Vec<Solid>,
    /// Position x, y, z (m) and orientation w, x, y, z of every moving body, frame by frame.
    pub(crate) frames: Vec<Vec<[f32; 7]>>,
    /// Simulated time between two frames, s.
    pub(crate) interval: f64,
    pub(crate) final_state: StateComparison,
}

/// What a member of the input is.
pub(crate) enum Found {
    /// No capture and never meant to be one.
    Other,
    /// It should have been a capture, and there is none: why.
    Absent(String),
    /// There is something, and it is wrong: what.
    Wrong(String),
    /// A capture, and what its gates said where they did not hold.
    Capture(Box<Loaded>, Option<String>),
}

/// Looks at one member. A trial's label ends in its mode, so a capture that gave nothing is known by
/// its name.
pub(crate) fn load(member: &Member, dir: &Path) -> Found {
    let named = member.label.rsplit('/').next() == Some("capture");
    let absent = || {
        let Member { outcome, reason, .. } = member;
        let reason =
            if reason.is_empty() { "no reason was given".to_owned() } else { reason.clone() };
        Found::Absent(format!("{}: {reason}", outcome.replace('_', " ")))
    };
    let Some(path) = &member.path else {
        return if named { absent() } else { Found::Other };
    };
    let folder = match inside(dir, path) {
        Ok(folder) => folder,
        Err(problem) => return Found::Wrong(problem),
    };
    let result = match result(&folder) {
        Ok(Some(result)) => result,
        Ok(None) if named => return Found::Wrong("it left no result.json".to_owned()),
        Ok(None) => return Found::Other,
        Err(problem) => return Found::Wrong(problem),
    };
    if result.mode != Mode::Capture {
        return Found::Other;
    }
    if member.outcome != "ok" && member.outcome != "gate_failed" {
        return absent();
    }
    let gates = (member.outcome != "ok").then(|| member.reason.clone());
    match read(&folder, &result) {
        Ok(loaded) => Found::Capture(Box::new(loaded), gates),
        Err(problem) => Found::Wrong(problem),
    }
}

fn inside(dir: &Path, path: &str) -> Result<PathBuf, String> {
    let relative = Path::new(path);
    let stays = |c: Component<'_>| matches!(c, Component::Normal(_) | Component::CurDir);
    if relative.components().all(stays) {
        Ok(dir.join(relative))
    } else {
        Err(format!("the path {path:?} leaves the action's folder"))
    }
}

fn result(folder: &Path) -> Result<Option<JobResult>, String> {
    let path = folder.join("result.json");
    if !path.is_file() {
        return Ok(None);
    }
    let text = fs::read(&path).map_err(|e| e.to_string())?;
    serde_json::from_slice(&text).map(Some).map_err(|e| format!("result.json: {e}"))
}

/// The capture behind a result. Scene and file are checked against what the result says.
fn read(folder: &Path, result: &JobResult) -> Result<Loaded, String> {
    let read = |name: &str| fs::read(folder.join(name)).map_err(|e| e.to_string());
    let (Some(said), Some(facts)) = (&result.capture, &result.scene) else {
        return Err("result.json tells of no capture".to_owned());
    };
    let text = read("scene.json")?;
    let digest = blake3::hash(&text).to_hex().to_string();
    if digest != facts.digest {
        return Err(format!("scene.json is {digest}, the result is of {}", facts.digest));
    }
    let scene: Scene = serde_json::from_slice(&text).map_err(|e| format!("scene.json: {e}"))?;
    let bytes = read("capture.bin")?;
    let capture = Capture::read(&bytes).map_err(|e| format!("capture.bin {e}"))?;
    let header = capture.header;
    let count = scene.dynamic_count() as u64;
    if header.bodies != count || header.frames != said.frames || header.frames == 0 {
        return Err(format!("capture.bin has {header:?} of a scene with {count} moving bodies"));
    }
    Ok(Loaded {
        engine: result.engine.name.clone(),
        scene: scene.name.clone(),
        scene_digest: digest,
        solids: solids(&scene),
        frames: (0..header.frames).map(|f| capture.frame(f).collect()).collect(),
        interval: header.timestep * header.steps_per_frame as f64,
        final_state: said.final_state.clone(),
    })
}
