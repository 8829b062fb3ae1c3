//! What `protocol` stages decided: a report of every check, and the curves of the runs.

use crate::load::inside;
use serde::de::DeserializeOwned;
use sim_model::request::Member;
use sim_stage_protocol::plots::{self, Plots};
use sim_stage_protocol::report::{self, Report};
use std::fs;
use std::path::{Path, PathBuf};

/// A file larger than this is refused rather than read.
const MOST_BYTES: u64 = 64 << 20;

/// One verdict.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    /// Label of the action.
    pub(crate) label: String,
    /// Stem of its page.
    pub(crate) page: Option<String>,
    /// Its output.
    pub(crate) folder: PathBuf,
    pub(crate) report: Report,
    pub(crate) plots: Plots,
}

/// The verdict of a member of `protocols` that has an output.
///
/// # Errors
/// A sentence that says what cannot be believed.
pub(crate) fn read(
    dir: &Path,
    member: &Member,
    path: &str,
    page: Option<&String>,
) -> Result<Judged, String> {
    let folder = inside(dir, path).map_err(|e| e.to_string())?;
    let report = of_format(&folder, "report.json", report::FORMAT, |r: &Report| r.format)?;
    let plots = of_format(&folder, "plots.json", plots::FORMAT, |p: &Plots| p.format)?;
    Ok(Judged { label: member.label.clone(), page: page.cloned(), folder, report, plots })
}

/// A JSON file of a verdict, of the format that this knows. The error names it.
pub(crate) fn of_format<T: DeserializeOwned>(
    folder: &Path,
    name: &str,
    known: u32,
    format: impl Fn(&T) -> u32,
) -> Result<T, String> {
    let path = folder.join(name);
    let meta = fs::symlink_metadata(&path).map_err(|e| format!("{name}: {e}"))?;
    if !meta.is_file() || meta.len() > MOST_BYTES {
        return Err(format!("{name} is no file of at most {MOST_BYTES} bytes"));
    }
    let text = fs::read(&path).map_err(|e| format!("{name}: {e}"))?;
    let read: T = serde_json::from_slice(&text).map_err(|e| format!("{name}: {e}"))?;
    match format(&read) {
        found if found == known => Ok(read),
        found => Err(format!("{name} has format {found}, this reads {known}")),
    }
}
