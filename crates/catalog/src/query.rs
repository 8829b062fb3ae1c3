//! Runs a user's statement without letting it touch anything, and renders the rows.

use crate::Catalog;
use crate::duck::{Connection, Rows, StatementError, StatementKind};
use crate::error::{CatalogError, SqlError};
use crate::render;
use crate::schema::literal;
use std::path::{Path, PathBuf};

/// How a result is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// A box for people.
    Table(TableShape),
    /// A JSON array of objects, one a line.
    Json,
    /// JSON objects, one a line.
    JsonLines,
    /// RFC 4180 with a header; NULL is an empty field.
    Csv,
    /// A Parquet file at this path.
    Parquet(PathBuf),
    /// A Markdown table.
    Markdown,
}

/// How much of a result a table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableShape {
    /// Most rows; beyond that the middle is left out. 0 means all.
    pub rows: usize,
    /// Most columns of text across; beyond that, middle columns are left out. 0 means all.
    pub width: usize,
}

impl Default for TableShape {
    fn default() -> Self {
        Self { rows: 40, width: 120 }
    }
}

/// A rendered result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// For standard output; empty where a file was written.
    pub text: String,
    /// Number of rows of the result.
    pub rows: u64,
}

/// Rows of a result with the types of its columns.
pub(crate) struct Selected {
    pub(crate) rows: Rows,
    pub(crate) types: Vec<String>,
    /// Number of rows of the whole result.
    pub(crate) total: u64,
    /// Rows left out after so many.
    pub(crate) gap: Option<usize>,
}

/// A name that no user's statement can mean by accident.
const RESULT: &str = "temp.\"query result\"";

/// See [`Catalog::query`].
pub(crate) fn run(catalog: &Catalog, sql: &str, format: &Format) -> Result<Rendered, CatalogError> {
    let connection = &catalog.connection;
    let file = match format {
        Format::Parquet(path) => Some(beside(path)?),
        _ => None,
    };
    lock(connection, file.as_deref())?;
    connection.execute("SET errors_as_json = true")?;
    let kind = connection.statement_kind(sql);
    let made = kind.map_err(|e| statement_error(&e, sql)).and_then(|kind| match kind {
        StatementKind::Select => materialise(connection, sql),
        StatementKind::Explain => {
            Err(CatalogError::NotARead { what: "EXPLAIN shows no data of the store".to_owned() })
        }
        StatementKind::Other => {
            Err(CatalogError::NotARead { what: "this statement would change something".to_owned() })
        }
    });
    let rendered = made.and_then(|total| render(connection, format, file.as_deref(), total));
    connection.execute("SET errors_as_json = false")?;
    connection.execute(&format!("DROP TABLE IF EXISTS {RESULT}"))?;
    rendered
}

/// From here on this database reads and writes no file but `file`, and cannot be told otherwise.
fn lock(connection: &Connection, file: Option<&Path>) -> Result<(), CatalogError> {
    let setting = |name: &str| -> Result<bool, CatalogError> {
        let rows = connection.rows(&format!("SELECT current_setting('{name}')::VARCHAR"))?.rows;
        Ok(rows.first().and_then(|r| r.first()).cloned().flatten().as_deref() == Some("true"))
    };
    if !setting("enable_external_access")? {
        return match file {
            None => Ok(()),
            Some(_) => Err(CatalogError::Duck {
                message: "a Parquet file is written by the first query of a catalog only".into(),
            }),
        };
    }
    if let Some(file) = file {
        let path = literal(&file.to_string_lossy());
        connection.execute(&format!("SET allowed_paths = [{path}]"))?;
    }
    connection.execute("SET enable_external_access = false")
}

/// Evaluates the statement once, keeping its order, and gives the number of rows.
fn materialise(connection: &Connection, sql: &str) -> Result<u64, CatalogError> {
    let body = sql.trim().trim_end_matches(';');
    let direct = connection.execute(&format!("CREATE TEMP TABLE \"query result\" AS\n{body}\n"));
    if let Err(first) = direct {
        // DESCRIBE, SHOW and SUMMARIZE read as tables, but not directly here.
        let wrapped = connection
            .execute(&format!("CREATE TEMP TABLE \"query result\" AS SELECT * FROM (\n{body}\n)"));
        if wrapped.is_err() {
            return Err(sql_error(first, sql, 1));
        }
    }
    let rows = connection.rows(&format!("SELECT count(*) FROM {RESULT}"))?.rows;
    let count = rows.first().and_then(|r| r.first()).cloned().flatten();
    Ok(count.and_then(|c| c.parse().ok()).unwrap_or(0))
}

