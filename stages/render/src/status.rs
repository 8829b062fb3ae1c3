//! `render-status.json`: what came of every capture that a stage was given. Reports read it.

use serde::{Deserialize, Serialize};
use sim_engine_protocol::StateComparison;

/// Name of the file.
pub const FILE: &str = "render-status.json";
/// Version of the format.
pub const FORMAT: u32 = 1;

/// The document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenderStatus {
    /// [`FORMAT`].
    pub format: u32,
    /// Name of the renderer.
    pub renderer: String,
    /// Its version: the program's, and the first digits of the fingerprint of its sources.
    pub renderer_version: String,
    /// What wrote the picture files.
    pub encoder: String,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// One entry a capture, in the order of their labels.
    pub captures: Vec<Rendered>,
}

/// One capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rendered {
    /// Label of the action that made it.
    pub label: String,
    /// What came of it.
    pub status: Status,
    /// Why, for everything but a capture that was rendered and passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Engine name; absent where there is no capture to read it from, as all that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// What it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
}

/// What came of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All files are there.
    Rendered,
    /// All files are there, and the capture's final state did not pass a gate.
    GateFailed,
    /// There is no capture.
    Absent,
    /// There is one, and it could not be rendered.
    Failed,
}

/// The files of a capture and what they show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// BLAKE3 of the scene file; captures of one scene can be shown together.
    pub scene_digest: String,
    /// Scene name.
    pub scene: String,
    /// Moving bodies of the capture.
    pub bodies: u64,
    /// Moving bodies drawn in the last frame: all of them, but for those whose pose is not finite and
    /// for links without a shape.
    pub rendered_bodies: u64,
    /// Frames of the animation.
    pub frames: u64,
    /// Simulated time from its first frame to its last, s; it plays as long.
    pub seconds: f64,
    /// Whether the camera goes with the bodies, which leave their place together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub camera_follows: bool,
    /// Animated WebP, relative to the folder of this file.
    pub animation: String,
    /// Still WebP of the last frame.
    pub poster: String,
    /// Track of the interactive replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub track: Option<TrackFile>,
    /// Why there is no track.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_track: Option<String>,
    /// Whether it shows the run that was timed.
    pub final_state: StateComparison,
}

/// A track.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrackFile {
    /// File, relative to the folder of the status.
    pub file: String,
    /// Frames of the capture for each frame of the track.
    pub stride: u64,
    /// Largest error of a coordinate through rounding, m.
    pub position_error_m: f64,
}
