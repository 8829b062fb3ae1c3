//! `sim-pipe query`: SQL over everything ever run.

use crate::catalog_source::StoreSource;
use crate::error::{CliError, CliResult, exit};
use crate::global::Global;
use crate::project::nearest_store;
use crate::text;
use clap::{Args, ValueEnum};
use sim_catalog::{Catalog, CatalogError, Format, Rendered, TableShape};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// The statement; `from trials` is one. Without it, the tables are listed
    sql: Option<String>,
    /// How to print the result
    #[arg(short, long, value_enum, default_value_t = QueryFormat::Table)]
    format: QueryFormat,
    /// Where to write; needed for parquet
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Rows shown of a table; 0 for all
    #[arg(long, default_value_t = 40, value_name = "N")]
    rows: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum QueryFormat {
    /// A table for people
    Table,
    /// JSON
    Json,
    /// CSV
    Csv,
    /// A Parquet file
    Parquet,
    /// A Markdown table
    Markdown,
}

pub(crate) fn run(global: &Global, args: &QueryArgs) -> CliResult {
    let store = nearest_store(global)?;
    let source = StoreSource(&store);
    let catalog = if store.read_only() {
        Catalog::in_memory(&source)
    } else {
        Catalog::refresh(&store.cache_file("catalog.duckdb"), &source)
    }
    .map_err(error)?;
    for note in catalog.notes() {
        text::say(&format!("note: {note}"));
    }
    let format = match (args.format, &args.output) {
        (QueryFormat::Table, _) if global.json => Format::JsonLines,
        (QueryFormat::Table, _) => Format::Table(shape(args.rows)),
        (QueryFormat::Json, _) => Format::Json,
        (QueryFormat::Csv, _) => Format::Csv,
        (QueryFormat::Markdown, _) => Format::Markdown,
        (QueryFormat::Parquet, Some(path)) => Format::Parquet(path.clone()),
        (QueryFormat::Parquet, None) => {
            return Err(CliError::new(exit::USAGE, "Parquet is a binary format")
                .hint("name a file with --output FILE"));
        }
    };
    let sql = args.sql.as_deref().unwrap_or("from tables");
    let Rendered { text, rows } = catalog.query(sql, &format).map_err(error)?;
    match (&args.output, &format) {
        (Some(path), Format::Parquet(_)) => {
            text::say(&format!(
                "{} written to {}",
                text::count(rows as usize, "row"),
                path.display()
            ));
        }
        (Some(path), _) => fs_err::write(path, text)?,
        (None, _) => text::out_bytes(text.as_bytes()),
    }
    Ok(exit::OK)
}

fn shape(rows: usize) -> TableShape {
    TableShape { rows, width: crate::env::width() }
}

fn error(e: CatalogError) -> CliError {
    let code = match &e {
        CatalogError::Library { .. } => exit::MISSING,
        CatalogError::Sql(_) | CatalogError::NotARead { .. } => exit::USAGE,
        _ => exit::STORE,
    };
    CliError::new(code, e.to_string())
}
