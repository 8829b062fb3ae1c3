//! `sim-engine-fake describe` and `sim-engine-fake run JOB.json OUT_DIR`.

use sim_engine_fake::{PointMass, Script, run};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let [command, job, out] = &arguments[..]
        && command == "run"
    {
        match Script::beside(Path::new(job)) {
            Ok(script) => return run(&script, Path::new(job), Path::new(out)),
            Err(reason) => {
                eprintln!("{reason}");
                return ExitCode::FAILURE;
            }
        }
    }
    sim_engine_harness::main_with(&PointMass::default())
}
