//! What can go wrong with the catalog, in words for people.

use crate::source::SourceError;
use std::fmt;
use std::path::PathBuf;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The DuckDB library could not be opened.
    #[error("libduckdb cannot be opened; looked at:\n{tried}")]
    Library {
        /// Each place and what was wrong there, one a line.
        tried: String,
    },
    /// The user's statement is wrong.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// The user's statement does something else than reading.
    #[error("a query reads; {what}")]
    NotARead {
        /// What it is instead.
        what: String,
    },
    /// DuckDB refused something that this crate asked of it.
    #[error("DuckDB: {message}")]
    Duck {
        /// Its message.
        message: String,
    },
    /// The store could not be read.
    #[error("the store cannot be read: {0}")]
    Source(SourceError),
    /// A file could not be written.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl CatalogError {
    /// What to do about it, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Library { .. } => Some(
                "set DUCKDB_LIB_DIR to the folder that holds libduckdb; everything but `query` \
                 works without it"
                    .to_owned(),
            ),
            Self::Sql(e) => e.hint.clone(),
            Self::NotARead { .. } => {
                Some("start it with SELECT, FROM, WITH, DESCRIBE, SHOW or SUMMARIZE".to_owned())
            }
            _ => None,
        }
    }
}

/// A mistake in a user's statement, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// What is wrong.
    pub message: String,
    /// 1-based line and column (in characters), and the line's text.
    pub place: Option<(usize, usize, String)>,
    /// What may have been meant.
    pub hint: Option<String>,
}

impl std::error::Error for SqlError {}

impl fmt::Display for SqlError {
    /// The message, then the line with a caret below the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some((line, column, text)) = &self.place {
            let margin = " ".repeat(line.to_string().len());
            let indent: String = text
                .chars()
                .take(column.saturating_sub(1))
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            write!(f, "\n{margin} |\n{line} | {text}\n{margin} | {indent}^")?;
        }
        Ok(())
    }
}
