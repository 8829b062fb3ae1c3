//! `cargo xtask bench`: the budget table, as ratios measured in one run.
//!
//! Absolute times say little on a shared machine. So everything that has a yardstick (ninja, b3sum,
//! an engine's own loop) is measured beside it, in turns, and the ratio is the figure.

mod graphs;
mod measure;
mod rows;
mod tools;

use crate::{shell, sim_pipe};
use anyhow::{Context as _, Result, bail};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// What all rows share.
struct Bench {
    quick: bool,
    /// The program measured.
    program: PathBuf,
    /// A folder for everything that is made.
    dir: PathBuf,
    table: Table,
}

/// The table that comes out.
#[derive(Default)]
struct Table {
    rows: Vec<[String; 5]>,
    notes: Vec<String>,
}

type Row = (&'static str, fn(&mut Bench) -> Result<()>);

const ROWS: [Row; 5] = [
    ("startup", rows::startup),
    // Before the rows that delete many files, see there.
    ("graphs", rows::graphs),
    ("interval", rows::interval),
    ("hash", rows::hash),
    ("report", rows::report),
];

/// `cargo xtask bench [--quick] [--out FILE] [ROW…]`.
pub(crate) fn task(args: &[String]) -> Result<ExitCode> {
    let (mut quick, mut out, mut wanted) = (false, None, Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => quick = true,
            "--out" => out = Some(PathBuf::from(args.next().context("--out takes a file")?)),
            row if ROWS.iter().any(|(name, _)| *name == row) => wanted.push(row.to_owned()),
            other => bail!("`bench` does not know `{other}`"),
        }
    }
    let program = sim_pipe::build()?;
    let dir = shell::target_dir()?.join("bench");
    std::fs::create_dir_all(dir.join("tmp"))?;
    let mut bench = Bench { quick, program, dir, table: Table::default() };
    for (name, row) in ROWS {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            shell::say(&format!("measuring: {name}"));
            if let Err(e) = row(&mut bench) {
                bench.table.note(&format!("{name}: not measured: {e:#}"));
            }
        }
    }
    let text = bench.text();
    shell::print(text.trim_end());
    if let Some(path) = out {
        shell::write(&path, &text)?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Bench {
    /// The program measured, with nothing from the user's environment that has a say. Its lock on
    /// the machine is its own: another sim-pipe that measures would make it wait for its turn.
    fn sim_pipe(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_remove("SIM_PIPE_STORE")
            .env("NO_COLOR", "1")
            .env("TMPDIR", self.dir.join("tmp"));
        command
    }

    fn text(&self) -> String {
        let mut out = String::from("| what | measured | beside it | ratio or value | goal |\n");
        out += "| --- | --- | --- | --- | --- |\n";
        for row in &self.table.rows {
            out += &format!("| {} |\n", row.join(" | "));
        }
        for note in &self.table.notes {
            out += &format!("\n{note}\n");
        }
        format!("{}\n{out}", machine())
    }
}

impl Table {
    fn row(&mut self, what: &str, measured: String, beside: String, ratio: String, goal: Goal) {
        let mark = match goal.holds {
            Some(true) => "",
            Some(false) => "**missed:** ",
            None => "",
        };
        let row = [what.to_owned(), measured, beside, format!("{mark}{ratio}"), goal.text];
        shell::say(&format!("  {}", row.join(" · ")));
        self.rows.push(row);
    }

    fn note(&mut self, text: &str) {
        shell::say(&format!("  {text}"));
        self.notes.push(text.to_owned());
    }
}

/// A goal and whether it was reached.
struct Goal {
    text: String,
    holds: Option<bool>,
}

impl Goal {
    fn at_most(value: f64, limit: f64, text: &str) -> Self {
        Self { text: text.to_owned(), holds: Some(value <= limit) }
    }

    fn none() -> Self {
        Self { text: "-".to_owned(), holds: None }
    }
}

fn ms(seconds: f64) -> String {
    match seconds * 1e3 {
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms if ms < 1e3 => format!("{ms:.0} ms"),
        ms => format!("{:.2} s", ms / 1e3),
    }
}

/// One line about where this was measured.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|l| l.strip_prefix("model name")).unwrap_or(": unknown");
    let cpus = cpu.lines().filter(|l| l.starts_with("processor")).count();
    let load = read("/proc/loadavg");
    format!(
        "{} × {}, Linux {}, load {} at the end.\n",
        cpus,
        model.trim_start_matches(['\t', ' ', ':']).trim(),
        read("/proc/sys/kernel/osrelease").trim(),
        load.split(' ').next().unwrap_or("?")
    )
}
