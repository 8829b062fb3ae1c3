//! The harness behind a small C interface. An adapter in Python loads this library, hands it one
//! function, and is asked through it for what an adapter does: describe, build, reset, step and so
//! on. Phases, clock, sampler, gates, accuracy and files are those of every other adapter, because
//! they are the same code.
//!
//! The measured interval holds two calls of that function, to step and to wait. What they cost beyond
//! the engine's own loop is two transitions into the interpreter: 1.7 µs for an engine that does nothing.

mod adapter;
mod reply;

use adapter::Adapter;
use sim_engine_harness::{read_memory, serve};
use std::ffi::{CStr, OsString, c_char, c_int};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::os::unix::ffi::OsStringExt;

pub use adapter::Call;

/// Serves the command line in `arguments` (`describe`, or `run JOB.json OUT_DIR`) with the adapter
/// behind `call`. A description is written to the file descriptor `stdout`. Gives the exit code of
/// [`serve`], and 1 where the adapter gives no description.
///
/// # Safety
///
/// `arguments` points to `count` strings that end with a zero byte; `call` may be called from this
/// thread until this function returns; `stdout` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sim_host_serve(
    arguments: *const *const c_char,
    count: usize,
    call: Call,
    stdout: c_int,
) -> c_int {
    let words: Vec<OsString> = (0..count)
        .map(|i| {
            // SAFETY: the caller gives `count` strings that end with a zero byte.
            let word = unsafe { CStr::from_ptr(*arguments.add(i)) };
            OsString::from_vec(word.to_bytes().to_vec())
        })
        .collect();
    let adapter = match Adapter::new(call) {
        Ok(adapter) => adapter,
        Err(reason) => {
            eprintln!("{reason}");
            return 1;
        }
    };
    // SAFETY: the caller says that it is open; it stays the caller's to close.
    let mut stdout = ManuallyDrop::new(unsafe { File::from_raw_fd(stdout) });
    serve(&adapter, &words, &mut *stdout).into()
}

/// What a call has to say: a document, or why it failed. Copies `length` bytes; the last one counts.
///
/// # Safety
///
/// `bytes` points to `length` bytes, or `length` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sim_host_reply(bytes: *const u8, length: usize) {
    let bytes = match length {
        0 => &[],
        // SAFETY: the caller gives that many bytes.
        _ => unsafe { std::slice::from_raw_parts(bytes, length) },
    };
    reply::put(bytes);
}

/// Resident memory of this process now and at most, bytes, as the harness reads it: 0 where it was
/// read, 1 where this system has no such counter.
///
/// # Safety
///
/// `current` and `peak` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sim_host_memory(current: *mut u64, peak: *mut u64) -> c_int {
    match read_memory() {
        Ok(reading) => {
            // SAFETY: the caller says that both may be written.
            unsafe {
                *current = reading.current;
                *peak = reading.peak;
            }
            0
        }
        Err(_) => 1,
    }
}
