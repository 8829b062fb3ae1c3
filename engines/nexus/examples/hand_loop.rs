//! Nexus's own loop written by hand, without the harness: the yardstick for the harness.
//!
//! `hand_loop SCENE.json WORLDS STEPS WARMUP` prints one JSON line. Warm-up, rebuild and rollout as in a
//! timed run, on the processor and without robots; the interval holds nothing but `simulate`.

use khal::backend::{Backend, GpuBackend};
use nexus3d::prelude::NexusPipeline;
use sim_adapter_nexus::by_hand;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scene, worlds, steps, warmup, ..] = &arguments[..] else {
        panic!("usage: hand_loop SCENE.json WORLDS STEPS WARMUP");
    };
    let text = std::fs::read(scene).expect("the scene file");
    let scene = serde_json::from_slice(&text).expect("a scene");
    let number = |text: &String| text.parse::<u64>().expect("a number");
    let (worlds, steps, warmup) = (number(worlds) as u32, number(steps), number(warmup));
    let backend = GpuBackend::Cpu;
    let mut pipeline = NexusPipeline::default();
    let mut run = |steps: u64| {
        let mut state = by_hand(&scene, worlds, &backend);
        backend.synchronize().expect("the processor");
        let clock = Instant::now();
        for _ in 0..steps {
            pollster::block_on(pipeline.simulate(&backend, &mut state, None)).expect("a step");
        }
        backend.synchronize().expect("the processor");
        clock.elapsed().as_nanos() as f64
    };
    run(warmup.max(steps));
    let elapsed = run(steps);
    println!("{{\"ms_per_step\":{}}}", elapsed * 1e-6 / steps as f64);
}
