//! The tables of results: one row a case, one column an engine, one layout for all.

use super::{ColumnHead, Ctx, Room, words};
use crate::cases::{Case, Cell};
use crate::number::{bytes, full, significant, timestep, whole};
use crate::stats::Summary;
use crate::svg::{Dot, Scale, axis, strip};
use crate::text;
use serde::Serialize;

/// A table of results.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Table {
    pub(crate) id: &'static str,
    pub(crate) title: String,
    pub(crate) caption: String,
    pub(crate) columns: Vec<ColumnHead>,
    pub(crate) groups: Vec<RowGroup>,
    /// Ticks of the strips, where the table has them.
    pub(crate) axis: Option<String>,
    /// Whether the cases differ in their number of worlds; if not, the caption says it.
    pub(crate) worlds: bool,
    /// Whether they differ in steps or time step; if not, the caption says it.
    pub(crate) horizons: bool,
    /// Stem of the data files.
    pub(crate) data: &'static str,
    /// Number of rows, where there are too many to show.
    pub(crate) too_long: Option<String>,
}

/// The rows of one scene.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RowGroup {
    pub(crate) title: String,
    pub(crate) href: String,
    pub(crate) rows: Vec<Row>,
}

/// One case.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) size: String,
    pub(crate) worlds: String,
    pub(crate) steps: String,
    pub(crate) timestep: String,
    /// Link to the case's page.
    pub(crate) href: String,
    pub(crate) cells: Vec<CellView>,
    pub(crate) strip: Option<String>,
}

/// One cell.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct CellView {
    /// Value or word.
    pub(crate) text: String,
    /// Small print: how many passed, or the spread.
    pub(crate) sub: String,
    /// Full value, quartiles, count, reasons.
    pub(crate) title: String,
    /// Classes of the style sheet.
    pub(crate) class: String,
    /// Anchor on the case's page; empty where nothing was asked.
    pub(crate) anchor: String,
    /// Value to sort by.
    pub(crate) sort: Option<String>,
}

/// What a table shows of a cell.
pub(crate) enum Metric<'a> {
    /// Median ms per step.
    Time,
    /// Median world-steps per second.
    Rate,
    /// Median set-up and warm-up.
    Setup,
    /// Median peak of a memory metric.
    Memory(&'a str),
    /// Median device time of profile replays.
    Device,
}

/// The table of `metric` over `cases`. `depth` leads to the site's folder.
pub(crate) fn table<'a>(
    ctx: &Ctx<'_>,
    metric: &Metric<'_>,
    cases: impl Iterator<Item = &'a Case>,
    root: &str,
    room: Room,
) -> Table {
    let cases: Vec<&Case> = cases.collect();
    let (id, title, caption, data) = names(metric);
    let mut out = Table {
        id,
        title,
        caption,
        columns: ctx.heads(),
        groups: Vec::new(),
        axis: None,
        worlds: differ(&cases, |c| c.worlds),
        horizons: differ(&cases, |c| (c.steps, c.timestep.to_bits())),
        data,
        too_long: None,
    };
    if let Some(case) = cases.first() {
        if !out.horizons {
            out.caption += &format!(" All cases: {}.", words::horizon(case));
        }
        if !out.worlds && case.worlds != 1 {
            out.caption += &format!(" All cases: {}\u{a0}worlds.", whole(case.worlds));
        }
    }
    if cases.len() * ctx.cases.columns.len() > room.cells() {
        out.too_long = Some(whole(cases.len() as u64));
        return out;
    }
    let stripped = !matches!(metric, Metric::Setup);
    let unit = axis_unit(metric);
    let values = cases.iter().flat_map(|c| c.cells.iter().flatten());
    let scale = stripped
        .then(|| {
            let all = values.filter_map(|c| summary(metric, c));
            axis(all.flat_map(|s| [s.q1 / unit, s.q3 / unit]))
        })
        .flatten();
    out.axis = scale.as_ref().map(|(_, svg)| svg.clone());
    let scale = scale.map(|(s, _)| s);
    for case in cases {
        let title = text::line(&ctx.cases.scenarios[&case.scenario]);
        if out.groups.last().is_none_or(|g| g.title != title) {
            let href = format!("{root}scenes/{}.html", text::slug(&case.scenario));
            out.groups.push(RowGroup { title, href, rows: Vec::new() });
        }
        if let Some(group) = out.groups.last_mut() {
            group.rows.push(row(ctx, metric, case, root, scale.as_ref()));
        }
    }
    out
}

fn differ<T: PartialEq>(cases: &[&Case], of: fn(&Case) -> T) -> bool {
    cases.windows(2).any(|pair| of(pair[0]) != of(pair[1]))
}

