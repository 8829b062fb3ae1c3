//! The record of an action: what ran, what came out, where and how.

use crate::action::{Class, Component};
use crate::digest::Digest;
use crate::machine::{Conditions, Machine};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the record format; a reader refuses a newer one.
pub const RECORD_VERSION: u32 = 1;

/// A tree in the store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeRef {
    /// Merkle digest of the tree.
    pub digest: Digest,
    /// Bytes in all its files.
    pub bytes: u64,
    /// Number of its files.
    pub files: u64,
}

/// How an action ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All went well.
    Ok,
    /// It ran, and a check on its result does not hold.
    GateFailed,
    /// The engine or tool cannot do this.
    Unsupported,
    /// The request is beyond a stated limit.
    Refused,
    /// The process failed: exit code, signal, bad outputs.
    Failed,
    /// It ran longer than its timeout.
    TimedOut,
    /// Its processes used more memory than their cap.
    OutOfMemory,
}

impl Status {
    /// Whether the result may be used again for the same key. A verdict about the result is a
    /// result; a crash, a timeout or a memory kill is tried again by the next run.
    pub fn reusable(self) -> bool {
        matches!(self, Self::Ok | Self::GateFailed | Self::Unsupported | Self::Refused)
    }

    /// The word used in files, tables and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::GateFailed => "gate_failed",
            Self::Unsupported => "unsupported",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::OutOfMemory => "out_of_memory",
        }
    }
}

/// What the operating system counted for the action's whole process tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Wall-clock milliseconds from start to the end of the last process.
    pub wall_ms: f64,
    /// CPU milliseconds, user and system.
    pub cpu_ms: f64,
    /// Largest sampled resident memory of the whole tree of processes, in bytes.
    pub peak_tree_bytes: u64,
}

/// An input as it was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordInput {
    /// Name of the input; fan-in members are `NAME[LABEL]`.
    pub name: String,
    /// The tree, where there was one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tree: Option<Digest>,
    /// Key of the action that made it; absent for source files.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<Digest>,
    /// Source path relative to the project's root; absent for actions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source: Option<String>,
}

/// One run of one action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// [`RECORD_VERSION`].
    pub version: u32,
    /// The action's key.
    pub key: Digest,
    /// 0 for the first observation of this key, then 1, 2 …
    pub generation: u32,
    /// Label of the action when it ran, such as `trial[mujoco]/box_pile/100x1/r0`.
    pub label: String,
    /// Stage kind.
    pub kind: String,
    /// Promise.
    pub class: Class,
    /// How it ended.
    pub status: Status,
    /// Why, for everything but `ok`.
    #[serde(default)]
    pub reason: String,
    /// Outputs; absent when the action gave none that could be kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub output: Option<TreeRef>,
    /// Inputs.
    pub inputs: Vec<RecordInput>,
    /// The key's components as text (from the same walk as the key).
    pub components: Vec<Component>,
    /// The command line that ran, with paths relative to the action's folder.
    pub argv: Vec<String>,
    /// Blob of the log (standard output and error together), where something was written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub log: Option<Digest>,
    /// Bytes of log that were dropped because of the cap on logs.
    #[serde(default)]
    pub log_dropped: u64,
    /// Sandbox level it ran under: `bubblewrap`, `namespaces`, `landlock` or `none`.
    pub sandbox: String,
    /// Start, milliseconds since 1970 UTC.
    pub started_unix_ms: u64,
    /// Resources used.
    pub usage: Usage,
    /// The machine.
    pub machine: Machine,
    /// The machine's state around a measured action; absent for other classes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conditions: Option<Conditions>,
    /// Limits in force: timeout in seconds, memory cap in bytes.
    pub limits: BTreeMap<String, f64>,
    /// Warnings from the stage and the executor.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// sim-pipe's version.
    pub tool_version: String,
}
