//! A DuckDB index over the store: an index, never the truth. Delete it and it is built again from
//! the records; a damaged, outdated or locked one is set aside and costs time, never data.
//!
//! The library `libduckdb` is opened when a catalog is, not when the program starts: linking it
//! would cost every process, stages included, about 9 ms. See [`duck`].

mod duck;
mod error;
mod index;
mod load;
mod query;
mod render;
mod schema;
mod source;

pub use error::{CatalogError, SqlError};
pub use query::{Format, Rendered, TableShape};
pub use schema::{Column, SCHEMA_VERSION, Table, reference, tables};
pub use source::{Source, SourceError, TreeFile};

use duck::{Connection, Database};
use std::path::Path;

/// An open catalog.
pub struct Catalog {
    connection: Connection,
    database: Database,
    notes: Vec<String>,
}

impl Catalog {
    /// Opens the index at `path`, bringing it up to date with `source` first. What is wrong with
    /// the file is repaired by building it anew; where it is locked or cannot be written, the index
    /// is built in memory. Either is said in [`Catalog::notes`].
    pub fn refresh(path: &Path, source: &dyn Source) -> Result<Self, CatalogError> {
        index::open(path, source)
    }

    /// Builds the index in memory.
    pub fn in_memory(source: &dyn Source) -> Result<Self, CatalogError> {
        index::in_memory(source, Vec::new())
    }

    /// What a user should know of how this catalog came about; mostly nothing.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Runs one statement that reads, and renders its result. Nothing that it says can write or
    /// read a file; only [`Format::Parquet`] writes, to the path it names.
    pub fn query(&self, sql: &str, format: &Format) -> Result<Rendered, CatalogError> {
        query::run(self, sql, format)
    }

    /// Version of the DuckDB library.
    pub fn library_version(&self) -> String {
        self.database.library_version()
    }
}
