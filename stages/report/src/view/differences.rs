//! What differs between the engines, over the whole report: settings by name, and what each engine
//! took only approximately or left out. Generated from the results; nobody keeps this list.

use super::settings::setting;
use super::{ColumnHead, Ctx};
use crate::text;
use serde::Serialize;
use sim_engine_protocol::JobResult;
use std::collections::{BTreeMap, BTreeSet};

/// The section.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Differences {
    pub(crate) columns: Vec<ColumnHead>,
    /// Settings of one name and different values.
    pub(crate) differing: Vec<Difference>,
    /// Settings that only some engines have.
    pub(crate) alone: Vec<Difference>,
    /// How many settings all engines share with one value.
    pub(crate) equal: usize,
    pub(crate) translations: Vec<Taken>,
}

/// One setting.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Difference {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
}

/// What an engine made of all scenes.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Taken {
    pub(crate) column: ColumnHead,
    /// `what: how`, with the number of scenes.
    pub(crate) approximated: Vec<String>,
    pub(crate) dropped: Vec<String>,
}

/// The results of a column's timed trials under the adapter's own settings, with their scenario.
fn results<'a>(ctx: &'a Ctx<'_>, column: usize) -> impl Iterator<Item = (&'a str, &'a JobResult)> {
    let cases = ctx.cases.cases.iter().filter(|c| c.variant.is_empty());
    cases
        .filter_map(move |c| Some((c.scenario.as_str(), c.cells[column].as_ref()?)))
        .flat_map(|(name, cell)| cell.timed.iter().map(move |i| (name, i)))
        .filter_map(|(name, i)| Some((name, ctx.input.trials[*i].result.as_deref()?)))
}

/// The differences; none where fewer than two engines left results.
pub(crate) fn differences(ctx: &Ctx<'_>) -> Option<Differences> {
    let width = ctx.cases.columns.len();
    let mut values: BTreeMap<String, Vec<BTreeSet<String>>> = BTreeMap::new();
    let mut translations = Vec::new();
    for i in 0..width {
        let mut approximated: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut dropped: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut any = false;
        for (scene, r) in results(ctx, i) {
            any = true;
            for (name, value) in &r.settings {
                let row =
                    values.entry(text::line(name)).or_insert_with(|| vec![BTreeSet::new(); width]);
                row[i].insert(setting(value));
            }
            for a in &r.translation.approximated {
                let how = text::line(&format!("{}: {}", a.what, a.how));
                approximated.entry(how).or_default().insert(scene);
            }
            for d in &r.translation.dropped {
                dropped.entry(text::line(d)).or_default().insert(scene);
            }
        }
        if any {
            let counted = |map: BTreeMap<String, BTreeSet<&str>>| {
                let line = |(what, scenes): (String, BTreeSet<&str>)| match scenes.len() {
                    1 => format!("{what} (1 scene)"),
                    n => format!("{what} ({n} scenes)"),
                };
                map.into_iter().map(line).collect()
            };
            translations.push(Taken {
                column: ColumnHead::of(i, &ctx.cases.columns[i]),
                approximated: counted(approximated),
                dropped: counted(dropped),
            });
        }
    }
    if translations.len() < 2 {
        return None;
    }
    let (mut differing, mut alone, mut equal) = (Vec::new(), Vec::new(), 0);
    for (name, columns) in values {
        let there: Vec<&BTreeSet<String>> = columns.iter().filter(|c| !c.is_empty()).collect();
        let same = there.windows(2).all(|w| w[0] == w[1]);
        let row = Difference { name, values: columns.iter().map(joined).collect() };
        match (there.len() == translations.len(), same) {
            (true, true) => equal += 1,
            (true, false) => differing.push(row),
            (false, _) => alone.push(row),
        }
    }
    Some(Differences { columns: ctx.heads(), differing, alone, equal, translations })
}

fn joined(values: &BTreeSet<String>) -> String {
    match values.len() {
        0 => "\u{2014}".to_owned(),
        1..=3 => values.iter().cloned().collect::<Vec<_>>().join(" | "),
        n => format!("{n} different values"),
    }
}
