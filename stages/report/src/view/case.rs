//! One case: every sample of every engine, and what each engine counted.

use super::scene::short;
use super::table::spread;
use super::{ColumnHead, Ctx, words};
use crate::cases::{Case, Cell};
use crate::number::{bytes, full, seconds, significant, whole};
use crate::stats::Summary;
use crate::svg;
use crate::text;
use crate::trial::Trial;
use serde::Serialize;
use std::collections::BTreeMap;

/// One case.
#[derive(Serialize)]
pub(crate) struct CasePage {
    pub(crate) title: String,
    pub(crate) scene: String,
    pub(crate) scene_href: String,
    pub(crate) horizon: String,
    pub(crate) machine: String,
    /// Where its replay is.
    pub(crate) replay: Option<String>,
    pub(crate) figure: Option<String>,
    pub(crate) columns: Vec<ColumnPart>,
}

/// One engine's part.
#[derive(Serialize)]
pub(crate) struct ColumnPart {
    pub(crate) column: ColumnHead,
    pub(crate) fastest: bool,
    pub(crate) summary: Vec<[String; 3]>,
    pub(crate) trials: Vec<TrialRow>,
    pub(crate) more: usize,
}

/// One trial.
#[derive(Serialize)]
pub(crate) struct TrialRow {
    pub(crate) mode: String,
    pub(crate) repeat: u64,
    pub(crate) outcome: String,
    pub(crate) tone: &'static str,
    pub(crate) noisy: bool,
    pub(crate) ms: [String; 2],
    pub(crate) setup: String,
    pub(crate) warmup: String,
    pub(crate) peak: String,
    pub(crate) contacts: String,
    pub(crate) state: String,
    pub(crate) reason: String,
    pub(crate) href: String,
}

const MOST_TRIALS: usize = 200;

/// See [`CasePage`].
pub(crate) fn page(ctx: &Ctx<'_>, case: &Case, replay: Option<String>) -> CasePage {
    let scene = text::line(&ctx.cases.scenarios[&case.scenario]);
    let title = format!("{scene}: {}", words::case(case));
    let mut lines = Vec::new();
    let mut columns = Vec::new();
    for (i, cell) in case.cells.iter().enumerate() {
        let Some(cell) = cell else { continue };
        let column = &ctx.cases.columns[i];
        let samples: Vec<svg::Sample> = cell
            .timed
            .iter()
            .map(|t| &ctx.input.trials[*t])
            .filter_map(|t| {
                let ms = t.ms_per_step()?;
                let title = format!(
                    "{}, repeat {}\n{} ms per step",
                    text::line(&column.name),
                    t.repeat,
                    full(ms)
                );
                Some(svg::Sample {
                    value: ms,
                    href: format!("../provenance/{}.html", t.page),
                    title,
                })
            })
            .take(MOST_TRIALS)
            .collect();
        if !samples.is_empty() {
            lines.push(svg::SampleLine { style: i, name: text::line(&column.name), samples });
        }
        let all: Vec<usize> =
            cell.timed.iter().chain(cell.replays.values().flatten()).copied().collect();
        columns.push(ColumnPart {
            column: ColumnHead::of(i, column),
            fastest: case.fastest.contains(&i),
            summary: summary(ctx, cell),
            more: all.len().saturating_sub(MOST_TRIALS),
            trials: all.iter().take(MOST_TRIALS).map(|t| row(ctx, &ctx.input.trials[*t])).collect(),
        });
    }
    CasePage {
        replay,
        figure: svg::samples(&format!("Every sample of {title}, ms per step"), &lines),
        title,
        scene,
        scene_href: format!("../scenes/{}.html", text::slug(&case.scenario)),
        horizon: words::horizon(case),
        machine: ctx.machine_name(case.machine),
        columns,
    }
}

