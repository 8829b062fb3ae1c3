//! What `render` stages made: the captures in their `render-status.json`, each with the trial that it
//! is of.

use crate::load::inside;
use crate::trial::Trial;
use sim_model::request::Member;
use sim_stage_render::status::{FILE, FORMAT, RenderStatus, Rendered};
use std::fs;
use std::path::{Path, PathBuf};

/// A status larger than this is refused rather than read.
const MOST_BYTES: u64 = 16 << 20;

/// One capture of a `render` stage.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    pub(crate) rendered: Rendered,
    /// Index into the trials, where the capture is among them.
    pub(crate) trial: Option<usize>,
    /// The folder that its files are relative to.
    pub(crate) folder: PathBuf,
    /// Label of the action that rendered it.
    pub(crate) label: String,
    /// Stem of that action's page.
    pub(crate) page: Option<String>,
    /// Pixels.
    pub(crate) size: [u32; 2],
    /// Renderer, version and encoder, in words.
    pub(crate) renderer: String,
}

/// The captures of a member of `renders`; `None` where it is no output of a `render` stage.
///
/// # Errors
/// A sentence, where there is a status that cannot be believed.
pub(crate) fn read(
    dir: &Path,
    member: &Member,
    page: Option<&String>,
    trials: &[Trial],
) -> Result<Option<Vec<Replay>>, String> {
    let Some(path) = &member.path else { return Ok(None) };
    let folder = inside(dir, path).map_err(|e| e.to_string())?;
    let file = folder.join(FILE);
    let Ok(meta) = fs::symlink_metadata(&file) else { return Ok(None) };
    if !meta.is_file() || meta.len() > MOST_BYTES {
        return Err(format!("{FILE} is no file of at most {MOST_BYTES} bytes"));
    }
    let text = fs::read(&file).map_err(|e| format!("{FILE}: {e}"))?;
    let status: RenderStatus = serde_json::from_slice(&text).map_err(|e| format!("{FILE}: {e}"))?;
    if status.format != FORMAT {
        return Err(format!("{FILE} has format {}, this reads {FORMAT}", status.format));
    }
    let renderer = format!("{} {}, {}", status.renderer, status.renderer_version, status.encoder);
    let size = [status.width, status.height];
    let replay = |rendered: Rendered| Replay {
        trial: trials.iter().position(|t| t.label == rendered.label),
        rendered,
        folder: folder.clone(),
        label: member.label.clone(),
        page: page.cloned(),
        size,
        renderer: renderer.clone(),
    };
    Ok(Some(status.captures.into_iter().map(replay).collect()))
}

impl Replay {
    /// A file of the capture, refused where its name would leave the folder.
    pub(crate) fn file(&self, name: &str) -> Result<PathBuf, crate::ReportError> {
        inside(&self.folder, name)
    }
}
