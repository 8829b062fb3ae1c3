//! The measured interval of each adapter beside the engine's own loop, written by hand.

use super::super::Bench;
use super::super::measure::cost;
use super::super::stats::{Verdict, interval as interval_of, median, verdict};
use super::super::table::Goal;
use crate::adapters::{self, Adapter};
use crate::shell;
use anyhow::{Context as _, Result};
use std::path::Path;
use std::process::Command;

const SIZE: u32 = 200;
const STEPS: u32 = 600;

/// One scene, one world, one thread; a pair is one run of each, in alternating order, and gives one
/// ratio. What is said is the median of the ratios and where it lies with 95 % confidence.
pub(in super::super) fn interval(bench: &mut Bench) -> Result<()> {
    let pairs = if bench.quick { 5 } else { 25 };
    let dir = bench.dir.join("interval");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir)?;
    scene(bench, &dir)?;
    for adapter in adapters::all()? {
        // One that is left out of tests needs minutes to build, and buffers that a calibration sizes.
        if !adapter.steps_scenes()? || adapter.opt_in() {
            continue;
        }
        let name = &adapter.name;
        shell::run(&mut adapter.cargo(&[
            "build",
            "--release",
            "--quiet",
            "--locked",
            "--bins",
            "--examples",
        ])?)?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for i in 0..pairs {
            if i % 2 == 0 {
                ours.push(harness(bench, &adapter, &dir)?);
                theirs.push(by_hand(bench, &adapter, &dir)?);
            } else {
                theirs.push(by_hand(bench, &adapter, &dir)?);
                ours.push(harness(bench, &adapter, &dir)?);
            }
        }
        let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(a, b)| a / b).collect();
        let (low, high) = interval_of(&ratios);
        let said = match verdict((low, high), (0.99, 1.01)) {
            Verdict::Shown => "shown",
            Verdict::NotShown => "not shown",
            Verdict::Missed => "missed",
        };
        bench.section.row(
            &format!(
                "measured interval of {name}, box_pile of {SIZE}, {STEPS} steps, {pairs} pairs"
            ),
            format!("{:.4} ms a step", median(&ours)),
            format!("{:.4} ms (its own loop)", median(&theirs)),
            format!("median of ratios {:.4}, 95 % in {low:.4} to {high:.4}", median(&ratios)),
            Goal::said(said, "within 1 %, the whole interval"),
        );
    }
    Ok(())
}

fn scene(bench: &Bench, dir: &Path) -> Result<()> {
    let pipeline = format!(
        "[pipeline]\nname = \"interval\"\n[[stage]]\nname = \"scene\"\nkind = \"scene\"\n\
         scenario = \"box_pile\"\nsize = {SIZE}\n"
    );
    std::fs::write(dir.join("pipeline.toml"), pipeline)?;
    let mut run = bench.sim_pipe();
    shell::output(run.args(["--quiet", "run", "pipeline.toml"]).current_dir(dir))?;
    let mut path = bench.sim_pipe();
    let tree = shell::output(path.args(["store", "path", "scene"]).current_dir(dir))?;
    std::fs::copy(Path::new(tree.trim()).join("scene.json"), dir.join("scene.json"))?;
    let job = serde_json::json!({
        "protocol": 1, "mode": "timed", "scene": "scene.json", "worlds": 1, "steps": STEPS,
        "warmup": 0, "threads": 1, "seed": 0, "backend": "cpu",
    });
    Ok(std::fs::write(dir.join("job.json"), job.to_string())?)
}

fn command(adapter: &Adapter, program: &Path) -> Result<Command> {
    let mut command = Command::new(program);
    if let Some(library) = adapter.library()? {
        command.env("LD_LIBRARY_PATH", library);
    }
    command.env("RAYON_NUM_THREADS", "1");
    Ok(command)
}

fn harness(bench: &Bench, adapter: &Adapter, dir: &Path) -> Result<f64> {
    let program = adapter.target()?.join(format!("release/sim-adapter-{}", adapter.name));
    let out = dir.join("out");
    let _ = std::fs::remove_dir_all(&out);
    std::fs::create_dir_all(&out)?;
    let mut command = command(adapter, &program)?;
    cost(command.arg("run").arg(dir.join("job.json")).arg(&out), &bench.dir)?;
    let result: serde_json::Value =
        serde_json::from_slice(&std::fs::read(out.join("result.json"))?)?;
    find(&result, "ms_per_step").context("result.json has no ms_per_step")
}

fn by_hand(bench: &Bench, adapter: &Adapter, dir: &Path) -> Result<f64> {
    let program = adapter.target()?.join("release/examples/hand_loop");
    let mut command = command(adapter, &program)?;
    command.arg(dir.join("scene.json")).args(["1", &STEPS.to_string(), "0"]);
    let said: serde_json::Value =
        serde_json::from_str(cost(&mut command, &bench.dir)?.said.trim())?;
    said["ms_per_step"].as_f64().context("hand_loop prints ms_per_step")
}

/// The number of this name, wherever it stands.
fn find(value: &serde_json::Value, name: &str) -> Option<f64> {
    match value {
        serde_json::Value::Object(map) => map
            .get(name)
            .and_then(serde_json::Value::as_f64)
            .or_else(|| map.values().find_map(|v| find(v, name))),
        _ => None,
    }
}
