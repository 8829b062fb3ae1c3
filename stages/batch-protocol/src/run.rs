//! Runs: the plant and the batched engine, each in a process of its own.

use crate::{config, text};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use sim_model::request::{Request, StatusFile};
use sim_stage_sdk::{IoContext, StageError, arg, engine_command, input, ok};
use sim_vehicle::batch::Chunk;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Format of a job that drives, and of its `run.json`.
pub(crate) const FORMAT: u32 = 1;

/// What a batched engine leaves, `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchRun {
    pub(crate) format: u32,
    /// Name of the engine.
    pub(crate) engine: String,
    /// Version that it says it has.
    pub(crate) version: String,
    pub(crate) backend: String,
    pub(crate) precision: String,
    /// Versions of what it rests on.
    #[serde(default)]
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) worlds: u32,
    /// Control steps that were asked for.
    pub(crate) steps: u64,
    /// Physics steps of a control step.
    pub(crate) substeps: u32,
    pub(crate) setup_ns: u64,
    #[serde(default)]
    pub(crate) warmup_ns: u64,
    /// Sum over the chunks.
    #[serde(default)]
    pub(crate) measured_ns: u64,
    /// Resident memory before the first measured chunk, bytes.
    #[serde(default)]
    pub(crate) memory_at_start_bytes: Option<u64>,
    /// How many different coordinates and velocities the worlds end in.
    #[serde(default)]
    pub(crate) unique_terminal_states: u64,
    pub(crate) chunks: Vec<Chunk>,
    /// Why it ended early, if it did.
    pub(crate) error: Option<String>,
}

impl BatchRun {
    /// Reads and checks one: numbers that contradict each other are refused.
    pub(crate) fn read(folder: &Path) -> Result<Self, StageError> {
        let path = folder.join("run.json");
        let text = fs::read_to_string(&path).at(&path)?;
        let failed = |message: String| StageError::Failed(format!("{}: {message}", path.display()));
        let run: Self = serde_json::from_str(&text).map_err(|e| failed(e.to_string()))?;
        if run.format != FORMAT {
            return Err(failed(format!("it has format {}, this knows {FORMAT}", run.format)));
        }
        let sum: u64 = run.chunks.iter().map(|c| c.wall_ns).sum();
        if run.error.is_none() && sum != run.measured_ns {
            let said = run.measured_ns;
            return Err(failed(format!("chunks of {sum} ns in a measured interval of {said} ns")));
        }
        Ok(run)
    }
}

/// The plant's run of the schedule.
pub(crate) fn reference(request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
    let plant = input(request, dir, "plant")?;
    let absolute = |name: &str| {
        let path = input(request, dir, name)?;
        fs::canonicalize(&path).at(&path)
    };
    let job = serde_json::json!({
        "format": 1,
        "model": absolute("model")?,
        "config": absolute("config")?,
        "scenario": arg::<serde_json::Value>(request, "scenario")?,
        "timestep": arg::<f64>(request, "timestep")?,
    });
    let path = dir.join("tmp/job.json");
    fs::write(&path, format!("{job:#}\n")).at(&path)?;
    // A plant may leave more than is compared: only what is goes on.
    let (work, out) = (dir.join("tmp/plant"), dir.join("out"));
    fs::create_dir_all(&work).at(&work)?;
    ended(engine_command(request, dir, &plant)?.arg("run").arg(&path).arg(&work), "the plant")?;
    for name in ["run.json", "telemetry.bin"] {
        let from = work.join(name);
        fs::copy(&from, out.join(name)).at(&from)?;
    }
    let path = out.join("run.json");
    let text = fs::read_to_string(&path).at(&path)?;
    let run: serde_json::Value = serde_json::from_str(&text)
        .map_err(|e| StageError::Failed(format!("the plant's run.json is not valid: {e}")))?;
    match run.get("error").and_then(|e| e.as_str()) {
        None => Ok(ok()),
        Some(error) => Err(StageError::Failed(format!("the plant ended early: {error}"))),
    }
}

/// A run of the batched engine.
pub(crate) fn drive(request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
    let engine = input(request, dir, "engine")?;
    let mut job: serde_json::Value = arg(request, "job")?;
    let config_text = text(request, dir, "config")?;
    let table: toml::Table =
        config_text.parse().map_err(|e| StageError::Failed(format!("the configuration: {e}")))?;
    job["config"] = serde_json::to_value(table)
        .map_err(|e| StageError::Failed(format!("the configuration as JSON: {e}")))?;
    if let Some(duration) = job.get("duration_s").and_then(serde_json::Value::as_f64) {
        let control = config(request, dir)?.simulation.control_dt_s;
        job["steps"] = ((duration / control).round() as u64).into();
    }
    let work = dir.join("tmp/job");
    fs::create_dir_all(&work).at(&work)?;
    let model = input(request, dir, "model")?;
    fs::copy(&model, work.join("model.xml")).at(&model)?;
    job["model"] = "model.xml".into();
    let path = work.join("job.json");
    fs::write(&path, format!("{job:#}\n")).at(&path)?;
    let out = dir.join("out");
    let mut command = engine_command(request, dir, &engine)?;
    ended(command.arg("drive").arg(&path).arg(&out).current_dir(&work), "the engine")?;
    let run = BatchRun::read(&out)?;
    let asked = |name: &str| job.get(name).and_then(serde_json::Value::as_u64);
    for (name, said) in [("worlds", u64::from(run.worlds)), ("steps", run.steps)] {
        if asked(name) != Some(said) {
            return Err(StageError::Failed(format!(
                "run.json is of {said} {name}, not of the job's"
            )));
        }
    }
    Ok(ok())
}

fn ended(command: &mut Command, what: &str) -> Result<(), StageError> {
    let exit = command
        .status()
        .map_err(|e| StageError::Failed(format!("{what} could not be started: {e}")))?;
    if exit.success() {
        return Ok(());
    }
    Err(StageError::Failed(format!("{what} ended with {exit}")))
}
