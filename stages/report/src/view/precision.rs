//! Speed and accuracy together: error against cost for every scene whose motion is known, over
//! timesteps and settings. A figure a quantity, and its numbers beside it.
//!
//! Cost is the median wall time per simulated second, ms/s: ms per step / timestep. The error is
//! that of the final state, as the result has it; where repeats differ, their median. The observed
//! order is the slope of the least-squares line through log error over log timestep.

use super::{Ctx, words};
use crate::cases::{Case, Purpose};
use crate::number::{full, significant, timestep};
use crate::stats::Summary;
use crate::svg::{DASHES, Frontier, Line, Mark, frontier, line_key};
use crate::text;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// One quantity of one scene.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Quantity {
    pub(crate) title: String,
    pub(crate) href: String,
    /// What the error is.
    pub(crate) what: String,
    pub(crate) svg: Option<String>,
    /// Points whose error is exactly zero: a logarithmic axis has no place for them.
    pub(crate) zeros: usize,
    /// Observations behind the points that are marked noisy, and all of them.
    pub(crate) noisy: [usize; 2],
    pub(crate) lines: Vec<LineHead>,
    pub(crate) rows: Vec<DtRow>,
    /// Observed order of each line.
    pub(crate) orders: Vec<String>,
}

/// One engine under some settings.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LineHead {
    pub(crate) name: String,
    pub(crate) variant: String,
    pub(crate) key: String,
}

/// One timestep.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DtRow {
    pub(crate) dt: String,
    pub(crate) cells: Vec<Option<PointCell>>,
}

/// One point as numbers.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PointCell {
    pub(crate) error: String,
    pub(crate) cost: String,
    pub(crate) class: &'static str,
    pub(crate) href: String,
}

/// One point of one line, for pages and data files.
pub(crate) struct Measured<'a> {
    pub(crate) case: &'a Case,
    pub(crate) column: usize,
    pub(crate) id: String,
    pub(crate) quantity: String,
    pub(crate) unit: String,
    pub(crate) error: Option<Summary>,
    /// ms of wall time per simulated second.
    pub(crate) cost: Option<Summary>,
    pub(crate) complete: bool,
}

/// Every point of every precision case, in the order of cases, columns and quantities. A cell without
/// any result has no quantity and is left to the coverage table.
pub(crate) fn measured<'a>(ctx: &'a Ctx<'_>) -> Vec<Measured<'a>> {
    let mut out = Vec::new();
    for case in ctx.cases.run_for(Purpose::Precision) {
        for (column, cell) in case.cells.iter().enumerate() {
            let Some(cell) = cell else { continue };
            let mut errors: BTreeMap<(String, String, String), Vec<f64>> = BTreeMap::new();
            for t in cell.timed.iter().map(|i| &ctx.input.trials[*i]).filter(|t| t.passed()) {
                for a in t.result.iter().flat_map(|r| &r.accuracy) {
                    let [id, what, unit] = [&a.id, &a.quantity, &a.unit].map(|s| text::line(s));
                    errors.entry((id, what, unit)).or_default().push(a.error);
                }
            }
            let cost = Summary::of(cell.samples.iter().map(|ms| ms / case.timestep));
            for ((id, quantity, unit), values) in errors {
                // A repeat without the error is no repeat of it.
                let complete = cell.complete() && values.len() == cell.passed;
                let error = Summary::of(values);
                out.push(Measured { case, column, id, quantity, unit, error, cost, complete });
            }
        }
    }
    out
}

/// What the points of one figure have in common: place among the figures, scene, size, worlds, simulated time in ns, machine,
/// quantity.
type Key<'a> = (usize, &'a str, u64, u64, u64, usize, String);

/// Figures stand from the simplest law to the hardest, then by scene.
const ORDER: [&str; 8] = [
    "free_fall",
    "pendulum_angle",
    "slide_at",
    "slide_above",
    "roll",
    "momentum",
    "angular_momentum",
    "energy",
];
/// What the points of one line have in common: column and settings.
type LineOf<'a> = (usize, &'a str);

