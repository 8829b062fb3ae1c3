//! One job from start to end: load, set-up, warm-up, reset, measured interval, read-back, gates.

use crate::accuracy::{Motion, accuracy, needs_velocities};
use crate::capture::{capture, compare};
use crate::engine::{Engine, EngineError, Simulation};
use crate::files::write_atomically;
use crate::gates::{FinalState, digest, judge};
use crate::gpu_memory;
use crate::memory::{self, Reader, Sampler};
use crate::profile::{no_device, profile};
use crate::robot::check_start;
use sim_engine_protocol::{
    Accuracy, CalibrationReport, Counters, Description, EngineId, FieldError, Job, JobResult, Mode,
    Outcome, PROTOCOL, Phases, Pose, ProfileReport, Scene, SceneFacts, Shape, SnapshotPhase,
    Status, Translation,
};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

/// Largest scene whose final poses are written to `final.json`, dynamic bodies.
const FINAL_POSES: usize = 5000;
/// Steps of a probe.
const PROBE_STEPS: u64 = 2;

/// Runs a job whose scene lies in `folder` and writes everything but `result.json` to `out`.
/// Whatever happens inside, a panic included, becomes an outcome.
pub fn run_job(engine: &dyn Engine, job: &Job, folder: &Path, out: &Path) -> JobResult {
    run_with(engine, job, folder, out, memory::read)
}

/// [`run_job`] with what reads the memory counters.
pub(crate) fn run_with(
    engine: &dyn Engine,
    job: &Job,
    folder: &Path,
    out: &Path,
    counters: Reader,
) -> JobResult {
    let description = engine.describe();
    let mut result = blank(&description, job);
    let work = || execute(engine, &description, job, folder, out, counters, &mut result);
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(EngineError::failed(format!("panic in the adapter: {text}")))
    });
    if let Err(EngineError { status, reason }) = done {
        result.outcome = Outcome { status, reason: Some(reason) };
    }
    result
}

fn blank(description: &Description, job: &Job) -> JobResult {
    JobResult {
        protocol: PROTOCOL,
        engine: EngineId { name: description.engine.clone(), version: description.version.clone() },
        backend: job.backend.clone(),
        precision: description.precision,
        mode: job.mode,
        outcome: Outcome { status: Status::Ok, reason: None },
        scene: None,
        worlds: job.worlds,
        steps: 0,
        warmup_steps: 0,
        threads: job.threads,
        seed: job.seed,
        phases: Phases::default(),
        ms_per_step: None,
        world_steps_per_second: None,
        settings: BTreeMap::new(),
        translation: Translation::default(),
        counters: Counters::default(),
        gates: Vec::new(),
        accuracy: Vec::new(),
        final_state_digest: None,
        world0_state_digest: None,
        memory: None,
        gpu_memory: None,
        capture: None,
        profile: None,
        calibration: None,
    }
}

fn execute(
    engine: &dyn Engine,
    description: &Description,
    job: &Job,
    folder: &Path,
    out: &Path,
    counters: Reader,
    result: &mut JobResult,
) -> Result<(), EngineError> {
    job.validate().map_err(|list| problems("job", &list))?;
    check_job(description, job)?;
    if job.mode == Mode::Profile
        && let Some(reason) = no_device(description, job)
    {
        result.profile = Some(ProfileReport::None { reason });
        return Ok(());
    }
    let clock = Instant::now();
    let scene = load(job, folder, result)?;
    check_scene(description, &scene)?;
    job.suits(&scene).map_err(|list| problems("job", &list))?;
    result.phases.load_ns = Some(nanoseconds(clock));

    let worlds = if matches!(job.mode, Mode::Capture | Mode::Probe) { 1 } else { job.worlds };
    let steps = if job.mode == Mode::Probe { PROBE_STEPS } else { job.steps };
    let job = &Job { worlds, steps, ..job.clone() };
    result.worlds = worlds;

    let mut sampler = match job.mode {
        Mode::Memory => {
            let gpu = gpu_memory::counter(&job.backend);
            let started = Sampler::start(job.sample_interval_ms, counters, gpu);
            Some(started.map_err(EngineError::failed)?)
        }
        _ => None,
    };
    let mut snapshot = |phase| sampler.iter_mut().for_each(|s| s.snapshot(phase));
    snapshot(SnapshotPhase::BeforeSetup);
    let clock = Instant::now();
    let mut simulation = engine.build(&scene, job)?;
    simulation.sync()?;
    result.phases.setup_ns = Some(nanoseconds(clock));
    result.settings = simulation.settings();
    result.translation = simulation.translation();
    snapshot(SnapshotPhase::AfterSetup);

    let clock = Instant::now();
    if matches!(job.mode, Mode::Timed | Mode::Memory | Mode::Profile) {
        simulation.reset()?;
        simulation.step(job.warmup_steps())?;
        simulation.sync()?;
        result.phases.warmup_ns = Some(nanoseconds(clock));
        result.warmup_steps = job.warmup_steps();
        snapshot(SnapshotPhase::AfterWarmup);
    }
    let clock = Instant::now();
    simulation.reset()?;
    simulation.sync()?;
    result.phases.reset_ns = Some(nanoseconds(clock));
    snapshot(SnapshotPhase::AfterReset);
    if let Some(robot) = &scene.robot {
        check_start(simulation.as_mut(), robot, job, description.precision)?;
    }

    if job.mode == Mode::Capture {
        result.capture = Some(capture(simulation.as_mut(), &scene, job, out)?);
    } else if job.mode == Mode::Calibrate {
        let peaks = simulation.calibrate(job.steps)?;
        simulation.sync()?;
        result.counters = simulation.counters();
        result.calibration = Some(CalibrationReport { peaks, steps: job.steps });
        result.steps = job.steps;
        // Whether the state is sound is for trials to say: a calibration asks how much room one takes.
        return Ok(());
    } else if job.mode == Mode::Profile {
        result.profile = Some(profile(simulation.as_mut(), job, out)?);
    } else {
        let measured = rollout(simulation.as_mut(), job.steps)?;
        if job.mode == Mode::Timed {
            let seconds = measured as f64 * 1.0e-9;
            result.phases.measured_ns = Some(measured);
            result.ms_per_step = Some(seconds * 1000.0 / job.steps as f64);
            result.world_steps_per_second =
                Some(job.steps as f64 * f64::from(job.worlds) / seconds);
        }
    }
    result.steps = job.steps;
    snapshot(SnapshotPhase::AfterRollout);
    if let Some(sampler) = sampler {
        let (memory, gpu) = sampler.finish(job.steps);
        (result.memory, result.gpu_memory) = (Some(memory), Some(gpu));
    }
    read_back(simulation.as_mut(), &scene, job, out, result)?;
    if let (Some(capture), Some(ended)) = (&mut result.capture, &result.world0_state_digest) {
        let promise = &description.capabilities.repeatability;
        capture.final_state = compare(job.timed_state.as_deref(), ended, promise)?;
    }
    Ok(())
}

