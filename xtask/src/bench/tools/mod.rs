//! The other tools: taken from the search path, or installed below the target folder at exact
//! versions. Nothing is installed anywhere else.

mod install;

pub(super) use install::b3sum;

use super::emit;
use super::tool::{How, InPlace, Nix, SimPipe, Tool};
use crate::shell;
use anyhow::{Result, bail};
use install::Source;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A tool that is not measured, and why.
pub(super) struct Missing {
    pub(super) name: &'static str,
    pub(super) why: String,
}

/// Tools that are there.
pub(super) type Tools = Vec<Box<dyn Tool>>;

/// Tools that work in place: name, where it comes from, how it is asked for its version, and how it
/// is used.
const IN_PLACE: [(&str, Source, &[&str], How); 11] = [
    (
        "ninja",
        Source::PathOrPython("ninja", "ninja"),
        &["--version"],
        How { notices: "mtime", files: emit::ninja, args: "--quiet -j {j}", prepare: "" },
    ),
    (
        "n2",
        Source::Path("n2"),
        &["--version"],
        How { notices: "mtime", files: emit::ninja, args: "-j {j}", prepare: "" },
    ),
    (
        "make",
        Source::Path("make"),
        &["--version"],
        How { notices: "mtime", files: emit::make, args: "-s -j {j}", prepare: "" },
    ),
    (
        "tup",
        Source::Path("tup"),
        &["--version"],
        How {
            notices: "mtime, ctime",
            files: emit::tup,
            args: "upd -j{j} --quiet",
            prepare: "\"$0\" init",
        },
    ),
    (
        "doit",
        Source::Python("doit", "doit"),
        &["--version"],
        How {
            notices: "mtime, then content",
            files: emit::doit,
            args: "-n {j} -P thread -v 0",
            prepare: "",
        },
    ),
    (
        "SCons",
        Source::Python("scons", "scons"),
        &["--version"],
        How { notices: "content", files: emit::scons, args: "-Q -s -j {j}", prepare: "" },
    ),
    (
        "go-task",
        Source::Python("go-task-bin", "task"),
        &["--version"],
        How { notices: "content", files: emit::go_task, args: "-s -C {j} all", prepare: "" },
    ),
    (
        "moon",
        Source::Npm("moon"),
        &["--version"],
        How {
            notices: "content",
            files: emit::moon,
            args: "run p:all --concurrency {j} --log error",
            prepare: "git init -q .\ngit add -A src moon.yml .moon\n\
                      git -c user.name=a -c user.email=a@b commit -qm x",
        },
    ),
    (
        "snakemake",
        Source::Python("snakemake", "snakemake"),
        &["--version"],
        How {
            notices: "mtime, then content",
            files: emit::snakemake,
            args: "-c {j} -q all",
            prepare: "",
        },
    ),
    (
        "redun",
        Source::Python("redun", "redun"),
        &["--version"],
        How { notices: "mtime", files: emit::redun, args: "run workflow.py main", prepare: "" },
    ),
    (
        "dvc",
        Source::Python("dvc", "dvc"),
        &["--version"],
        How {
            notices: "mtime, then content",
            files: emit::dvc,
            args: "repro -q",
            prepare: "\"$0\" init --no-scm -q",
        },
    ),
];

/// Names of all other tools.
pub(super) fn names() -> Vec<&'static str> {
    IN_PLACE.iter().map(|t| t.0).chain(["nix", "nix by content"]).collect()
}

/// The other tools that are wanted and there, ninja first: ratios are taken to it.
pub(super) fn all(
    dir: &Path,
    jobs: usize,
    wanted: impl Fn(&str) -> bool,
) -> Result<(Tools, Vec<Missing>)> {
    let (mut found, mut missing): (Tools, _) = (Vec::new(), Vec::new());
    let home = dir.join("home");
    std::fs::create_dir_all(&home)?;
    for (name, source, asked, how) in IN_PLACE.into_iter().filter(|t| wanted(t.0)) {
        let made = install::program(dir, source)
            .and_then(|program| Ok((version(&program, asked, &home)?, program)));
        match made {
            Ok((version, program)) => found.push(Box::new(InPlace {
                name,
                version,
                program,
                home: home.clone(),
                jobs,
                how,
            })),
            Err(e) => missing.push(Missing { name, why: format!("{e:#}") }),
        }
    }
    for (name, by_content) in [("nix", false), ("nix by content", true)] {
        if !wanted(name) {
            continue;
        }
        let made = install::program(dir, Source::Path("nix-build"))
            .and_then(|program| Ok((version(&program, &["--version"], &home)?, program)));
        match made {
            Ok((version, program)) => {
                found.push(Box::new(Nix { program, version, jobs, by_content }));
            }
            Err(e) => missing.push(Missing { name, why: format!("{e:#}") }),
        }
    }
    Ok((found, missing))
}

/// The number in what a program says of itself.
fn version(program: &Path, asked: &[&str], home: &Path) -> Result<String> {
    let mut command = Command::new(program);
    command.args(asked).env("HOME", home).current_dir(home);
    let said = shell::output(&mut command)?;
    let number = said
        .split(|c: char| c.is_whitespace() || c == ',')
        .map(|w| w.trim_start_matches('v'))
        .find(|w| w.contains('.') && w.starts_with(|c: char| c.is_ascii_digit()));
    match number {
        // What follows says who built it.
        Some(number) => Ok(number.split(['.', '+']).take(3).collect::<Vec<_>>().join(".")),
        None => bail!("`{}` names no version", shell::shown(&command)),
    }
}

/// The program itself, at one level of its sandbox.
pub(super) fn sim_pipe(
    program: &Path,
    tmp: PathBuf,
    jobs: usize,
    (sandbox, level): (&str, &str),
) -> Result<SimPipe> {
    let version = version(program, &["--version"], &tmp)?;
    Ok(SimPipe {
        name: format!("sim-pipe, sandbox {level}"),
        version,
        program: program.to_path_buf(),
        tmp,
        jobs,
        sandbox: sandbox.to_owned(),
        verify: false,
        events: false,
    })
}
