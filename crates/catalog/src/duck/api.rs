//! The functions of `libduckdb` that are used, found when first needed.

use crate::error::CatalogError;
use std::env;
use std::ffi::{c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

/// `DuckDBError`.
pub(super) const ERROR: c_int = 1;

/// `duckdb_result`; every field is DuckDB's own business.
#[repr(C)]
pub(super) struct RawResult {
    counts: [u64; 3],
    pointers: [*mut c_void; 3],
}

impl Default for RawResult {
    fn default() -> Self {
        Self { counts: [0; 3], pointers: [std::ptr::null_mut(); 3] }
    }
}

/// `duckdb_string`.
#[repr(C)]
pub(super) struct RawString {
    pub(super) data: *mut c_char,
    pub(super) size: u64,
}

macro_rules! api {
    ($($name:ident: $symbol:literal fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// Pointers to the functions; valid as long as the process, since the library is never
        /// closed.
        pub(super) struct Api {
            $(pub(super) $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
        }

        impl Api {
            /// # Safety
            /// `library` must be a DuckDB whose C API is that of version 1.
            unsafe fn of(library: &libloading::Library) -> Result<Self, libloading::Error> {
                // SAFETY: the types are those of duckdb.h; see above.
                unsafe { Ok(Self { $($name: *library.get($symbol)?,)* }) }
            }
        }
    };
}

type P = *mut c_void;

api! {
    library_version: b"duckdb_library_version\0" fn() -> *const c_char;
    create_config: b"duckdb_create_config\0" fn(*mut P) -> c_int;
    set_config: b"duckdb_set_config\0" fn(P, *const c_char, *const c_char) -> c_int;
    destroy_config: b"duckdb_destroy_config\0" fn(*mut P);
    open_ext: b"duckdb_open_ext\0" fn(*const c_char, *mut P, P, *mut *mut c_char) -> c_int;
    close: b"duckdb_close\0" fn(*mut P);
    connect: b"duckdb_connect\0" fn(P, *mut P) -> c_int;
    disconnect: b"duckdb_disconnect\0" fn(*mut P);
    query: b"duckdb_query\0" fn(P, *const c_char, *mut RawResult) -> c_int;
    destroy_result: b"duckdb_destroy_result\0" fn(*mut RawResult);
    result_error: b"duckdb_result_error\0" fn(*mut RawResult) -> *const c_char;
    column_count: b"duckdb_column_count\0" fn(*mut RawResult) -> u64;
    row_count: b"duckdb_row_count\0" fn(*mut RawResult) -> u64;
    column_name: b"duckdb_column_name\0" fn(*mut RawResult, u64) -> *const c_char;
    value_is_null: b"duckdb_value_is_null\0" fn(*mut RawResult, u64, u64) -> bool;
    value_string: b"duckdb_value_string\0" fn(*mut RawResult, u64, u64) -> RawString;
    free: b"duckdb_free\0" fn(P);
    extract_statements: b"duckdb_extract_statements\0" fn(P, *const c_char, *mut P) -> u64;
    extract_statements_error: b"duckdb_extract_statements_error\0" fn(P) -> *const c_char;
    destroy_extracted: b"duckdb_destroy_extracted\0" fn(*mut P);
    prepare_extracted_statement:
        b"duckdb_prepare_extracted_statement\0" fn(P, P, u64, *mut P) -> c_int;
    prepare_error: b"duckdb_prepare_error\0" fn(P) -> *const c_char;
    prepared_statement_type: b"duckdb_prepared_statement_type\0" fn(P) -> c_int;
    destroy_prepare: b"duckdb_destroy_prepare\0" fn(*mut P);
    appender_create:
        b"duckdb_appender_create\0" fn(P, *const c_char, *const c_char, *mut P) -> c_int;
    appender_error: b"duckdb_appender_error\0" fn(P) -> *const c_char;
    append_null: b"duckdb_append_null\0" fn(P) -> c_int;
    append_bool: b"duckdb_append_bool\0" fn(P, bool) -> c_int;
    append_int64: b"duckdb_append_int64\0" fn(P, i64) -> c_int;
    append_double: b"duckdb_append_double\0" fn(P, f64) -> c_int;
    append_varchar_length:
        b"duckdb_append_varchar_length\0" fn(P, *const c_char, u64) -> c_int;
    appender_end_row: b"duckdb_appender_end_row\0" fn(P) -> c_int;
    appender_close: b"duckdb_appender_close\0" fn(P) -> c_int;
    appender_destroy: b"duckdb_appender_destroy\0" fn(*mut P) -> c_int;
}

/// File name of the library on this system.
fn file_name() -> String {
    format!("{}duckdb{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX)
}

/// Where the library may be, in order: the folder that the environment names; beside the program;
/// in `lib` next to its folder; in a folder `duckdb` next to that folder or up to two above (a build
/// folder's, for programs and tests that were not installed); the folder that the build named;
/// wherever the system looks.
fn candidates() -> Vec<PathBuf> {
    let name = file_name();
    let mut places = Vec::new();
    if let Some(dir) = env::var_os("DUCKDB_LIB_DIR") {
        places.push(PathBuf::from(dir).join(&name));
    }
    if let Some(dir) = env::current_exe().ok().as_deref().and_then(|exe| exe.parent()) {
        places.push(dir.join(&name));
        let above: Vec<_> = dir.ancestors().skip(1).take(3).collect();
        places.extend(above.first().map(|d| d.join("lib").join(&name)));
        places.extend(above.iter().map(|d| d.join("duckdb").join(&name)));
    }
    if let Some(dir) = option_env!("DUCKDB_LIB_DIR") {
        places.push(PathBuf::from(dir).join(&name));
    }
    places.push(PathBuf::from(name));
    places
}

fn find() -> Result<Api, String> {
    let mut tried = String::new();
    for place in candidates() {
        // SAFETY: loading runs the library's initialisers; it is DuckDB, named by the user or
        // lying where this program was installed.
        let loaded = unsafe {
            libloading::Library::new(&place).and_then(|library| {
                let api = Api::of(&library);
                // The functions must outlive every caller: the library stays open.
                std::mem::forget(library);
                api
            })
        };
        match loaded {
            Ok(api) => return Ok(api),
            Err(e) => {
                tried += &format!("  {}: {e}\n", place.display());
            }
        }
    }
    Err(tried.trim_end().to_owned())
}

/// The library, opened on first use.
pub(super) fn get() -> Result<&'static Api, CatalogError> {
    static API: OnceLock<Result<Api, String>> = OnceLock::new();
    API.get_or_init(find).as_ref().map_err(|tried| CatalogError::Library { tried: tried.clone() })
}