/// The measured interval, ns: two clock readings around the engine's stepping loop and the wait
/// for its end. At least 1, so that no rate is infinite.
fn rollout(simulation: &mut dyn Simulation, steps: u64) -> Result<u64, EngineError> {
    let clock = Instant::now();
    let stepped = simulation.step(steps);
    let synchronized = simulation.sync();
    let elapsed = nanoseconds(clock);
    stepped?;
    synchronized?;
    Ok(elapsed.max(1))
}

fn read_back(
    simulation: &mut dyn Simulation,
    scene: &Scene,
    job: &Job,
    out: &Path,
    result: &mut JobResult,
) -> Result<(), EngineError> {
    let clock = Instant::now();
    let mut worlds = Vec::with_capacity(job.worlds as usize);
    for world in 0..job.worlds {
        let mut poses = Vec::new();
        simulation.poses(world, &mut poses)?;
        worlds.push(poses);
    }
    result.counters = simulation.counters();
    result.phases.readback_ns = Some(nanoseconds(clock));
    let precision = result.precision;
    let state =
        FinalState { worlds: &worlds, steps: job.steps, precision, counters: &result.counters };
    result.gates = judge(scene, &job.gates, &state);
    result.final_state_digest = Some(digest(&worlds));
    result.world0_state_digest = Some(digest(&worlds[..1]));
    result.accuracy = errors(simulation, scene, &worlds, job.steps)?;
    let failed: Vec<String> = result
        .gates
        .iter()
        .filter(|g| !g.passed)
        .map(|g| format!("{} is {} {} (limit {})", g.id, g.value, g.unit, g.limit))
        .collect();
    if !failed.is_empty() {
        result.outcome = Outcome { status: Status::GateFailed, reason: Some(failed.join("; ")) };
    }
    let full = result.capture.as_ref().and_then(|c| c.capacities.as_ref()?.overflow());
    if let (Some(full), Status::Ok) = (full, result.outcome.status) {
        return Err(EngineError::failed(format!("{full}: what found no room was dropped")));
    }
    let overflow = result.counters.overflow.filter(|n| *n > 0);
    if let (Some(n), Status::Ok) = (overflow, result.outcome.status) {
        let reason = format!("{n} contacts or constraints were dropped for want of room");
        return Err(EngineError::failed(reason));
    }
    let finite =
        worlds[0].iter().all(|p| p.position.iter().chain(&p.orientation).all(|x| x.is_finite()));
    if finite && worlds[0].len() <= FINAL_POSES && job.mode != Mode::Probe {
        // The final poses of world 0's dynamic bodies, in scene order.
        let text = serde_json::json!({ "format": 1, "poses": worlds[0] }).to_string();
        write_atomically(&out.join("final.json"), text.as_bytes()).map_err(EngineError::failed)?;
    }
    Ok(())
}

