//! The vehicle in a batch: `drive JOB.json OUT_DIR`.
//!
//! All worlds hold one vehicle, driven by a schedule of actions or by a law that differs from world to world,
//! with worlds put back to the start by turns. The job's fields and those of `run.json` are in
//! `docs/vehicle.md`; what is noted after every physics step is defined in `sim_vehicle::telemetry`.

mod asked;
mod driver;
mod extremes;
mod vehicle;

use asked::{Drive, Job};
use driver::Driver;
use extremes::Extremes;
use serde::Serialize;
use sim_batch::mujoco::Compiled;
use sim_batch::{BatchedEngine, Model, Options};
use sim_vehicle::batch::Chunk;
use sim_vehicle::telemetry::Telemetry;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use vehicle::Layout;

const FORMAT: u32 = 1;

/// `run.json`.
#[derive(Clone, Debug, Serialize)]
struct Run {
    format: u32,
    engine: &'static str,
    version: &'static str,
    backend: &'static str,
    precision: &'static str,
    versions: BTreeMap<&'static str, String>,
    worlds: u32,
    steps: u64,
    substeps: u32,
    setup_ns: u64,
    warmup_ns: u64,
    measured_ns: u64,
    memory_at_start_bytes: Option<u64>,
    unique_terminal_states: u64,
    chunks: Vec<Chunk>,
    error: Option<String>,
}

fn since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn memory() -> Option<u64> {
    sim_engine_harness::read_memory().ok().map(|r| r.current)
}

/// Runs a job: writes `run.json`, and `telemetry.bin` where it asks for it. The error says why there is none.
pub fn drive(job_file: &Path, out: &Path) -> Result<(), String> {
    let named = |path: &Path, e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|e| named(path, &e));
    let job = Job::parse(&read(job_file)?).map_err(|e| named(job_file, &e))?;
    let model = job_file.parent().unwrap_or(Path::new("")).join(&job.model);
    let (run, telemetry) = ran(&job, &read(&model)?)?;
    std::fs::create_dir_all(out).map_err(|e| named(out, &e))?;
    if job.telemetry {
        let path = out.join("telemetry.bin");
        std::fs::write(&path, telemetry.to_bytes()).map_err(|e| named(&path, &e))?;
    }
    let path = out.join("run.json");
    let text = serde_json::to_string_pretty(&run).map_err(|e| named(&path, &e))?;
    std::fs::write(&path, text + "\n").map_err(|e| named(&path, &e))
}

fn ran(job: &Job, xml: &str) -> Result<(Run, Telemetry), String> {
    let mut compiled =
        Compiled::from_text(xml).map_err(|e| format!("MuJoCo cannot compile the model: {e}"))?;
    compiled.set_option("timestep", job.timestep);
    let layout = Layout::new(&compiled, &job.config, job.timestep)?;
    let start = Instant::now();
    let model = Model::new(compiled).map_err(|e| e.to_string())?;
    let options = Options {
        // Room for every contact that the model can have: what is asked for is then counted whole, and
        // judged against the room that the job allows.
        contact_row_cap: usize::MAX,
        touches: job.contacts_per_world as usize,
        ..Options::default()
    };
    let worlds = job.worlds as usize;
    let engine =
        BatchedEngine::new(Arc::new(model), worlds, &options).map_err(|e| e.to_string())?;
    let mut run = Run {
        format: FORMAT,
        engine: "batch",
        version: env!("CARGO_PKG_VERSION"),
        backend: "cpu",
        precision: "single",
        versions: BTreeMap::from([
            ("lanes", engine.lanes().width().to_string()),
            ("mujoco", sim_batch::mujoco::version()),
            ("threads", engine.threads().to_string()),
        ]),
        worlds: job.worlds,
        steps: job.steps,
        substeps: layout.substeps,
        setup_ns: 0,
        warmup_ns: 0,
        measured_ns: 0,
        memory_at_start_bytes: None,
        unique_terminal_states: 0,
        chunks: Vec::new(),
        error: None,
    };
    let mut driver = Driver::new(engine, &layout, job);
    run.setup_ns = since(start);
    let start = Instant::now();
    let mut none = Telemetry::default();
    chunks(&mut driver, job, u64::from(job.warmup_chunks) * u64::from(job.chunk_steps), &mut none)?;
    run.warmup_ns = since(start);
    driver.reset(&vec![true; worlds])?;
    run.memory_at_start_bytes = memory();
    let mut telemetry = Telemetry::default();
    run.chunks = chunks(&mut driver, job, job.steps, &mut telemetry)?;
    run.measured_ns = run.chunks.iter().map(|c| c.wall_ns).sum();
    run.unique_terminal_states = unique(&driver.engine);
    Ok((run, telemetry))
}

/// How many different coordinates and velocities the worlds are in, by their bits.
fn unique(engine: &BatchedEngine) -> u64 {
    let (q, v) = engine.state();
    let (nq, nv) = (engine.model().nq(), engine.model().nv());
    let bits = |rows: &[f32]| rows.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
    let states: HashSet<_> =
        q.chunks_exact(nq).zip(v.chunks_exact(nv)).map(|(q, v)| [bits(q), bits(v)]).collect();
    states.len() as u64
}

/// Control steps from the start state; the extremes of each chunk. Rows of world 0 go to `telemetry`.
fn chunks(
    driver: &mut Driver<'_>,
    job: &Job,
    steps: u64,
    telemetry: &mut Telemetry,
) -> Result<Vec<Chunk>, String> {
    if job.telemetry && steps > 0 {
        telemetry.values.extend(driver.first_row());
    }
    let drive = Drive::new(job);
    let mut found = Vec::new();
    let mut at = 0;
    while at < steps {
        let end = steps.min(at + u64::from(job.chunk_steps));
        let mut extremes = Extremes::new(job.worlds as usize);
        let (mut put_back, mut invalid) = (0, 0);
        let start = Instant::now();
        for step in at..end {
            if let Some(mask) = job.reset_at(step) {
                put_back += mask.iter().filter(|m| **m).count() as u64;
                driver.reset(&mask)?;
            }
            let actions = drive.actions(step, driver.control_dt() * step as f64, &driver.speeds());
            invalid += actions.iter().filter(|a| !a.iter().all(|x| x.is_finite())).count() as u64;
            driver.control_step(&actions, &mut extremes)?;
            if job.telemetry {
                telemetry.values.extend(driver.row());
            }
        }
        found.push(extremes.chunk(since(start), put_back, invalid, memory(), driver.dt(), job));
        at = end;
    }
    Ok(found)
}
