//! What can stop a report from being written.

use std::path::{Path, PathBuf};

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A template does not render.
    #[error("template {name}: {problem}")]
    Template {
        /// Which.
        name: String,
        /// What the template engine said, with the line.
        problem: String,
    },
    /// An input is not what its contract says.
    #[error("{what}: {problem}")]
    Input {
        /// Which file or argument.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// Adds the path to an I/O error.
pub(crate) trait At<T> {
    /// As [`ReportError::Io`].
    fn at(self, path: &Path) -> Result<T, ReportError>;
}

impl<T> At<T> for std::io::Result<T> {
    fn at(self, path: &Path) -> Result<T, ReportError> {
        self.map_err(|source| ReportError::Io { path: path.to_path_buf(), source })
    }
}
