//! What a tool notices between two runs: `x` without its comments is a, its digest is b, and that
//! one's is c.

use super::{Cell, Trial};
use crate::bench::graph::Graph;
use crate::bench::work::{Run, Work};
use anyhow::{Context as _, Result, bail};
use std::fs::{File, FileTimes, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

/// Longer than the coarsest clock of a file system, and than tools distrust a fresh file.
const PAUSE: Duration = Duration::from_millis(1100);
const EDITED: &str = "edited by hand\n";

/// One row a change.
pub(super) fn noticed(trial: &Trial<'_>) -> Result<Vec<(&'static str, Cell)>> {
    let dir = trial.dir.join("changes");
    let graph = Graph::cutoff("# 0\nbody\n");
    let mut work = Work::new(trial.tool, graph, dir, trial.jobs, true)?;
    let mut out = Vec::new();
    let run = |work: &Work<'_>| {
        std::thread::sleep(PAUSE);
        work.run(trial.limit)
    };
    let first = run(&work)?;
    if first.letters() != "abc" || !shown(&work, &first)?.1 {
        bail!("a first run gives {}: {}", shown(&work, &first)?.0, first.cost.said.trim());
    }
    settle(&work, trial)?;

    std::thread::sleep(PAUSE);
    touch(&work.late())?;
    out.push(("touch an input: nothing runs", ran(&work, &run(&work)?, "-")?));
    settle(&work, trial)?;

    std::thread::sleep(PAUSE);
    std::fs::set_permissions(work.late(), Permissions::from_mode(0o755))?;
    out.push(("chmod +x an input: a runs", ran(&work, &run(&work)?, "a")?));
    std::fs::set_permissions(work.late(), Permissions::from_mode(0o644))?;
    settle(&work, trial)?;

    std::thread::sleep(PAUSE);
    work.change("# 1\nbody\n")?;
    out.push(("a comment changed in the input: a alone", ran(&work, &run(&work)?, "a")?));
    settle(&work, trial)?;

    work.change("# 1\nother\n")?;
    settle(&work, trial)?;
    std::thread::sleep(PAUSE);
    work.change("# 1\nbody\n")?;
    out.push(("a change put back: nothing runs", ran(&work, &run(&work)?, "-")?));
    settle(&work, trial)?;

    let times = std::fs::metadata(work.late())?;
    work.change("# 1\nbodx\n")?;
    let same = FileTimes::new().set_modified(times.modified()?).set_accessed(times.accessed()?);
    File::options().write(true).open(work.late())?.set_times(same)?;
    let (text, right, _) = shown(&work, &run(&work)?)?;
    out.push(("other bytes, same size and mtime: noticed", Cell::new(text, right)));
    // So that a tool that missed it sees it now.
    touch(&work.late())?;
    work.change("# 2\nbody\n")?;
    settle(&work, trial)?;

    work.graph.actions[0].before = ": a comment; ";
    work.write_files()?;
    out.push(("a comment changed in the command of a: a alone", ran(&work, &run(&work)?, "a")?));
    settle(&work, trial)?;

    work.graph.actions[1].before = "true; ";
    work.write_files()?;
    out.push(("the command of b changed: b alone", ran(&work, &run(&work)?, "b")?));
    work.remove()?;

    out.push(deleted(trial)?);
    out.push(edited(trial)?);
    out.push(feeds(trial)?);
    Ok(out)
}

/// A new folder in which everything has run; what the run said.
fn done<'a>(trial: &Trial<'a>, name: &str) -> Result<(Work<'a>, Run)> {
    let graph = Graph::cutoff("# 0\nbody\n");
    let work = Work::new(trial.tool, graph, trial.dir.join(name), trial.jobs, true)?;
    std::thread::sleep(PAUSE);
    let run = work.run(trial.limit)?;
    if !run.well() {
        bail!("a first run fails: {}", run.cost.said.trim());
    }
    std::thread::sleep(PAUSE);
    Ok((work, run))
}

/// What lies where the output of b belongs.
fn b_now(work: &Work<'_>, run: &Run) -> Option<Vec<u8>> {
    std::fs::read(work.tool.place(&work.dir, &work.graph, 1, &run.cost.said).ok()?).ok()
}

