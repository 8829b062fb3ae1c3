//! What was asked of whom, and what came of it: nothing that failed disappears.

use super::{ColumnHead, Ctx, Room, words};
use crate::text;
use serde::Serialize;
use std::collections::BTreeMap;

/// The coverage table.
#[derive(Serialize)]
pub(crate) struct Coverage {
    pub(crate) columns: Vec<ColumnHead>,
    pub(crate) rows: Vec<CoverageRow>,
    pub(crate) reasons: Vec<Reason>,
    /// How many reasons are not listed.
    pub(crate) more: usize,
}

/// One scene.
#[derive(Serialize)]
pub(crate) struct CoverageRow {
    pub(crate) scene: String,
    pub(crate) href: String,
    pub(crate) cells: Vec<CoverageCell>,
}

/// One scene on one engine.
#[derive(Serialize)]
pub(crate) struct CoverageCell {
    pub(crate) tone: &'static str,
    /// `timed 9/9`.
    pub(crate) lines: Vec<String>,
}

/// One reason for trials not to have passed.
#[derive(Serialize)]
pub(crate) struct Reason {
    pub(crate) scene: String,
    pub(crate) engine: String,
    pub(crate) case: String,
    pub(crate) mode: String,
    pub(crate) outcome: String,
    pub(crate) tone: &'static str,
    pub(crate) reason: String,
    pub(crate) count: usize,
    /// Page of the first such trial.
    pub(crate) page: String,
}

/// The table over all scenes, or over one.
pub(crate) fn coverage(ctx: &Ctx<'_>, only: Option<&str>, root: &str, room: Room) -> Coverage {
    let mut rows = Vec::new();
    let mut reasons = Vec::new();
    let mut more = 0;
    for (name, title) in &ctx.cases.scenarios {
        if only.is_some_and(|o| o != name) {
            continue;
        }
        let mut cells: Vec<BTreeMap<(u8, &str), [usize; 2]>> =
            vec![BTreeMap::new(); ctx.cases.columns.len()];
        let mut tones = vec!["none"; ctx.cases.columns.len()];
        for case in ctx.cases.of_scenario(name) {
            for (i, cell) in case.cells.iter().enumerate() {
                let Some(cell) = cell else { continue };
                for t in cell
                    .timed
                    .iter()
                    .chain(cell.replays.values().flatten())
                    .map(|t| &ctx.input.trials[*t])
                {
                    // Timed first, then the replays by name.
                    let mode = (u8::from(t.mode != "timed"), t.mode.as_str());
                    let count = cells[i].entry(mode).or_default();
                    count[0] += usize::from(t.passed());
                    count[1] += 1;
                    tones[i] = worse(tones[i], words::tone(&t.outcome));
                }
                for ((outcome, why), trials) in &cell.failures {
                    if reasons.len() >= room.rows() {
                        more += 1;
                        continue;
                    }
                    let t = &ctx.input.trials[trials[0]];
                    reasons.push(Reason {
                        scene: text::line(title),
                        engine: text::line(&ctx.cases.columns[i].name),
                        case: words::case(case),
                        mode: text::line(&t.mode),
                        outcome: words::outcome(outcome),
                        tone: words::tone(outcome),
                        reason: shorten(&text::line(why)),
                        count: trials.len(),
                        page: format!("{root}provenance/{}.html", t.page),
                    });
                }
            }
        }
        let cells = cells
            .into_iter()
            .zip(tones)
            .map(|(modes, tone)| {
                let mut lines: Vec<String> = modes
                    .into_iter()
                    .map(|((_, mode), [ok, all])| format!("{} {ok}/{all}", text::line(mode)))
                    .collect();
                if lines.is_empty() {
                    lines.push("not asked".into());
                }
                CoverageCell { tone, lines }
            })
            .collect();
        let href = format!("{root}scenes/{}.html", text::slug(name));
        rows.push(CoverageRow { scene: text::line(title), href, cells });
    }
    Coverage { columns: ctx.heads(), rows, reasons, more }
}

fn worse(a: &'static str, b: &'static str) -> &'static str {
    let rank = |t: &str| ["none", "good", "quiet", "bad"].iter().position(|x| *x == t);
    if rank(b) > rank(a) { b } else { a }
}

/// At most 400 characters; the whole text is on the action's page.
pub(crate) fn shorten(text: &str) -> String {
    if text.chars().count() <= 400 {
        return text.to_owned();
    }
    text.chars().take(399).chain(['\u{2026}']).collect()
}