/// The figures of all scenes, or of one.
pub(crate) fn quantities(ctx: &Ctx<'_>, only: Option<&str>, root: &str) -> Vec<Quantity> {
    let mut figures: BTreeMap<Key<'_>, BTreeMap<LineOf<'_>, Vec<Measured<'_>>>> = BTreeMap::new();
    for m in measured(ctx) {
        let c = m.case;
        if only.is_some_and(|o| o != c.scenario) {
            continue;
        }
        let horizon = (c.timestep * c.steps as f64 * 1e9).round() as u64;
        let place = ORDER.iter().position(|id| *id == m.id).unwrap_or(ORDER.len());
        let key = (place, c.scenario.as_str(), c.size, c.worlds, horizon, c.machine, m.id.clone());
        let line = (m.column, c.variant.as_str());
        figures.entry(key).or_default().entry(line).or_default().push(m);
    }
    figures.into_iter().map(|(key, lines)| quantity(ctx, &key, lines, root)).collect()
}

fn quantity(
    ctx: &Ctx<'_>,
    key: &Key<'_>,
    lines: BTreeMap<LineOf<'_>, Vec<Measured<'_>>>,
    root: &str,
) -> Quantity {
    let (_, scenario, size, _, horizon, machine, id) = key;
    let scene = text::line(&ctx.cases.scenarios[*scenario]);
    let (mut what, mut unit) = (String::new(), String::new());
    let (mut heads, mut drawn, mut orders, mut zeros) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let mut rows: BTreeMap<u64, Vec<Option<PointCell>>> = BTreeMap::new();
    let width = lines.len();
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    let mut noisy = [0, 0];
    for (place, ((column, variant), mut points)) in lines.into_iter().enumerate() {
        let others = seen.entry(column).or_insert(0);
        let dash = if variant.is_empty() {
            0
        } else {
            *others += 1;
            1 + (*others - 1) % (DASHES - 1)
        };
        points.sort_by(|a, b| b.case.timestep.total_cmp(&a.case.timestep));
        let name = text::line(&ctx.cases.columns[column].name);
        let variant = text::line(variant);
        let mut marks = Vec::new();
        for m in &points {
            what.clone_from(&m.quantity);
            unit.clone_from(&m.unit);
            if let Some(cell) = &m.case.cells[column] {
                noisy[0] += cell.noisy;
                noisy[1] += cell.passed;
            }
            let (Some(error), Some(cost)) = (m.error, m.cost) else { continue };
            let href = format!("{root}cases/{}.html#{}", m.case.page, ctx.cases.columns[column].id);
            let title = title(&name, &variant, m, &error, &cost);
            let cells = rows.entry(m.case.timestep.to_bits()).or_insert_with(|| vec![None; width]);
            cells[place] = Some(PointCell {
                error: significant(error.median, 3),
                cost: significant(cost.median, 3),
                class: if m.complete { "" } else { "part" },
                href: href.clone(),
            });
            if error.median > 0.0 {
                // A spread that reaches zero is drawn down to its median.
                let low = if error.q1 > 0.0 { error.q1 } else { error.median };
                marks.push(Mark {
                    cost: [cost.q1, cost.median, cost.q3],
                    error: [low, error.median, error.q3],
                    label: timestep(m.case.timestep).trim_end_matches("\u{a0}s").to_owned(),
                    href,
                    title,
                    complete: m.complete,
                });
            } else {
                zeros += 1;
            }
        }
        orders.push(
            order(&points).map_or_else(
                || "\u{2014}".to_owned(),
                |o| format!("{o:.2}").replace('-', "\u{2212}"),
            ),
        );
        heads.push(LineHead { name, variant, key: line_key(column, dash) });
        drawn.push(Line { style: column, dash, points: marks });
    }
    // The adapters' own settings on top of the others.
    drawn.sort_by_key(|l| std::cmp::Reverse(l.dash));
    let in_unit = match unit.as_str() {
        "1" => "relative".to_owned(),
        unit => unit.to_owned(),
    };
    let bodies = if *size == 1 { "body" } else { "bodies" };
    let seconds = significant(*horizon as f64 * 1e-9, 2);
    let mut title = format!("{scene}: {}", words::quantity(id));
    if ctx.machines.len() > 1 {
        title += &format!(", {}", ctx.machine_name(*machine));
    }
    let panel = Frontier {
        title: format!("{title}: error against cost"),
        error: format!("error, {in_unit}"),
        lines: drawn,
    };
    let mut rows: Vec<(f64, Vec<Option<PointCell>>)> =
        rows.into_iter().map(|(bits, cells)| (f64::from_bits(bits), cells)).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    Quantity {
        href: format!("{root}scenes/{}.html", text::slug(scenario)),
        what: format!(
            "Error, {in_unit}: {what}, after {seconds}\u{a0}s, the largest of {size} {bodies}."
        ),
        svg: frontier(&panel),
        title,
        zeros,
        noisy,
        lines: heads,
        rows: rows.into_iter().map(|(dt, cells)| DtRow { dt: timestep(dt), cells }).collect(),
        orders,
    }
}

