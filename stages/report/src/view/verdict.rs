//! What the results say, in sentences: never more than one scene, one machine and one ratio.

use super::settings;
use super::{Ctx, words};
use crate::cases::{Case, Cell};
use crate::number::{significant, timestep};
use crate::text;
use serde::Serialize;
use std::collections::BTreeSet;

/// The verdict on one scene.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Verdict {
    pub(crate) scene: String,
    pub(crate) href: String,
    /// `comparable`, `comparable with caveats`, `not comparable`.
    pub(crate) grade: &'static str,
    pub(crate) tone: &'static str,
    pub(crate) sentences: Vec<String>,
    pub(crate) caveats: Vec<String>,
    /// `passed/planned` timed trials.
    pub(crate) passed: String,
}

/// The ratio of two medians, with the ratios of opposite quartiles around it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ratio {
    low: f64,
    middle: f64,
    high: f64,
}

impl Ratio {
    fn of(x: &Cell, y: &Cell) -> Option<Self> {
        let (x, y) = (x.ms.as_ref()?, y.ms.as_ref()?);
        Some(Self { low: x.q1 / y.q3, middle: x.median / y.median, high: x.q3 / y.q1 })
    }

    fn text(self) -> String {
        let two = |v: f64| significant(v, if (1.0..10.0).contains(&v) { 3 } else { 2 });
        let (l, m, h) = (two(self.low), two(self.middle), two(self.high));
        if l == h { m } else { format!("{m} [{l}, {h}]") }
    }
}

/// The verdict on every scene.
pub(crate) fn verdicts(ctx: &Ctx<'_>, root: &str) -> Vec<Verdict> {
    ctx.cases.scenarios.keys().map(|name| verdict(ctx, name, root)).collect()
}

/// The verdict on one scene.
pub(crate) fn verdict(ctx: &Ctx<'_>, name: &str, root: &str) -> Verdict {
    let cases: Vec<&Case> = ctx.cases.of_scenario(name).collect();
    let scene = text::line(&ctx.cases.scenarios[name]);
    let cells = || cases.iter().flat_map(|c| c.cells.iter().flatten());
    let planned: usize = cells().map(|c| c.timed.len()).sum();
    let passed: usize = cells().map(|c| c.passed).sum();
    let mut sentences = Vec::new();
    let mut dropped = BTreeSet::new();
    let mut compared: BTreeSet<usize> = BTreeSet::new();
    let columns = &ctx.cases.columns;
    for (i, reference) in columns.iter().enumerate() {
        // Each engine against the first of its group, in the fixed order.
        if columns.iter().position(|c| c.group == reference.group) != Some(i) {
            continue;
        }
        for (j, other) in columns.iter().enumerate().skip(i + 1) {
            if other.group != reference.group {
                continue;
            }
            let pairs: Vec<(&Case, Ratio)> = cases
                .iter()
                .filter_map(|c| {
                    let (x, y) = (c.cells[j].as_ref()?, c.cells[i].as_ref()?);
                    (x.complete() && y.complete()).then(|| Some((*c, Ratio::of(x, y)?)))?
                })
                .collect();
            if pairs.is_empty() {
                continue;
            }
            compared.extend([i, j]);
            sentences.push(sentence(ctx, &scene, &pairs, &other.name, &reference.name));
        }
    }
    let alone = columns.len() == 1;
    if alone {
        sentences.extend(lone_sentence(ctx, &scene, &cases));
    }
    let mut caveats = settings::caveats(ctx, name, &compared, &mut dropped);
    let repeats = cells().map(|c| c.timed.len()).max().unwrap_or(0);
    if repeats == 1 {
        caveats.push("single repeat: shows that it works, ranks nothing".to_owned());
    }
    let noisy: usize = cells().map(|c| c.noisy).sum();
    if noisy > 0 {
        caveats.push(format!("{noisy} observation{} marked noisy", words::plural(noisy)));
    }
    if passed < planned {
        let n = planned - passed;
        caveats.push(format!("{n} of {planned} timed trials did not pass"));
    }
    let (grade, tone) = if planned == 0 {
        ("not timed", "quiet")
    } else if alone {
        ("one engine, nothing to compare", "quiet")
    } else if compared.is_empty() {
        caveats.insert(0, "no case that two engines of one group completed".to_owned());
        ("not comparable", "quiet")
    } else if !dropped.is_empty() {
        ("not comparable", "bad")
    } else if caveats.is_empty() {
        ("comparable", "good")
    } else {
        ("comparable with caveats", "warn")
    };
    Verdict {
        scene,
        href: format!("{root}scenes/{}.html", text::slug(name)),
        grade,
        tone,
        sentences,
        caveats,
        passed: format!("{passed}/{planned}"),
    }
}

/// What the only engine took.
fn lone_sentence(ctx: &Ctx<'_>, scene: &str, cases: &[&Case]) -> Option<String> {
    let name = text::line(&ctx.cases.columns[0].name);
    let cell = |c: &&&Case| c.cells[0].as_ref().filter(|x| x.complete()).and_then(|x| x.ms);
    let mut done: Vec<(&Case, crate::stats::Summary)> =
        cases.iter().filter_map(|c| Some((*c, cell(&c)?))).collect();
    done.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let ms = |s: &crate::stats::Summary| {
        let f = |v: f64| significant(v, 3);
        let range =
            if s.q1 < s.q3 { format!(" [{}, {}]", f(s.q1), f(s.q3)) } else { String::new() };
        format!("{}{range}\u{a0}ms", f(s.median))
    };
    let (first, last) = (done.first()?, done.last()?);
    let opening = format!("On \u{201c}{scene}\u{201d} on {}, ", ctx.machine_name(first.0.machine));
    let at = |c: &Case| format!("{} at {}", words::case(c), timestep(c.timestep));
    Some(if done.len() == 1 {
        format!("{opening}{name} took {} per step of {}.", ms(&first.1), at(first.0))
    } else {
        format!(
            "{opening}{name} took from {} ({}) to {} ({}) per step over {} cases.",
            ms(&first.1),
            at(first.0),
            ms(&last.1),
            at(last.0),
            done.len()
        )
    })
}

fn sentence(ctx: &Ctx<'_>, scene: &str, pairs: &[(&Case, Ratio)], x: &str, y: &str) -> String {
    let (x, y) = (text::line(x), text::line(y));
    let first = pairs[0].0;
    let steps: BTreeSet<u64> = pairs.iter().map(|(c, _)| c.timestep.to_bits()).collect();
    let dt =
        if steps.len() == 1 { format!(" at {}", timestep(first.timestep)) } else { String::new() };
    let machine = ctx.machine_name(first.machine);
    let opening = format!("On \u{201c}{scene}\u{201d}{dt} on {machine}, ");
    if let [(case, ratio)] = pairs {
        return format!(
            "{opening}{x} took {} of {y}\u{2019}s time at {}.",
            ratio.text(),
            words::case(case)
        );
    }
    let by = |a: &&(&Case, Ratio), b: &&(&Case, Ratio)| a.1.middle.total_cmp(&b.1.middle);
    let (Some(least), Some(most)) = (pairs.iter().min_by(by), pairs.iter().max_by(by)) else {
        return String::new();
    };
    format!(
        "{opening}{x} took from {} (at {}) to {} (at {}) of {y}\u{2019}s time over {} cases.",
        least.1.text(),
        words::case(least.0),
        most.1.text(),
        words::case(most.0),
        pairs.len()
    )
}
