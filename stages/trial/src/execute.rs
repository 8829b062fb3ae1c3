//! One trial: writes the job, runs the adapter in its own process, checks the result it wrote.

use fs_err as fs;
use sim_engine_protocol::{
    CAPACITY_SAMPLES_FILE, DEVICE_SAMPLES_FILE, DeviceSamples, Gates, Job, JobResult, Mode,
    PROTOCOL, ProfileReport, Status,
};
use sim_model::request::{Request, StageStatus, StatusFile};
use sim_stage_sdk::{
    IoContext, StageError, arg, engine_command, input, ok, one_line, optional_arg, status,
};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Files that an adapter may leave beside its result.
const EXTRAS: [&str; 4] = ["final.json", "capture.bin", DEVICE_SAMPLES_FILE, CAPACITY_SAMPLES_FILE];

/// File of an adapter's result.
const RESULT: &str = "result.json";
/// What a timed trial leaves beside its result for its capture: the digest of world 0's final state.
pub(crate) const STATE: &str = "state.txt";
/// What stands there where the adapter told none.
const NO_STATE: &str = "none";

/// What an adapter wrote, and where.
pub struct Ran {
    /// Its result, which agrees with the job and with the clock outside.
    pub result: JobResult,
    /// Folder that it wrote to.
    pub results: PathBuf,
    /// The scene that it ran.
    pub scene: PathBuf,
    /// The job's file.
    pub job: PathBuf,
}

/// Runs the adapter of input `engine` once on the scene of input `scene`, in a process of its own. It sees a
/// folder with the job and the scene, and an empty one for its results.
///
/// # Errors
/// It cannot be started, ends without success or without a result, or the result contradicts itself or the job.
pub fn adapter(request: &Request, dir: &Path, job: &Job) -> Result<Ran, StageError> {
    let engine = input(request, dir, "engine")?;
    let (work, results) = (dir.join("tmp/job"), dir.join("tmp/results"));
    for folder in [&work, &results] {
        fs::create_dir_all(folder).at(folder)?;
    }
    let scene = input(request, dir, "scene")?;
    fs::copy(&scene, work.join("scene.json")).at(&scene)?;
    let text = serde_json::to_string_pretty(job)
        .map_err(|e| StageError::Failed(format!("the job cannot be written as JSON: {e}")))?;
    let path = work.join("job.json");
    fs::write(&path, text + "\n").at(&path)?;

    let mut adapter = engine_command(request, dir, &engine)?;
    let start = Instant::now();
    let exit = adapter
        .arg("run")
        .arg(&path)
        .arg(&results)
        .current_dir(&work)
        .status()
        .map_err(|e| StageError::Failed(format!("the adapter could not be started: {e}")))?;
    let wall_ns = start.elapsed().as_nanos();

    let Ok(text) = fs::read_to_string(results.join(RESULT)) else {
        return Err(StageError::Failed(format!(
            "the adapter ended with {exit} and left no result"
        )));
    };
    let result: JobResult = serde_json::from_str(&text)
        .map_err(|e| StageError::Failed(format!("the adapter's result is not valid: {e}")))?;
    if !exit.success() {
        return Err(StageError::Failed(format!(
            "the adapter wrote a result and ended with {exit}"
        )));
    }
    agrees(job, &result, wall_ns).map_err(contradicts)?;
    Ok(Ran { result, results, scene, job: path })
}

fn contradicts(problem: String) -> StageError {
    StageError::Failed(format!("the adapter's result contradicts itself: {problem}"))
}

pub(crate) fn run(request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
    let job = job(request, dir)?;
    job.validate().map_err(|problems| {
        let list: Vec<String> = problems.iter().map(ToString::to_string).collect();
        StageError::Failed(format!("the job is wrong: {}", list.join("; ")))
    })?;

    let Ran { result, results, scene, job: path } = adapter(request, dir, &job)?;
    if job.mode == Mode::Capture
        && let Err(problem) = crate::capture::agrees(&result, &results)
    {
        return Err(StageError::Failed(format!("the adapter's capture is wrong: {problem}")));
    }
    crate::calibration::same_peaks(&result, &results).map_err(contradicts)?;
    same_time(&result, &results.join(DEVICE_SAMPLES_FILE)).map_err(contradicts)?;
    same_state(&result, &results.join("final.json")).map_err(contradicts)?;
    let out = dir.join("out");
    fs::copy(&path, out.join("job.json")).at(&path)?;
    let from = results.join(RESULT);
    fs::copy(&from, out.join(RESULT)).at(&from)?;
    for name in EXTRAS {
        let from = results.join(name);
        if from.symlink_metadata().is_ok_and(|m| m.is_file()) {
            fs::copy(&from, out.join(name)).at(&from)?;
        }
    }
    match job.mode {
        // What a capture must end in. Apart from the result, whose times never repeat, so that a
        // trial that is timed again to the same end leaves its capture alone.
        Mode::Timed => {
            let path = out.join(STATE);
            let digest = result.world0_state_digest.as_deref().unwrap_or(NO_STATE);
            fs::write(&path, format!("{digest}\n")).at(&path)?;
        }
        // What is rendered needs nothing but the capture's own folder.
        Mode::Capture => {
            let path = out.join("scene.json");
            fs::copy(&scene, &path).at(&path)?;
        }
        _ => {}
    }
    let reason = one_line(result.outcome.reason.as_deref().unwrap_or_default());
    Ok(match result.outcome.status {
        Status::Ok => ok(),
        Status::GateFailed => status(StageStatus::GateFailed, reason),
        Status::Unsupported => status(StageStatus::Unsupported, reason),
        Status::Refused => status(StageStatus::Refused, reason),
        Status::OutOfMemory => status(StageStatus::OutOfMemory, reason),
        Status::Error => status(StageStatus::Failed, reason),
    })
}

