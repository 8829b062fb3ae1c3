//! Runs both scenarios with other values in the specification, and prints what comes out beside what was
//! published. What is not published was chosen with it: `evaluate surrogate.force_n=0.1 floor.friction_along=0.2`.

use sim_mujoco_c::Model;
use sim_plant_snake::plant::Plant;
use sim_protocol::{Plant as _, Protocol};
use sim_snake::Snake;
use sim_snake::mjcf::mjcf;
use sim_snake::scenario::Scenario;
use sim_snake::spec::Spec;
use sim_snake::telemetry::{Diagnostics, Ran};

const SPEC: &str = include_str!("../../../scenes/snake/snake.toml");
const PROTOCOL: &str = include_str!("../../../scenes/snake/protocol.toml");
const PUBLISHED: &str = include_str!("../../../scenes/snake/published.csv");

fn main() -> Result<(), String> {
    let mut table: toml::Table = SPEC.parse().map_err(|e| format!("{e}"))?;
    let mut only = None;
    for arg in std::env::args().skip(1) {
        let (key, value) = arg.split_once('=').ok_or_else(|| format!("`{arg}` is no key=value"))?;
        if key == "scenario" {
            only = Some(value.to_owned());
            continue;
        }
        let (section, name) =
            key.split_once('.').ok_or_else(|| format!("`{key}` has no section"))?;
        let value: f64 = value.parse().map_err(|_| format!("`{value}` is no number"))?;
        let section = table.get_mut(section).and_then(toml::Value::as_table_mut);
        let place = section.and_then(|s| s.get_mut(name));
        *place.ok_or_else(|| format!("there is no `{key}`"))? = toml::Value::Float(value);
    }
    let spec = Spec::parse(&table.to_string())?;
    let snake = Snake(spec.clone());
    let protocol: Protocol<Scenario> = Protocol::parse::<Snake>(PROTOCOL)?;
    for scenario in protocol.scenarios.iter().filter(|s| only.as_ref().is_none_or(|o| *o == s.name))
    {
        let model = Model::compile(&mjcf(&spec, scenario.scene))?;
        let (record, error) = Plant::new(&model, &spec, scenario)?.run();
        if let Some(error) = error {
            println!("{} error {error}", scenario.name);
            continue;
        }
        let ran = Ran {
            trajectory: record.trajectory,
            observed: record.observed,
            diagnostics: Diagnostics::default(),
        };
        for (metric, value) in snake.metrics(scenario, &ran) {
            let published = PUBLISHED.lines().find_map(|line| {
                let fields: Vec<&str> = line.split(',').collect();
                (fields.first() == Some(&scenario.name.as_str()) && fields.get(1) == Some(&metric))
                    .then(|| fields.get(3).copied().unwrap_or_default())
            });
            println!("{} {metric} {value} {}", scenario.name, published.unwrap_or("-"));
        }
        if std::env::var_os("ROWS").is_some() {
            print!("{}", ran.trajectory.to_csv(&spec));
        }
    }
    Ok(())
}
