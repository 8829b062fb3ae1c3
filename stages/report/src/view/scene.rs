//! One scene: what it tests, its gates, what each engine made of it, and its results.

use super::coverage::{Coverage, coverage};
use super::curves::{Figure, figures};
use super::index::{memory, performance};
use super::precision::{Quantity, quantities};
use super::replay::ReplayCase;
use super::settings::{SettingRow, TranslationView, settings, translations};
use super::table::{Metric, Table, table};
use super::verdict::{Verdict, verdict};
use super::{ColumnHead, Ctx, Link, Room, words};
use crate::cases::{Case, Purpose};
use crate::number::{full, significant};
use crate::text;
use serde::Serialize;
use sim_engine_protocol::GateOperator;
use std::collections::BTreeMap;

/// One scene.
#[derive(Serialize)]
pub(crate) struct Scene<'a> {
    pub(crate) title: String,
    pub(crate) name: String,
    pub(crate) tests: String,
    pub(crate) interest: String,
    pub(crate) verdict: Verdict,
    pub(crate) replays: &'a [ReplayCase],
    pub(crate) legend: Vec<ColumnHead>,
    pub(crate) gates: Vec<GateRow>,
    pub(crate) translations: Vec<TranslationView>,
    pub(crate) settings: Vec<SettingRow>,
    pub(crate) performance: Vec<Table>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) memory: Vec<Table>,
    pub(crate) setup: Option<Table>,
    /// Error against cost.
    pub(crate) precision: Vec<Quantity>,
    pub(crate) coverage: Coverage,
    /// Links to all cases, where the tables have no room for them.
    pub(crate) cases: Vec<Link>,
    pub(crate) more_cases: usize,
}

/// One gate with the worst value of each column.
#[derive(Serialize)]
pub(crate) struct GateRow {
    pub(crate) id: String,
    pub(crate) metric: String,
    pub(crate) threshold: String,
    pub(crate) cells: Vec<GateCell>,
}

/// The worst value that a column has shown at a gate.
#[derive(Clone, Default, Serialize)]
pub(crate) struct GateCell {
    pub(crate) text: String,
    pub(crate) sub: String,
    pub(crate) title: String,
    pub(crate) tone: &'static str,
    pub(crate) href: String,
}

/// See [`Scene`].
pub(crate) fn page<'a>(
    ctx: &Ctx<'_>,
    name: &str,
    replays: &'a [ReplayCase],
    room: Room,
) -> Scene<'a> {
    let known = sim_scenes::find(name);
    let root = "../";
    let own: Vec<_> = ctx.cases.of_scenario(name).collect();
    let cases = || own.iter().copied().filter(|c| c.purpose == Purpose::Performance);
    let timed = cases().next().is_some();
    let key = name.to_owned();
    let setup = table(ctx, &Metric::Setup, cases(), root, room);
    // Cases that no table has are linked all the same.
    let tabled = timed && cases().count() == own.len();
    let listed = if setup.too_long.is_some() || !tabled { room.links() } else { 0 };
    let link = |c: &&Case| Link {
        text: match c.purpose {
            Purpose::Performance => format!("{}\u{d7}{}", c.size, c.worlds),
            _ => words::case(c),
        },
        href: format!("../cases/{}.html", c.page),
    };
    Scene {
        title: text::line(&ctx.cases.scenarios[name]),
        name: text::line(name),
        tests: known
            .map(|s| s.tests.split_whitespace().collect::<Vec<_>>().join(" "))
            .unwrap_or_default(),
        interest: known.map(|s| s.interest.clone()).unwrap_or_default(),
        verdict: verdict(ctx, name, root),
        replays: &replays[..replays.len().min(room.frontiers())],
        legend: ctx.heads(),
        gates: gates(ctx, name),
        translations: translations(ctx, name),
        settings: settings(ctx, name),
        performance: performance(ctx, &cases(), root, room),
        figures: figures(ctx, std::iter::once(&key), root)
            .into_iter()
            .take(room.figures())
            .collect(),
        memory: memory(ctx, &cases(), root, room),
        setup: timed.then_some(setup),
        precision: quantities(ctx, Some(name), root),
        coverage: coverage(ctx, Some(name), root, room),
        cases: own.iter().take(listed).map(link).collect(),
        more_cases: if listed > 0 { own.len().saturating_sub(listed) } else { 0 },
    }
}

