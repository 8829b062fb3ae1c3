//! The plant's program: `describe`, and `run JOB.json OUT_DIR`.

use sim_mujoco_c::program::{Given, Ran, main as program};
use sim_mujoco_c::version;
use sim_plant_snake::plant::Plant;
use sim_plant_snake::replay::scene;
use sim_recording::Recording;
use sim_snake::scenario::Scenario;
use sim_snake::spec::Spec;
use std::process::ExitCode;

fn main() -> ExitCode {
    program("snake", run)
}

fn run(given: &Given<'_, Scenario>) -> Result<Ran, String> {
    let (scenario, spec) = (given.scenario, Spec::parse(given.config)?);
    let plant = Plant::new(given.model, &spec, scenario)?;
    let (substeps, log_every) = (plant.control_every(), plant.log_every());
    let (record, error) = plant.run();
    let steps = record.observed.physics_steps;
    let observed = serde_json::to_string_pretty(&record.observed)
        .map_err(|e| format!("what was observed cannot be written: {e}"))?;
    let recording = Recording {
        scene: &scene(&spec, scenario.scene),
        name: &format!("{} s", given.timestep),
        version: &version(),
        poses: &record.poses,
        steps_per_frame: log_every,
        timestep: given.timestep,
        steps,
        seed: spec.simulation.seed,
    };
    let mut files = vec![
        ("trajectory.csv", record.trajectory.to_csv(&spec).into_bytes()),
        ("observed.json", format!("{observed}\n").into_bytes()),
        ("diagnostics.csv", record.diagnostics().as_bytes().to_vec()),
    ];
    files.extend(recording.files()?);
    Ok(Ran {
        scenario: scenario.name.clone(),
        substeps,
        control_steps: steps / u64::from(substeps),
        root: "link_00",
        error,
        files,
    })
}
