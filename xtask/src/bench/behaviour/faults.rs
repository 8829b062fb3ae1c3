//! What is left after a kill, a signal, an edit at the wrong moment, or a second run beside the first.

use super::{Cell, Trial};
use crate::bench::graph::{Body, Graph, Shape};
use crate::bench::processes;
use crate::bench::work::Work;
use anyhow::{Context as _, Result, bail};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Actions of a run that is killed or doubled; each takes 50 ms.
const ACTIONS: usize = 60;
const KILL_AFTER: usize = ACTIONS / 3;
/// How long something may take to be looked at.
const GLANCE: Duration = Duration::from_millis(5);

/// Only the tool's process is killed.
pub(super) fn killed_alone(trial: &Trial<'_>) -> Result<Vec<(&'static str, Cell)>> {
    let cells = killed(trial, "alone", |pid| processes::signal(pid, libc::SIGKILL))?;
    Ok(rows(
        ["kill -9 of the tool: nothing torn", "then: only what was in flight is redone"],
        cells,
    ))
}

/// The tool and all that it started are killed at once.
pub(super) fn killed_together(trial: &Trial<'_>) -> Result<Vec<(&'static str, Cell)>> {
    let cells = killed(trial, "together", |pid| processes::end(&processes::tree(pid)))?;
    let names = [
        "kill -9 of it and its actions: nothing torn",
        "then: only what was in flight is redone, too",
    ];
    Ok(rows(names, cells))
}

fn rows(names: [&'static str; 2], cells: [Cell; 2]) -> Vec<(&'static str, Cell)> {
    names.into_iter().zip(cells).collect()
}

/// A kill when a third of the actions have ended, and a run after it.
fn killed(trial: &Trial<'_>, name: &str, kill: fn(i32)) -> Result<[Cell; 2]> {
    let graph = Graph::new(Shape::Layers, ACTIONS, &Body::Slow);
    let work = Work::new(trial.tool, graph, trial.dir.join(name), trial.jobs, true)?;
    let (mut child, log) = work.start("killed.txt")?;
    let said = || std::fs::read_to_string(&log).unwrap_or_default();
    until(&mut child, trial.limit, "a third of its actions", || {
        work.told(&said()).ended.len() >= KILL_AFTER
    })?;
    kill(child.id().cast_signed());
    child.wait()?;
    // Orphans may still end what they do.
    std::thread::sleep(Duration::from_millis(500));
    let ended = work.told(&said()).ended.len();
    let torn = work.check(&said()).map(|c| c.wrong);
    let verified = match work.tool.verify(&work.dir) {
        Some(mut verify) => crate::shell::output(&mut verify).map(drop),
        None => Ok(()),
    };
    let first = match (&torn, &verified) {
        (Ok(0), Ok(())) => Cell::new("nothing", true),
        (Ok(0), Err(e)) => Cell::new(format!("its own check fails: {}", one_line(e)), false),
        (Ok(n), _) => Cell::new(format!("{n} torn"), false),
        (Err(e), _) => Cell::new(format!("cannot be read: {}", one_line(e)), false),
    };

    let after = work.run(trial.limit)?;
    let least = ACTIONS - ended.min(ACTIONS);
    let redone = after.told.began.len();
    let check = work.check(&after.cost.said)?;
    let mut text = format!("{redone}, {least} were left");
    if !after.well() {
        text += ", fails";
    }
    if check.wrong > 0 {
        text += &format!(", {} wrong", check.wrong);
    }
    // What had just ended when the kill came may not have been recorded.
    let few = redone <= least + trial.jobs;
    let second = Cell::new(text, after.well() && few && check.right());
    work.remove()?;
    Ok([first, second])
}

fn one_line(e: &anyhow::Error) -> String {
    format!("{e:#}").split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "/")
}

/// The input is edited while the action that has read it runs.
pub(super) fn edited_meanwhile(trial: &Trial<'_>) -> Result<Vec<(&'static str, Cell)>> {
    let graph = Graph::pair("race", Body::Wait);
    let mut work = Work::new(trial.tool, graph, trial.dir.join("race"), trial.jobs, true)?;
    let (mut child, log) = work.start("race.txt")?;
    let said = || std::fs::read_to_string(&log).unwrap_or_default();
    until(&mut child, trial.limit, "its first action", || !work.told(&said()).began.is_empty())?;
    std::thread::sleep(Duration::from_millis(700));
    work.change("two\n")?;
    let first = within(&mut child, trial.limit)?;
    let after = work.run(trial.limit)?;
    let right = after.well() && work.check(&after.cost.said)?.right();
    let text = match (right, first.success()) {
        (true, true) => "by the next run",
        (true, false) => "at once",
        (false, _) => "never",
    };
    work.remove()?;
    Ok(vec![("an input edited while its action runs: noticed", Cell::new(text, right))])
}

