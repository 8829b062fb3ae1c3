//! Graphs of tiny actions, run by every tool that is there.

use super::super::graph::{Body, Graph, Shape};
use super::super::measure::{self, Cost, End, cost};
use super::super::stats::least;
use super::super::table::{Goal, count, ms};
use super::super::tool::{SimPipe, Tool};
use super::super::work::{Run, Work};
use super::super::{Bench, tools};
use crate::shell;
use anyhow::{Context as _, Result, bail};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What was measured of one tool on one graph.
struct Times {
    cold: Cost,
    /// Least wall and CPU time of runs with nothing to do, and the least of ninja in the same turns.
    nothing: (f64, f64),
    nothing_of_ninja: f64,
    nothing_peak: u64,
    change: f64,
    change_of_ninja: f64,
    /// How many actions a change ran.
    ran: usize,
}

/// Runs with nothing to do: so many at most, and no more once they took so long.
const REPEATS: usize = 9;
const ENOUGH: Duration = Duration::from_secs(6);
const PATIENCE: Duration = Duration::from_secs(1800);
/// All tools, the slow ones too, show what they cost on so few.
const PROBE: usize = 40;

pub(in super::super) fn graphs(bench: &mut Bench) -> Result<()> {
    let level = sandbox(bench)?;
    let make = |bench: &Bench, sandbox: &str, level: &str| {
        tools::sim_pipe(&bench.program, bench.dir.join("tmp"), bench.jobs, (sandbox, level))
    };
    let bare = make(bench, "none", "none")?;
    let confined = (level != "none").then(|| make(bench, "auto", &level)).transpose()?;
    let others = bench.others()?;
    let (ninja, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|t| t.name() == "ninja");
    let ninja = ninja.first().context("ninja is the yardstick, and not there")?;
    let mut all: Vec<&dyn Tool> = vec![ninja.as_ref(), &bare];
    all.extend(confined.as_ref().map(|c| c as &dyn Tool));
    all.extend(others.iter().map(AsRef::as_ref));

    let (small, large) = if bench.quick { (200, 1_000) } else { (1_000, 10_000) };
    let shapes = [
        (Shape::Layers, PROBE),
        (Shape::Chain, small),
        (Shape::Layers, small),
        (Shape::Layers, large),
        (Shape::Wide, large),
    ];
    // Nothing is removed between measurements: some file systems make new files slowly for minutes
    // after many were deleted.
    let root = bench.dir.join("graphs");
    super::super::work::remove(&root)?;
    let mut pace: HashMap<String, (f64, f64)> = HashMap::new();
    let mut smaller: Option<Times> = None;
    for (shape, n) in shapes {
        let graph = Graph::new(shape, n, &Body::Hash);
        let name = format!("{} {}", shape.name(), count(n));
        shell::say(&format!("  {name}"));
        let mut found: Vec<(&dyn Tool, Times)> = Vec::new();
        let mut yardstick = None;
        for tool in &all {
            let slug: String =
                tool.name().chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
            let dir = root.join(format!("{}-{n}-{slug}", shape.name()));
            // A bound from below, where the tool is already known.
            let own = tool.name().starts_with("sim-pipe");
            if let Some((each, fixed)) = pace.get(tool.name()).filter(|_| !own) {
                let takes = fixed + each * n as f64;
                if takes > bench.limit.as_secs_f64() {
                    bench.section.note(&format!(
                        "{} is left out of {name}: at {} an action it would take some {}, more \
                         than the limit of {}",
                        tool.name(),
                        ms(*each),
                        ms(takes),
                        ms(bench.limit.as_secs_f64())
                    ));
                    continue;
                }
            }
            let mut work = Work::new(*tool, graph.clone(), dir, bench.jobs, false)?;
            match measured(bench, &mut work, yardstick.as_mut()) {
                Ok(times) => {
                    let wall = times.nothing.0;
                    shell::say(&format!(
                        "    {}: {}, {} with nothing to do, {} for a change",
                        tool.name(),
                        ms(times.cold.wall),
                        ms(wall),
                        ms(times.change)
                    ));
                    let each = ((times.cold.wall - wall) / n as f64).max(0.0);
                    pace.insert(tool.name().to_owned(), (each, wall));
                    found.push((*tool, times));
                }
                // What is measured must be right.
                Err(e) if tool.name().starts_with("sim-pipe") => return Err(e.context(name)),
                Err(e) => bench.section.note(&format!("{} on {name}: {e:#}", tool.name())),
            }
            if yardstick.is_none() {
                yardstick = Some(work);
            }
        }
        beside(bench, &name, &graph, &found)?;
        if n == PROBE {
            continue;
        }
        goals(bench, &name, &graph, &found)?;
        let Some(at) = found.iter().position(|(t, _)| t.name() == bare.name()) else { continue };
        let own = found.swap_remove(at).1;
        if shape == Shape::Layers && n == large {
            whole(bench, &graph, &bare, &own, smaller.as_ref(), small)?;
        }
        if shape == Shape::Layers && n == small {
            smaller = Some(own);
        }
    }
    // Later: it takes a while, and what was measured shall not wait for it.
    bench.left.push(root);
    Ok(())
}