/// What one on the axis of the strips is.
fn axis_unit(metric: &Metric<'_>) -> f64 {
    if matches!(metric, Metric::Memory(_)) { 1_048_576.0 } else { 1.0 }
}

fn names(metric: &Metric<'_>) -> (&'static str, String, String, &'static str) {
    match metric {
        Metric::Time => (
            "performance",
            "Time per step".into(),
            "Median synchronised wall time of one physics step of all worlds, in milliseconds. \
             Below it, how many of the planned trials passed."
                .into(),
            "performance",
        ),
        Metric::Rate => (
            "throughput",
            "World-steps per second".into(),
            "Median steps \u{d7} worlds per second of synchronised wall time; bodies do not count."
                .into(),
            "performance",
        ),
        Metric::Setup => (
            "setup",
            "Set-up and warm-up".into(),
            "Median set-up (compilation included) + warm-up, outside the measured interval. The \
             warm-up is at least as long as the rollout."
                .into(),
            "performance",
        ),
        Metric::Device => (
            "device",
            "Device time".into(),
            "Median time of one physics step of all worlds on the device\u{2019}s own clock, in \
             milliseconds, from separate profile replays. Methods differ in what they cover; profiling \
             changes how work is scheduled, so it may exceed the time per step. It enters no score."
                .into(),
            "device",
        ),
        Metric::Memory(name) => {
            let (what, note) = match *name {
                "ram" => (
                    "Peak RAM",
                    "The kernel's high-water mark of resident memory from launch to the end of physics, shared pages included.",
                ),
                "gpu" => {
                    ("Sampled GPU memory", "The largest sample: a lower bound on the true peak.")
                }
                "footprint" => (
                    "Peak physical footprint",
                    "The kernel's lifetime maximum of the physical footprint.",
                ),
                _ => ("Peak memory", "As the counter on the methods page defines it."),
            };
            let other = if what == "Peak memory" {
                format!(" ({})", text::line(name))
            } else {
                String::new()
            };
            (
                "memory",
                format!("{what}{other}"),
                format!(
                    "{note} Median over separate memory replays, with the quartiles below it; \
                         absolute, nothing subtracted."
                ),
                "memory",
            )
        }
    }
}

fn summary<'c>(metric: &Metric<'_>, cell: &'c Cell) -> Option<&'c Summary> {
    match metric {
        Metric::Time => cell.ms.as_ref(),
        Metric::Rate => cell.rate.as_ref(),
        Metric::Setup => cell.setup_s.as_ref(),
        Metric::Memory(name) => cell.memory.get(*name)?.counts(),
        Metric::Device => cell.device.as_ref()?.counts(),
    }
}

fn row(ctx: &Ctx<'_>, metric: &Metric<'_>, case: &Case, root: &str, scale: Option<&Scale>) -> Row {
    let mut dots = Vec::new();
    let cells = case
        .cells
        .iter()
        .enumerate()
        .map(|(i, cell)| {
            let Some(cell) = cell else {
                return CellView {
                    text: "\u{2014}".into(),
                    title: "not asked of this engine".into(),
                    class: "none".into(),
                    ..CellView::default()
                };
            };
            if let Some(s) = summary(metric, cell) {
                let complete = cell.complete();
                let unit = axis_unit(metric);
                let (low, middle, high) = (s.q1 / unit, s.median / unit, s.q3 / unit);
                dots.push(Dot { style: i, low, middle, high, complete });
            }
            let mut view = match metric {
                Metric::Memory(name) => memory_cell(ctx, cell, name),
                Metric::Device => super::device::cell(cell),
                _ => time_cell(ctx, metric, cell),
            };
            view.anchor.clone_from(&ctx.cases.columns[i].id);
            if matches!(metric, Metric::Time | Metric::Rate) && case.fastest.contains(&i) {
                view.class += " best";
                view.title += "\nfastest of its group in this case";
            }
            view
        })
        .collect();
    Row {
        size: match case.variant.as_str() {
            "" => whole(case.size),
            variant => format!("{}, {}", whole(case.size), text::line(variant)),
        },
        worlds: whole(case.worlds),
        steps: whole(case.steps),
        timestep: timestep(case.timestep),
        href: format!("{root}cases/{}.html", case.page),
        cells,
        strip: scale.map(|s| strip(s, &dots)),
    }
}

/// The quartiles and the count of a sample, for titles.
pub(crate) fn spread(s: &Summary, unit: &str) -> String {
    let short = |v: f64| significant(v, 5);
    if s.n == 1 {
        return format!("{} {unit}\nn = 1", full(s.median));
    }
    format!(
        "median {} {unit}\nquartiles {} to {}\nrange {} to {}\nn = {}",
        full(s.median),
        short(s.q1),
        short(s.q3),
        short(s.min),
        short(s.max),
        s.n
    )
}

