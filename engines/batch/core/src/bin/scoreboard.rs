//! Times this engine and MuJoCo's own batches (`mjb_step`) on the same worlds, back to back in one process.
//!
//! `scoreboard MODEL.xml [--worlds 64,256,...] [--threads N] [--lanes 1|8|16] [--steps 50] [--rounds 3]
//! [--start reference|fallen] [--only batch|mujoco]`
//!
//! Both take 5 steps to warm up, go back to the same start and are timed over `--steps` steps, each of
//! which ends before the next begins. Rounds alternate between the engines; the least time counts. Beside
//! wall time stands what a second of processor time yields, which says more on a machine with other work.
//! `reference` is the model's reference at rest without controls, the same in every world. `fallen` is what
//! MuJoCo makes of it in 300 steps with joint noise and random controls, every world another.

#[path = "../starts.rs"]
mod starts;

use sim_batch::mujoco::{Batch, Component, cpu_seconds};
use sim_batch::{BatchedEngine, Lanes, Model, Options};
use starts::{Start, starts};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

struct Ask {
    model: PathBuf,
    worlds: Vec<usize>,
    threads: usize,
    lanes: Option<Lanes>,
    steps: usize,
    rounds: usize,
    fallen: bool,
    batch: bool,
    mujoco: bool,
}

fn ask() -> Result<Ask, Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let model = args.next().ok_or("usage: scoreboard MODEL.xml [options]")?.into();
    let mut a = Ask {
        model,
        worlds: vec![64, 256, 1024, 4096, 16384],
        threads: 1,
        lanes: None,
        steps: 50,
        rounds: 3,
        fallen: false,
        batch: true,
        mujoco: true,
    };
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--worlds" => a.worlds = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--threads" => a.threads = value.parse()?,
            "--steps" => a.steps = value.parse()?,
            "--rounds" => a.rounds = value.parse()?,
            "--lanes" => {
                let n: usize = value.parse()?;
                let found = Lanes::available().into_iter().find(|l| l.width() == n);
                a.lanes = Some(found.ok_or_else(|| format!("this machine has no {n} lanes"))?);
            }
            "--start" => match value.as_str() {
                "reference" => a.fallen = false,
                "fallen" => a.fallen = true,
                _ => return Err(format!("--start {value}: reference or fallen").into()),
            },
            "--only" => match value.as_str() {
                "batch" => a.mujoco = false,
                "mujoco" => a.batch = false,
                _ => return Err(format!("--only {value}: batch or mujoco").into()),
            },
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    Ok(a)
}

/// Seconds of a step.
#[derive(Clone, Copy)]
struct Spent {
    wall: f64,
    cpu: f64,
}

impl Spent {
    const NONE: Spent = Spent { wall: f64::INFINITY, cpu: f64::INFINITY };

    fn least(self, other: Spent) -> Spent {
        Spent { wall: self.wall.min(other.wall), cpu: self.cpu.min(other.cpu) }
    }
}

struct Clock(Instant, f64);

impl Clock {
    fn start() -> Self {
        Clock(Instant::now(), cpu_seconds())
    }

    fn per(&self, steps: usize) -> Spent {
        let n = steps as f64;
        Spent { wall: self.0.elapsed().as_secs_f64() / n, cpu: (cpu_seconds() - self.1) / n }
    }
}

fn time_batch(
    e: &mut BatchedEngine,
    starts: &[Start],
    steps: usize,
) -> Result<Spent, Box<dyn Error>> {
    let flat = |k: usize| -> Vec<f32> {
        starts.iter().flat_map(|s| s[k].iter().map(|v| *v as f32)).collect()
    };
    let (q, v, u) = (flat(0), flat(1), flat(2));
    e.set_state(&q, &v, &u)?;
    e.step_n(5);
    e.set_state(&q, &v, &u)?;
    let clock = Clock::start();
    for _ in 0..steps {
        e.step();
    }
    Ok(clock.per(steps))
}

fn time_mujoco(b: &mut Batch, starts: &[Start], steps: usize) -> Spent {
    let set = |b: &mut Batch| {
        b.reset();
        for (w, s) in starts.iter().enumerate() {
            for (k, c) in [Component::Positions, Component::Velocities, Component::Controls]
                .into_iter()
                .enumerate()
            {
                b.part(w, c).copy_from_slice(&s[k]);
            }
        }
    };
    set(b);
    b.step(5);
    set(b);
    let clock = Clock::start();
    for _ in 0..steps {
        b.step(1);
    }
    clock.per(steps)
}

fn main() -> Result<(), Box<dyn Error>> {
    let a = ask()?;
    let model = Arc::new(Model::from_file(&a.model)?);
    println!(
        "model {}, {} steps, {} threads, MuJoCo {}, start {}",
        a.model.display(),
        a.steps,
        a.threads,
        sim_batch::mujoco::version(),
        if a.fallen { "fallen" } else { "reference" }
    );
    println!(
        "worlds | lanes |  ms/step  | worlds/s | a cpu-sec. | MuJoCo ms | worlds/s | a cpu-sec. | ratio | cpu rat. | rows, iterations"
    );
    for &n in &a.worlds {
        let starts = starts(&model, n, a.fallen, a.threads)?;
        let options = Options { threads: a.threads, lanes: a.lanes, ..Options::default() };
        let mut engine = BatchedEngine::new(model.clone(), n, &options)?;
        let mut theirs = model.compiled().batch(n, a.threads)?;
        let (mut best, mut best_theirs) = (Spent::NONE, Spent::NONE);
        for _ in 0..a.rounds {
            if a.batch {
                best = best.least(time_batch(&mut engine, &starts, a.steps)?);
            }
            if a.mujoco {
                best_theirs = best_theirs.least(time_mujoco(&mut theirs, &starts, a.steps));
            }
        }
        let reports: Vec<_> = (0..n).map(|w| engine.report(w)).collect();
        let mean = |f: fn(&sim_batch::Report) -> usize| {
            reports.iter().map(|r| f(r) as f64).sum::<f64>() / n as f64
        };
        let flagged = reports.iter().filter(|r| r.overflow || r.not_finite).count();
        let per = |seconds: f64| if seconds.is_finite() { n as f64 / seconds } else { 0.0 };
        println!(
            "{n:6} | {:5} | {:9.3} | {:8.0} | {:10.0} | {:9.3} | {:8.0} | {:10.0} | {:5.2} | {:7.2} | {:.1}, {:.2}{}",
            engine.lanes().width(),
            best.wall * 1e3,
            per(best.wall),
            per(best.cpu),
            best_theirs.wall * 1e3,
            per(best_theirs.wall),
            per(best_theirs.cpu),
            best_theirs.wall / best.wall,
            best_theirs.cpu / best.cpu,
            mean(|r| r.rows),
            mean(|r| r.iterations),
            if flagged > 0 { format!(", {flagged} worlds flagged") } else { String::new() }
        );
    }
    Ok(())
}
