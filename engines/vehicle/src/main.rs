//! The plant's program: `describe`, and `run JOB.json OUT_DIR`.

use serde::Deserialize;
use sim_mujoco_c::{Kind, Model, version};
use sim_plant_vehicle::plant::Plant;
use sim_plant_vehicle::replay::scene;
use sim_recording::Recording;
use sim_vehicle::config::Config;
use sim_vehicle::scenario::Scenario;
use sim_vehicle::telemetry::Telemetry;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: sim-plant-vehicle describe | sim-plant-vehicle run JOB.json OUT_DIR";

/// What to run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    /// Format, 1.
    format: u32,
    /// The model's file.
    model: PathBuf,
    /// The configuration's file.
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
                "format": 1, "plant": "vehicle", "simulator": "mujoco", "version": version(),
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
    let config = Config::parse(&read(&job.config)?)?;
    let mut model = Model::compile(&read(&job.model)?)?;
    model.set_timestep(job.timestep);
    let roll = job.scenario.roll_deg.to_radians();
    let mut plant = Plant::new(&model, &config, job.scenario.lift_m, roll)?;
    let control_dt = config.simulation.control_dt_s;
    let steps = (job.scenario.duration_s / control_dt).round() as u64;
    let mut telemetry = Telemetry { values: plant.first_row().to_vec() };
    let mut poses = plant.poses().to_vec();
    let (mut made, mut error) = (0, None);
    for i in 0..steps {
        let action = job.scenario.action(i as f64 * control_dt, plant.speed());
        match plant.control_step(action) {
            Ok(row) => {
                telemetry.values.extend(row);
                poses.extend(plant.poses());
            }
            Err(reason) => {
                error = Some(reason);
                break;
            }
        }
        made += 1;
    }
    let [nq, nv, nu, joints] = model.sizes();
    let o = model.options();
    let chassis = model.id(Kind::Body, "chassis").unwrap_or(0);
    let file = serde_json::json!({
        "format": 1,
        "version": version(),
        "scenario": job.scenario.name,
        "timestep": job.timestep,
        "substeps": plant.substeps(),
        "control_steps": made,
        "model": {
            "nq": nq, "nv": nv, "nu": nu, "joints": joints,
            "mass_kg": model.subtree_mass(chassis),
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
    write("telemetry.bin", &telemetry.to_bytes())?;
    let scene = scene(&config, &job.scenario.name);
    let recording = Recording {
        scene: &scene,
        name: &format!("{} s", job.timestep),
        version: &version(),
        poses: &poses,
        steps_per_frame: plant.substeps(),
        timestep: job.timestep,
        steps: made * u64::from(plant.substeps()),
        seed: 0,
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
