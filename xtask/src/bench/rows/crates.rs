//! The two hot paths alone: planning by its criterion benchmark, and both by counted instructions.

use super::super::Bench;
use super::super::graph::{Body, Graph, Shape};
use super::super::measure::{cost, run};
use super::super::table::{Goal, count};
use super::super::tools;
use super::super::work::Work;
use crate::shell;
use anyhow::{Context as _, Result, bail};
use std::process::Command;
use std::time::Duration;

/// What `cargo bench` measures of planning and of a run with everything recorded.
pub(in super::super) fn planning(bench: &mut Bench) -> Result<()> {
    let mut found = Vec::new();
    for (package, target) in [("sim-plan", "plan"), ("sim-exec", "cached_run")] {
        let mut cargo = shell::cargo();
        cargo.args(["bench", "--quiet", "--package", package, "--bench", target, "--"]);
        cargo.args(["--output-format", "bencher"]);
        if bench.quick {
            cargo.args(["--measurement-time", "2", "--warm-up-time", "0.5", "--sample-size", "10"]);
        }
        let text = shell::output(&mut cargo)?;
        let before = found.len();
        found.extend(text.lines().filter_map(line));
        if found.len() == before {
            bail!("`cargo bench` of {package} names no figure:\n{text}");
        }
    }
    for (name, ns) in &found {
        let ms = ns / 1e6;
        let goal = if name == "plan/stages/10000" {
            Goal::at_most(ms, 100.0, "≤ 100 ms")
        } else {
            Goal::none()
        };
        let value = format!("{ms:.2} ms");
        bench.section.row(name, value.clone(), String::new(), value, goal);
    }
    Ok(())
}

/// `test NAME ... bench:   118,800,000 ns/iter (+/- …)`.
fn line(text: &str) -> Option<(String, f64)> {
    let (name, rest) = text.strip_prefix("test ")?.split_once(" ... bench:")?;
    let number: String = rest.split("ns/iter").next()?.trim().replace(',', "");
    Some((name.trim().to_owned(), number.parse().ok()?))
}

/// Instructions of the whole program, counted by valgrind: the one figure that other work on the
/// machine does not change.
pub(in super::super) fn instructions(bench: &mut Bench) -> Result<()> {
    let valgrind = shell::find("valgrind").context("valgrind is not on the search path")?;
    let n = if bench.quick { 200 } else { 1_000 };
    let tool = tools::sim_pipe(&bench.program, bench.dir.join("tmp"), 1, ("none", "none"))?;
    let graph = Graph::new(Shape::Layers, n, &Body::Hash);
    let work = Work::new(&tool, graph, bench.dir.join("instructions"), 1, false)?;
    cost(&mut super::super::tool::Tool::command(&tool, &work.dir), &bench.dir)?;
    let mut start = 0.0;
    for (what, args) in [
        ("start (`--version`)", vec!["--version"]),
        ("plan", vec!["--quiet", "plan", "pipeline.toml"]),
        ("nothing to do", vec!["--quiet", "run", "pipeline.toml", "--sandbox", "none"]),
    ] {
        let mut command = Command::new(&valgrind);
        command
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(&bench.program)
            .args(args)
            .current_dir(&work.dir)
            .env_remove("SIM_PIPE_STORE")
            .env("SIM_PIPE_LOCK_DIR", bench.dir.join("tmp"));
        let (cost, end) = run(&mut command, &bench.dir, Duration::from_secs(600))?;
        let counted = cost
            .said
            .lines()
            .find_map(|l| l.split("Collected :").nth(1)?.trim().parse::<f64>().ok())
            .with_context(|| format!("valgrind counts nothing ({end:?}): {}", cost.said))?;
        let (what, each) = if start == 0.0 {
            start = counted;
            (format!("instructions, {what}"), "-".to_owned())
        } else {
            let each = (counted - start) / 1e3 / n as f64;
            let what = format!("instructions, {what}, {} actions, all recorded", count(n));
            (what, format!("{each:.1} thousand an action above a start"))
        };
        let value = format!("{:.1} million", counted / 1e6);
        bench.section.row(&what, value, String::new(), each, Goal::none());
    }
    work.remove()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_line_of_criterion_is_read() {
        let text = "test plan/stages/10000 ... bench:   118,800,000 ns/iter (+/- 12,000)";
        assert_eq!(super::line(text), Some(("plan/stages/10000".to_owned(), 118_800_000.0)));
        assert_eq!(super::line("running"), None);
    }
}
