//! Fuzzes one target of `targets.rs`.
#![no_main]

#[allow(dead_code, reason = "each program fuzzes one of them")]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::record(data));
