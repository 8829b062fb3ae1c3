//! `sim-adapter-rapier describe` and `sim-adapter-rapier run JOB.json OUT_DIR`.

use sim_adapter_rapier::{Rapier, SERIAL};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    if sim_engine_harness::asks_for_robot() {
        return hand_over();
    }
    sim_engine_harness::main_with(&Rapier)
}

/// Becomes the other build, with the same arguments: the same process, so that whoever watches it
/// watches on.
fn hand_over() -> ExitCode {
    let other = std::env::current_exe().map(|own| own.with_file_name(SERIAL));
    let problem = match &other {
        Ok(other) => Command::new(other).args(std::env::args_os().skip(1)).exec(),
        Err(e) => std::io::Error::new(e.kind(), e.to_string()),
    };
    eprintln!("{SERIAL}, beside this program, could not be started: {problem}");
    ExitCode::FAILURE
}
