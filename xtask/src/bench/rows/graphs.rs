//! Ten thousand tiny actions, beside ninja.

use super::super::graphs::{Graph, Shape};
use super::super::measure::{Cost, best, cost};
use super::super::{Bench, Goal, ms, tools};
use super::{count, planning};
use crate::shell;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What was measured of one tool on one graph.
struct Times {
    cold: Cost,
    nothing: Cost,
    change: Cost,
}

pub(in super::super) fn graphs(bench: &mut Bench) -> Result<()> {
    let ninja = match tools::ninja(&bench.dir) {
        Ok(ninja) => Some(ninja),
        Err(e) => {
            bench.table.note(&format!("ninja: {e:#}; rows beside it are left out."));
            None
        }
    };
    let (small, large) = if bench.quick { (200, 1_000) } else { (1_000, 10_000) };
    let shapes = [
        (Shape::Chain, small),
        (Shape::Layers, small),
        (Shape::Layers, large),
        (Shape::Wide, large),
    ];
    // Nothing is removed between measurements: some file systems make new files slowly for minutes
    // after many were deleted.
    let _ = std::fs::remove_dir_all(bench.dir.join("graphs"));
    let level = sandbox(bench)?;
    let mut smaller: Option<Times> = None;
    for (shape, n) in shapes {
        let graph = Graph::new(shape, n);
        let name = format!("{} {}", shape.name(), count(n));
        shell::say(&format!("  {name}"));
        let theirs = match &ninja {
            Some(ninja) => Some(of_ninja(bench, ninja, &graph)?),
            None => None,
        };
        let bare = of_sim_pipe(bench, &graph, "none")?;
        let confined =
            if level == "none" { None } else { Some(of_sim_pipe(bench, &graph, "auto")?) };
        if let Some(theirs) = &theirs {
            let above = |c: &Cost| (c.cpu - theirs.cold.cpu) / n as f64 * 1e3;
            let mut row = |sandbox: &str, t: &Times, limit: f64| {
                bench.table.row(
                    &format!("cold, CPU an action, {name}, sandbox {sandbox}"),
                    format!("{:.2} ms, wall {}", t.cold.cpu / n as f64 * 1e3, ms(t.cold.wall)),
                    format!(
                        "{:.2} ms, wall {} (ninja)",
                        theirs.cold.cpu / n as f64 * 1e3,
                        ms(theirs.cold.wall)
                    ),
                    format!("{:.2} ms above", above(&t.cold)),
                    Goal::at_most(above(&t.cold), limit, &format!("≤ {limit} ms above")),
                );
            };
            row("none", &bare, 1.0);
            if let Some(confined) = &confined {
                row(&level, confined, 3.0);
            }
            let ratio = bare.nothing.wall / theirs.nothing.wall;
            bench.table.row(
                &format!("nothing to do, {name}"),
                ms(bare.nothing.wall),
                format!("{} (ninja)", ms(theirs.nothing.wall)),
                format!("{ratio:.2} times"),
                Goal::at_most(ratio, 1.0, "≤ 1 times"),
            );
        }
        let limits = if n >= 10_000 { (0.5, 1.0) } else { (f64::INFINITY, f64::INFINITY) };
        let mut change = |sandbox: &str, t: &Times, limit: f64, goal: &str| {
            let beside =
                theirs.as_ref().map_or(String::new(), |n| format!("{} (ninja)", ms(n.change.wall)));
            bench.table.row(
                &format!(
                    "one source changed, {} of {} run, sandbox {sandbox}",
                    graph.reached, name
                ),
                ms(t.change.wall),
                beside,
                ms(t.change.wall),
                Goal::at_most(t.change.wall, limit, goal),
            );
        };
        change("none", &bare, limits.0, "≤ 0.5 s for 10,000");
        if let Some(confined) = &confined {
            change(&level, confined, limits.1, "≤ 1 s for 10,000");
        }
        if shape == Shape::Layers && n == large {
            whole(bench, &graph, &bare, smaller.as_ref(), small)?;
        }
        if shape == Shape::Layers && n == small {
            smaller = Some(bare);
        }
    }
    let _ = std::fs::remove_dir_all(bench.dir.join("graphs"));
    for (n, time) in planning()?.iter().filter(|(n, _)| *n == 10_000) {
        bench.table.row(
            &format!("parse and check {} stages", count(*n)),
            format!("{time:.1} ms"),
            String::new(),
            format!("{time:.1} ms"),
            Goal::at_most(*time, 100.0, "≤ 100 ms"),
        );
    }
    Ok(())
}

