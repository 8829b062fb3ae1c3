//! A small safe face over DuckDB's C API: open, run, read as text, append.
//!
//! Only what the catalog needs. Results are read as text (DuckDB's own casts), so no type of DuckDB
//! is mirrored here. All `unsafe` of the crate is below this module.

mod api;

use crate::error::CatalogError;
use api::{Api, ERROR, RawResult};
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

/// An open database.
pub(crate) struct Database {
    api: &'static Api,
    raw: *mut c_void,
}

/// A connection to it; closed before it by the order of fields in [`crate::Catalog`].
pub(crate) struct Connection {
    api: &'static Api,
    raw: *mut c_void,
}

/// Rows as text; `None` is NULL.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Option<String>>>,
}

/// One statement of a text, as DuckDB understood it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatementKind {
    /// SELECT and all that reads like one.
    Select,
    /// EXPLAIN.
    Explain,
    /// Anything else.
    Other,
}

fn text(api: &Api, pointer: *const c_char) -> String {
    let _ = api;
    if pointer.is_null() {
        return "unknown error".to_owned();
    }
    // SAFETY: DuckDB's messages are NUL-terminated and live as long as the object they came from,
    // which the callers hold.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

fn c_string(text: &str) -> Result<CString, CatalogError> {
    CString::new(text)
        .map_err(|_| CatalogError::Duck { message: "a NUL character in a statement".to_owned() })
}

impl Database {
    /// Opens (or creates) a database; no path means in memory.
    pub(crate) fn open(
        path: Option<&Path>,
        settings: &[(&str, &str)],
    ) -> Result<Self, CatalogError> {
        let api = api::get()?;
        let path = match path {
            Some(path) => {
                Some(CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| {
                    CatalogError::Duck { message: "a NUL character in a path".to_owned() }
                })?)
            }
            None => None,
        };
        let mut config = null_mut();
        // SAFETY: `config` is a place for the new configuration.
        if unsafe { (api.create_config)(&raw mut config) } == ERROR {
            return Err(CatalogError::Duck { message: "no configuration".to_owned() });
        }
        let mut failed = None;
        for (name, value) in settings {
            let (n, v) = (c_string(name)?, c_string(value)?);
            // SAFETY: all three live across the call.
            if unsafe { (api.set_config)(config, n.as_ptr(), v.as_ptr()) } == ERROR {
                failed = Some(format!("setting {name} = {value} is not known"));
            }
        }
        let (mut raw, mut error) = (null_mut(), null_mut::<c_char>());
        // SAFETY: pointers are valid or null as the API allows; `error` is freed below.
        let state = unsafe {
            let path = path.as_ref().map_or(null(), |p| p.as_ptr());
            let state = (api.open_ext)(path, &raw mut raw, config, &raw mut error);
            (api.destroy_config)(&raw mut config);
            state
        };
        if state == ERROR {
            let message = text(api, error);
            if !error.is_null() {
                // SAFETY: allocated by DuckDB for the caller.
                unsafe { (api.free)(error.cast()) };
            }
            return Err(CatalogError::Duck { message });
        }
        let database = Self { api, raw };
        match failed {
            Some(message) => Err(CatalogError::Duck { message }),
            None => Ok(database),
        }
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> Result<Connection, CatalogError> {
        let mut raw = null_mut();
        // SAFETY: the database is open.
        if unsafe { (self.api.connect)(self.raw, &raw mut raw) } == ERROR {
            return Err(CatalogError::Duck { message: "no connection".to_owned() });
        }
        Ok(Connection { api: self.api, raw })
    }

    /// The library's version.
    pub(crate) fn library_version(&self) -> String {
        // SAFETY: a static text.
        text(self.api, unsafe { (self.api.library_version)() })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: opened by this object, closed once.
        unsafe { (self.api.close)(&raw mut self.raw) };
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: connected by this object, disconnected once.
        unsafe { (self.api.disconnect)(&raw mut self.raw) };
    }
}

impl Connection {
    /// Runs statements whose results do not matter.
    pub(crate) fn execute(&self, sql: &str) -> Result<(), CatalogError> {
        self.rows(sql).map(|_| ())
    }

    /// Runs a statement and reads all its rows.
    pub(crate) fn rows(&self, sql: &str) -> Result<Rows, CatalogError> {
        let sql = c_string(sql)?;
        let mut result = OwnedResult { api: self.api, raw: RawResult::default() };
        // SAFETY: connection, text and place are valid; the result is destroyed on drop.
        let state = unsafe { (self.api.query)(self.raw, sql.as_ptr(), &raw mut result.raw) };
        if state == ERROR {
            // SAFETY: the message lives as long as the result.
            let message = text(self.api, unsafe { (self.api.result_error)(&raw mut result.raw) });
            return Err(CatalogError::Duck { message });
        }
        Ok(result.read())
    }

    /// What kind of statement `sql` is; it must be exactly one.
    pub(crate) fn statement_kind(&self, sql: &str) -> Result<StatementKind, StatementError> {
        let duck = |message: String| StatementError::Duck(message);
        let c = c_string(sql).map_err(|e| duck(e.to_string()))?;
        let api = self.api;
        let mut extracted = null_mut();
        // SAFETY: valid connection, text and place.
        let count = unsafe { (api.extract_statements)(self.raw, c.as_ptr(), &raw mut extracted) };
        let guard = Extracted { api, raw: extracted };
        if count == 0 {
            // SAFETY: the message lives as long as the extracted statements. Null where the text
            // holds no statement at all.
            let message = unsafe { (api.extract_statements_error)(guard.raw) };
            return Err(if message.is_null() {
                StatementError::Count(0)
            } else {
                duck(text(api, message))
            });
        }
        if count != 1 {
            return Err(StatementError::Count(count));
        }
        let mut prepared = Prepared { api, raw: null_mut() };
        // SAFETY: index 0 exists; the statement is destroyed on drop, failed or not.
        let state = unsafe {
            (api.prepare_extracted_statement)(self.raw, guard.raw, 0, &raw mut prepared.raw)
        };
        if state == ERROR {
            // SAFETY: the message lives as long as the statement.
            return Err(duck(text(api, unsafe { (api.prepare_error)(prepared.raw) })));
        }
        // SAFETY: prepared above.
        Ok(match unsafe { (api.prepared_statement_type)(prepared.raw) } {
            1 => StatementKind::Select,
            4 => StatementKind::Explain,
            _ => StatementKind::Other,
        })
    }

    /// Appends rows to a table.
    pub(crate) fn append(&self, table: &str, rows: &[Vec<Cell>]) -> Result<(), CatalogError> {
        if rows.is_empty() {
            return Ok(());
        }
        let api = self.api;
        let name = c_string(table)?;
        let mut appender = Appender { api, raw: null_mut() };
        // SAFETY: valid connection, name and place; no schema.
        let made = unsafe {
            (api.appender_create)(self.raw, null(), name.as_ptr(), &raw mut appender.raw)
        };
        let fail = |appender: &Appender| {
            // SAFETY: the message lives as long as the appender.
            let message = text(api, unsafe { (api.appender_error)(appender.raw) });
            CatalogError::Duck { message: format!("{table}: {message}") }
        };
        if made == ERROR {
            return Err(fail(&appender));
        }
        for row in rows {
            for cell in row {
                // SAFETY: the appender is open; texts live across the call and carry their length.
                let state = unsafe {
                    match cell {
                        Cell::Null => (api.append_null)(appender.raw),
                        Cell::Bool(b) => (api.append_bool)(appender.raw, *b),
                        Cell::Int(i) => (api.append_int64)(appender.raw, *i),
                        Cell::Float(x) => (api.append_double)(appender.raw, *x),
                        Cell::Text(t) => (api.append_varchar_length)(
                            appender.raw,
                            t.as_ptr().cast(),
                            t.len() as u64,
                        ),
                    }
                };
                if state == ERROR {
                    return Err(fail(&appender));
                }
            }
            // SAFETY: the appender is open.
            if unsafe { (api.appender_end_row)(appender.raw) } == ERROR {
                return Err(fail(&appender));
            }
        }
        // SAFETY: the appender is open; destroyed on drop.
        if unsafe { (api.appender_close)(appender.raw) } == ERROR {
            return Err(fail(&appender));
        }
        Ok(())
    }
}

/// Why a text is not one statement.
#[derive(Debug)]
pub(crate) enum StatementError {
    /// It holds so many.
    Count(u64),
    /// DuckDB's message.
    Duck(String),
}

/// A value to append.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

struct OwnedResult {
    api: &'static Api,
    raw: RawResult,
}

impl OwnedResult {
    fn read(mut self) -> Rows {
        let api = self.api;
        let raw = &raw mut self.raw;
        // SAFETY: `raw` is a finished result; indices stay below the counts it gives; every string
        // is freed once, by the allocator that made it.
        unsafe {
            let (width, height) = ((api.column_count)(raw), (api.row_count)(raw));
            let columns = (0..width).map(|c| text(api, (api.column_name)(raw, c))).collect();
            let mut rows = Vec::with_capacity(height as usize);
            for r in 0..height {
                let mut row = Vec::with_capacity(width as usize);
                for c in 0..width {
                    row.push(if (api.value_is_null)(raw, c, r) {
                        None
                    } else {
                        let s = (api.value_string)(raw, c, r);
                        if s.data.is_null() {
                            Some(String::new())
                        } else {
                            let bytes =
                                std::slice::from_raw_parts(s.data.cast::<u8>(), s.size as usize);
                            let value = String::from_utf8_lossy(bytes).into_owned();
                            (api.free)(s.data.cast());
                            Some(value)
                        }
                    });
                }
                rows.push(row);
            }
            Rows { columns, rows }
        }
    }
}

macro_rules! destroyed_on_drop {
    ($($name:ident by $with:ident),*) => {$(
        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: made by the matching call; destroyed once; null is allowed.
                unsafe { (self.api.$with)(&raw mut self.raw) };
            }
        }
    )*};
}

struct Extracted {
    api: &'static Api,
    raw: *mut c_void,
}

struct Prepared {
    api: &'static Api,
    raw: *mut c_void,
}

struct Appender {
    api: &'static Api,
    raw: *mut c_void,
}

destroyed_on_drop!(
    OwnedResult by destroy_result,
    Extracted by destroy_extracted,
    Prepared by destroy_prepare,
    Appender by appender_destroy
);
