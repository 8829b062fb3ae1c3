//! Opens the index file and brings it up to date; sets aside what cannot be used.

use crate::duck::{Connection, Database};
use crate::error::CatalogError;
use crate::schema::{self, SCHEMA_VERSION};
use crate::source::Source;
use crate::{Catalog, load};
use std::fs;
use std::path::{Path, PathBuf};

/// Settings of every database: nothing is ever fetched.
const SETTINGS: &[(&str, &str)] =
    &[("autoinstall_known_extensions", "false"), ("autoload_known_extensions", "false")];

/// What became of an attempt to use a file.
enum Attempt {
    Done(Catalog),
    /// Another process has it open.
    Locked(String),
    /// It cannot be used: damaged, of another version, unwritable.
    Unusable(String),
}

/// See [`Catalog::refresh`].
pub(crate) fn open(path: &Path, source: &dyn Source) -> Result<Catalog, CatalogError> {
    let mut notes = Vec::new();
    let existed = path.exists();
    match attempt(path, source)? {
        Attempt::Done(catalog) => return Ok(catalog),
        Attempt::Locked(why) => {
            notes.push(format!("the index is in use, so one was built in memory ({why})"));
            return in_memory(source, notes);
        }
        Attempt::Unusable(why) if existed => {
            notes.push(format!("the index could not be used and was built anew ({why})"));
        }
        Attempt::Unusable(_) => {}
    }
    for file in files_of(path) {
        let _ = fs::remove_file(file);
    }
    match attempt(path, source)? {
        Attempt::Done(mut catalog) => {
            catalog.notes = notes;
            Ok(catalog)
        }
        Attempt::Locked(why) | Attempt::Unusable(why) => {
            notes.push(format!("no index file can be kept, so one was built in memory ({why})"));
            in_memory(source, notes)
        }
    }
}

/// See [`Catalog::in_memory`].
pub(crate) fn in_memory(source: &dyn Source, notes: Vec<String>) -> Result<Catalog, CatalogError> {
    let database = Database::open(None, SETTINGS)?;
    let connection = database.connect()?;
    create(&connection)?;
    load::update(&connection, source)?;
    Ok(Catalog { connection, database, notes })
}

/// The index and its write-ahead log.
fn files_of(path: &Path) -> [PathBuf; 2] {
    let mut wal = path.as_os_str().to_owned();
    wal.push(".wal");
    [path.to_path_buf(), PathBuf::from(wal)]
}

fn attempt(path: &Path, source: &dyn Source) -> Result<Attempt, CatalogError> {
    if let Some(folder) = path.parent()
        && let Err(e) = fs::create_dir_all(folder)
    {
        return Ok(Attempt::Unusable(format!("{}: {e}", folder.display())));
    }
    let database = match Database::open(Some(path), SETTINGS) {
        Ok(database) => database,
        Err(CatalogError::Duck { message }) => {
            let locked = message.contains("Could not set lock");
            let why = message.lines().next().unwrap_or_default().to_owned();
            return Ok(if locked { Attempt::Locked(why) } else { Attempt::Unusable(why) });
        }
        Err(e) => return Err(e),
    };
    let connection = database.connect()?;
    match bring_up_to_date(&connection, source) {
        Ok(true) => Ok(Attempt::Done(Catalog { connection, database, notes: Vec::new() })),
        Ok(false) => Ok(Attempt::Unusable("it is of another version".to_owned())),
        Err(CatalogError::Duck { message }) => {
            Ok(Attempt::Unusable(message.lines().next().unwrap_or_default().to_owned()))
        }
        Err(e) => Err(e),
    }
}

/// False where the file is of another version.
fn bring_up_to_date(connection: &Connection, source: &dyn Source) -> Result<bool, CatalogError> {
    let there = connection
        .rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'")?
        .rows
        .len();
    if there == 0 {
        create(connection)?;
    } else {
        let version = connection.rows("SELECT version FROM index_version").map(|r| r.rows);
        let wanted = vec![vec![Some(SCHEMA_VERSION.to_string())]];
        if version.ok() != Some(wanted) {
            return Ok(false);
        }
    }
    load::update(connection, source)?;
    Ok(true)
}

fn create(connection: &Connection) -> Result<(), CatalogError> {
    connection.execute("BEGIN")?;
    connection.execute(&schema::create())?;
    connection.execute(&format!(
        "CREATE TABLE index_version AS SELECT {SCHEMA_VERSION} AS version;
         COMMENT ON TABLE index_version IS 'Version of these tables; not for queries.'"
    ))?;
    connection.execute("COMMIT")
}