fn title(name: &str, variant: &str, m: &Measured<'_>, error: &Summary, cost: &Summary) -> String {
    let with = if variant.is_empty() { String::new() } else { format!(", {variant}") };
    let short = |v: f64| significant(v, 4);
    let unit = if m.unit == "1" { String::new() } else { format!(" {}", m.unit) };
    let noisy = m.case.cells[m.column].as_ref().map_or(0, |c| c.noisy);
    let mut out = format!(
        "{name}{with}, \u{394}t {}\nerror {}{unit}\n{} ms per simulated second\n",
        timestep(m.case.timestep),
        full(error.median),
        full(cost.median),
    );
    if cost.n > 1 {
        out += &format!("quartiles {} to {}, ", short(cost.q1), short(cost.q3));
    }
    out += &format!("n = {}", cost.n);
    if error.min < error.max {
        out += &format!("\nerrors of repeats {} to {}", short(error.min), short(error.max));
    }
    if noisy > 0 {
        out += &format!("\n{noisy} observation{} marked noisy", words::plural(noisy));
    }
    out
}

/// Least-squares slope of log error over log timestep, where three timesteps or more have an error
/// above zero.
fn order(points: &[Measured<'_>]) -> Option<f64> {
    let logs: Vec<(f64, f64)> = points
        .iter()
        .filter_map(|m| Some((m.case.timestep.ln(), m.error?.median)))
        .filter(|(_, e)| *e > 0.0)
        .map(|(t, e)| (t, e.ln()))
        .collect();
    slope(&logs)
}

fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let distinct: BTreeSet<u64> = points.iter().map(|p| p.0.to_bits()).collect();
    if distinct.len() < 3 {
        return None;
    }
    let n = points.len() as f64;
    let (mx, my) =
        (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let (mut xy, mut xx) = (0.0, 0.0);
    for (x, y) in points {
        xy += (x - mx) * (y - my);
        xx += (x - mx) * (x - mx);
    }
    Some(xy / xx)
}

#[cfg(test)]
mod tests {
    use super::slope;

    #[test]
    fn the_observed_order_is_the_slope() {
        let second: Vec<(f64, f64)> =
            [0.1_f64, 0.05, 0.025].iter().map(|h| (h.ln(), (3.0 * h * h).ln())).collect();
        let order = slope(&second).expect("three timesteps");
        assert!((order - 2.0).abs() < 1e-12, "{order}");
        assert_eq!(slope(&second[..2]), None);
        // Anscombe's first set: slope 0.500 (The American Statistician 27, 1973).
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let points: Vec<(f64, f64)> = x.into_iter().zip(y).collect();
        assert!((slope(&points).expect("eleven") - 0.500_090_9).abs() < 1e-6);
    }
}
