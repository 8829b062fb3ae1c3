//! Prototype driver.
use sim_plant_vehicle::{ffi, plant::Plant};
use sim_vehicle::{config::Config, convergence, metrics, mjcf, protocol::Protocol, telemetry::Telemetry};
use std::collections::BTreeMap;

fn main() {
    let config = Config::parse(&std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap()).unwrap();
    let protocol = Protocol::parse(&std::fs::read_to_string(std::env::args().nth(2).unwrap()).unwrap()).unwrap();
    let xml = mjcf::mjcf(&config);
    println!("{}", ffi::version());
    let mut all: BTreeMap<(String, String), Telemetry> = BTreeMap::new();
    for dt in &protocol.protocol.candidates_s {
        for scenario in &protocol.scenarios {
            let mut model = ffi::Model::compile(&xml).unwrap();
            model.set_timestep(*dt);
            let mut plant = Plant::new(&model, &config, scenario.lift_m, scenario.roll_deg.to_radians()).unwrap();
            let mut telemetry = Telemetry::default();
            telemetry.values.extend(plant.first_row());
            let n = (scenario.duration_s / config.simulation.control_dt_s).round() as usize;
            for i in 0..n {
                let time = i as f64 * config.simulation.control_dt_s;
                let action = scenario.action(time, plant.speed());
                telemetry.values.extend(plant.control_step(action).unwrap());
            }
            let run = metrics::Run { telemetry: &telemetry, scenario, config: &config };
            for (name, value) in metrics::metrics(&run) {
                println!("{dt} {} {name} {value}", scenario.name);
            }
            all.insert((dt.to_string(), scenario.name.clone()), telemetry);
        }
    }
    for c in &protocol.convergence {
        let scenario = protocol.scenarios.iter().find(|s| s.name == c.scenario).unwrap();
        for dt in [0.01, 0.005] {
            let run = |dt: f64| metrics::Run { telemetry: &all[&(dt.to_string(), c.scenario.clone())], scenario, config: &config };
            for q in c.limits.keys() {
                println!("conv {dt} {} {q} {:?}", c.scenario, convergence::difference(q, &run(dt), &run(0.002)).unwrap());
            }
        }
    }
}
