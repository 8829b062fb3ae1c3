//! `cargo xtask bench`: the budget table, as ratios measured in one run, and the behaviour table.
//!
//! Absolute times say little on a shared machine. So everything that has a yardstick (other tools,
//! b3sum, an engine's own loop) is measured beside it, in turns, and the ratio is the figure.

mod behaviour;
mod emit;
mod graph;
mod measure;
mod processes;
mod rows;
mod stats;
mod table;
mod tool;
mod tools;
mod work;

use crate::{shell, sim_pipe};
use anyhow::{Context as _, Result, bail};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;
use table::Section;

/// What all rows share.
struct Bench {
    quick: bool,
    /// The program measured.
    program: PathBuf,
    /// A folder for everything that is made.
    dir: PathBuf,
    /// Actions at once, for all tools.
    jobs: usize,
    /// The longest that one run of another tool may take.
    limit: Duration,
    /// Other tools to run; all where empty.
    tools: Vec<String>,
    section: Section,
    /// Folders to remove once the section is written.
    left: Vec<PathBuf>,
}

/// A row: its name, what measures it, and whether it is part of a run that names none.
type Row = (&'static str, fn(&mut Bench) -> Result<()>, bool);

const ROWS: [Row; 9] = [
    ("startup", rows::startup, true),
    // Before the rows that delete many files, see there.
    ("graphs", rows::graphs, true),
    ("scale", rows::scale, true),
    ("planning", rows::planning, true),
    ("instructions", rows::instructions, true),
    ("interval", rows::interval, true),
    ("hash", rows::hash, true),
    ("report", rows::report, true),
    ("behaviour", behaviour::table, false),
];

/// `cargo xtask bench [--quick] [--tools LIST] [--limit SECONDS] [--into FILE] [ROW…]`.
pub(crate) fn task(args: &[String]) -> Result<ExitCode> {
    let (mut quick, mut into, mut wanted) = (false, None, Vec::new());
    let (mut limit, mut tools) = (None, Vec::new());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{arg} takes a value"));
        match arg.as_str() {
            "--quick" => quick = true,
            "--into" => into = Some(PathBuf::from(value()?)),
            "--limit" => limit = Some(value()?.parse().context("--limit takes seconds")?),
            "--tools" => tools = value()?.split(',').map(|t| t.trim().to_owned()).collect(),
            row => {
                let row = row.trim_start_matches("--");
                if !ROWS.iter().any(|(name, ..)| *name == row) {
                    bail!("`bench` does not know `{arg}`");
                }
                wanted.push(row.to_owned());
            }
        }
    }
    let known = tools::names();
    if let Some(other) = tools.iter().find(|t| !known.contains(&t.as_str())) {
        bail!("there is no tool `{other}`; there are {}", known.join(", "));
    }
    let program = sim_pipe::build()?;
    let dir = shell::target_dir()?.join("bench");
    std::fs::create_dir_all(dir.join("tmp"))?;
    measure::adopt();
    let mut bench = Bench {
        quick,
        program,
        dir,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        limit: Duration::from_secs(limit.unwrap_or(if quick { 30 } else { 180 })),
        tools,
        section: Section::default(),
        left: Vec::new(),
    };
    for (name, row, always) in ROWS {
        let chosen = if wanted.is_empty() { always } else { wanted.iter().any(|w| w == name) };
        if !chosen {
            continue;
        }
        shell::say(&format!("measuring: {name}"));
        let before = load();
        if let Err(e) = row(&mut bench) {
            bench.section.note(&format!("{name}: not measured: {e:#}"));
        }
        let mut options = String::from(if quick { " --quick" } else { "" });
        if !bench.tools.is_empty() {
            options += &format!(" --tools {}", bench.tools.join(","));
        }
        if let Some(limit) = limit {
            options += &format!(" --limit {limit}");
        }
        let how = format!(
            "`cargo xtask bench{options} {name}` on {}, load {before} before and {} after.",
            machine(),
            load()
        );
        let text = std::mem::take(&mut bench.section).text(&how);
        shell::print(&format!("## {name}\n\n{}", text.trim_end()));
        if let Some(path) = &into {
            table::refresh(path, name, &text)?;
        }
        for dir in std::mem::take(&mut bench.left) {
            work::remove(&dir)?;
        }
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
            .env("SIM_PIPE_LOCK_DIR", self.dir.join("tmp"))
            .env("NO_COLOR", "1")
            .env("TMPDIR", self.dir.join("tmp"));
        command
    }

    /// The other tools that are there and wanted; what is not there is noted.
    fn others(&mut self) -> Result<tools::Tools> {
        let wanted = |name: &str| self.tools.is_empty() || self.tools.iter().any(|t| t == name);
        let (found, missing) = tools::all(&self.dir, self.jobs, wanted)?;
        for tool in missing {
            self.section.note(&format!("{}: not there: {}", tool.name, tool.why));
        }
        Ok(found)
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The load average of the last minute.
fn load() -> String {
    read("/proc/loadavg").split(' ').next().unwrap_or("?").to_owned()
}

/// Where this was measured.
fn machine() -> String {
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|l| l.strip_prefix("model name")).unwrap_or(": unknown");
    let cpus = cpu.lines().filter(|l| l.starts_with("processor")).count();
    let kernel = read("/proc/sys/kernel/osrelease");
    format!(
        "{cpus} × {}, Linux {}",
        model.trim_start_matches(['\t', ' ', ':']).trim(),
        kernel.trim().split('-').next().unwrap_or("?")
    )
}