/// Whether a device time is that of the samples beside it.
fn same_time(result: &JobResult, path: &Path) -> Result<(), String> {
    let Some(ProfileReport::Timestamps(said)) = &result.profile else { return Ok(()) };
    let name = DEVICE_SAMPLES_FILE;
    let text = fs::read_to_string(path).map_err(|_| format!("there is no {name}"))?;
    let samples: DeviceSamples =
        serde_json::from_str(&text).map_err(|e| format!("{name} is not valid: {e}"))?;
    let found = samples.time(result.steps).map_err(|problems| {
        let list: Vec<String> = problems.iter().map(ToString::to_string).collect();
        format!("{name}: {}", list.join("; "))
    })?;
    if found == *said { Ok(()) } else { Err(format!("its device time is not that of {name}")) }
}

/// Whether the final-state digest of a single world is that of the poses beside it, where the adapter
/// wrote them.
fn same_state(result: &JobResult, path: &Path) -> Result<(), String> {
    let (1, Some(said)) = (result.worlds, &result.final_state_digest) else { return Ok(()) };
    if !path.is_file() {
        return Ok(());
    }
    let last = crate::capture::poses(path)?;
    let mut hasher = blake3::Hasher::new();
    for x in last.iter().flat_map(|p| p.position.iter().chain(&p.orientation)) {
        hasher.update(&x.to_le_bytes());
    }
    let found = hasher.finalize().to_hex();
    if found.as_str() == said {
        return Ok(());
    }
    Err("final_state_digest is not the digest of the poses in final.json".to_owned())
}

/// The state that a capture must end in, from the timed trial that it replays.
fn timed_state(request: &Request, dir: &Path) -> Result<Option<String>, StageError> {
    if !request.inputs.contains_key("timed_state") {
        return Ok(None);
    }
    let path = input(request, dir, "timed_state")?;
    let text = fs::read_to_string(&path).at(&path)?;
    Ok(Some(text.trim().to_owned()).filter(|digest| digest != NO_STATE))
}

fn job(request: &Request, dir: &Path) -> Result<Job, StageError> {
    let mode: Mode = arg(request, "mode")?;
    let gates: Gates = arg(request, "gates")?;
    let settings = optional_arg(request, "settings")?.unwrap_or_default();
    let worlds = arg(request, "worlds")?;
    Ok(Job {
        protocol: PROTOCOL,
        mode,
        scene: "scene.json".to_owned(),
        // P171: world 0 only.
        worlds: if mode == Mode::Capture { 1 } else { worlds },
        steps: arg(request, "steps")?,
        warmup: arg(request, "warmup")?,
        threads: arg(request, "threads")?,
        seed: request.seed,
        backend: arg(request, "backend")?,
        gates,
        sample_interval_ms: 10,
        capture_interval_s: 1.0 / 60.0,
        timed_state: timed_state(request, dir)?,
        calibrated: crate::calibration::of_request(request, dir)?,
        settings,
    })
}

/// Whether a result answers this job and its own numbers fit together. `wall_ns` is how long the
/// adapter's process ran, by our clock.
fn agrees(job: &Job, result: &JobResult, wall_ns: u128) -> Result<(), String> {
    result.contradictions().map_err(|problems| {
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    })?;
    if result.mode != job.mode {
        return Err(format!(
            "mode {} for a job of mode {}",
            result.mode.as_str(),
            job.mode.as_str()
        ));
    }
    if result.worlds != job.worlds {
        return Err(format!("{} worlds for a job of {}", result.worlds, job.worlds));
    }
    let whole = matches!(result.outcome.status, Status::Ok | Status::GateFailed);
    let rolled_out = matches!(job.mode, Mode::Timed | Mode::Memory)
        || matches!(result.profile, Some(ProfileReport::Timestamps(_)));
    if whole && rolled_out && result.steps != job.steps {
        return Err(format!("{} steps for a job of {}", result.steps, job.steps));
    }
    if let Some(measured) = result.phases.measured_ns
        && u128::from(measured) > wall_ns
    {
        return Err(format!(
            "a measured interval of {measured} ns in a process that ran {wall_ns} ns"
        ));
    }
    Ok(())
}
