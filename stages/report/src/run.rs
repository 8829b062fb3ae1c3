//! The running side: reads `in/`, writes the site to `out/`.

use crate::error::ReportError;
use crate::kind::Report;
use sim_model::request::{Request, StatusFile};
use sim_stage_sdk::{Stage, StageError};
use std::path::Path;

/// Writes the report that `request` asks for; `dir` holds `in/` and `out/`.
pub fn run(request: &Request, dir: &Path) -> StatusFile {
    match write(request, dir) {
        Ok(warnings) => StatusFile { warnings, ..sim_stage_sdk::ok() },
        Err(e) => sim_stage_sdk::status(
            sim_model::request::StageStatus::Failed,
            sim_stage_sdk::one_line(&e.to_string()),
        ),
    }
}

impl Stage for Report {
    fn run(&self, request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
        Ok(run(request, dir))
    }
}

fn write(request: &Request, dir: &Path) -> Result<Vec<String>, ReportError> {
    let input = crate::load::load(request, dir)?;
    let tracked =
        |r: &crate::replay::Replay| r.rendered.shown.as_ref().is_some_and(|s| s.track.is_some());
    let replays = input.replays.iter().any(tracked);
    let site = crate::site::Site::new(&dir.join("out"), input.templates.as_deref(), replays)?;
    crate::view::write(&input, &site)?;
    Ok(input.warnings)
}
