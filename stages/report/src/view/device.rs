//! Device time as a cell of a table and as a data file.

use super::Ctx;
use super::table::{CellView, spread};
use crate::cases::Cell;
use crate::csv::{Sheet, fields};
use crate::number::{full, significant};
use crate::text;

/// One cell of the table.
pub(crate) fn cell(cell: &Cell) -> CellView {
    let none = |text: &str, title: &str, class: &str| CellView {
        text: text.to_owned(),
        title: text::line(title),
        class: class.to_owned(),
        ..CellView::default()
    };
    let Some(device) = &cell.device else {
        return none("not collected", "no profile replay was planned", "none");
    };
    match device.counts() {
        Some(ms) => CellView {
            text: significant(ms.median, 3),
            sub: format!("n = {}", ms.n),
            title: text::line(&format!(
                "{}\n{}",
                spread(ms, "ms"),
                device.methods.iter().cloned().collect::<Vec<_>>().join("; ")
            )),
            sort: Some(full(ms.median)),
            ..CellView::default()
        },
        None => {
            let (word, why) = device.why_not();
            none(word, &why, "quiet")
        }
    }
}

/// The table as data.
pub(crate) fn sheet(ctx: &Ctx<'_>) -> Sheet {
    let mut rows = Vec::new();
    for case in &ctx.cases.cases {
        for (i, cell) in case.cells.iter().enumerate() {
            let (Some(cell), column) = (cell, &ctx.cases.columns[i]) else { continue };
            let Some(device) = &cell.device else { continue };
            let counts = device.counts();
            let why = counts.is_none().then(|| device.why_not().1);
            rows.push(fields![
                case.scenario.as_str(),
                case.size,
                case.worlds,
                case.steps,
                case.timestep,
                column.engine.as_str(),
                column.backend.as_str(),
                column.threads,
                device.needed,
                device.ms.as_ref().map_or(0, |ms| ms.n),
                counts.map(|s| s.median),
                counts.map(|s| s.q1),
                counts.map(|s| s.q3),
                device.methods.iter().cloned().collect::<Vec<_>>().join("; "),
                why,
            ]);
        }
    }
    Sheet {
        name: "device",
        doc: "One row a case and engine with profile replays: device time on the device's own clock, or why there is none.",
        header: &[
            "scenario",
            "size",
            "worlds",
            "steps",
            "timestep_s",
            "engine",
            "backend",
            "threads",
            "needed",
            "values",
            "device_ms_per_step_median",
            "device_ms_per_step_q1",
            "device_ms_per_step_q3",
            "method",
            "why_not",
        ],
        rows,
    }
}
