//! The plant's program: `describe`, and `run JOB.json OUT_DIR`.

use serde::Deserialize;
use sim_mujoco_c::{Kind, Model, version};
use sim_plant_snake::plant::Plant;
use sim_plant_snake::replay::scene;
use sim_recording::Recording;
use sim_snake::scenario::Scenario;
use sim_snake::spec::Spec;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: sim-plant-snake describe | sim-plant-snake run JOB.json OUT_DIR";

/// What to run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    /// Format, 1.
    format: u32,
    /// The model's file.
    model: PathBuf,
    /// The specification's file.
    config: PathBuf,
    scenario: Scenario,
    /// Physics step, s.
    timestep: f64,
}

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let done = match args.as_slice() {
        [word] if word == "describe" => {
            let text = serde_json::json!({
                "format": 1, "plant": "snake", "simulator": "mujoco", "version": version(),
                "backends": ["cpu"], "precision": "float64",
            });
            println!("{text:#}");
            Ok(())
        }
        [word, job, out] if word == "run" => run(Path::new(job), Path::new(out)),
        _ => {
            eprintln!("{USAGE}");
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

fn run(job: &Path, out: &Path) -> Result<(), String> {
    let job: Job = serde_json::from_str(&read(job)?).map_err(|e| format!("the job: {e}"))?;
    if job.format != 1 {
        return Err(format!("the job has format {}, this program knows 1", job.format));
    }
    let spec = Spec::parse(&read(&job.config)?)?;
    let mut model = Model::compile(&read(&job.model)?)?;
    model.set_timestep(job.timestep);
    let plant = Plant::new(&model, &spec, &job.scenario)?;
    let (substeps, log_every) = (plant.control_every(), plant.log_every());
    let (record, error) = plant.run();
    let [nq, nv, nu, joints] = model.sizes();
    let o = model.options();
    let head = model.id(Kind::Body, "link_00").unwrap_or(0);
    let made = record.observed.physics_steps / u64::from(substeps);
    let file = serde_json::json!({
        "format": 1,
        "version": version(),
        "scenario": job.scenario.name,
        "timestep": job.timestep,
        "substeps": substeps,
        "control_steps": made,
        "model": {
            "nq": nq, "nv": nv, "nu": nu, "joints": joints,
            "mass_kg": model.subtree_mass(head),
            "integrator": name(o.integrator, &["Euler", "RK4", "implicit", "implicitfast"]),
            "solver": name(o.solver, &["PGS", "CG", "Newton"]),
            "cone": name(o.cone, &["pyramidal", "elliptic"]),
            "iterations": o.iterations,
            "autoreset": o.autoreset,
        },
        "error": error,
    });
    let write = |name: &str, bytes: &[u8]| {
        let path = out.join(name);
        std::fs::write(&path, bytes).map_err(|e| format!("{}: {e}", path.display()))
    };
    let observed = serde_json::to_string_pretty(&record.observed)
        .map_err(|e| format!("what was observed cannot be written: {e}"))?;
    write("trajectory.csv", record.trajectory.to_csv(&spec).as_bytes())?;
    write("observed.json", format!("{observed}\n").as_bytes())?;
    write("diagnostics.csv", record.diagnostics().as_bytes())?;
    let recording = Recording {
        scene: &scene(&spec, job.scenario.scene),
        name: &format!("{} s", job.timestep),
        version: &version(),
        poses: &record.poses,
        steps_per_frame: log_every,
        timestep: job.timestep,
        steps: record.observed.physics_steps,
        seed: spec.simulation.seed,
    };
    for (name, bytes) in recording.files()? {
        write(name, &bytes)?;
    }
    write("run.json", format!("{file:#}\n").as_bytes())
}

/// A number of one of MuJoCo's enumerations as its name, or as it is where it has none here.
fn name(number: i32, names: &[&str]) -> String {
    let known = usize::try_from(number).ok().and_then(|i| names.get(i));
    known.map_or_else(|| number.to_string(), |n| (*n).to_owned())
}