/// An action ends with 0 and leaves its output out.
pub(super) fn nothing_written(trial: &Trial<'_>) -> Result<Vec<(&'static str, Cell)>> {
    let mut graph = Graph::pair("nothing", Body::Nothing);
    graph.actions.truncate(1);
    let work = Work::new(trial.tool, graph, trial.dir.join("nothing"), trial.jobs, true)?;
    let runs = [work.run(trial.limit)?, work.run(trial.limit)?];
    let word = |well: bool| if well { "exit 0" } else { "error" };
    let text = format!("{}, {}", word(runs[0].well()), word(runs[1].well()));
    let holds = runs.iter().all(|r| !r.well());
    work.remove()?;
    Ok(vec![("exit 0 without the output: an error, twice", Cell::new(text, holds))])
}

/// What is alive one second after a signal to the tool alone.
pub(super) fn signals(trial: &Trial<'_>) -> Result<Vec<(&'static str, Cell)>> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut out = Vec::new();
    for (row, signal) in [
        ("SIGINT: nothing alive a second later", libc::SIGINT),
        ("SIGTERM: nothing alive a second later", libc::SIGTERM),
        ("SIGKILL: nothing alive a second later", libc::SIGKILL),
    ] {
        // Unlike any other sleep on this machine, and part of the shell's command line, too.
        let id = std::process::id() * 100 + NEXT.fetch_add(1, Ordering::Relaxed) % 100;
        let graph = Graph::pair("hang", Body::Hang(id));
        let work = Work::new(trial.tool, graph, trial.dir.join("hang"), trial.jobs, true)?;
        let (mut child, _) = work.start("hang.txt")?;
        let sleeps = [format!("sleep 61.{id}"), format!("sleep 62.{id}")];
        let started = until(&mut child, trial.limit, "both of its sleeps", || {
            sleeps.iter().all(|s| !processes::running(|l| l == s).is_empty())
        });
        let pid = child.id().cast_signed();
        if started.is_ok() {
            processes::signal(pid, signal);
            std::thread::sleep(Duration::from_secs(1));
        }
        let tool = child.try_wait()?.is_none();
        let left = processes::running(|l| l.contains(&format!("62.{id}")));
        let child_left = processes::running(|l| l == sleeps[0]);
        let all: Vec<i32> = left.iter().chain(&child_left).copied().collect();
        if tool {
            processes::end(&processes::tree(pid));
            child.wait()?;
        }
        processes::end(&all);
        started?;
        let mut words = Vec::new();
        if tool {
            words.push("the tool");
        }
        if !left.is_empty() {
            words.push("the action");
        }
        if !child_left.is_empty() {
            words.push("its child");
        }
        let text = if words.is_empty() { "nothing".to_owned() } else { words.join(", ") };
        out.push((row, Cell::new(text, words.is_empty())));
        work.remove()?;
    }
    Ok(out)
}

/// Two runs of one folder start at the same time.
pub(super) fn two_at_once(trial: &Trial<'_>) -> Result<Vec<(&'static str, Cell)>> {
    let graph = Graph::new(Shape::Layers, ACTIONS, &Body::Slow);
    let work = Work::new(trial.tool, graph, trial.dir.join("two"), trial.jobs, true)?;
    let (mut one, first) = work.start("one.txt")?;
    let (mut two, second) = work.start("two.txt")?;
    let ends = [within(&mut one, trial.limit), within(&mut two, trial.limit)];
    let [one, two] = ends;
    let (one, two) = (one?, two?);
    let said = format!("{}\n{}", std::fs::read_to_string(first)?, std::fs::read_to_string(second)?);
    let ran = work.told(&said).began.len();
    let check = work.check(&said)?;
    let mut text = format!("{ran} of {ACTIONS} ran");
    if !one.success() || !two.success() {
        text += if one.success() || two.success() { ", one fails" } else { ", both fail" };
    }
    if check.wrong > 0 {
        text += &format!(", {} wrong", check.wrong);
    }
    let holds = one.success() && two.success() && ran == ACTIONS && check.right();
    work.remove()?;
    Ok(vec![("two runs at once: each action once", Cell::new(text, holds))])
}

/// Waits until something holds of a run that goes on.
fn until(
    child: &mut Child,
    limit: Duration,
    what: &str,
    mut holds: impl FnMut() -> bool,
) -> Result<()> {
    let start = Instant::now();
    while !holds() {
        if child.try_wait()?.is_some() {
            // It may have come to that in its last moment.
            if holds() {
                return Ok(());
            }
            bail!("the run ended before {what}");
        }
        if start.elapsed() > limit {
            processes::end(&processes::tree(child.id().cast_signed()));
            child.wait()?;
            bail!("the run did not come to {what} in {} s", limit.as_secs());
        }
        std::thread::sleep(GLANCE);
    }
    Ok(())
}

/// How a run ends, which it must within a time.
fn within(child: &mut Child, limit: Duration) -> Result<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("a run")? {
            return Ok(status);
        }
        if start.elapsed() > limit {
            processes::end(&processes::tree(child.id().cast_signed()));
            child.wait()?;
            bail!("a run did not end in {} s", limit.as_secs());
        }
        std::thread::sleep(GLANCE);
    }
}
