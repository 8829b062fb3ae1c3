//! The engine's own loop written by hand, without the harness: the yardstick for the harness.
//!
//! `hand_loop SCENE.json WORLDS STEPS WARMUP` prints one JSON line. Warm-up, reset and rollout
//! as in a timed run; the interval holds nothing but `step_n`.

use sim_batch::{BatchedEngine, Model, Options};
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scene, worlds, steps, warmup] = &arguments[..] else {
        panic!("usage: hand_loop SCENE.json WORLDS STEPS WARMUP");
    };
    let text = std::fs::read(scene).expect("the scene file");
    let scene = serde_json::from_slice(&text).expect("a scene");
    let number = |text: &String| text.parse::<usize>().expect("a number");
    let (worlds, steps, warmup) = (number(worlds), number(steps), number(warmup));
    let model = Arc::new(Model::from_text(&sim_adapter_batch::mjcf(&scene)).expect("a model"));
    let rows = (64 * (model.nbody() - 1)).max(256);
    let options = Options { contact_row_cap: rows, ..Options::default() };
    let mut engine = BatchedEngine::new(model, worlds, &options).expect("an engine");
    let start = sim_adapter_batch::start_velocities(&scene).repeat(worlds);
    let qpos = engine.model().qpos0().repeat(worlds);
    engine.set_state(&qpos, &start, &[]).expect("a state");
    engine.step_n(warmup.max(steps));
    engine.set_state(&qpos, &start, &[]).expect("a state");
    let clock = Instant::now();
    engine.step_n(steps);
    let elapsed = clock.elapsed().as_nanos() as f64;
    println!("{{\"ms_per_step\":{}}}", elapsed * 1e-6 / steps as f64);
}
