//! The program of a plant: `describe`, and `run JOB.json OUT_DIR`. What a job holds, how files are read and
//! written, and `run.json` are the same for every plant; what a run is, is the plant's.

use crate::{Kind, Model, version};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Format of a job and of `run.json`.
const FORMAT: u32 = 1;

/// What to run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Job<S> {
    format: u32,
    /// The model's file.
    model: PathBuf,
    /// The configuration's file.
    config: PathBuf,
    scenario: S,
    /// Physics step, s.
    timestep: f64,
}

/// What a plant is given: the scenario, the text of its configuration, the model with its physics step.
pub struct Given<'a, S> {
    /// What is driven.
    pub scenario: &'a S,
    /// Text of the configuration's file.
    pub config: &'a str,
    /// The compiled model, its physics step set.
    pub model: &'a Model,
    /// Physics step, s.
    pub timestep: f64,
}

/// What a run came to.
pub struct Ran {
    /// Name of the scenario.
    pub scenario: String,
    /// Physics steps of a control step.
    pub substeps: u32,
    /// Control steps that were made.
    pub control_steps: u64,
    /// Body at the root of what moves, whose mass is told.
    pub root: &'static str,
    /// Why it ended early.
    pub error: Option<String>,
    /// Names and contents of the files beside `run.json`.
    pub files: Vec<(&'static str, Vec<u8>)>,
}

/// The whole program of the plant `name`. `run` says why a job cannot be run at all.
pub fn main<S: DeserializeOwned>(
    name: &str,
    run: impl FnOnce(&Given<'_, S>) -> Result<Ran, String>,
) -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let done = match args.as_slice() {
        [word] if word == "describe" => {
            let text = serde_json::json!({
                "format": FORMAT, "plant": name, "simulator": "mujoco", "version": version(),
                "backends": ["cpu"], "precision": "float64",
            });
            println!("{text:#}");
            Ok(())
        }
        [word, job, out] if word == "run" => job_of(Path::new(job), Path::new(out), run),
        _ => {
            eprintln!("usage: sim-plant-{name} describe | sim-plant-{name} run JOB.json OUT_DIR");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn job_of<S: DeserializeOwned>(
    job: &Path,
    out: &Path,
    run: impl FnOnce(&Given<'_, S>) -> Result<Ran, String>,
) -> Result<(), String> {
    let job: Job<S> = serde_json::from_str(&read(job)?).map_err(|e| format!("the job: {e}"))?;
    if job.format != FORMAT {
        return Err(format!("the job has format {}, this program knows {FORMAT}", job.format));
    }
    let config = read(&job.config)?;
    let mut model = Model::compile(&read(&job.model)?)?;
    model.set_timestep(job.timestep);
    let given =
        Given { scenario: &job.scenario, config: &config, model: &model, timestep: job.timestep };
    let ran = run(&given)?;
    let write = |name: &str, bytes: &[u8]| {
        let path = out.join(name);
        std::fs::write(&path, bytes).map_err(|e| format!("{}: {e}", path.display()))
    };
    for (name, bytes) in &ran.files {
        write(name, bytes)?;
    }
    let file = serde_json::json!({
        "format": FORMAT,
        "version": version(),
        "scenario": ran.scenario,
        "timestep": job.timestep,
        "substeps": ran.substeps,
        "control_steps": ran.control_steps,
        "model": facts(&model, ran.root),
        "error": ran.error,
    });
    // Last: where it is, everything is.
    write("run.json", format!("{file:#}\n").as_bytes())
}

/// What the simulator has of a model.
fn facts(model: &Model, root: &str) -> serde_json::Value {
    let [nq, nv, nu, joints] = model.sizes();
    let o = model.options();
    serde_json::json!({
        "nq": nq, "nv": nv, "nu": nu, "joints": joints,
        "mass_kg": model.id(Kind::Body, root).map(|body| model.subtree_mass(body)),
        "integrator": name(o.integrator, &["Euler", "RK4", "implicit", "implicitfast"]),
        "solver": name(o.solver, &["PGS", "CG", "Newton"]),
        "cone": name(o.cone, &["pyramidal", "elliptic"]),
        "iterations": o.iterations,
        "autoreset": o.autoreset,
    })
}

/// A number of one of MuJoCo's enumerations as its name, or as it is where it has none here.
fn name(number: i32, names: &[&str]) -> String {
    let known = usize::try_from(number).ok().and_then(|i| names.get(i));
    known.map_or_else(|| number.to_string(), |n| (*n).to_owned())
}
