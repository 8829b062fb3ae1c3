//! The list of all actions.

use super::{Ctx, words};
use crate::number::{seconds, whole};
use crate::text;
use serde::Serialize;

/// Rows on the page; the rest is in the data.
const MOST_ROWS: usize = 600;

/// The page.
#[derive(Serialize)]
pub(crate) struct ActionsPage {
    pub(crate) total: String,
    pub(crate) rows: Vec<ActionRow>,
    pub(crate) cut: bool,
}

/// One action.
#[derive(Serialize)]
pub(crate) struct ActionRow {
    pub(crate) label: String,
    pub(crate) href: String,
    pub(crate) kind: String,
    pub(crate) class: &'static str,
    pub(crate) outcome: String,
    pub(crate) tone: &'static str,
    pub(crate) wall: String,
    pub(crate) key: String,
}

/// Those that did not end well first where not all fit, else in plan order.
pub(crate) fn page(ctx: &Ctx<'_>) -> ActionsPage {
    let mut rows: Vec<ActionRow> = Vec::new();
    let pages = &ctx.input.pages;
    let cut = pages.len() > MOST_ROWS;
    let bad = |p: &&crate::load::Page| {
        p.trial.is_some_and(|t| !ctx.input.trials[t].passed())
            || p.record.is_some_and(|r| ctx.input.records[r].status != sim_model::Status::Ok)
    };
    let chosen: Vec<&crate::load::Page> = if cut {
        let rest = pages.iter().filter(|p| !bad(p));
        pages.iter().filter(bad).chain(rest).take(MOST_ROWS).collect()
    } else {
        pages.iter().collect()
    };
    for p in chosen {
        let record = p.record.map(|r| &ctx.input.records[r]);
        let trial = p.trial.map(|t| &ctx.input.trials[t]);
        let outcome = record
            .map_or_else(|| trial.map_or("not_run", |t| t.outcome.as_str()), |r| r.status.name());
        rows.push(ActionRow {
            label: super::coverage::shorten(&text::line(&p.label)),
            href: format!("provenance/{}.html", p.stem),
            kind: text::line(record.map_or("trial", |r| r.kind.as_str())),
            class: record.map_or("", |r| r.class.name()),
            outcome: words::outcome(outcome),
            tone: words::tone(outcome),
            wall: record.map_or_else(|| "\u{2014}".into(), |r| seconds(r.usage.wall_ms * 1e-3)),
            key: record.map_or_else(String::new, |r| r.key.short()),
        });
    }
    ActionsPage { total: whole(pages.len() as u64), rows, cut }
}
