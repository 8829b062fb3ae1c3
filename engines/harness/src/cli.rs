//! The command line of every adapter.

use crate::Engine;
use crate::files::write_atomically;
use crate::run::run_job;
use sim_engine_protocol::Job;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: adapter describe | adapter run JOB.json OUT_DIR";

/// `adapter describe` and `adapter run JOB.json OUT_DIR`.
///
/// Exits with 0 where a description was printed or a `result.json` was written, whatever its
/// outcome; with 1 where none could be, and 2 for a wrong command line.
pub fn main_with(engine: &dyn Engine) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Vec<&OsString> = arguments.iter().collect();
    let done = match words[..] {
        [command] if command == "describe" => describe(engine),
        [command, job, out] if command == "run" => run(engine, Path::new(job), Path::new(out)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the command line asks to run a job whose scene has a robot: for adapters that leave
/// robots to another program. What cannot be read is no robot; [`main_with`] says what is wrong.
pub fn asks_for_robot() -> bool {
    #[derive(serde::Deserialize)]
    struct Head {
        robot: Option<serde::de::IgnoredAny>,
    }
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [command, job, _] = &arguments[..] else { return false };
    let job = Path::new(job);
    let read = |path: &Path| std::fs::read(path).ok();
    let scene = (command == "run").then(|| read(job)).flatten().and_then(|text| {
        let job_text: Job = serde_json::from_slice(&text).ok()?;
        job_text.validate().ok()?;
        read(&job.parent()?.join(&job_text.scene))
    });
    let head = scene.and_then(|text| serde_json::from_slice::<Head>(&text).ok());
    head.is_some_and(|head| head.robot.is_some())
}

fn describe(engine: &dyn Engine) -> Result<(), String> {
    let text = serde_json::to_string_pretty(&engine.describe()).map_err(|e| e.to_string())?;
    writeln!(std::io::stdout(), "{text}").map_err(|e| format!("standard output: {e}"))
}

fn run(engine: &dyn Engine, job_file: &Path, out: &Path) -> Result<(), String> {
    let shown = job_file.display();
    let text = std::fs::read(job_file).map_err(|e| format!("{shown}: {e}"))?;
    let job: Job = serde_json::from_slice(&text).map_err(|e| format!("{shown}: {e}"))?;
    let folder = job_file.parent().unwrap_or(Path::new(""));
    let result = run_job(engine, &job, folder, out);
    let json = result.to_json().map_err(|problems| {
        let list: Vec<_> = problems.iter().map(ToString::to_string).collect();
        format!("the result cannot be written: {}", list.join("; "))
    })?;
    write_atomically(&out.join("result.json"), json.as_bytes())
}
