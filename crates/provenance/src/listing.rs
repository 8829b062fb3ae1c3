//! Lists: what ran in a run with commands that repeat it, and what a store holds by kind.

use schemars::JsonSchema;
use serde::Serialize;

/// One action of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ran {
    /// Label in this run.
    pub label: String,
    /// Key.
    pub key: String,
    /// Observation of the key.
    pub generation: u32,
    /// `ran`, `reused`, `waited` (another sim-pipe ran it meanwhile), or `unknown`.
    pub how: String,
    /// How it ended.
    pub status: String,
    /// Wall-clock time of the action when it ran, in milliseconds.
    pub wall_ms: f64,
    /// The command line that ran, quoted for a shell, with paths relative to the action's folder.
    pub command: String,
    /// A shell command that runs the action again by hand.
    pub repeat: String,
}

/// What ran in a run: what `what-ran --format json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WhatRan {
    /// Version of this document, 1.
    pub v: u32,
    /// The run.
    pub run: String,
    /// Its pipeline.
    pub pipeline: String,
    /// The actions.
    pub actions: Vec<Ran>,
}

/// One run of a store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ListedRun {
    /// Id.
    pub run: String,
    /// Pipeline name.
    pub pipeline: String,
    /// Pipeline file, relative to the project's root.
    pub file: String,
    /// Start, RFC 3339, UTC.
    pub started: String,
    /// `done`, `interrupted`, or `unfinished` for one that was killed or still runs.
    pub ended: String,
    /// Actions that were asked for.
    pub actions: u64,
    /// Actions that ran.
    pub ran: u64,
    /// Actions whose record was used.
    pub reused: u64,
    /// Actions that did not end `ok`.
    pub failed: u64,
    /// Actions that did not run.
    pub skipped: u64,
    /// The runs that it goes on with, newest first; empty for one that resumed none.
    pub history: Vec<String>,
    /// Identity of the machine.
    pub machine: String,
    /// sim-pipe's version.
    pub tool_version: String,
    /// Blob of the plan that was kept with it; absent where nothing that measures ran.
    pub plan: Option<String>,
}

/// The runs of a store: what `runs --format json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Runs {
    /// Version of this document, 1.
    pub v: u32,
    /// Runs, oldest first.
    pub runs: Vec<ListedRun>,
}

/// How much of one sort a store holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Share {
    /// Name of the sort.
    pub name: String,
    /// Records.
    pub records: u64,
    /// Outputs; one that several records name counts where it was named first.
    pub outputs: u64,
    /// Bytes of those outputs on disk.
    pub output_bytes: u64,
    /// Logs; one that several records name counts where it was named first.
    pub logs: u64,
    /// Bytes of those logs on disk.
    pub log_bytes: u64,
}

/// A folder of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Folder {
    /// Name.
    pub name: String,
    /// Files, records or trees in it.
    pub count: u64,
    /// Bytes on disk.
    pub bytes: u64,
}

/// What a store holds: what `store du --format json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoreSize {
    /// Version of this document, 1.
    pub v: u32,
    /// The store's folder.
    pub store: String,
    /// Bytes in all.
    pub bytes: u64,
    /// By folder.
    pub folders: Vec<Folder>,
    /// By stage kind, largest first.
    pub kinds: Vec<Share>,
    /// By class, largest first.
    pub classes: Vec<Share>,
    /// Trees that are snapshots of sources and no output of any record.
    pub sources: Folder,
    /// Trees that no record names: `store gc` removes them.
    pub unreached: Folder,
}