/// Cold, nothing to do, one source changed; outputs are compared after the first and the last.
fn measured(bench: &Bench, work: &mut Work<'_>, mut ninja: Option<&mut Work<'_>>) -> Result<Times> {
    let run = |work: &Work<'_>| -> Result<Run> {
        // The limit spares time on other tools; what is measured is waited for.
        let own = work.tool.name().starts_with("sim-pipe");
        let limit = if own { bench.limit.max(PATIENCE) } else { bench.limit };
        let run = work.run(limit)?;
        match run.end {
            End::Code(0) => Ok(run),
            End::TooLong => bail!("ended after {}, the limit", ms(limit.as_secs_f64())),
            end => bail!("failed ({end:?}): {}", measure::last_lines(&run.cost.said, 3)),
        }
    };
    let right = |work: &Work<'_>, said: &str, when: &str| -> Result<()> {
        let check = work.check(said)?;
        if !check.right() {
            bail!("{when}, {} of the {} outputs there are wrong", check.wrong, check.there);
        }
        Ok(())
    };
    let executed = |work: &Work<'_>, run: &Run, before: &[Option<std::time::SystemTime>]| {
        let written = || work.written().iter().zip(before).filter(|(a, b)| a != b).count();
        work.tool.executed(&run.cost.said).unwrap_or_else(written)
    };

    let before = work.written();
    let cold = run(work)?;
    let (ran, all) = (executed(work, &cold, &before), work.graph.len());
    if ran != all {
        bail!("{ran} of {all} actions ran: {}", measure::last_lines(&cold.cost.said, 3));
    }
    right(work, &cold.cost.said, "after the first run")?;

    let (mut walls, mut cpus, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    let (start, mut peak) = (Instant::now(), 0);
    while walls.len() < REPEATS && (walls.is_empty() || start.elapsed() < ENOUGH) {
        if let Some(ninja) = &ninja {
            theirs.push(run(ninja)?.cost.wall);
        }
        let before = work.written();
        let nothing = run(work)?;
        let ran = executed(work, &nothing, &before);
        if ran != 0 {
            bail!("with nothing to do, {ran} actions ran");
        }
        walls.push(nothing.cost.wall);
        cpus.push(nothing.cost.cpu);
        peak = peak.max(nothing.cost.peak);
    }
    let nothing = (least(&walls), least(&cpus));
    let nothing_of_ninja = if ninja.is_some() { least(&theirs) } else { nothing.0 };

    let (mut change, mut change_of_ninja, mut ran) = (f64::INFINITY, f64::INFINITY, 0);
    let texts: &[&str] = if bench.quick { &["one\n"] } else { &["one\n", "two\n", "three\n"] };
    let start = Instant::now();
    for text in texts {
        if change.is_finite() && start.elapsed() > ENOUGH {
            break;
        }
        // Some tools know times to the second only.
        std::thread::sleep(Duration::from_millis(1100));
        if let Some(ninja) = ninja.as_deref_mut() {
            // The same text was there after the tool before.
            ninja.change(&format!("{}{text}", work.tool.name()))?;
            change_of_ninja = change_of_ninja.min(run(ninja)?.cost.wall);
        }
        work.change(text)?;
        let before = work.written();
        let changed = run(work)?;
        ran = executed(work, &changed, &before);
        if ran < work.graph.reached {
            bail!("after a change, {ran} actions ran instead of {}", work.graph.reached);
        }
        right(work, &changed.cost.said, "after a change")?;
        change = change.min(changed.cost.wall);
    }
    if ninja.is_none() {
        change_of_ninja = change;
    }
    let nothing_peak = peak;
    let cold = cold.cost;
    Ok(Times { cold, nothing, nothing_of_ninja, nothing_peak, change, change_of_ninja, ran })
}

const HEAD: [&str; 11] = [
    "tool",
    "notices by",
    "cold",
    "to ninja",
    "CPU an action",
    "above ninja",
    "nothing to do",
    "to ninja",
    "change",
    "to ninja",
    "peak",
];

/// All tools on one graph.
fn beside(
    bench: &mut Bench,
    name: &str,
    graph: &Graph,
    found: &[(&dyn Tool, Times)],
) -> Result<()> {
    let n = graph.len() as f64;
    let (_, ninja) = found.first().context("ninja did not run")?;
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    for (tool, t) in found {
        let extra = if t.ran > graph.reached { format!(", {} ran", t.ran) } else { String::new() };
        rows.push(vec![
            format!("{} {}", tool.name(), tool.version()),
            tool.notices().to_owned(),
            ms(t.cold.wall),
            format!("{:.2}", t.cold.wall / ninja.cold.wall),
            format!("{:.2} ms", t.cold.cpu / n * 1e3),
            format!("{:.2} ms", (t.cold.cpu - ninja.cold.cpu) / n * 1e3),
            ms(t.nothing.0),
            format!("{:.2}", t.nothing.0 / t.nothing_of_ninja),
            format!("{}{extra}", ms(t.change)),
            format!("{:.2}", t.change / t.change_of_ninja),
            format!("{:.0} MB", t.cold.peak.max(t.nothing_peak) as f64 / 1e6),
        ]);
    }
    let title = format!("**{name}**, a change reaches {}:", graph.reached);
    bench.section.table(&title, rows);
    Ok(())
}

