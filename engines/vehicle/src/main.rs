//! The plant's program: `describe`, and `run JOB.json OUT_DIR`.

use sim_mujoco_c::program::{Given, Ran, main as program};
use sim_mujoco_c::version;
use sim_plant_vehicle::plant::Plant;
use sim_plant_vehicle::replay::scene;
use sim_recording::Recording;
use sim_vehicle::config::Config;
use sim_vehicle::scenario::Scenario;
use sim_vehicle::telemetry::Telemetry;
use std::process::ExitCode;

fn main() -> ExitCode {
    program("vehicle", run)
}

fn run(given: &Given<'_, Scenario>) -> Result<Ran, String> {
    let (scenario, config) = (given.scenario, Config::parse(given.config)?);
    let roll = scenario.roll_deg.to_radians();
    let mut plant = Plant::new(given.model, &config, scenario.lift_m, roll)?;
    let control_dt = config.simulation.control_dt_s;
    let steps = (scenario.duration_s / control_dt).round() as u64;
    let mut telemetry = Telemetry { values: plant.first_row().to_vec() };
    let mut poses = plant.poses().to_vec();
    let (mut made, mut error) = (0, None);
    for i in 0..steps {
        let action = scenario.action(i as f64 * control_dt, plant.speed());
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
    let substeps = plant.substeps();
    let recording = Recording {
        scene: &scene(&config, &scenario.name),
        name: &format!("{} s", given.timestep),
        version: &version(),
        poses: &poses,
        steps_per_frame: substeps,
        timestep: given.timestep,
        steps: made * u64::from(substeps),
        seed: 0,
    };
    let mut files = vec![("telemetry.bin", telemetry.to_bytes())];
    files.extend(recording.files()?);
    Ok(Ran {
        scenario: scenario.name.clone(),
        substeps,
        control_steps: made,
        root: "chassis",
        error,
        files,
    })
}
