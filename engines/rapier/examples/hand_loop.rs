//! Rapier's own loop written by hand, without the harness: the yardstick for the harness.
//!
//! `hand_loop SCENE.json WORLDS STEPS WARMUP [THREADS]` prints one JSON line. Warm-up, rebuild
//! and rollout as in a timed run; the interval holds nothing but `PhysicsWorld::step`.

use sim_adapter_rapier::{SUBSTEPS, build, pool};
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scene, worlds, steps, warmup, rest @ ..] = &arguments[..] else {
        panic!("usage: hand_loop SCENE.json WORLDS STEPS WARMUP [THREADS]");
    };
    let text = std::fs::read(scene).expect("the scene file");
    let scene = serde_json::from_slice(&text).expect("a scene");
    let number = |text: &String| text.parse::<u64>().expect("a number");
    let (worlds, steps, warmup) = (number(worlds), number(steps), number(warmup));
    let pool = pool(rest.first().map_or(1, number) as u32).expect("a thread pool");
    let mut list: Vec<_> = (0..worlds).map(|_| build(&scene, SUBSTEPS, &pool)).collect();
    for world in &mut list {
        for _ in 0..warmup.max(steps) {
            world.physics.step();
        }
    }
    list.iter_mut().for_each(|world| *world = build(&scene, SUBSTEPS, &pool));
    // On a worker of the pool, so that no step waits for one to wake.
    let elapsed = pool.install(|| {
        let clock = Instant::now();
        for world in &mut list {
            for _ in 0..steps {
                world.physics.step();
            }
        }
        clock.elapsed().as_nanos() as f64
    });
    println!("{{\"ms_per_step\":{}}}", elapsed * 1e-6 / steps as f64);
}
