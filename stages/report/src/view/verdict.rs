//! What the results say, in sentences: never more than one scene, one machine and one ratio.

use super::{Ctx, control, settings, words};
use crate::bootstrap::{Interval, ratio};
use crate::cases::{Case, Purpose};
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

/// A ratio with its interval, and what may be said of it.
fn ratio_text(r: &Interval) -> String {
    let two = |v: f64| significant(v, if (1.0..10.0).contains(&v) { 3 } else { 2 });
    format!("{} [{}, {}]", two(r.middle), two(r.low), two(r.high))
}

/// Said of every ratio whose interval holds 1: no word of ranking stands there.
pub(crate) const NO_DIFFERENCE: &str = "no difference is shown";

/// The verdict on every scene.
pub(crate) fn verdicts(ctx: &Ctx<'_>, root: &str) -> Vec<Verdict> {
    let timed = |name: &&String| ctx.cases.of_scenario(name).any(performs);
    ctx.cases.scenarios.keys().filter(timed).map(|name| verdict(ctx, name, root)).collect()
}

fn performs(case: &Case) -> bool {
    case.purpose == Purpose::Performance
}

/// The verdict on one scene.
pub(crate) fn verdict(ctx: &Ctx<'_>, name: &str, root: &str) -> Verdict {
    let cases: Vec<&Case> = ctx.cases.of_scenario(name).filter(|c| performs(c)).collect();
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
            let pairs: Vec<(&Case, Interval)> = cases
                .iter()
                .filter_map(|c| {
                    let (x, y) = (c.cells[j].as_ref()?, c.cells[i].as_ref()?);
                    (x.complete() && y.complete())
                        .then(|| Some((*c, ratio(&x.samples, &y.samples)?)))?
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
    for i in &compared {
        if control::fails(ctx, *i) {
            let engine = text::line(&columns[*i].name);
            caveats.push(format!("{engine} against itself does not cover 1, see the control"));
        }
    }
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
    } else if compared.is_empty() && repeats == 1 {
        ("one repeat, nothing to compare", "quiet")
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

fn sentence(ctx: &Ctx<'_>, scene: &str, pairs: &[(&Case, Interval)], x: &str, y: &str) -> String {
    let (x, y) = (text::line(x), text::line(y));
    let first = pairs[0].0;
    let steps: BTreeSet<u64> = pairs.iter().map(|(c, _)| c.timestep.to_bits()).collect();
    let dt =
        if steps.len() == 1 { format!(" at {}", timestep(first.timestep)) } else { String::new() };
    let machine = ctx.machine_name(first.machine);
    let opening = format!("On \u{201c}{scene}\u{201d}{dt} on {machine}, ");
    if let [(case, ratio)] = pairs {
        let shown = if ratio.covers_one() { format!("; {NO_DIFFERENCE}") } else { String::new() };
        return format!(
            "{opening}{x} took {} of {y}\u{2019}s time at {}{shown}.",
            ratio_text(ratio),
            words::case(case)
        );
    }
    let by = |a: &&(&Case, Interval), b: &&(&Case, Interval)| a.1.middle.total_cmp(&b.1.middle);
    let (Some(least), Some(most)) = (pairs.iter().min_by(by), pairs.iter().max_by(by)) else {
        return String::new();
    };
    let open = pairs.iter().filter(|(_, r)| r.covers_one()).count();
    let shown = match open {
        0 => String::new(),
        n if n == pairs.len() => format!("; {NO_DIFFERENCE} in any of them"),
        n => format!("; in {n} of them {NO_DIFFERENCE}"),
    };
    format!(
        "{opening}{x} took from {} (at {}) to {} (at {}) of {y}\u{2019}s time over {} cases{shown}.",
        ratio_text(&least.1),
        words::case(least.0),
        ratio_text(&most.1),
        words::case(most.0),
        pairs.len()
    )
}
