//! One run: the plant in a process of its own.

use fs_err as fs;
use serde::{Deserialize, Serialize};
use sim_model::request::{Request, StatusFile};
use sim_stage_sdk::{IoContext, StageError, arg, engine_program, input, ok};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a plant leaves beside its telemetry, `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunFile {
    /// Format, 1.
    pub(crate) format: u32,
    /// Version that the simulator says it has.
    pub(crate) version: String,
    /// Name of the scenario.
    pub(crate) scenario: String,
    /// Physics step, s.
    pub(crate) timestep: f64,
    /// Physics steps of a control step.
    pub(crate) substeps: u32,
    /// Control steps that were made.
    pub(crate) control_steps: u64,
    /// What the model is, as the simulator has it.
    pub(crate) model: serde_json::Value,
    /// Why it ended early, if it did.
    pub(crate) error: Option<String>,
}

pub(crate) fn run(request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
    let engine = input(request, dir, "engine")?;
    let scenario: serde_json::Value = arg(request, "scenario")?;
    let timestep: f64 = arg(request, "timestep")?;
    let job = serde_json::json!({
        "format": 1,
        "model": absolute(&input(request, dir, "model")?)?,
        "config": absolute(&input(request, dir, "config")?)?,
        "scenario": scenario,
        "timestep": timestep,
    });
    let path = dir.join("tmp/job.json");
    fs::write(&path, format!("{job:#}\n")).at(&path)?;
    let out = dir.join("out");
    let plant = engine_program(&engine)?;
    let exit = Command::new(&plant)
        .arg("run")
        .arg(&path)
        .arg(&out)
        .status()
        .map_err(|e| StageError::Failed(format!("the plant could not be started: {e}")))?;
    if !exit.success() {
        return Err(StageError::Failed(format!("the plant ended with {exit}")));
    }
    let path = out.join("run.json");
    let text = fs::read_to_string(&path).at(&path)?;
    let _: RunFile = serde_json::from_str(&text)
        .map_err(|e| StageError::Failed(format!("the plant's run.json is not valid: {e}")))?;
    Ok(ok())
}

fn absolute(path: &Path) -> Result<PathBuf, StageError> {
    fs::canonicalize(path).at(path)
}
