//! `sim-adapter-nexus describe`, `sim-adapter-nexus run JOB.json OUT_DIR`, and
//! `sim-adapter-nexus compile JOB.json OUT_DIR`, which keeps what the driver of the job's backend makes of the
//! shaders.

use sim_adapter_nexus::{Cache, Nexus, compile};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let done = match &arguments[..] {
        [command, job, out] if command == "compile" => compile_to(Path::new(job), Path::new(out)),
        [command, ..] if command == "run" => {
            let cache = match Cache::enter(None) {
                Ok(cache) => cache,
                Err(e) => return complain(&format!("a folder for compiled shaders: {e}")),
            };
            let code = sim_engine_harness::main_with(&Nexus);
            drop(cache);
            return code;
        }
        _ => return sim_engine_harness::main_with(&Nexus),
    };
    match done {
        Ok(added) => {
            eprintln!("{added} files of compiled shaders");
            ExitCode::SUCCESS
        }
        Err(reason) => complain(&reason),
    }
}

fn compile_to(job: &Path, out: &Path) -> Result<usize, String> {
    let cache = Cache::enter(Some(out)).map_err(|e| format!("{}: {e}", out.display()))?;
    let text = std::fs::read(job).map_err(|e| format!("{}: {e}", job.display()))?;
    compile(&text, job.parent().unwrap_or(Path::new(""))).map_err(|e| e.reason)?;
    Ok(cache.added())
}

fn complain(reason: &str) -> ExitCode {
    eprintln!("{reason}");
    ExitCode::FAILURE
}
