//! What happens during a run, as data: the journal's lines and the lines of `--json`.

use crate::digest::Digest;
use crate::record::Status;
use serde::{Deserialize, Serialize};

/// Version of the event lines.
pub const EVENT_VERSION: u32 = 1;

/// One line: `{"v":1,"at_unix_ms":…,"run":"…","event":{"type":"action_finished",…}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// [`EVENT_VERSION`].
    pub v: u32,
    /// Milliseconds since 1970 UTC.
    pub at_unix_ms: u64,
    /// The run's id.
    pub run: String,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "type")]
pub enum Event {
    /// A run began.
    RunStarted {
        /// Pipeline name.
        pipeline: String,
        /// Pipeline file, relative to the project's root.
        file: String,
        /// Actions in the plan.
        actions: u64,
        /// Identity of the machine.
        machine: Digest,
        /// sim-pipe's version.
        tool_version: String,
    },
    /// The plan of a run that measures, as it was when the run began.
    RunPlanned {
        /// Blob of the plan: a [`crate::saved_plan::SavedPlan`] as JSON.
        plan: Digest,
        /// The run that this one goes on with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resumes: Option<String>,
    },
    /// A sandbox was prepared, for the first action that runs.
    SandboxStarted {
        /// The level in force.
        level: String,
    },
    /// The machine went down during an earlier run, so everything in the store was hashed again.
    StoreChecked {
        /// Trees that were hashed.
        trees: u64,
        /// Things that were damaged and set aside, to be made again.
        set_aside: u64,
    },
    /// A record was found and used.
    ActionReused {
        /// Label.
        label: String,
        /// Key.
        key: Digest,
        /// Its status.
        status: Status,
        /// The generation used.
        generation: u32,
    },
    /// Its turn came. A process is started, unless another sim-pipe runs the same key just now: then
    /// `action_held` follows, and `action_waited` when the other one's result is used.
    ActionStarted {
        /// Label.
        label: String,
        /// Key.
        key: Digest,
    },
    /// A process ended and its record is written.
    ActionFinished {
        /// Label.
        label: String,
        /// Key.
        key: Digest,
        /// Status.
        status: Status,
        /// Reason, for everything but `ok`.
        reason: String,
        /// Wall milliseconds.
        wall_ms: f64,
        /// Generation of the record.
        generation: u32,
        /// Warnings, such as a noisy observation.
        warnings: Vec<String>,
    },
    /// It cannot start yet, because of another process.
    ActionHeld {
        /// Label.
        label: String,
        /// Key.
        key: Digest,
        /// What it waits for, in words.
        by: String,
    },
    /// Another process ran this key meanwhile; its record is used.
    ActionWaited {
        /// Label.
        label: String,
        /// Key.
        key: Digest,
    },
    /// It did not run.
    ActionSkipped {
        /// Label.
        label: String,
        /// Label of what it needed and did not end well; what keeps it from having a key; or the same as
        /// `reason`.
        because: String,
        /// Why it was left out, though it could have run: a limit that a smaller one met, a known
        /// failure, a wish of the user. Empty for the others.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// The run ended.
    RunFinished {
        /// Actions that ran.
        ran: u64,
        /// Actions reused.
        reused: u64,
        /// Actions that did not end `ok`, reused ones included.
        failed: u64,
        /// Actions skipped.
        skipped: u64,
        /// Wall milliseconds.
        wall_ms: f64,
        /// Whether a signal ended it.
        interrupted: bool,
    },
}
