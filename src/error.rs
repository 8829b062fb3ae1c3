//! Every error to a message, hints and an exit code.

use sim_exec::ExecError;
use sim_store::StoreError;

/// Exit codes. They are an interface: documented in docs/cli.md, and a test compares the two.
pub(crate) mod exit {
    /// All went well.
    pub(crate) const OK: u8 = 0;
    /// The command line is wrong.
    pub(crate) const USAGE: u8 = 2;
    /// The pipeline, a suite or a pin is wrong.
    pub(crate) const PIPELINE: u8 = 3;
    /// An action failed, was skipped, or could not do what was asked.
    pub(crate) const ACTION: u8 = 4;
    /// Everything ran, and a gate does not hold.
    pub(crate) const GATE: u8 = 5;
    /// An audit or a verification found something that does not hold.
    pub(crate) const AUDIT: u8 = 6;
    /// Nothing matches what was asked for.
    pub(crate) const NOTHING: u8 = 7;
    /// The store is missing, damaged, locked, read-only or of a newer format.
    pub(crate) const STORE: u8 = 8;
    /// A tool, engine, library or sandbox is missing.
    pub(crate) const MISSING: u8 = 9;
    /// A fault of sim-pipe or of the system.
    pub(crate) const INTERNAL: u8 = 70;
    /// Interrupted (128 + SIGINT).
    pub(crate) const INTERRUPTED: u8 = 130;

    /// Code and meaning, for the documentation.
    pub(crate) const ALL: [(u8, &str); 11] = [
        (OK, "all went well"),
        (USAGE, "the command line is wrong"),
        (PIPELINE, "the pipeline, a suite or a pin is wrong"),
        (ACTION, "an action failed, was skipped, or could not do what was asked"),
        (GATE, "everything ran, and a gate does not hold"),
        (AUDIT, "an audit or a verification found something that does not hold"),
        (NOTHING, "nothing matches what was asked for"),
        (STORE, "the store is missing, damaged, locked, read-only or of a newer format"),
        (MISSING, "a tool, engine, library or sandbox is missing"),
        (INTERNAL, "a fault of sim-pipe or of the system"),
        (INTERRUPTED, "interrupted; what was done is kept"),
    ];
}

/// An error as shown.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) code: u8,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

impl CliError {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hints: Vec::new() }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

/// What a command gives: an exit code, or an error that carries one.
pub(crate) type CliResult = Result<u8, CliError>;

impl From<StoreError> for CliError {
    fn from(e: StoreError) -> Self {
        let full = e.is_disk_full();
        let error = Self::new(exit::STORE, e.to_string());
        match e {
            _ if full => error
                .hint("the disk is full: free some space and run again; what was done is kept")
                .hint("`sim-pipe store gc` removes what no run reaches"),
            StoreError::Missing { .. } => {
                error.hint("`sim-pipe run` makes one; --store or SIM_PIPE_STORE name another place")
            }
            StoreError::NotAStore { .. } => error.hint("choose an empty folder for --store"),
            StoreError::NewerFormat { .. } => {
                error.hint("use the sim-pipe that wrote it, or another store")
            }
            StoreError::BadFormatFile { .. } => error.hint(
                "where the store is known to be one of this program, write `sim-pipe store 1` into it",
            ),
            StoreError::TmpElsewhere { .. } => error.hint(
                "results are moved from there into the store: make it a folder of the store again",
            ),
            StoreError::InUse { .. } => error.hint("wait for the run to end, then try again"),
            StoreError::DamagedRecord { .. }
            | StoreError::Damaged { .. }
            | StoreError::MissingTree { .. }
            | StoreError::MissingBlob { .. } => error.hint(
                "`sim-pipe store verify --repair` sets it aside; the next run makes it again",
            ),
            StoreError::Io(_) => Self { code: exit::INTERNAL, ..error },
            _ => error,
        }
    }
}

impl From<ExecError> for CliError {
    fn from(e: ExecError) -> Self {
        match e {
            ExecError::Store(e) => e.into(),
            ExecError::Io(e) => e.into(),
            e @ ExecError::ToolMissing { .. } => Self::new(exit::MISSING, e.to_string())
                .hint("install it, or put its folder on PATH"),
            e @ ExecError::NoSandbox { .. } => Self::new(exit::MISSING, e.to_string())
                .hint("--sandbox=auto takes the strongest level there is and records it"),
            e @ (ExecError::Source { .. } | ExecError::Unsettled { .. }) => {
                Self::new(exit::PIPELINE, e.to_string())
            }
            e => Self::new(exit::INTERNAL, e.to_string()),
        }
    }
}

impl From<std::io::Error> for CliError {
    fn from(e: std::io::Error) -> Self {
        if e.kind() == std::io::ErrorKind::StorageFull {
            return StoreError::Io(e).into();
        }
        Self::new(exit::INTERNAL, e.to_string())
    }
}

impl From<serde_json::Error> for CliError {
    fn from(e: serde_json::Error) -> Self {
        Self::new(exit::INTERNAL, format!("JSON: {e}"))
    }
}
