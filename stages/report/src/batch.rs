//! What `batch-protocol` stages decided, engines that answered one protocol together.

use crate::load::inside;
use crate::protocol::of_format;
use sim_model::request::Member;
use sim_stage_batch_protocol::plots::{self, Plots};
use sim_stage_batch_protocol::report::{self, Report};
use std::path::{Path, PathBuf};

/// The verdict on one engine.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    /// Label of the action.
    pub(crate) label: String,
    /// Stem of its page.
    pub(crate) page: Option<String>,
    /// Its output.
    pub(crate) folder: PathBuf,
    pub(crate) report: Report,
    pub(crate) plots: Plots,
}

/// The verdict of a member of `protocols` that a stage of that kind made.
///
/// # Errors
/// A sentence that says what cannot be believed.
pub(crate) fn read(
    dir: &Path,
    member: &Member,
    path: &str,
    page: Option<&String>,
) -> Result<Batch, String> {
    let folder = inside(dir, path).map_err(|e| e.to_string())?;
    let report = of_format(&folder, "report.json", report::FORMAT, |r: &Report| r.format)?;
    let plots = of_format(&folder, "plots.json", plots::FORMAT, |p: &Plots| p.format)?;
    Ok(Batch { label: member.label.clone(), page: page.cloned(), folder, report, plots })
}
