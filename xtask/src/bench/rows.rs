//! The rows of the table.

mod graphs;
mod interval;

pub(super) use graphs::graphs;
pub(super) use interval::interval;

use super::measure::{best, cost, least};
use super::{Bench, Goal, ms, tools};
use crate::shell;
use anyhow::{Context as _, Result};
use std::fmt::Write as _;
use std::io::Write as _;
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
    bench.table.row(
        "start of the program (`--version`)",
        ms(ours),
        format!("{} (`true`)", ms(nothing)),
        format!("{} above", ms(ours - nothing)),
        Goal::none(),
    );
    Ok(())
}

/// Hashing a tree against b3sum on the same bytes.
pub(super) fn hash(bench: &mut Bench) -> Result<()> {
    let b3sum = tools::b3sum(&bench.dir)?;
    let shapes: [(&str, usize, usize); 2] = if bench.quick {
        [("1,000 files of 8 KiB", 1_000, 8 << 10), ("4 files of 64 MiB", 4, 64 << 20)]
    } else {
        [("5,000 files of 8 KiB", 5_000, 8 << 10), ("4 files of 256 MiB", 4, 256 << 20)]
    };
    for (name, files, bytes) in shapes {
        let dir = bench.dir.join("hash");
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(dir.join("data"))?;
        std::fs::create_dir_all(dir.join("small"))?;
        std::fs::write(dir.join("small/f"), "x")?;
        // In pieces: a large buffer here would count as the peak memory of every child that follows.
        let mut block = vec![0u8; bytes.min(1 << 20)];
        for i in 0..files {
            let mut file = std::fs::File::create(dir.join(format!("data/{i:05}")))?;
            for piece in 0..bytes.div_ceil(block.len()) {
                for (k, b) in block.iter_mut().enumerate().step_by(4096) {
                    *b = (i + k + piece) as u8;
                }
                file.write_all(&block)?;
            }
        }
        for folder in ["data", "small"] {
            std::fs::write(
                dir.join(format!("{folder}.toml")),
                format!(
                    "[pipeline]\nname = \"{folder}\"\n[[stage]]\nname = \"s\"\nkind = \"command\"\n\
                     run = [\"true\"]\ninputs.tree = \"{folder}\"\n"
                ),
            )?;
        }
        let plan = |folder: &str| {
            // Without the stat cache, so that everything is read.
            let _ = std::fs::remove_dir_all(dir.join(".sim-pipe/cache"));
            let mut c = bench.sim_pipe();
            c.args(["plan", &format!("{folder}.toml")]).current_dir(&dir);
            cost(&mut c, &dir)
        };
        plan("data")?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..if bench.quick { 3 } else { 9 } {
            ours.push(plan("data")?.wall - plan("small")?.wall);
            let mut c = Command::new("sh");
            c.arg("-c").arg("exec \"$0\" data/*").arg(&b3sum).current_dir(&dir);
            theirs.push(cost(&mut c, &dir)?.wall);
        }
        let (ours, theirs) = (least(&ours), least(&theirs));
        let speed = theirs / ours;
        bench.table.row(
            &format!("hashing a tree, {name}"),
            format!("{} (`plan`, less one without the tree)", ms(ours)),
            format!("{} (`b3sum`)", ms(theirs)),
            format!("{speed:.2} of its speed"),
            Goal::at_most(-speed, -0.8, "≥ 0.8"),
        );
        let _ = std::fs::remove_dir_all(&dir);
    }
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
    bench.table.row(
        &format!("report over {trials} trials"),
        ms(seconds),
        format!("{:.0} MB at most", cost.peak as f64 / 1e6),
        ms(seconds),
        Goal::at_most(seconds, limit, "< 5 s for 10,000"),
    );
    let _ = std::fs::remove_dir_all(&dir);
    Ok(())
}

/// Planning alone, by the benchmark of crates/plan: milliseconds by number of stages.
fn planning() -> Result<Vec<(usize, f64)>> {
    let text = shell::output(shell::cargo().args([
        "bench",
        "--quiet",
        "--package",
        "sim-plan",
        "--bench",
        "plan",
    ]))?;
    let mut out = Vec::new();
    for line in text.lines().filter(|l| l.contains(" stages ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let count = words.first().and_then(|w| w.parse().ok());
        let time =
            words.iter().position(|w| w.starts_with("ms")).and_then(|i| words[i - 1].parse().ok());
        if let (Some(count), Some(time)) = (count, time) {
            out.push((count, time));
        }
    }
    Ok(out)
}

/// A number with commas.
fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            let _ = write!(out, ",");
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_have_commas() {
        assert_eq!(super::count(999), "999");
        assert_eq!(super::count(10_000), "10,000");
        assert_eq!(super::count(1_234_567), "1,234,567");
    }
}
