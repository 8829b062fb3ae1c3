//! The score of a suite: the geometric mean of the ratios of medians to a baseline, over all of its
//! cases, or the reason why there is none.

use super::verdict::NO_DIFFERENCE;
use super::{ColumnHead, Ctx, control, words};
use crate::bootstrap::{Interval, geometric_mean};
use crate::cases::{Case, Column, Purpose};
use crate::number::significant;
use crate::text;
use serde::Serialize;
use std::collections::BTreeSet;

/// The scores of one suite.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SuiteScore {
    pub(crate) suite: String,
    pub(crate) cases: usize,
    pub(crate) baseline: String,
    /// Whether every case ran once only: then nothing is ranked.
    pub(crate) smoke: bool,
    pub(crate) rows: Vec<ScoreRow>,
}

/// One engine.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ScoreRow {
    pub(crate) column: ColumnHead,
    /// The score with its interval; empty where it is withheld.
    pub(crate) score: String,
    /// Every digit.
    pub(crate) title: String,
    /// What may be said of it, or why it is withheld.
    pub(crate) words: String,
    pub(crate) tone: &'static str,
    /// Score and interval for the data files.
    #[serde(skip)]
    pub(crate) interval: Option<Interval>,
}

/// The scores of all suites that time workloads.
pub(crate) fn scores(ctx: &Ctx<'_>) -> Vec<SuiteScore> {
    // Settings of one engine are no case of the others.
    let cases = || ctx.cases.run_for(Purpose::Performance).filter(|c| c.variant.is_empty());
    let suites: BTreeSet<&str> = cases().map(|c| c.suite.as_str()).collect();
    suites
        .into_iter()
        .filter_map(|suite| {
            score(ctx, suite, &cases().filter(|c| c.suite == suite).collect::<Vec<_>>())
        })
        .collect()
}

fn score(ctx: &Ctx<'_>, suite: &str, cases: &[&Case]) -> Option<SuiteScore> {
    let asked = |i: &usize| cases.iter().any(|c| c.cells[*i].is_some());
    let columns: Vec<usize> = (0..ctx.cases.columns.len()).filter(asked).collect();
    if columns.len() < 2 {
        return None;
    }
    let (name, several) = baseline(ctx, suite);
    let baseline = columns.iter().copied().find(|i| ctx.cases.columns[*i].engine == name);
    let repeats = cases.iter().flat_map(|c| c.cells.iter().flatten()).map(|c| c.timed.len()).max();
    let smoke = repeats.unwrap_or(0) < 2;
    let others = columns.iter().filter(|i| Some(**i) != baseline);
    let row = |i: &usize| {
        let found = match (smoke, baseline) {
            (true, _) => Err("a smoke run: each case ran once, which ranks nothing".to_owned()),
            _ if several => {
                Err(format!("the suite names several baselines: {}", text::line(&name)))
            }
            (_, None) => Err(format!("the baseline {} is not in this suite", text::line(&name))),
            (_, Some(b)) => of(&ctx.cases.columns, cases, *i, b),
        };
        let noisy: usize = cases.iter().filter_map(|c| c.cells[*i].as_ref()).map(|c| c.noisy).sum();
        shown(ctx, *i, baseline, found, noisy)
    };
    Some(SuiteScore {
        suite: text::line(suite),
        cases: cases.len(),
        baseline: baseline
            .map_or_else(|| text::line(&name), |b| text::line(&ctx.cases.columns[b].name)),
        smoke,
        rows: others.map(row).collect(),
    })
}

/// The baseline of a suite: its own, else the report's; and whether it names several.
fn baseline(ctx: &Ctx<'_>, suite: &str) -> (String, bool) {
    match ctx.input.baselines.get(suite) {
        None => (ctx.input.words.baseline.clone(), false),
        Some(names) => (names.iter().cloned().collect::<Vec<_>>().join(", "), names.len() > 1),
    }
}

/// What a column left out of a case, and why; empty where it left nothing out.
fn left_out(case: &Case, column: usize) -> String {
    let failures = case.cells[column].iter().flat_map(|cell| cell.failures.keys());
    let mut skipped = failures.filter(|(outcome, _)| outcome == "skipped");
    skipped.next().map_or_else(String::new, |(_, why)| {
        format!(" (skipped: {})", super::coverage::shorten(&text::line(why)))
    })
}

/// The score of column `i` against column `baseline`, or why it is withheld.
fn of(columns: &[Column], cases: &[&Case], i: usize, baseline: usize) -> Result<Interval, String> {
    if columns[i].group != columns[baseline].group {
        let (a, b) = (columns[i].group.name(), columns[baseline].group.name());
        return Err(format!("a {a} backend is not scored against a {b} backend"));
    }
    let machines: BTreeSet<usize> = cases.iter().map(|c| c.machine).collect();
    if machines.len() > 1 {
        return Err(format!("the suite was measured on {} machines", machines.len()));
    }
    for column in [baseline, i] {
        let lacks = |c: &&&Case| !c.cells[column].as_ref().is_some_and(|x| x.complete());
        let missing: Vec<&&Case> = cases.iter().filter(lacks).collect();
        if let Some(first) = missing.first() {
            let others = match missing.len() - 1 {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            return Err(format!(
                "{} did not complete {}, {}{}{others}",
                text::line(&columns[column].name),
                text::line(&first.scenario),
                words::case(first),
                left_out(first, column)
            ));
        }
    }
    let samples = |c: &&&Case, column: usize| c.cells[column].as_ref().map(|x| x.samples.clone());
    let pairs: Option<Vec<(Vec<f64>, Vec<f64>)>> =
        cases.iter().map(|c| Some((samples(&c, i)?, samples(&c, baseline)?))).collect();
    let pairs = pairs.unwrap_or_default();
    let pairs: Vec<(&[f64], &[f64])> =
        pairs.iter().map(|(x, y)| (x.as_slice(), y.as_slice())).collect();
    geometric_mean(&pairs)
        .ok_or_else(|| "a case has a single repeat, which has no interval".to_owned())
}

fn shown(
    ctx: &Ctx<'_>,
    i: usize,
    baseline: Option<usize>,
    found: Result<Interval, String>,
    noisy: usize,
) -> ScoreRow {
    let column = ColumnHead::of(i, &ctx.cases.columns[i]);
    let r = match found {
        Ok(r) => r,
        Err(reason) => {
            let words = format!("withheld: {reason}");
            let (score, title) = (String::new(), String::new());
            return ScoreRow { column, score, title, words, tone: "quiet", interval: None };
        }
    };
    let f = |v: f64| significant(v, 3);
    let mut words = if r.covers_one() {
        format!("the interval covers 1: {NO_DIFFERENCE}")
    } else if r.high < 1.0 {
        "less time than the baseline".to_owned()
    } else {
        "more time than the baseline".to_owned()
    };
    let mut tone = if r.covers_one() { "quiet" } else { "good" };
    if baseline.into_iter().chain([i]).any(|c| control::fails(ctx, c)) {
        words += "; a control of these engines does not cover 1";
        tone = "warn";
    }
    if noisy > 0 {
        words += &format!("; {noisy} observation{} marked noisy", words::plural(noisy));
        tone = "warn";
    }
    let full = crate::number::full;
    ScoreRow {
        column,
        score: format!("{} [{}, {}]", f(r.middle), f(r.low), f(r.high)),
        title: format!("{} [{}, {}]", full(r.middle), full(r.low), full(r.high)),
        words,
        tone,
        interval: Some(r),
    }
}