struct Worst<'a> {
    value: f64,
    page: &'a str,
    label: &'a str,
    passed: usize,
    all: usize,
}

fn gates(ctx: &Ctx<'_>, name: &str) -> Vec<GateRow> {
    type Key = (String, String, String);
    let width = ctx.cases.columns.len();
    let mut rows: BTreeMap<Key, (String, Vec<Option<Worst<'_>>>)> = BTreeMap::new();
    for case in ctx.cases.of_scenario(name) {
        for (i, cell) in case.cells.iter().enumerate() {
            for t in cell.iter().flat_map(|c| c.timed.iter().chain(c.replays.values().flatten())) {
                let trial = &ctx.input.trials[*t];
                for g in trial.result.iter().flat_map(|r| &r.gates) {
                    let operator = match g.operator {
                        GateOperator::AtMost => "\u{2264}",
                        GateOperator::AtLeast => "\u{2265}",
                        GateOperator::Equal => "=",
                    };
                    let unit = if matches!(g.unit.as_str(), "" | "1") {
                        String::new()
                    } else {
                        format!("\u{a0}{}", text::line(&g.unit))
                    };
                    let threshold = format!("{operator} {}{unit}", short(g.limit));
                    let key = (text::line(&g.id), threshold, text::line(&g.unit));
                    let row = rows.entry(key).or_insert_with(|| {
                        (text::line(&g.metric), (0..width).map(|_| None).collect())
                    });
                    let worst = row.1[i].get_or_insert(Worst {
                        value: g.value,
                        page: &trial.page,
                        label: &trial.label,
                        passed: 0,
                        all: 0,
                    });
                    let worse = match g.operator {
                        GateOperator::AtMost => g.value > worst.value,
                        GateOperator::AtLeast => g.value < worst.value,
                        GateOperator::Equal => {
                            (g.value - g.limit).abs() > (worst.value - g.limit).abs()
                        }
                    };
                    if worse {
                        (worst.value, worst.page, worst.label) =
                            (g.value, &trial.page, &trial.label);
                    }
                    worst.passed += usize::from(g.passed);
                    worst.all += 1;
                }
            }
        }
    }
    rows.into_iter()
        .map(|((id, threshold, unit), (metric, cells))| GateRow {
            id,
            metric,
            threshold,
            cells: cells.into_iter().map(|w| gate_cell(w, &unit)).collect(),
        })
        .collect()
}

fn gate_cell(worst: Option<Worst<'_>>, unit: &str) -> GateCell {
    let Some(w) = worst else {
        return GateCell { text: "\u{2014}".into(), tone: "none", ..GateCell::default() };
    };
    GateCell {
        text: short(w.value),
        sub: format!("{}/{}", w.passed, w.all),
        title: format!("{} {unit}\nworst of {}: {}", full(w.value), w.all, text::line(w.label)),
        tone: if w.passed == w.all { "" } else { "bad" },
        href: format!("../provenance/{}.html", w.page),
    }
}

/// A threshold or value: as it was written where that is short, else with three digits.
pub(crate) fn short(value: f64) -> String {
    let exact = value.to_string();
    let digits = exact.trim_start_matches(['-', '0', '.']).len();
    if exact.len() <= 6 && value.is_finite() && (digits <= 3 || value.fract() == 0.0) {
        exact.replace('-', "\u{2212}")
    } else {
        significant(value, 3)
    }
}
