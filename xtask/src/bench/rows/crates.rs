//! The two hot paths alone: planning by its criterion benchmark, and both by counted instructions.

use super::super::Bench;
use super::super::graph::{Body, Graph, Shape};
use super::super::measure::{cost, run};
use super::super::stats::{least, median};
use super::super::table::{Goal, count, ms};
use super::super::tools;
use super::super::work::Work;
use crate::shell;
use anyhow::{Context as _, Result, bail};
use std::process::Command;
use std::time::Duration;

/// What `cargo bench` measures of planning and of a run with everything recorded.
pub(in super::super) fn planning(bench: &mut Bench) -> Result<()> {
    for (package, target) in [("sim-plan", "plan"), ("sim-exec", "cached_run")] {
        let mut cargo = shell::cargo();
        cargo.args(["bench", "--quiet", "--package", package, "--bench", target, "--"]);
        cargo.args(["--output-format", "bencher"]);
        if bench.quick {
            cargo.args(["--measurement-time", "2", "--warm-up-time", "0.5", "--sample-size", "10"]);
        }
        let text = shell::output(&mut cargo)?;
        let names: Vec<&str> = text.lines().filter_map(name).collect();
        if names.is_empty() {
            bail!("`cargo bench` of {package} names no figure:\n{text}");
        }
        for name in names {
            let path = shell::target_dir()?.join("criterion").join(name).join("new/sample.json");
            let file = std::fs::read(&path).with_context(|| path.display().to_string())?;
            let times = samples(&serde_json::from_slice(&file)?);
            let (least, middle) = (least(&times), median(&times));
            let goal = if name == "plan/stages/10000" {
                Goal::at_most(least, 0.1, "≤ 100 ms")
            } else {
                Goal::none()
            };
            let measured = format!("{}, median {} of {}", ms(least), ms(middle), times.len());
            bench.section.row(name, measured, String::new(), ms(least), goal);
        }
    }
    Ok(())
}

/// `test NAME ... bench:   118,800,000 ns/iter (+/- …)`.
fn name(line: &str) -> Option<&str> {
    Some(line.strip_prefix("test ")?.split_once(" ... bench:")?.0.trim())
}

/// Seconds of one iteration in each sample.
fn samples(value: &serde_json::Value) -> Vec<f64> {
    let numbers = |name: &str| -> Vec<f64> {
        value[name].as_array().into_iter().flatten().filter_map(serde_json::Value::as_f64).collect()
    };
    numbers("times").iter().zip(numbers("iters")).map(|(ns, n)| ns / n / 1e9).collect()
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
    fn what_criterion_writes_is_read() {
        let text = "test plan/stages/10000 ... bench:   118,800,000 ns/iter (+/- 12,000)";
        assert_eq!(super::name(text), Some("plan/stages/10000"));
        assert_eq!(super::name("running"), None);
        let value = serde_json::json!({"iters": [1.0, 2.0], "times": [2e9, 3e9]});
        assert_eq!(super::samples(&value), [2.0, 1.5]);
    }
}
