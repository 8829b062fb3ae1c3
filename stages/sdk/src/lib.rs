//! The running side of a stage kind.
//!
//! A stage runs in a child process whose working folder holds `request.json`, `in/` and an empty
//! `out/`. It writes its outputs, and last of all `status.json`. It knows no store, no key and no
//! clock but one it measures with.

use serde::de::DeserializeOwned;
use sim_model::request::{PROTOCOL, Request, RequestInput, StageStatus, StatusFile};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs one kind.
pub trait Stage: sim_model::kind::Kind {
    /// Does the work in `dir`. An error is a failure with that reason.
    fn run(&self, request: &Request, dir: &Path) -> Result<StatusFile, StageError>;
}

/// Why a stage failed. The text is the reason in the record, so it names the place and the value.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The request lacks something or has something of another type.
    #[error("argument {name}: {problem}")]
    Argument {
        /// Which.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// The request lacks an input.
    #[error("input {0} is missing")]
    Input(String),
    /// Anything else, as one line.
    #[error("{0}")]
    Failed(String),
}

/// Adds the path to an I/O error.
pub trait IoContext<T> {
    /// As [`StageError::Io`].
    fn at(self, path: impl AsRef<Path>) -> Result<T, StageError>;
}

impl<T> IoContext<T> for std::io::Result<T> {
    fn at(self, path: impl AsRef<Path>) -> Result<T, StageError> {
        self.map_err(|source| StageError::Io { path: path.as_ref().to_path_buf(), source })
    }
}

/// `ok`, without warnings.
pub fn ok() -> StatusFile {
    status(StageStatus::Ok, "")
}

/// A status with a reason.
pub fn status(status: StageStatus, reason: impl Into<String>) -> StatusFile {
    StatusFile { protocol: PROTOCOL, status, reason: reason.into(), warnings: Vec::new() }
}

/// Reads one argument of a request into a type.
pub fn arg<T: DeserializeOwned>(request: &Request, name: &str) -> Result<T, StageError> {
    let value = request.args.get(name).ok_or_else(|| StageError::Argument {
        name: name.to_owned(),
        problem: "is missing from the request".to_owned(),
    })?;
    serde_json::from_value(value.clone()).map_err(|e| StageError::Argument {
        name: name.to_owned(),
        problem: format!("{e} (it is {value})"),
    })
}

/// Like [`arg`], with `None` for an absent argument.
pub fn optional_arg<T: DeserializeOwned>(
    request: &Request,
    name: &str,
) -> Result<Option<T>, StageError> {
    if request.args.contains_key(name) { arg(request, name).map(Some) } else { Ok(None) }
}

/// The path of a single input, below `dir`.
pub fn input(request: &Request, dir: &Path, name: &str) -> Result<PathBuf, StageError> {
    match request.inputs.get(name) {
        Some(RequestInput::Tree { path }) => Ok(dir.join(path)),
        _ => Err(StageError::Input(name.to_owned())),
    }
}

/// The program of a built engine, as the `engine.json` in its folder names it.
pub fn engine_program(engine: &Path) -> Result<PathBuf, StageError> {
    let path = engine.join("engine.json");
    let text = fs::read_to_string(&path).at(&path)?;
    let json: serde_json::Value = serde_json::from_str(&text)
        .map_err(|e| StageError::Failed(format!("{}: {e}", path.display())))?;
    match json.get("bin").and_then(|b| b.as_str()) {
        Some(bin) if !bin.contains("..") && !bin.starts_with('/') => Ok(engine.join(bin)),
        _ => Err(StageError::Failed(format!("{} names no adapter", path.display()))),
    }
}

/// A command that starts the program of a built engine. Where the request has the inputs `environment`
/// and `kernels`, the program is told where they lie: what an adapter in Python runs in, and what was
/// compiled for it ahead.
pub fn engine_command(request: &Request, dir: &Path, engine: &Path) -> Result<Command, StageError> {
    let mut command = Command::new(engine_program(engine)?);
    for (name, variable) in
        [("environment", "SIM_ENGINE_ENVIRONMENT"), ("kernels", "SIM_ENGINE_CACHE")]
    {
        if request.inputs.contains_key(name) {
            let path = input(request, dir, name)?;
            command.env(variable, fs::canonicalize(&path).at(&path)?);
        }
    }
    Ok(command)
}

/// Reads the request in `dir`, runs `stage`, writes `status.json`. The returned status is what was
/// written.
pub fn serve(stage: &dyn Stage, dir: &Path) -> Result<StatusFile, StageError> {
    let path = dir.join("request.json");
    let text = fs::read_to_string(&path).at(&path)?;
    let request: Request = serde_json::from_str(&text)
        .map_err(|e| StageError::Failed(format!("{}: {e}", path.display())))?;
    if request.protocol != PROTOCOL {
        return Err(StageError::Failed(format!(
            "the request speaks protocol {}, this program {PROTOCOL}",
            request.protocol
        )));
    }
    let status = stage
        .run(&request, dir)
        .unwrap_or_else(|e| status(StageStatus::Failed, one_line(&e.to_string())));
    let path = dir.join("status.json");
    let text = serde_json::to_string(&status)
        .map_err(|e| StageError::Failed(format!("the status cannot be written as JSON: {e}")))?;
    fs::write(&path, text).at(&path)?;
    Ok(status)
}

/// A reason fits on one line; the rest is in the log.
pub fn one_line(text: &str) -> String {
    let mut line: String = text
        .split(['\n', '\r'])
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect::<Vec<_>>()
        .join("; ");
    if line.len() > 600 {
        let cut = (0..=600).rev().find(|i| line.is_char_boundary(*i)).unwrap_or(0);
        line.truncate(cut);
        line.push('…');
    }
    line
}

/// Keeps cargo from looking for a workspace above `top`: it would find the one of whatever project
/// the action's folder happens to lie in. `dirs` are the crates below `top`.
pub fn stop_workspace_search(top: &Path, dirs: &[String]) -> Result<(), StageError> {
    let list: Vec<String> = dirs.iter().map(|d| format!("{d:?}")).collect();
    let path = top.join("Cargo.toml");
    fs::write(&path, format!("[workspace]\nexclude = [{}]\n", list.join(", "))).at(&path)
}
