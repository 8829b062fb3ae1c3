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

/// `adapter describe` and `adapter run JOB.json OUT_DIR`, with the arguments and the standard output of
/// this process; see [`serve`].
pub fn main_with(engine: &dyn Engine) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    ExitCode::from(serve(engine, &arguments, &mut std::io::stdout()))
}

/// Does what the arguments ask for; a description goes to `stdout`.
///
/// Gives the exit code: 0 where a description was printed or a `result.json` was written, whatever
/// its outcome; 1 where none could be, and 2 for a wrong command line.
pub fn serve(engine: &dyn Engine, arguments: &[OsString], stdout: &mut dyn Write) -> u8 {
    let words: Vec<&OsString> = arguments.iter().collect();
    let done = match words[..] {
        [command] if command == "describe" => describe(engine, stdout),
        [command, job, out] if command == "run" => run(engine, Path::new(job), Path::new(out)),
        _ => {
            eprintln!("{USAGE}");
            return 2;
        }
    };
    match done {
        Ok(()) => 0,
        Err(reason) => {
            eprintln!("{reason}");
            1
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

fn describe(engine: &dyn Engine, stdout: &mut dyn Write) -> Result<(), String> {
    let text = serde_json::to_string_pretty(&engine.describe()).map_err(|e| e.to_string())?;
    writeln!(stdout, "{text}").map_err(|e| format!("standard output: {e}"))
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
