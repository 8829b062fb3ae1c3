//! The rows of the table.

mod crates;
mod graphs;
mod hash;
mod interval;
mod scale;

pub(super) use crates::{instructions, planning};
pub(super) use graphs::{graphs, sandbox};
pub(super) use hash::hash;
pub(super) use interval::interval;
pub(super) use scale::scale;

use super::Bench;
use super::measure::{best, cost};
use super::stats::least;
use super::table::{Goal, ms};
use crate::shell;
use anyhow::{Context as _, Result};
use std::process::Command;

/// How long the program takes to do nothing.
pub(super) fn startup(bench: &mut Bench) -> Result<()> {
    let dir = bench.dir.clone();
    let (mut ours, mut nothing) = (Vec::new(), Vec::new());
    for _ in 0..40 {
        ours.push(cost(bench.sim_pipe().arg("--version"), &dir)?.wall);
        nothing.push(cost(&mut Command::new("/bin/true"), &dir)?.wall);
    }
    let (ours, nothing) = (least(&ours), least(&nothing));
    bench.section.row(
        "start of the program (`--version`)",
        ms(ours),
        format!("{} (`true`)", ms(nothing)),
        format!("{} above", ms(ours - nothing)),
        Goal::none(),
    );
    Ok(())
}

/// The report over many synthetic trials.
pub(super) fn report(bench: &mut Bench) -> Result<()> {
    let trials = if bench.quick { "1000" } else { "10000" };
    let mut build = shell::cargo();
    build.args([
        "build",
        "--release",
        "--quiet",
        "--package",
        "sim-stage-report",
        "--example",
        "fixture",
    ]);
    shell::run(&mut build)?;
    let program = shell::target_dir()?.join("release/examples/fixture");
    let dir = bench.dir.join("report");
    let cost = best(3, || {
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir)?;
        cost(Command::new(&program).arg(&dir).arg(trials), &bench.dir)
    })?;
    let seconds: f64 = cost
        .said
        .lines()
        .filter_map(|l| l.strip_suffix(" s")?.parse().ok())
        .next_back()
        .context("the example prints its seconds")?;
    let limit = if bench.quick { f64::INFINITY } else { 5.0 };
    bench.section.row(
        &format!("report over {trials} trials"),
        ms(seconds),
        format!("{:.0} MB at most", cost.peak as f64 / 1e6),
        ms(seconds),
        Goal::at_most(seconds, limit, "< 5 s for 10,000"),
    );
    let _ = std::fs::remove_dir_all(&dir);
    Ok(())
}
