//! The A/A control: each engine against itself under two labels. Nothing differs, so the interval of
//! the ratio must hold 1.

use super::{ColumnHead, Ctx, words};
use crate::bootstrap::{Interval, ratio};
use crate::cases::{Case, Cell, Purpose};
use crate::number::significant;
use crate::text;
use serde::Serialize;

/// One control of one engine.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ControlRow {
    pub(crate) scene: String,
    pub(crate) case: String,
    pub(crate) column: ColumnHead,
    /// Links to the samples of both sides.
    pub(crate) hrefs: [String; 2],
    /// Median ms per step of both sides, with how many passed.
    pub(crate) medians: [String; 2],
    pub(crate) ratio: String,
    pub(crate) verdict: String,
    pub(crate) tone: &'static str,
    pub(crate) noisy: usize,
}

/// Both sides of a control on one column.
struct Pair<'a> {
    column: usize,
    a: (&'a Case, &'a Cell),
    b: (&'a Case, &'a Cell),
}

impl Pair<'_> {
    fn complete(&self) -> bool {
        self.a.1.complete() && self.b.1.complete()
    }

    fn interval(&self) -> Option<Interval> {
        self.complete().then(|| ratio(&self.a.1.samples, &self.b.1.samples)).flatten()
    }
}

fn pairs<'a>(ctx: &'a Ctx<'_>) -> Vec<Pair<'a>> {
    let same = |a: &Case, b: &Case| {
        let of = |c: &Case| (c.size, c.worlds, c.steps, c.timestep.to_bits(), c.machine);
        a.scenario == b.scenario
            && of(a) == of(b)
            && a.variant == b.variant
            && a.suite == b.suite
            && (a.side.as_str(), b.side.as_str()) == ("a", "b")
    };
    let controls = || ctx.cases.run_for(Purpose::Control);
    let mut out = Vec::new();
    for a in controls().filter(|c| c.side == "a") {
        for b in controls().filter(|b| same(a, b)) {
            for (column, cells) in a.cells.iter().zip(&b.cells).enumerate() {
                if let (Some(x), Some(y)) = cells {
                    out.push(Pair { column, a: (a, x), b: (b, y) });
                }
            }
        }
    }
    out
}

/// Whether a control of a column shows a difference where there is none.
pub(crate) fn fails(ctx: &Ctx<'_>, column: usize) -> bool {
    let of_column = |p: &Pair<'_>| p.column == column;
    pairs(ctx)
        .iter()
        .filter(|p| of_column(p))
        .any(|p| p.interval().is_some_and(|i| !i.covers_one()))
}

/// Every control with its verdict.
pub(crate) fn controls(ctx: &Ctx<'_>, root: &str) -> Vec<ControlRow> {
    pairs(ctx).iter().map(|pair| row(ctx, pair, root)).collect()
}

fn row(ctx: &Ctx<'_>, pair: &Pair<'_>, root: &str) -> ControlRow {
    let column = &ctx.cases.columns[pair.column];
    let sides = [pair.a, pair.b];
    let (text, verdict, tone) = match pair.interval() {
        Some(i) => {
            let f = |v: f64| significant(v, 4);
            let text = format!("{} [{}, {}]", f(i.middle), f(i.low), f(i.high));
            let (verdict, tone) = if i.covers_one() {
                ("covers 1, as it must", "good")
            } else {
                ("does not cover 1: differences of this size mean nothing here", "bad")
            };
            (text, verdict.to_owned(), tone)
        }
        None if !pair.complete() => {
            ("\u{2014}".to_owned(), "not every repeat passed".to_owned(), "bad")
        }
        None => ("\u{2014}".to_owned(), "single repeats have no interval".to_owned(), "quiet"),
    };
    ControlRow {
        scene: text::line(&ctx.cases.scenarios[&pair.a.0.scenario]),
        // Both sides are in the row.
        case: words::case(&Case { side: String::new(), ..pair.a.0.clone() }),
        column: ColumnHead::of(pair.column, column),
        hrefs: sides.map(|(case, _)| format!("{root}cases/{}.html#{}", case.page, column.id)),
        medians: sides.map(|(_, cell)| {
            let ms = cell.ms.map_or_else(|| "\u{2014}".to_owned(), |s| significant(s.median, 4));
            format!("{ms} ({}/{})", cell.passed, cell.timed.len())
        }),
        ratio: text,
        verdict,
        tone,
        noisy: pair.a.1.noisy + pair.b.1.noisy,
    }
}
