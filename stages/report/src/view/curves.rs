//! Which curves there are: time against bodies, and rate against worlds.

use super::Ctx;
use super::table::spread;
use super::words;
use crate::cases::{Case, Cell, Purpose};
use crate::stats::Summary;
use crate::svg::{Panel, Point, Series, panel};
use crate::text;
use serde::Serialize;
use std::collections::BTreeMap;

/// A figure.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) title: String,
    pub(crate) href: String,
    pub(crate) svg: String,
}

type Pick = fn(&Cell) -> Option<&Summary>;

/// All figures of `scenarios`; those of one value only are left to the tables.
pub(crate) fn figures<'s>(
    ctx: &Ctx<'_>,
    scenarios: impl Iterator<Item = &'s String>,
    root: &str,
) -> Vec<Figure> {
    let mut out = Vec::new();
    for name in scenarios {
        let title = text::line(&ctx.cases.scenarios[name]);
        let href = format!("{root}scenes/{}.html", text::slug(name));
        let mut by_worlds: BTreeMap<Fixed, Vec<&Case>> = BTreeMap::new();
        let mut by_size: BTreeMap<Fixed, Vec<&Case>> = BTreeMap::new();
        let timed = |c: &&Case| c.purpose == Purpose::Performance;
        for case in ctx.cases.of_scenario(name).filter(timed) {
            by_worlds.entry(Fixed::of(case, case.worlds)).or_default().push(case);
            by_size.entry(Fixed::of(case, case.size)).or_default().push(case);
        }
        for (fixed, cases) in by_worlds {
            let worlds = if fixed.value == 1 {
                "one world".into()
            } else {
                format!("{} worlds", fixed.value)
            };
            let mut curves = series(ctx, &cases, |c| c.size, |c| c.ms.as_ref(), "ms", root);
            let mut dashed = series(ctx, &cases, |c| c.size, device, "ms of device time", root);
            dashed.iter_mut().for_each(|s| s.dashed = true);
            let note = if dashed.is_empty() { "" } else { "; dashed: device time" };
            curves.append(&mut dashed);
            let p = Panel {
                title: format!("{title}: time per step against bodies, {worlds}{note}"),
                x: "dynamic bodies".into(),
                y: "ms per step".into(),
                series: curves,
            };
            push(&mut out, &p, &cases, format!("{title}, {worlds}{note}"), &href);
        }
        for (fixed, cases) in by_size {
            let s = words::counted(name, fixed.value);
            let p = Panel {
                title: format!(
                    "{title}: world-steps per second against worlds, {} {s}",
                    fixed.value
                ),
                x: "worlds".into(),
                y: "world-steps per second".into(),
                series: series(
                    ctx,
                    &cases,
                    |c| c.worlds,
                    |c| c.rate.as_ref(),
                    "world-steps/s",
                    root,
                ),
            };
            push(&mut out, &p, &cases, format!("{title}, {} {s}", fixed.value), &href);
        }
    }
    out
}

/// The device time of a cell.
fn device(cell: &Cell) -> Option<&Summary> {
    cell.device.as_ref()?.counts()
}

/// What all cases of one figure have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Fixed {
    value: u64,
    timestep: u64,
    machine: usize,
}

impl Fixed {
    fn of(case: &Case, value: u64) -> Self {
        Self { value, timestep: case.timestep.to_bits(), machine: case.machine }
    }
}

fn push(out: &mut Vec<Figure>, p: &Panel, cases: &[&Case], title: String, href: &str) {
    let several = p.series.iter().any(|s| s.points.len() > 1);
    if cases.len() > 1
        && several
        && let Some(svg) = panel(p)
    {
        out.push(Figure { title, href: href.to_owned(), svg });
    }
}

fn series(
    ctx: &Ctx<'_>,
    cases: &[&Case],
    x: fn(&Case) -> u64,
    pick: Pick,
    unit: &str,
    root: &str,
) -> Vec<Series> {
    let mut out = Vec::new();
    for (style, column) in ctx.cases.columns.iter().enumerate() {
        let mut points: Vec<Point> = cases
            .iter()
            .filter_map(|case| {
                let cell = case.cells[style].as_ref()?;
                let s = pick(cell)?;
                let name = text::line(&column.name);
                Some(Point {
                    x: x(case) as f64,
                    low: s.q1,
                    middle: s.median,
                    high: s.q3,
                    href: format!("{root}cases/{}.html#{}", case.page, column.id),
                    title: format!("{name}, {}\n{}", words::case(case), spread(s, unit)),
                    complete: cell.complete(),
                })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        // Cases that differ in their number of steps only stand at one place: keep one a place.
        points.dedup_by(|b, a| a.x == b.x);
        if !points.is_empty() {
            out.push(Series { style, dashed: false, points });
        }
    }
    out
}
