//! A hundred thousand actions.

use super::super::graph::{Body, Graph, Shape};
use super::super::measure::cost;
use super::super::stats::least;
use super::super::table::{Goal, count, ms};
use super::super::work::{Work, remove};
use super::super::{Bench, tools};
use anyhow::{Result, bail};
use std::time::Duration;

const ACTIONS: usize = 100_000;

/// Planning with nothing recorded, and a run with everything recorded.
pub(in super::super) fn scale(bench: &mut Bench) -> Result<()> {
    let tool =
        tools::sim_pipe(&bench.program, bench.dir.join("tmp"), bench.jobs, ("none", "none"))?;
    let graph = Graph::new(Shape::Layers, ACTIONS, &Body::Hash);
    let name = format!("layers {}", count(ACTIONS));
    let dir = bench.dir.join("scale");
    let work = Work::new(&tool, graph, dir.clone(), bench.jobs, false)?;
    let mut plans = Vec::new();
    let mut peak = 0;
    for _ in 0..if bench.quick { 2 } else { 5 } {
        let mut plan = tool.base(&dir);
        let plan = cost(plan.args(["--quiet", "plan", "pipeline.toml"]), &bench.dir)?;
        peak = peak.max(plan.peak);
        plans.push(plan.wall);
    }
    let plan = least(&plans);
    bench.section.row(
        &format!("plan of {name}, nothing recorded"),
        ms(plan),
        format!("{:.0} MB at most", peak as f64 / 1e6),
        ms(plan),
        Goal::at_most(plan, 3.0, "< 3 s"),
    );
    if bench.quick {
        bench.section.note(&format!("a run of {name} takes minutes and is left out of --quick"));
        return remove(&dir);
    }
    let first = work.run(Duration::from_secs(3600))?;
    if !first.well() || tool_ran(&first.cost.said) != Some(ACTIONS) {
        bail!("the first run of {name}: {:?} {}", first.end, first.cost.said);
    }
    let (mut walls, mut cpus, mut peak) = (Vec::new(), Vec::new(), 0);
    for _ in 0..5 {
        let run = work.run(Duration::from_secs(600))?;
        if !run.well() || tool_ran(&run.cost.said) != Some(0) {
            bail!("a run with nothing to do: {:?} {}", run.end, run.cost.said);
        }
        walls.push(run.cost.wall);
        cpus.push(run.cost.cpu);
        peak = peak.max(run.cost.peak);
    }
    let wall = least(&walls);
    bench.section.row(
        &format!("nothing to do, contents known by stat, {name}"),
        format!("{}, CPU {}", ms(wall), ms(least(&cpus))),
        format!("{:.0} MB at most; the first run took {}", peak as f64 / 1e6, ms(first.cost.wall)),
        ms(wall),
        Goal::at_most(wall, 2.0, "< 2 s"),
    );
    work.remove()
}

fn tool_ran(said: &str) -> Option<usize> {
    said.split(" · ").find_map(|part| part.trim().strip_suffix(" ran")?.parse().ok())
}
