//! The misbehaviours.

use crate::point_mass::{PointMass, Profiler};
use crate::room::Crowd;
use crate::script::{Behaviour, LONGEST, Script};
use sim_engine_harness::{EngineError, run_job, write_atomically};
use sim_engine_protocol::{Job, JobResult, Mode, ProfileReport, SettingValue};
use std::io::Write;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Does what the script says.
pub fn run(script: &Script, job: &Path, out: &Path) -> ExitCode {
    end_after(LONGEST);
    let done = match script.behaviour {
        Behaviour::Silent => return ExitCode::SUCCESS,
        Behaviour::ExitCode => return ExitCode::from(3),
        Behaviour::Crash => crash(),
        Behaviour::AbortsForMemory => {
            // The words of Rust's own handler, which ends the process the same way.
            eprintln!("memory allocation of 1152921504606846976 bytes failed");
            std::process::abort()
        }
        Behaviour::IgnoreTerm => {
            // SAFETY: ignoring a signal installs no handler.
            unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
            pause(script)
        }
        Behaviour::Hang => pause(script),
        Behaviour::GrandchildMemory => grandchild_memory(script),
        _ => act(script, job, out),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// The behaviours around an honest run.
fn act(script: &Script, job_file: &Path, out: &Path) -> Result<(), String> {
    let text = std::fs::read(job_file).map_err(|e| format!("{}: {e}", job_file.display()))?;
    let job: Job = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
    let mut engine = PointMass::default();
    match script.behaviour {
        Behaviour::WrongPhysics => engine.extra_gravity = 1.0,
        Behaviour::Drift if job.mode == Mode::Capture => engine.extra_gravity = 1.0e-9,
        Behaviour::Panic => engine.panics = true,
        Behaviour::Unsupported => engine.refuses = Some(EngineError::unsupported("told to say so")),
        Behaviour::OutOfMemory => {
            engine.refuses = Some(EngineError::out_of_memory("told to say so"));
        }
        Behaviour::Network => {
            engine.notes.insert("network".into(), SettingValue::Text(network(&script.address)));
        }
        Behaviour::Flood => flood(script.megabytes)?,
        Behaviour::ProfilesTheHost => engine.profiler = Profiler::HostOnly,
        Behaviour::LosesAStep => engine.profiler = Profiler::LosesAStep,
        Behaviour::OverflowsQueries => engine.profiler = Profiler::Overflows,
        Behaviour::Buffers => engine.room = Some(Crowd::Never),
        Behaviour::CrowdedAtTheEnd => engine.room = Some(Crowd::AtTheEnd),
        Behaviour::CrowdedBriefly => engine.room = Some(Crowd::Briefly),
        _ => {}
    }
    let folder = job_file.parent().unwrap_or(Path::new(""));
    let mut result = run_job(&engine, &job, folder, out);
    lie(script.behaviour, &mut result);
    let json = result.to_json().map_err(|e| format!("{e:?}"))?;
    let json = match script.behaviour {
        Behaviour::Nan => json.replacen("\"ms_per_step\": ", "\"ms_per_step\": NaN, \"was\": ", 1),
        Behaviour::Truncated => json[..json.len() / 2].to_owned(),
        _ => json,
    };
    write_atomically(&out.join("result.json"), json.as_bytes())?;
    let io = |e: std::io::Error| e.to_string();
    match script.behaviour {
        Behaviour::Undeclared => {
            std::fs::create_dir_all(out.join("surprise/deep")).map_err(io)?;
            std::fs::write(out.join("surprise/deep/file"), "nobody asked").map_err(io)?;
            std::fs::write(out.join("notes.txt"), "nobody asked").map_err(io)?;
        }
        Behaviour::Links => {
            std::os::unix::fs::symlink("/etc/passwd", out.join("absolute")).map_err(io)?;
            std::os::unix::fs::symlink("../..", out.join("upwards")).map_err(io)?;
        }
        Behaviour::LeaveChild => leave_child(script.seconds)?,
        Behaviour::LieCapture => {
            let file = out.join("capture.bin");
            if let Ok(mut bytes) = std::fs::read(&file) {
                bytes.iter_mut().rev().take(4).for_each(|b| *b ^= 1);
                std::fs::write(&file, bytes).map_err(io)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn lie(behaviour: Behaviour, result: &mut JobResult) {
    match behaviour {
        Behaviour::LieDigest => {
            result.final_state_digest = Some("0".repeat(64));
            result.world0_state_digest = Some("0".repeat(64));
        }
        Behaviour::LieDeviceTime => {
            if let Some(ProfileReport::Timestamps(time)) = &mut result.profile {
                time.sum_ns /= 2;
                time.union_ns = time.union_ns.map(|ns| ns / 2);
                time.ms_per_step /= 2.0;
            }
        }
        Behaviour::LieElapsed => result.ms_per_step = result.ms_per_step.map(|ms| ms / 2.0),
        Behaviour::LieGate => {
            if let Some(gate) = result.gates.last_mut() {
                gate.value = gate.limit + 1.0;
                gate.passed = true;
            }
        }
        _ => {}
    }
}

/// The kernel ends this process then, whatever it is doing. Children need one of their own.
fn end_after(seconds: u32) {
    // SAFETY: sets a timer; its signal's default action ends the process.
    unsafe {
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::alarm(seconds.clamp(1, LONGEST));
    }
}

fn pause(script: &Script) -> Result<(), String> {
    std::thread::sleep(Duration::from_secs(script.seconds.into()));
    Err("slept to the end; nobody stopped me".into())
}

fn crash() -> ! {
    // SAFETY: the default action of SIGSEGV ends the process, which is what is asked for.
    unsafe {
        libc::signal(libc::SIGSEGV, libc::SIG_DFL);
        libc::raise(libc::SIGSEGV);
    }
    std::process::abort()
}

fn flood(megabytes: u32) -> Result<(), String> {
    let line = b"all work and no play makes a long log, ".repeat(26);
    let mut out = std::io::stdout().lock();
    for _ in 0..u64::from(megabytes) * 1_000_000 / (line.len() as u64 + 1) {
        out.write_all(&line).and_then(|()| out.write_all(b"\n")).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn network(address: &str) -> String {
    let target = address.to_socket_addrs().ok().and_then(|mut list| list.next());
    let limit = Duration::from_secs(3);
    let reached = target.is_some_and(|t| TcpStream::connect_timeout(&t, limit).is_ok());
    if reached { "reached" } else { "blocked" }.into()
}

/// A child in a session of its own whose parent is gone: the classic way to be left behind.
fn leave_child(seconds: u32) -> Result<(), String> {
    // SAFETY: the children only call functions that are safe after fork, and end with _exit.
    unsafe {
        match libc::fork() {
            -1 => return Err(std::io::Error::last_os_error().to_string()),
            0 => {
                libc::setsid();
                if libc::fork() == 0 {
                    end_after(seconds);
                    libc::sleep(seconds.min(LONGEST));
                }
                libc::_exit(0);
            }
            child => libc::waitpid(child, std::ptr::null_mut(), 0),
        };
    }
    Ok(())
}

/// A child's child takes the memory, touches every page and keeps it.
fn grandchild_memory(script: &Script) -> Result<(), String> {
    let bytes = script.megabytes as usize * 1_000_000;
    // SAFETY: this process has one thread, so its children may do what they like; they end
    // with _exit.
    unsafe {
        match libc::fork() {
            -1 => return Err(std::io::Error::last_os_error().to_string()),
            0 => {
                let grandchild = libc::fork();
                end_after(script.seconds);
                if grandchild == 0 {
                    let block = libc::mmap(
                        std::ptr::null_mut(),
                        bytes.max(4096),
                        libc::PROT_READ | libc::PROT_WRITE,
                        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                        -1,
                        0,
                    );
                    if block != libc::MAP_FAILED {
                        libc::memset(block, 1, bytes);
                    }
                    libc::sleep(script.seconds);
                } else {
                    libc::waitpid(grandchild, std::ptr::null_mut(), 0);
                }
                libc::_exit(0);
            }
            child => libc::waitpid(child, std::ptr::null_mut(), 0),
        };
    }
    Err("the memory was kept to the end; nobody stopped me".into())
}