/// Rows that need the large graph as it now lies there, all done.
fn whole(
    bench: &mut Bench,
    graph: &Graph,
    times: &Times,
    smaller: Option<&Times>,
    small: usize,
) -> Result<()> {
    let dir = folder(bench, graph, "none");
    let n = graph.len();
    let checked = best(3, || run(bench, &dir, &["--sandbox", "none", "--verify"], 0))?;
    bench.table.row(
        &format!("nothing to do, every output hashed again, layers {}", count(n)),
        ms(checked.wall),
        String::new(),
        ms(checked.wall),
        Goal::at_most(checked.wall, 1.0, "≤ 1 s for 10,000"),
    );
    let peak = times.cold.peak.max(times.nothing.peak) as f64 / 1e6;
    bench.table.row(
        &format!("peak memory, layers {}", count(n)),
        format!("{peak:.0} MB"),
        format!("nothing to do: {:.0} MB", times.nothing.peak as f64 / 1e6),
        format!("{peak:.0} MB"),
        Goal::at_most(peak, 60.0, "≤ 60 MB for 10,000"),
    );
    if let Some(smaller) = smaller {
        let sizes = format!("{} to {}", count(small), count(n));
        let limit = 1.1 * n as f64 / small as f64;
        for (what, a, b) in [
            ("cold CPU", smaller.cold.cpu, times.cold.cpu),
            ("nothing to do", smaller.nothing.wall, times.nothing.wall),
        ] {
            bench.table.row(
                &format!("growth from {sizes}, {what}"),
                ms(b),
                ms(a),
                format!("{:.1} times", b / a),
                Goal::at_most(b / a, limit, &format!("≤ {limit:.0} times")),
            );
        }
    }
    Ok(())
}

/// Where one tool works on one graph.
fn folder(bench: &Bench, graph: &Graph, tool: &str) -> PathBuf {
    bench.dir.join(format!("graphs/{}-{}-{tool}", graph.shape.name(), graph.len()))
}

fn of_ninja(bench: &Bench, ninja: &Path, graph: &Graph) -> Result<Times> {
    let dir = folder(bench, graph, "ninja");
    graph.lay_out(&dir)?;
    let run = || {
        let mut c = Command::new(ninja);
        c.args(["--quiet", "-j", &jobs()]).current_dir(&dir);
        cost(&mut c, &bench.dir)
    };
    let cold = run()?;
    let nothing = best(9, run)?;
    let mut change = None;
    for text in changes(bench) {
        graph.touch(&dir, text)?;
        change = Some(better(change, run()?));
    }
    Ok(Times { cold, nothing, change: change.context("a change")? })
}

fn of_sim_pipe(bench: &Bench, graph: &Graph, sandbox: &str) -> Result<Times> {
    let dir = folder(bench, graph, sandbox);
    graph.lay_out(&dir)?;
    let args = ["--sandbox", sandbox];
    let cold = run(bench, &dir, &args, graph.len())?;
    let nothing = best(9, || run(bench, &dir, &args, 0))?;
    let mut change = None;
    for text in changes(bench) {
        graph.touch(&dir, text)?;
        change = Some(better(change, run(bench, &dir, &args, graph.reached)?));
    }
    Ok(Times { cold, nothing, change: change.context("a change")? })
}

fn changes(bench: &Bench) -> &'static [&'static str] {
    if bench.quick { &["one\n"] } else { &["one\n", "two\n", "three\n"] }
}

fn better(a: Option<Cost>, b: Cost) -> Cost {
    match a {
        Some(a) if a.wall <= b.wall => a,
        _ => b,
    }
}

/// Runs the pipeline in `dir`; it must execute exactly so many actions.
fn run(bench: &Bench, dir: &Path, args: &[&str], expected: usize) -> Result<Cost> {
    let mut c = bench.sim_pipe();
    c.args(["--quiet", "run", "pipeline.toml", "--jobs", &jobs()]).args(args).current_dir(dir);
    let cost = cost(&mut c, &bench.dir)?;
    let ran =
        cost.said.split(" · ").find_map(|part| part.trim().strip_suffix(" ran")?.parse().ok());
    if ran != Some(expected) {
        bail!("{expected} actions should have run, the program says: {}", cost.said.trim());
    }
    Ok(cost)
}

fn jobs() -> String {
    std::thread::available_parallelism().map_or(1, usize::from).to_string()
}

/// The level that `auto` gives here.
fn sandbox(bench: &Bench) -> Result<String> {
    let dir: PathBuf = bench.dir.join("graphs/level");
    Graph::new(Shape::Chain, 1).lay_out(&dir)?;
    let mut c = bench.sim_pipe();
    c.args(["--json", "run", "pipeline.toml"]).current_dir(&dir);
    let said = cost(&mut c, &bench.dir)?.said;
    let after = said.split("\"sandbox\":\"").nth(1).context("the run names its sandbox")?;
    Ok(after.split('"').next().unwrap_or_default().to_owned())
}