fn render(
    connection: &Connection,
    format: &Format,
    file: Option<&Path>,
    total: u64,
) -> Result<Rendered, CatalogError> {
    let all = || select(connection, total, 0);
    let text = match format {
        Format::Table(shape) => render::table(&select(connection, total, shape.rows)?, shape.width),
        Format::Markdown => render::markdown(&all()?),
        Format::Csv => render::csv(&all()?),
        Format::Json | Format::JsonLines => {
            let rows = connection.rows(&format!("SELECT to_json(r)::VARCHAR FROM {RESULT} r"))?;
            let objects = rows.rows.into_iter().flatten().flatten();
            if matches!(format, Format::JsonLines) {
                objects.map(|object| object + "\n").collect()
            } else {
                render::json(objects)
            }
        }
        Format::Parquet(path) => {
            let file = file.unwrap_or(path);
            let target = literal(&file.to_string_lossy());
            connection.execute(&format!("COPY {RESULT} TO {target} (FORMAT parquet)"))?;
            std::fs::rename(file, path)
                .map_err(|source| CatalogError::Io { path: path.clone(), source })?;
            String::new()
        }
    };
    Ok(Rendered { text, rows: total })
}

/// Reads the result as text, at most `most` rows of it (0: all), from both ends.
fn select(connection: &Connection, total: u64, most: usize) -> Result<Selected, CatalogError> {
    let described = connection.rows(&format!("DESCRIBE {RESULT}"))?;
    let types = described
        .rows
        .iter()
        .map(|row| row.get(1).cloned().flatten().unwrap_or_default().to_lowercase())
        .collect();
    let text = format!("SELECT COLUMNS(*)::VARCHAR FROM {RESULT}");
    let elide = most > 0 && total > most as u64;
    let mut rows = if elide {
        connection.rows(&format!("{text} LIMIT {}", most.div_ceil(2)))?
    } else {
        connection.rows(&text)?
    };
    let gap = elide.then_some(rows.rows.len());
    if elide {
        let last = most / 2;
        let offset = total - last as u64;
        let end = connection.rows(&format!("{text} LIMIT {last} OFFSET {offset}"))?;
        rows.rows.extend(end.rows);
    }
    // DESCRIBE has the names as they are; casts may rename a column.
    rows.columns = described.rows.iter().filter_map(|row| row.first().cloned().flatten()).collect();
    Ok(Selected { rows, types, total, gap })
}

/// A file beside `path`, to be renamed to it when it is whole.
fn beside(path: &Path) -> Result<PathBuf, CatalogError> {
    let absolute = std::path::absolute(path)
        .map_err(|source| CatalogError::Io { path: path.to_path_buf(), source })?;
    let mut name = absolute.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    Ok(absolute.with_file_name(name))
}

fn statement_error(e: &StatementError, sql: &str) -> CatalogError {
    match e {
        StatementError::Duck(message) => {
            sql_error(CatalogError::Duck { message: message.clone() }, sql, 0)
        }
        StatementError::Count(0) => CatalogError::NotARead { what: "this is empty".to_owned() },
        StatementError::Count(n) => {
            CatalogError::NotARead { what: format!("these are {n} statements, one is allowed") }
        }
    }
}

/// Makes DuckDB's JSON error one of ours; `lines` were put in front of the user's text.
fn sql_error(error: CatalogError, sql: &str, lines: usize) -> CatalogError {
    let CatalogError::Duck { message } = error else { return error };
    let prefix = if lines > 0 { "CREATE TEMP TABLE \"query result\" AS\n".len() } else { 0 };
    CatalogError::Sql(explain(&message, sql, prefix))
}

/// Reads an error of `errors_as_json`.
fn explain(text: &str, sql: &str, prefix: usize) -> SqlError {
    let json: serde_json::Value = match text.find('{').map(|i| serde_json::from_str(&text[i..])) {
        Some(Ok(json)) => json,
        _ => return SqlError { message: plain(text), place: None, hint: None },
    };
    let field = |name: &str| json.get(name).and_then(serde_json::Value::as_str);
    let whole = field("exception_message").unwrap_or(text);
    let (mut message, mut hint) = (String::new(), None);
    for line in whole.lines().filter(|l| !l.trim().is_empty()) {
        if line.starts_with("Did you mean") || line.starts_with("Candidate") {
            hint = Some(candidates(line));
        } else if line.starts_with("LINE ") {
            break;
        } else {
            message += if message.is_empty() { "" } else { " " };
            message += line.trim();
        }
    }
    let position = field("position").and_then(|p| p.parse::<usize>().ok());
    // DuckDB counts bytes of the text it was given.
    let place = position.and_then(|p| p.checked_sub(prefix)).and_then(|p| place(sql, p));
    SqlError { message: message.trim_end_matches('!').to_owned(), place, hint }
}

fn plain(text: &str) -> String {
    text.lines().take_while(|l| !l.starts_with("LINE ")).collect::<Vec<_>>().join(" ")
}

/// `Candidate bindings: "a", "b"` as a question.
fn candidates(line: &str) -> String {
    match line.split_once(':') {
        Some((_, list)) => {
            let names: Vec<&str> =
                list.split(',').map(|n| n.trim().trim_matches('"')).take(5).collect();
            format!("did you mean {}?", names.join(", "))
        }
        None => line.replacen("Did", "did", 1),
    }
}

/// Line, column and text of a byte position.
fn place(sql: &str, position: usize) -> Option<(usize, usize, String)> {
    let position = position.min(sql.len());
    let before = sql.get(..position)?;
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    let line = before.matches('\n').count() + 1;
    let column = before[start..].chars().count() + 1;
    Some((line, column, sql[start..].lines().next().unwrap_or_default().to_owned()))
}
