//! MuJoCo's own loop written by hand, without the harness: the yardstick for the harness.
//!
//! `hand_loop SCENE.json WORLDS STEPS WARMUP` prints one JSON line. Warm-up, reset and rollout
//! as in a timed run; the interval holds nothing but `mj_step`.

use mujoco_rs::prelude::*;
use sim_adapter_mujoco::{Solver, Start, compile};
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scene, worlds, steps, warmup] = &arguments[..] else {
        panic!("usage: hand_loop SCENE.json WORLDS STEPS WARMUP");
    };
    let text = std::fs::read(scene).expect("the scene file");
    let scene = serde_json::from_slice(&text).expect("a scene");
    let number = |text: &String| text.parse::<u64>().expect("a number");
    let (worlds, steps, warmup) = (number(worlds), number(steps), number(warmup));
    let model = Arc::new(compile(&scene, Solver::default(), None).expect("a model"));
    let mut worlds: Vec<_> = (0..worlds).map(|_| MjData::new(model.clone())).collect();
    let start = Start::new(&scene);
    worlds.iter_mut().for_each(|world| start.reset(world));
    for world in &mut worlds {
        for _ in 0..warmup.max(steps) {
            world.step();
        }
    }
    worlds.iter_mut().for_each(|world| start.reset(world));
    let clock = Instant::now();
    for world in &mut worlds {
        for _ in 0..steps {
            world.step();
        }
    }
    let elapsed = clock.elapsed().as_nanos() as f64;
    println!("{{\"ms_per_step\":{}}}", elapsed * 1e-6 / steps as f64);
}