/// The errors of the scene's reference, where it names one.
fn errors(
    simulation: &mut dyn Simulation,
    scene: &Scene,
    worlds: &[Vec<Pose>],
    steps: u64,
) -> Result<Vec<Accuracy>, EngineError> {
    let Some(reference) = scene.reference else { return Ok(Vec::new()) };
    let mut motions = Vec::with_capacity(worlds.len());
    for (world, poses) in (0..).zip(worlds) {
        let mut velocities = Vec::new();
        if needs_velocities(reference) {
            simulation.velocities(world, &mut velocities)?;
        }
        motions.push(Motion { poses: poses.clone(), velocities });
    }
    Ok(accuracy(scene, &motions, steps))
}

fn nanoseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn problems(what: &str, list: &[FieldError]) -> EngineError {
    let text: Vec<_> = list.iter().map(ToString::to_string).collect();
    EngineError::failed(format!("{what}: {}", text.join("; ")))
}

fn load(job: &Job, folder: &Path, result: &mut JobResult) -> Result<Scene, EngineError> {
    let bytes = std::fs::read(folder.join(&job.scene))
        .map_err(|e| EngineError::failed(format!("scene {}: {e}", job.scene)))?;
    let scene: Scene = serde_json::from_slice(&bytes)
        .map_err(|e| EngineError::failed(format!("scene {}: {e}", job.scene)))?;
    scene.validate().map_err(|list| problems("scene", &list))?;
    let dynamic = scene.dynamic_count() as u64;
    result.scene = Some(SceneFacts {
        name: scene.name.clone(),
        digest: blake3::hash(&bytes).to_hex().to_string(),
        dynamic_bodies: dynamic,
        static_bodies: scene.bodies.iter().filter(|b| !b.is_dynamic()).count() as u64,
        hinges: scene.hinges.len() as u64,
        timestep: scene.timestep,
    });
    Ok(scene)
}

/// Refuses what the adapter does not claim to do. There is no fallback.
fn check_job(description: &Description, job: &Job) -> Result<(), EngineError> {
    let can = &description.capabilities;
    if !description.backends.contains(&job.backend) {
        let known = description.backends.join(", ");
        let why = description.limits.absent_backends.get(&job.backend);
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let reason = format!("backend {}{why}; this build has {known}", job.backend);
        return Err(EngineError::unsupported(reason));
    }
    if !can.modes.contains(&job.mode) {
        return Err(EngineError::unsupported(format!("mode {}", job.mode.as_str())));
    }
    if let Some(name) = job.settings.keys().find(|name| !can.settings.contains(name)) {
        let known = can.settings.join(", ");
        return Err(EngineError::unsupported(format!("setting {name}: it takes {known}")));
    }
    check_calibration(description, job)?;
    match description.limits.worlds {
        Some(most) if u64::from(job.worlds) > most => {
            Err(EngineError::refused(format!("{} worlds: at most {most}", job.worlds)))
        }
        _ => Ok(()),
    }
}

/// An engine whose buffers have fixed sizes runs no trial without the peaks that they follow from (P041).
fn check_calibration(description: &Description, job: &Job) -> Result<(), EngineError> {
    let needed = &description.limits.calibrated;
    if needed.is_empty() || matches!(job.mode, Mode::Probe | Mode::Calibrate) {
        return Ok(());
    }
    let Some(calibrated) = &job.calibrated else {
        let reason = "no calibration of this scene: give the trials the input `calibration`, from a \
                      `calibrate` stage";
        return Err(EngineError::refused(reason));
    };
    let chosen = calibrated.choose().map_err(EngineError::refused)?;
    match needed.iter().find(|name| !chosen.peaks.contains_key(*name)) {
        Some(name) => {
            let size = chosen.size;
            Err(EngineError::refused(format!("the calibration of size {size} has no {name}")))
        }
        None => Ok(()),
    }
}

fn check_scene(description: &Description, scene: &Scene) -> Result<(), EngineError> {
    let can = &description.capabilities;
    let name = |shape: &Shape| match shape {
        Shape::Box { .. } => "box",
        Shape::Sphere { .. } => "sphere",
        Shape::Capsule { .. } => "capsule",
        Shape::Cylinder { .. } => "cylinder",
    };
    let links = scene.robot.iter().flat_map(|r| &r.links).flat_map(|l| &l.shapes);
    // Points of a material are no shapes.
    let solid = scene.bodies.iter().filter(|b| scene.mpm.is_none() || !b.is_dynamic());
    let mut shapes = solid.map(|b| &b.shape).chain(links.map(|s| &s.shape));
    if !can.mpm && scene.mpm.is_some() {
        return Err(EngineError::unsupported("material points (MPM)"));
    }
    if !can.robots && scene.robot.is_some() {
        return Err(EngineError::unsupported("robots"));
    }
    if let Some(shape) = shapes.find(|shape| !can.shapes.iter().any(|s| s == name(shape))) {
        return Err(EngineError::unsupported(format!("shape {}", name(shape))));
    }
    if !can.hinges && !scene.hinges.is_empty() {
        return Err(EngineError::unsupported("hinges"));
    }
    match description.limits.bodies {
        Some(most) if scene.bodies.len() as u64 > most => {
            Err(EngineError::refused(format!("{} bodies: at most {most}", scene.bodies.len())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
