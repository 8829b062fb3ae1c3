//! Runs: the plant and the batched engine, each in a process of its own.

use crate::{config, text};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sim_model::request::{Request, StatusFile};
use sim_stage_sdk::{IoContext, StageError, arg, engine_command, input, ok};
use sim_vehicle::batch::Chunk;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

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

    /// Whether it is of the job that was asked for, whole, and not longer than its process ran. `control` is
    /// the control step, s. What ended early need not be whole. The error says what it contradicts.
    fn answers(&self, job: &Value, control: f64, wall: Duration) -> Result<(), String> {
        let asked = |name: &str| job.get(name).and_then(Value::as_u64).unwrap_or_default();
        let step = job.get("timestep").and_then(Value::as_f64).unwrap_or(f64::NAN);
        for (what, said, wanted) in [
            ("worlds", u64::from(self.worlds), asked("worlds")),
            ("control steps", self.steps, asked("steps")),
            ("physics steps a control step", self.substeps.into(), (control / step).round() as u64),
        ] {
            if said != wanted {
                return Err(format!("{said} {what}, the job has {wanted}"));
            }
        }
        let backend = job.get("backend").and_then(Value::as_str).unwrap_or_default();
        if self.backend != backend {
            return Err(format!("backend {}, the job has {backend}", self.backend));
        }
        let chunks = self.steps.div_ceil(asked("chunk_steps").max(1));
        if self.error.is_none() && self.chunks.len() as u64 != chunks {
            let there = self.chunks.len();
            return Err(format!("{there} chunks, {} steps make {chunks}", self.steps));
        }
        if self.unique_terminal_states > self.worlds.into() {
            let (states, worlds) = (self.unique_terminal_states, self.worlds);
            return Err(format!("{states} different ends of {worlds} worlds"));
        }
        let said = [self.setup_ns, self.warmup_ns, self.measured_ns].map(u128::from);
        let said: u128 = said.iter().sum();
        if said > wall.as_nanos() {
            return Err(format!("{said} ns in a process that ran {} ns", wall.as_nanos()));
        }
        Ok(())
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
    let clock = Instant::now();
    ended(command.arg("drive").arg(&path).arg(&out).current_dir(&work), "the engine")?;
    let wall = clock.elapsed();
    let run = BatchRun::read(&out)?;
    let control = config(request, dir)?.simulation.control_dt_s;
    run.answers(&job, control, wall).map_err(|e| StageError::Failed(format!("run.json: {e}")))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A run that was cut, is of something else, or took longer than its process is refused by what it says.
    #[test]
    fn a_run_that_is_not_of_its_job_is_refused() {
        let job = json!({"worlds": 4, "steps": 250, "chunk_steps": 100, "backend": "cpu", "timestep": 0.005});
        let chunk = json!({
            "finite": true, "time_monotonic": true, "wall_ns": 10, "resets": 0, "invalid_actions": 0,
            "memory_bytes": null, "room": {}, "z_least_m": null, "z_most_m": null,
            "planar_speed_mps": null, "quaternion_error": null, "qvel_most": null,
            "penetration_m": null, "gap_s": null, "tilt_rad": null, "vertical_speed_mps": null,
            "unexpected_contacts": null, "coverage_least": null
        });
        let run = json!({
            "format": 1, "engine": "e", "version": "1", "backend": "cpu", "precision": "single",
            "worlds": 4, "steps": 250, "substeps": 10, "setup_ns": 5, "warmup_ns": 6,
            "measured_ns": 30, "unique_terminal_states": 4, "chunks": [chunk, chunk, chunk],
            "error": null
        });
        let said = |field: &str, value: Value| {
            let mut run = run.clone();
            run[field] = value;
            let run: BatchRun = serde_json::from_value(run).expect("a run");
            run.answers(&job, 0.05, Duration::from_nanos(41))
        };
        assert_eq!(said("worlds", json!(4)), Ok(()));
        for (field, value, reason) in [
            ("worlds", json!(5), "5 worlds, the job has 4"),
            ("steps", json!(300), "300 control steps, the job has 250"),
            ("substeps", json!(5), "5 physics steps a control step, the job has 10"),
            ("backend", json!("cuda"), "backend cuda, the job has cpu"),
            ("chunks", json!([chunk, chunk]), "2 chunks, 250 steps make 3"),
            ("unique_terminal_states", json!(5), "5 different ends of 4 worlds"),
            ("setup_ns", json!(6), "42 ns in a process that ran 41 ns"),
        ] {
            assert_eq!(said(field, value), Err(reason.to_owned()));
        }
        // What ended early is not whole.
        let mut cut = run.clone();
        (cut["chunks"], cut["error"]) = (json!([chunk]), json!("it diverged"));
        let cut: BatchRun = serde_json::from_value(cut).expect("a run");
        assert_eq!(cut.answers(&job, 0.05, Duration::from_nanos(41)), Ok(()));
    }
}
