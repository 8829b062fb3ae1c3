//! `sim-adapter-batch describe`, `sim-adapter-batch run JOB.json OUT_DIR` and
//! `sim-adapter-batch drive JOB.json OUT_DIR`.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    match &words[..] {
        [command, job, out] if command == "drive" => {
            match sim_adapter_batch::drive(Path::new(job), Path::new(out)) {
                Ok(()) => ExitCode::SUCCESS,
                Err(reason) => {
                    eprintln!("{reason}");
                    ExitCode::FAILURE
                }
            }
        }
        _ => sim_engine_harness::main_with(&sim_adapter_batch::BatchAdapter),
    }
}