/// What sim-pipe shall cost on one graph.
fn goals(bench: &mut Bench, name: &str, graph: &Graph, found: &[(&dyn Tool, Times)]) -> Result<()> {
    let n = graph.len();
    let ninja = &found.first().context("ninja did not run")?.1;
    let each = |t: &Times| t.cold.cpu / n as f64 * 1e3;
    let large = n >= 10_000;
    for (tool, t) in found.iter().filter(|(t, _)| t.name().starts_with("sim-pipe")) {
        let bare = tool.name().ends_with("none");
        let tool = tool.name().trim_start_matches("sim-pipe, ");
        let (cold, change) = if bare { (1.0, 0.5) } else { (3.0, 1.0) };
        let above = each(t) - each(ninja);
        bench.section.row(
            &format!("cold, CPU an action, {name}, {tool}"),
            format!("{:.2} ms, wall {}", each(t), ms(t.cold.wall)),
            format!("{:.2} ms, wall {} (ninja)", each(ninja), ms(ninja.cold.wall)),
            format!("{above:.2} ms above"),
            Goal::at_most(above, cold, &format!("≤ {cold} ms above")),
        );
        if bare {
            let ratio = t.nothing.0 / t.nothing_of_ninja;
            bench.section.row(
                &format!("nothing to do, contents known by stat, {name}"),
                format!("{}, CPU {}", ms(t.nothing.0), ms(t.nothing.1)),
                format!("{} (ninja, in turns)", ms(t.nothing_of_ninja)),
                format!("{ratio:.2} times"),
                Goal::at_most(ratio, 1.0, "≤ 1 times"),
            );
        }
        let limit = if large { change } else { f64::INFINITY };
        bench.section.row(
            &format!("one source changed, {} of {name} run, {tool}", t.ran),
            ms(t.change),
            format!("{} (ninja, in turns)", ms(t.change_of_ninja)),
            ms(t.change),
            Goal::at_most(t.change, limit, &format!("≤ {change} s for 10,000")),
        );
    }
    Ok(())
}

/// Rows that need the large graph as it now lies there, all done.
fn whole(
    bench: &mut Bench,
    graph: &Graph,
    tool: &SimPipe,
    times: &Times,
    smaller: Option<&Times>,
    small: usize,
) -> Result<()> {
    let n = graph.len();
    let slug = "sim-pipe--sandbox-none";
    let dir = bench.dir.join(format!("graphs/{}-{n}-{slug}", graph.name));
    let mut checked = Vec::new();
    for _ in 0..3 {
        let mut command = tool.command(&dir);
        checked.push(cost(command.arg("--verify"), &bench.dir)?.wall);
    }
    let checked = least(&checked);
    bench.section.row(
        &format!("nothing to do, every output hashed again, layers {}", count(n)),
        ms(checked),
        String::new(),
        ms(checked),
        Goal::at_most(checked, 1.0, "≤ 1 s for 10,000"),
    );
    let peak = times.cold.peak.max(times.nothing_peak) as f64 / 1e6;
    bench.section.row(
        &format!("peak memory, layers {}", count(n)),
        format!("{peak:.0} MB"),
        format!("nothing to do: {:.0} MB", times.nothing_peak as f64 / 1e6),
        format!("{peak:.0} MB"),
        Goal::at_most(peak, 60.0, "≤ 60 MB for 10,000"),
    );
    if let Some(smaller) = smaller {
        let sizes = format!("{} to {}", count(small), count(n));
        let limit = 1.1 * n as f64 / small as f64;
        for (what, a, b) in [
            ("cold CPU", smaller.cold.cpu, times.cold.cpu),
            ("nothing to do", smaller.nothing.0, times.nothing.0),
        ] {
            bench.section.row(
                &format!("growth from {sizes}, {what}"),
                ms(b),
                ms(a),
                format!("{:.1} times", b / a),
                Goal::at_most(b / a, limit, &format!("≤ {limit:.1} times")),
            );
        }
    }
    Ok(())
}

/// The level that `auto` gives here.
pub(in super::super) fn sandbox(bench: &Bench) -> Result<String> {
    let mut tool = tools::sim_pipe(&bench.program, bench.dir.join("tmp"), 1, ("auto", "auto"))?;
    tool.events = true;
    let graph = Graph::new(Shape::Chain, 1, &Body::Hash);
    let work = Work::new(&tool, graph, bench.dir.join("level"), 1, false)?;
    let run = work.run(Duration::from_secs(60))?;
    let after = run.cost.said.split("\"level\":\"").nth(1);
    let level = after.and_then(|a| a.split('"').next()).map(str::to_owned);
    let said = measure::last_lines(&run.cost.said, 5);
    work.remove()?;
    level.with_context(|| format!("the run names no sandbox: {said}"))
}