fn time_cell(ctx: &Ctx<'_>, metric: &Metric<'_>, cell: &Cell) -> CellView {
    let planned = cell.timed.len();
    if planned == 0 {
        let (text, title) = ("\u{2014}".into(), "no timed trial was planned".into());
        return CellView { text, title, class: "none".into(), ..CellView::default() };
    }
    let mut title = String::new();
    let mut class = String::new();
    let passed = format!("{}/{planned}", cell.passed);
    if cell.passed < planned {
        title += &words::reasons(cell);
    }
    let Some(s) = summary(metric, cell) else {
        let first = cell.timed.iter().map(|i| &ctx.input.trials[*i]).find(|t| !t.passed());
        let outcome = first.map_or("not_run", |t| t.outcome.as_str());
        let text = if first.is_none() { "no value".into() } else { words::outcome(outcome) };
        class += words::tone(outcome);
        return CellView { text, sub: passed, title, class, ..CellView::default() };
    };
    let mut sub = passed;
    if !cell.complete() {
        class += "part";
        sub = format!("{sub} \u{b7} {}", words::failures(cell, ctx.input));
    }
    if cell.noisy > 0 {
        class += " noisy";
        sub += " \u{b7} noisy";
        title += &format!("\n{} of {} observations are marked noisy", cell.noisy, cell.passed);
    }
    let text = match metric {
        Metric::Setup => {
            title = format!("set-up: {}\n{title}", spread(s, "s"));
            match &cell.warmup_s {
                Some(w) => {
                    title = format!("{title}\nwarm-up: {}", spread(w, "s"));
                    format!(
                        "{} + {}",
                        crate::number::seconds(s.median),
                        crate::number::seconds(w.median)
                    )
                }
                None => crate::number::seconds(s.median),
            }
        }
        Metric::Rate => {
            title = format!("{}\n{title}", spread(s, "world-steps/s"));
            significant(s.median, 3)
        }
        _ => {
            title = format!("{}\n{title}", spread(s, "ms"));
            significant(s.median, 3)
        }
    };
    let title = title.trim().to_owned();
    CellView { text, sub, title, class, sort: Some(full(s.median)), ..CellView::default() }
}

fn memory_cell(ctx: &Ctx<'_>, cell: &Cell, name: &str) -> CellView {
    let replays = cell.replays.get("memory").map_or(0, Vec::len);
    let none = |text: &str, title: String, class: &str| CellView {
        text: text.to_owned(),
        title,
        class: class.to_owned(),
        ..CellView::default()
    };
    let Some(memory) = cell.memory.get(name) else {
        if replays == 0 {
            return none("\u{2014}", "no memory replay was planned".into(), "none");
        }
        let failed = cell.replays.get("memory").into_iter().flatten();
        let first = failed.map(|i| &ctx.input.trials[*i]).find(|t| !t.passed());
        let outcome = first.map_or("not applicable".to_owned(), |t| words::outcome(&t.outcome));
        let class = first.map_or("quiet", |t| words::tone(&t.outcome));
        return none(&outcome, words::reasons(cell), class);
    };
    let n = memory.peak.as_ref().map_or(0, |p| p.n);
    let Some(s) = memory.counts() else {
        let why: Vec<&str> = memory.unavailable.iter().map(String::as_str).collect();
        let why = match (memory.counters.len(), n) {
            (2.., _) => format!("several counters: {}", join(memory.counters.iter())),
            (_, 0) => format!("unavailable: {}", why.join("; ")),
            _ => format!("{n} of {} replays gave a value", memory.needed),
        };
        let text = if n == 0 { "unavailable" } else { "incomplete" };
        let mut view = none(text, text::line(&why), "quiet");
        view.sub = format!("{n}/{}", memory.needed);
        return view;
    };
    let as_bytes = |x: f64| bytes(x.round() as u64);
    let sub = if s.n > 1 && s.q1 < s.q3 {
        let (low, high) = (as_bytes(s.q1), as_bytes(s.q3));
        // The unit once where both have it.
        let low = match (low.split_once('\u{a0}'), high.split_once('\u{a0}')) {
            (Some((number, a)), Some((_, b))) if a == b => number.to_owned(),
            _ => low,
        };
        format!("{low} to {high} \u{b7} n = {}", s.n)
    } else {
        format!("n = {}", s.n)
    };
    CellView {
        text: as_bytes(s.median),
        sub,
        title: format!("{}\ncounter {}", spread(s, "bytes"), join(memory.counters.iter())),
        sort: Some(full(s.median)),
        ..CellView::default()
    }
}

fn join<'s>(items: impl Iterator<Item = &'s String>) -> String {
    items.map(|s| text::line(s)).collect::<Vec<_>>().join(", ")
}