/// Name, text, full values.
fn summary(ctx: &Ctx<'_>, cell: &Cell) -> Vec<[String; 3]> {
    let mut out = vec![[
        "passed".into(),
        format!("{} of {}", cell.passed, cell.timed.len()),
        words::reasons(cell),
    ]];
    let mut add = |name: &str, s: Option<&Summary>, unit: &str, show: &dyn Fn(f64) -> String| {
        if let Some(s) = s {
            let mut text = show(s.median);
            if s.q1 < s.q3 {
                text += &format!(" [{}, {}]", show(s.q1), show(s.q3));
            }
            out.push([name.to_owned(), format!("{text}, n\u{a0}=\u{a0}{}", s.n), spread(s, unit)]);
        }
    };
    let per = |unit: &'static str| move |v: f64| format!("{}\u{a0}{unit}", significant(v, 4));
    add("time per step", cell.ms.as_ref(), "ms", &per("ms"));
    add("world-steps per second", cell.rate.as_ref(), "1/s", &|v| significant(v, 4));
    for (id, error, unit) in accuracy(ctx, cell) {
        let unit = if unit == "1" { "relative".to_owned() } else { unit };
        let show = |v: f64| format!("{}\u{a0}{unit}", significant(v, 4));
        add(&format!("error of {}", words::quantity(&id)), Some(&error), &unit, &show);
    }
    add("set-up", cell.setup_s.as_ref(), "s", &seconds);
    add("warm-up", cell.warmup_s.as_ref(), "s", &seconds);
    let device = cell.device.as_ref().and_then(|d| d.counts());
    add("device time per step", device, "ms", &per("ms"));
    for (name, memory) in &cell.memory {
        let name = if name == "ram" { "RAM".to_owned() } else { text::line(name) };
        let show = |v: f64| bytes(v.round() as u64);
        add(&format!("peak {name}"), memory.counts(), "bytes", &show);
    }
    if let Some(device) = cell.device.as_ref().filter(|d| d.counts().is_none()) {
        let (word, why) = device.why_not();
        out.push(["device time per step".to_owned(), word.to_owned(), text::line(&why)]);
    }
    out
}

/// Errors against closed forms over the trials that passed: name, summary, unit.
fn accuracy(ctx: &Ctx<'_>, cell: &Cell) -> Vec<(String, Summary, String)> {
    let mut errors: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for t in cell.timed.iter().map(|i| &ctx.input.trials[*i]).filter(|t| t.passed()) {
        for a in t.result.iter().flat_map(|r| &r.accuracy) {
            errors.entry((text::line(&a.id), text::line(&a.unit))).or_default().push(a.error);
        }
    }
    errors.into_iter().filter_map(|((id, unit), v)| Some((id, Summary::of(v)?, unit))).collect()
}

fn row(ctx: &Ctx<'_>, t: &Trial) -> TrialRow {
    let r = t.result.as_deref();
    let ns = |v: Option<u64>| v.map_or_else(|| "\u{2014}".into(), |n| seconds(n as f64 * 1e-9));
    let dash = || "\u{2014}".to_owned();
    let peak = r.and_then(|r| r.memory.as_ref()).and_then(|m| {
        let ram = m.metrics.iter().find(|x| x.name == "ram").or(m.metrics.first())?;
        ram.peak_bytes
    });
    let noisy = t
        .record
        .and_then(|i| ctx.input.records[i].conditions.as_ref())
        .is_some_and(|c| !c.noisy.is_empty());
    TrialRow {
        mode: text::line(&t.mode),
        repeat: t.repeat,
        outcome: words::outcome(&t.outcome),
        tone: words::tone(&t.outcome),
        noisy,
        ms: t
            .ms_per_step()
            .map_or_else(|| [dash(), String::new()], |v| [significant(v, 4), full(v)]),
        setup: ns(r.and_then(|r| r.phases.setup_ns)),
        warmup: ns(r.and_then(|r| r.phases.warmup_ns)),
        peak: peak.map_or_else(dash, bytes),
        contacts: r.and_then(|r| r.counters.contacts).map_or_else(dash, whole),
        state: r
            .and_then(|r| r.final_state_digest.as_ref())
            .map_or_else(dash, |d| text::line(d).chars().take(12).collect()),
        reason: super::coverage::shorten(&text::line(&t.reason)),
        href: format!("../provenance/{}.html", t.page),
    }
}

/// A gate's value and threshold, for the action's page.
pub(crate) fn gate_line(g: &sim_engine_protocol::GateResult) -> [String; 5] {
    let operator = match g.operator {
        sim_engine_protocol::GateOperator::AtMost => "\u{2264}",
        sim_engine_protocol::GateOperator::AtLeast => "\u{2265}",
        sim_engine_protocol::GateOperator::Equal => "=",
    };
    let unit = match g.unit.as_str() {
        "" | "1" => String::new(),
        unit => format!("\u{a0}{}", text::line(unit)),
    };
    [
        text::line(&g.id),
        text::line(&g.metric),
        format!("{}{unit}", short(g.value)),
        format!("{operator} {}{unit}", short(g.limit)),
        if g.passed { "holds" } else { "fails" }.to_owned(),
    ]
}
