//! The MJCF of a robot's scene: `robot_mjcf SCENARIO TIMESTEP MODEL.xml [KEYS.xml]`.
use std::io::Write as _;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scenario, timestep, model, keys @ ..] = &arguments[..] else {
        panic!("usage: robot_mjcf SCENARIO TIMESTEP MODEL.xml [KEYS.xml]");
    };
    let read = |path: &String| std::fs::read_to_string(path).expect("a model file");
    let files = sim_scenes::SourceFiles { model: read(model), keys: keys.first().map(read) };
    let scenario = sim_scenes::find(scenario).expect("a scenario");
    let timestep = timestep.parse().expect("a timestep");
    let scene = scenario.generate_from(1, 0, timestep, Some(&files)).expect("a scene");
    let model = scene.robot.expect("a scenario with a robot").model;
    writeln!(std::io::stdout(), "{model}").expect("standard output");
}
