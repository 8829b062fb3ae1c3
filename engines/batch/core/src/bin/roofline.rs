//! What a step's arithmetic amounts to, phase by phase, and how near the engine comes to the processor's peak.
//!
//! `cargo run --release -p sim-batch --features roofline --bin roofline -- MODEL.xml [--worlds 256] [--steps 50]
//! [--start reference|fallen]`
//!
//! Three runs from the same start as `scoreboard`'s: one that counts the operations a world needs by itself, one
//! that counts what the lanes of a block execute (more, where worlds differ), and one that reads the clock where
//! phases change. The peak is measured in the same process: chains of fused multiply-adds in registers.
//! Processor time, one thread, 16 lanes; box against box works lane by lane and is not counted.

#[path = "../starts.rs"]
mod starts;

use sim_batch::mujoco::cpu_seconds;
use sim_batch::roofline::{Operations, PHASES, Probe, operations, peak, ticks};
use sim_batch::{BatchedEngine, Lanes, Model, Options};
use starts::{Start, starts};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

/// Rounds of which the least time counts.
const ROUNDS: usize = 20;

struct Ask {
    model: PathBuf,
    worlds: usize,
    steps: usize,
    fallen: bool,
}

fn ask() -> Result<Ask, Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let model = args.next().ok_or("usage: roofline MODEL.xml [options]")?.into();
    let mut a = Ask { model, worlds: 256, steps: 50, fallen: false };
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
        match (name.as_str(), value.as_str()) {
            ("--worlds", n) => a.worlds = n.parse()?,
            ("--steps", n) => a.steps = n.parse()?,
            ("--start", "reference") => a.fallen = false,
            ("--start", "fallen") => a.fallen = true,
            _ => return Err(format!("unknown option {name} {value}").into()),
        }
    }
    Ok(a)
}

/// Steps from the start; the processor seconds that they took.
fn stepped(e: &mut BatchedEngine, starts: &[Start], steps: usize) -> Result<f64, Box<dyn Error>> {
    let flat = |k: usize| -> Vec<f32> {
        starts.iter().flat_map(|s| s[k].iter().map(|v| *v as f32)).collect()
    };
    e.set_state(&flat(0), &flat(1), &flat(2))?;
    let start = cpu_seconds();
    e.step_n(steps);
    Ok(cpu_seconds() - start)
}

/// Operations a second that chains of fused multiply-adds in registers reach; the best of some tries.
fn measured_peak() -> f64 {
    let turns = 20_000_000;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = cpu_seconds();
        std::hint::black_box(peak(std::hint::black_box(turns)));
        best = best.min(cpu_seconds() - start);
    }
    384.0 * turns as f64 / best
}

fn main() -> Result<(), Box<dyn Error>> {
    let a = ask()?;
    if !Lanes::available().contains(&Lanes::Sixteen) {
        return Err("this machine has no 16 lanes (AVX-512)".into());
    }
    let model = Arc::new(Model::from_file(&a.model)?);
    let starts = starts(&model, a.worlds, a.fallen, 1)?;
    let engine = |lanes: Lanes| {
        let options = Options { lanes: Some(lanes), ..Options::default() };
        BatchedEngine::new(model.clone(), a.worlds, &options)
    };
    let counted = |lanes: Lanes, probe: Probe| -> Result<Vec<Operations>, Box<dyn Error>> {
        let mut e = engine(lanes)?;
        e.probe(probe)?;
        operations(probe);
        stepped(&mut e, &starts, a.steps)?;
        Ok(operations(probe))
    };
    let alone = counted(Lanes::One, Probe::CountAlone)?;
    let block = counted(Lanes::Sixteen, Probe::CountBlock)?;
    let mut plain = engine(Lanes::Sixteen)?;
    let mut clocked = engine(Lanes::Sixteen)?;
    clocked.probe(Probe::Clock)?;
    stepped(&mut plain, &starts, a.steps)?;
    let mut seconds = f64::INFINITY;
    // Ticks of each step and phase: what else runs on the machine only adds, so the least of all rounds counts.
    let mut least = vec![vec![f64::INFINITY; PHASES.len()]; a.steps];
    for _ in 0..ROUNDS {
        seconds = seconds.min(stepped(&mut plain, &starts, a.steps)?);
        stepped(&mut clocked, &starts, 0)?;
        for step in &mut least {
            ticks();
            clocked.step();
            for (least, now) in step.iter_mut().zip(ticks()) {
                *least = least.min(now);
            }
        }
    }
    let by_phase = |k: usize| least.iter().map(|step| step[k]).sum::<f64>();
    let whole: f64 = (0..PHASES.len()).map(by_phase).sum();
    let share: Vec<f64> = (0..PHASES.len()).map(|k| by_phase(k) / whole).collect();
    let peak = measured_peak();
    let per = (a.worlds * a.steps) as f64;
    println!(
        "{}, {} worlds, {} steps, start {}: {:.0} world-steps a second of processor time; peak {:.1} GFLOP/s",
        a.model.display(),
        a.worlds,
        a.steps,
        if a.fallen { "fallen" } else { "reference" },
        per / seconds,
        peak * 1e-9
    );
    println!(
        "phase | flops alone | in blocks | share of time, % | GFLOP/s alone | in blocks | of peak, %"
    );
    let line = |name: &str, alone: f64, block: f64, share: f64| {
        let time = share * seconds;
        let rate = |flops: f64| if time > 0.0 { flops / time * 1e-9 } else { 0.0 };
        println!(
            "{name} | {:.0} | {:.0} | {:.1} | {:.1} | {:.1} | {:.0}",
            alone / per,
            block / per,
            100.0 * share,
            rate(alone),
            rate(block),
            100.0 * rate(block) * 1e9 / peak
        );
    };
    for (k, name) in PHASES.iter().enumerate() {
        line(name, alone[k].flops(), block[k].flops(), share[k]);
    }
    let sum = |o: &[Operations]| o.iter().map(Operations::flops).sum::<f64>();
    line("all", sum(&alone), sum(&block), 1.0);
    let kinds = |o: &[Operations]| {
        let of = |f: fn(&Operations) -> f64| o.iter().map(f).sum::<f64>() / per;
        format!(
            "add {:.0}, mul {:.0}, fma {:.0}, div {:.0}, sqrt {:.0}, other {:.0}",
            of(|o| o.add),
            of(|o| o.mul),
            of(|o| o.fma),
            of(|o| o.div),
            of(|o| o.sqrt),
            of(|o| o.other)
        )
    };
    println!("a world-step alone: {}", kinds(&alone));
    println!("a world-step in blocks: {}", kinds(&block));
    Ok(())
}
