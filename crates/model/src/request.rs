//! What an action's process reads and writes: `request.json` before it starts, `status.json` at the
//! end. The same for stages compiled in and for anyone's own program.
//!
//! ```text
//! request.json   what to do (this module)
//! in/NAME        inputs, read-only
//! out/           outputs; empty at the start
//! status.json    written last by a stage; optional for a `command`
//! ```

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of this contract.
pub const PROTOCOL: u32 = 1;

/// The request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// Stage kind.
    pub kind: String,
    /// Label of the action, for messages only.
    pub label: String,
    /// Arguments after defaults.
    pub args: BTreeMap<String, serde_json::Value>,
    /// Seed for everything random.
    pub seed: u64,
    /// Inputs by name.
    pub inputs: BTreeMap<String, RequestInput>,
    /// Outputs that must be in `out/` and nothing else; empty: whatever is written is the output.
    pub outputs: Vec<String>,
    /// Wall-clock limit of the whole action in seconds.
    pub timeout_s: f64,
}

/// One input of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "type")]
pub enum RequestInput {
    /// A file or folder.
    Tree {
        /// Path relative to the action's folder, such as `in/scene`.
        path: String,
    },
    /// A list, one entry an action, sorted by label.
    Many {
        /// The members.
        members: Vec<Member>,
    },
}

/// One member of a fan-in input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Label of the action that made it.
    pub label: String,
    /// Path relative to the action's folder; absent when the action gave no outputs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    /// `ok`, `gate_failed`, `unsupported`, `refused`, `failed`, `timed_out`, `out_of_memory`; `skipped`
    /// for what was left out though it could have run, `not_run` for what could not.
    pub outcome: String,
    /// Why, for everything but `ok`.
    #[serde(default)]
    pub reason: String,
    /// Kind, key and arguments of the member's action. Only given to an action that also has a
    /// `provenance` input, whose content is in its key; to any other they would be hidden inputs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub action: Option<MemberAction>,
}

/// The action behind a member, for reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberAction {
    /// Stage kind.
    pub kind: String,
    /// Key, absent when the action could not be keyed because something before it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<crate::digest::Digest>,
    /// Repeat index.
    pub repeat: u32,
    /// Arguments after defaults.
    pub args: BTreeMap<String, serde_json::Value>,
}

/// The index of a `provenance` input, `in/provenance/index.json`. Beside it lie
/// `records/KEY.json` (a [`crate::record::Record`]) and `logs/KEY.txt` (the end of the log, at most
/// 64 KiB) of every action that the reader depends on, directly or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvenanceIndex {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// Keys in plan order.
    pub keys: Vec<crate::digest::Digest>,
}

/// How a stage's process says it went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusFile {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The outcome.
    pub status: StageStatus,
    /// Why, for everything but `ok`; one line.
    #[serde(default)]
    pub reason: String,
    /// Warnings for the log and the record.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// The outcomes a stage can claim for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageStatus {
    /// Done.
    Ok,
    /// Done, and a check on the result does not hold: a result all the same.
    GateFailed,
    /// The engine or tool cannot do this.
    Unsupported,
    /// The request is beyond a stated limit.
    Refused,
    /// It went wrong.
    Failed,
    /// It could not have the memory that it asked for.
    OutOfMemory,
}
