//! `cargo xtask bench behaviour`: what tools notice, and what they leave behind when disturbed.
//!
//! Every row is done to every tool in the same way, on graphs of a few actions. What a tool does is
//! shown as it was; a cell is bold where it is not what the row asks for.

mod changes;
mod faults;

use super::table::ms;
use super::tool::Tool;
use super::work::remove;
use super::{Bench, rows, tools};
use crate::shell;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What one tool did in one row.
struct Cell {
    text: String,
    /// Whether that is what the row asks for.
    holds: bool,
}

impl Cell {
    fn new(text: impl Into<String>, holds: bool) -> Self {
        Self { text: text.into(), holds }
    }

    fn shown(&self) -> String {
        if self.holds { self.text.clone() } else { format!("**{}**", self.text) }
    }
}

/// A tool under test.
struct Trial<'a> {
    tool: &'a dyn Tool,
    /// A folder of its own.
    dir: PathBuf,
    jobs: usize,
    limit: Duration,
}

/// Several rows that share a graph.
type Group = fn(&Trial<'_>) -> Result<Vec<(&'static str, Cell)>>;

const GROUPS: [Group; 7] = [
    changes::noticed,
    faults::killed_alone,
    faults::killed_together,
    faults::edited_meanwhile,
    faults::nothing_written,
    faults::signals,
    faults::two_at_once,
];

/// The table: a row a behaviour, a column a tool.
pub(super) fn table(bench: &mut Bench) -> Result<()> {
    let level = rows::sandbox(bench)?;
    let mut own = Vec::new();
    for (sandbox, level) in [("auto", level.as_str()), ("none", "none")] {
        if sandbox == "auto" && level == "none" {
            continue;
        }
        let tmp = bench.dir.join("tmp");
        let mut tool = tools::sim_pipe(&bench.program, tmp, bench.jobs, (sandbox, level))?;
        tool.events = true;
        own.push(tool);
    }
    let tmp = bench.dir.join("tmp");
    let mut careful = tools::sim_pipe(&bench.program, tmp, bench.jobs, ("auto", &level))?;
    careful.name = "sim-pipe run --verify".to_owned();
    (careful.verify, careful.events) = (true, true);
    own.push(careful);
    let others = bench.others()?;
    let all = own.iter().map(|t| t as &dyn Tool).chain(others.iter().map(AsRef::as_ref));

    let mut order: Vec<&'static str> = Vec::new();
    let mut columns: Vec<(String, BTreeMap<&'static str, Cell>)> = Vec::new();
    let root = bench.dir.join("behaviour");
    for tool in all {
        let start = Instant::now();
        let slug: String = tool.name().chars().filter(|c| c.is_alphanumeric()).collect::<String>();
        let trial = Trial { tool, dir: root.join(slug), jobs: bench.jobs, limit: bench.limit };
        let mut cells = BTreeMap::new();
        for group in GROUPS {
            // Whatever a tool leaves behind, the others are tried.
            let fresh = || {
                remove(&trial.dir)?;
                Ok(std::fs::create_dir_all(&trial.dir)?)
            };
            match fresh().and_then(|()| group(&trial)) {
                Ok(found) => {
                    for (row, cell) in found {
                        if !order.contains(&row) {
                            order.push(row);
                        }
                        cells.insert(row, cell);
                    }
                }
                Err(e) => bench.section.note(&format!("{}: {e:#}", tool.name())),
            }
        }
        if let Err(e) = remove(&trial.dir) {
            bench.section.note(&format!("{}: {e:#}", tool.name()));
        }
        let held = cells.values().filter(|c| c.holds).count();
        shell::say(&format!(
            "  {}: {held} of {} hold, {}",
            tool.name(),
            cells.len(),
            ms(start.elapsed().as_secs_f64())
        ));
        for (row, cell) in cells.iter().filter(|(_, c)| !c.holds) {
            if tool.name().starts_with("sim-pipe") {
                bench.section.note(&format!("{}: {row}: {}", tool.name(), cell.text));
            }
        }
        columns.push((format!("{} {}", tool.name(), tool.version()), cells));
    }

    let mut rows = vec![vec!["what is done".to_owned()]];
    rows[0].extend(columns.iter().map(|(name, _)| name.clone()));
    for row in &order {
        let cell = |cells: &BTreeMap<&'static str, Cell>| {
            cells.get(row).map_or("not tried".to_owned(), Cell::shown)
        };
        let cells = columns.iter().map(|(_, cells)| cell(cells));
        rows.push(std::iter::once((*row).to_owned()).chain(cells).collect());
    }
    let mut last = vec!["rows that hold".to_owned()];
    last.extend(columns.iter().map(|(_, cells)| {
        format!("{} of {}", cells.values().filter(|c| c.holds).count(), order.len())
    }));
    rows.push(last);
    bench.section.table("", rows);
    Ok(())
}