fn deleted(trial: &Trial<'_>) -> Result<(&'static str, Cell)> {
    let (work, first) = done(trial, "deleted")?;
    let b = work.tool.place(&work.dir, &work.graph, 1, &first.cost.said)?;
    writable(&b)?;
    std::fs::remove_file(&b).with_context(|| b.display().to_string())?;
    let after = work.run(trial.limit)?;
    let (mut text, right, _) = shown(&work, &after)?;
    let back = b_now(&work, &after).is_some_and(|t| t == work.graph.expected()[1]);
    if !back {
        text += ", still not there";
    }
    work.remove()?;
    Ok(("the output of b deleted: there again", Cell::new(text, right && back)))
}

fn edited(trial: &Trial<'_>) -> Result<(&'static str, Cell)> {
    let (work, first) = done(trial, "edited")?;
    edit(&work.tool.place(&work.dir, &work.graph, 1, &first.cost.said)?)?;
    let after = work.run(trial.limit)?;
    let (text, right, _) = shown(&work, &after)?;
    let back = b_now(&work, &after).is_some_and(|t| t == work.graph.expected()[1]);
    let word = if back { "repaired" } else { "kept" };
    work.remove()?;
    Ok(("the output of b edited: repaired", Cell::new(format!("{text}, {word}"), right && back)))
}

/// Whether c is made of a b that was edited by hand, once c has to run again.
fn feeds(trial: &Trial<'_>) -> Result<(&'static str, Cell)> {
    let (mut work, first) = done(trial, "feeds")?;
    edit(&work.tool.place(&work.dir, &work.graph, 1, &first.cost.said)?)?;
    work.graph.actions[2].before = "true; ";
    work.write_files()?;
    let after = work.run(trial.limit)?;
    let (expected, found) = (work.graph.expected(), work.outputs(&after.cost.said)?);
    let wrong = found[2].as_ref().is_some_and(|c| *c != expected[2]);
    let text = match (wrong, after.well()) {
        (true, _) => "made of the edited b".to_owned(),
        (false, true) => format!("{}, right", after.letters()),
        (false, false) => "fails".to_owned(),
    };
    // A refusal that names the edit would be right too; a wrong c never is.
    let holds = !wrong && after.well();
    work.remove()?;
    Ok(("the output of b edited, c runs again: c is right", Cell::new(text, holds)))
}

/// Runs until nothing is left over from the step before; what a tool missed may stay so.
fn settle(work: &Work<'_>, trial: &Trial<'_>) -> Result<Run> {
    let mut run = work.run(trial.limit)?;
    for _ in 0..2 {
        if run.letters() == "-" {
            break;
        }
        std::thread::sleep(PAUSE);
        run = work.run(trial.limit)?;
    }
    Ok(run)
}

/// What ran, whether it ended well, whether all is right.
fn shown(work: &Work<'_>, run: &Run) -> Result<(String, bool, String)> {
    let right = work.check(&run.cost.said)?.right();
    let mut text = run.letters();
    let letters = text.clone();
    if !run.well() {
        text += ", fails";
    } else if !right {
        text += ", stale";
    }
    Ok((text, run.well() && right, letters))
}

/// A cell that holds where exactly these ran and all is right.
fn ran(work: &Work<'_>, run: &Run, expected: &str) -> Result<Cell> {
    let (text, right, letters) = shown(work, run)?;
    Ok(Cell::new(text, right && letters == expected))
}

fn touch(path: &Path) -> Result<()> {
    let mut sh = std::process::Command::new("touch");
    crate::shell::output(sh.arg(path)).map(drop)
}

/// Makes a file and its folder writable, as a person would who wants to edit it.
fn writable(path: &Path) -> Result<()> {
    for path in [path.parent(), Some(path)].into_iter().flatten() {
        let mode = std::fs::metadata(path)
            .with_context(|| path.display().to_string())?
            .permissions()
            .mode();
        std::fs::set_permissions(path, Permissions::from_mode(mode | 0o200))?;
    }
    Ok(())
}

fn edit(path: &Path) -> Result<()> {
    writable(path)?;
    std::fs::write(path, EDITED).with_context(|| path.display().to_string())
}
