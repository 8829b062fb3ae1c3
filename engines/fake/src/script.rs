//! What the fake is told to do.

use serde::{Deserialize, Serialize};
use sim_engine_protocol::{Job, Mode, Scene};
use std::path::Path;

/// Nothing the fake starts outlives this many seconds.
pub const LONGEST: u32 = 120;

/// `fake.json` in the job's folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// What to do.
    pub behaviour: Behaviour,
    /// For how long, s; at most [`LONGEST`].
    pub seconds: u32,
    /// How much: of log to write, of memory to take, MB.
    pub megabytes: u32,
    /// Where to connect to, `host:port`.
    pub address: String,
    /// Behaves with no more bodies than this in all worlds together.
    pub above: u64,
    /// Behaves in all modes but this one, where one is named.
    pub only: Option<Mode>,
}

impl Default for Script {
    fn default() -> Self {
        Script {
            behaviour: Behaviour::Succeed,
            seconds: 60,
            megabytes: 64,
            address: "192.0.2.1:80".into(),
            above: 0,
            only: None,
        }
    }
}

/// What the fake does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behaviour {
    /// Falls freely and says so.
    #[default]
    Succeed,
    /// The final-state digest is of something else.
    LieDigest,
    /// The last frame of a capture is not the final state; an honest run otherwise.
    LieCapture,
    /// A capture ends elsewhere than the timed run did; both are honest otherwise.
    Drift,
    /// Half the time per step that it measured.
    LieElapsed,
    /// A gate is `passed` against its own numbers.
    LieGate,
    /// Falls at twice the gravity; the gates find out.
    WrongPhysics,
    /// Says that the engine cannot do it.
    Unsupported,
    /// Says that it could not allocate.
    OutOfMemory,
    /// Panics inside a step.
    Panic,
    /// Does nothing for the given time.
    Hang,
    /// The same, deaf to TERM.
    IgnoreTerm,
    /// Succeeds, and leaves a child in a session of its own.
    LeaveChild,
    /// Floods standard output, then succeeds.
    Flood,
    /// A `result.json` with NaN in it.
    Nan,
    /// Half a `result.json`.
    Truncated,
    /// Succeeds, and writes files nobody asked for.
    Undeclared,
    /// Succeeds, and leaves links that lead out of the output folder.
    Links,
    /// Ends with 0 and no output.
    Silent,
    /// Ends with 3.
    ExitCode,
    /// A grandchild takes the memory and keeps it for the given time.
    GrandchildMemory,
    /// Tries the network; the setting `network` of the result says `reached` or `blocked`.
    Network,
    /// Ends by a segmentation fault.
    Crash,
    /// Cannot allocate, says so in its log alone, and aborts.
    AbortsForMemory,
    /// The profiler of its device sees events of the host only.
    ProfilesTheHost,
    /// The profiler loses a step.
    LosesAStep,
    /// The profiler's buffer is full.
    OverflowsQueries,
    /// Has a buffer of fixed size, which a calibration decides.
    Buffers,
    /// The same, and the last step asks for ten times as much.
    CrowdedAtTheEnd,
    /// The same, and one step in the middle of a capture asks for ten times as much.
    CrowdedBriefly,
    /// Half the device time that its samples have.
    LieDeviceTime,
}

impl Script {
    /// Whether it is about this job.
    fn concerns(&self, job_file: &Path) -> Result<bool, String> {
        if self.above == 0 && self.only.is_none() {
            return Ok(true);
        }
        let read =
            |path: &Path| std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
        let job: Job = serde_json::from_slice(&read(job_file)?).map_err(|e| e.to_string())?;
        let scene = read(&job_file.with_file_name(&job.scene))?;
        let scene: Scene = serde_json::from_slice(&scene).map_err(|e| e.to_string())?;
        let bodies = scene.dynamic_count() as u64 * u64::from(job.worlds);
        Ok(bodies > self.above && self.only.is_none_or(|mode| mode == job.mode))
    }

    /// The script beside a job, or good behaviour where there is none.
    pub fn beside(job: &Path) -> Result<Self, String> {
        let file = job.with_file_name("fake.json");
        let text = match std::fs::read(&file) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Script::default()),
            Err(e) => return Err(format!("{}: {e}", file.display())),
        };
        let mut script: Script =
            serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        script.seconds = script.seconds.clamp(1, LONGEST);
        script.megabytes = script.megabytes.min(16_384);
        if !script.concerns(job)? {
            script.behaviour = Behaviour::Succeed;
        }
        Ok(script)
    }
}
