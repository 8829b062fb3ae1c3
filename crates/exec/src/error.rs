//! What stops a run as a whole. A failing action does not: it is a record.

use std::path::PathBuf;

/// Result of the executor.
pub type Result<T> = std::result::Result<T, ExecError>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// The store.
    #[error(transparent)]
    Store(#[from] sim_store::StoreError),
    /// The file system; the message names the path.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A source that the plan named is gone or cannot be read.
    #[error("source {path} of action {label}: {problem}")]
    Source {
        /// The action.
        label: String,
        /// Path relative to the project's root.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// A program that an action needs is not installed.
    #[error("action {label} needs `{tool}`, which is not on PATH")]
    ToolMissing {
        /// The action.
        label: String,
        /// The program.
        tool: String,
    },
    /// A sandbox was required and the system cannot give it.
    #[error("a sandbox is required, and this system gives none: {problem}")]
    NoSandbox {
        /// What was tried.
        problem: String,
    },
    /// A process could not be started.
    #[error("{} could not be started: {source}", program.display())]
    Spawn {
        /// Which.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A source changed every time it was read.
    #[error("source {path} of action {label} keeps changing while it is read")]
    Unsettled {
        /// The action.
        label: String,
        /// Path relative to the project's root.
        path: String,
    },
}
