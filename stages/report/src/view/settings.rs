//! What each engine made of a scene: translation records and effective settings, side by side.

use super::{ColumnHead, Ctx};
use crate::text;
use serde::Serialize;
use sim_engine_protocol::{JobResult, SettingValue};
use std::collections::{BTreeMap, BTreeSet};

/// The translation of a scene by one column.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TranslationView {
    pub(crate) column: ColumnHead,
    pub(crate) exact: Vec<String>,
    /// `what: how`.
    pub(crate) approximated: Vec<String>,
    pub(crate) dropped: Vec<String>,
    /// Whether cases of the scene differ; then this is all that any of them says.
    pub(crate) varies: bool,
}

/// One setting over all columns.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SettingRow {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
    /// Whether engines that have it differ.
    pub(crate) differs: bool,
}

/// The results of one scene on one column.
fn results<'a>(
    ctx: &'a Ctx<'_>,
    scenario: &'a str,
    column: usize,
) -> impl Iterator<Item = &'a JobResult> {
    ctx.cases
        .of_scenario(scenario)
        .filter_map(move |c| c.cells[column].as_ref())
        .flat_map(|cell| &cell.timed)
        .filter_map(|i| ctx.input.trials[*i].result.as_deref())
}

/// The translation records of a scene.
pub(crate) fn translations(ctx: &Ctx<'_>, scenario: &str) -> Vec<TranslationView> {
    let mut out = Vec::new();
    for (i, column) in ctx.cases.columns.iter().enumerate() {
        let mut seen = BTreeSet::new();
        let (mut exact, mut approximated, mut dropped) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for r in results(ctx, scenario, i) {
            let t = &r.translation;
            seen.insert(serde_json::to_string(t).unwrap_or_default());
            exact.extend(t.exact.iter().map(|x| text::line(x)));
            approximated.extend(
                t.approximated.iter().map(|a| text::line(&format!("{}: {}", a.what, a.how))),
            );
            dropped.extend(t.dropped.iter().map(|x| text::line(x)));
        }
        if !seen.is_empty() {
            out.push(TranslationView {
                column: ColumnHead::of(i, column),
                exact: exact.into_iter().collect(),
                approximated: approximated.into_iter().collect(),
                dropped: dropped.into_iter().collect(),
                varies: seen.len() > 1,
            });
        }
    }
    out
}

/// A setting as text.
pub(crate) fn setting(value: &SettingValue) -> String {
    match value {
        SettingValue::Bool(b) => if *b { "on" } else { "off" }.to_owned(),
        SettingValue::Integer(i) => i.to_string(),
        SettingValue::Number(x) => fraction(*x).unwrap_or_else(|| crate::number::full(*x)),
        SettingValue::Text(t) => text::line(t),
    }
}

/// `1/240` for a number that is just that and long in decimals; `1/240 in binary32` for the nearest to it
/// of single precision.
fn fraction(x: f64) -> Option<String> {
    let inverse = (1.0 / x).round();
    let long = crate::number::full(x).len() > 8;
    if !long || !(2.0..1.0e6).contains(&inverse) {
        return None;
    }
    match 1.0 / inverse {
        exact if exact == x => Some(format!("1/{inverse}")),
        exact if f64::from(exact as f32) == x => Some(format!("1/{inverse} in binary32")),
        _ => None,
    }
}

/// The effective settings of a scene, by name.
pub(crate) fn settings(ctx: &Ctx<'_>, scenario: &str) -> Vec<SettingRow> {
    let width = ctx.cases.columns.len();
    let mut rows: BTreeMap<String, Vec<BTreeSet<String>>> = BTreeMap::new();
    for i in 0..width {
        for r in results(ctx, scenario, i) {
            for (name, value) in &r.settings {
                let row =
                    rows.entry(text::line(name)).or_insert_with(|| vec![BTreeSet::new(); width]);
                row[i].insert(setting(value));
            }
        }
    }
    rows.into_iter()
        .map(|(name, columns)| {
            let distinct: BTreeSet<&BTreeSet<String>> =
                columns.iter().filter(|c| !c.is_empty()).collect();
            let value = |c: &BTreeSet<String>| match c.len() {
                0 => "\u{2014}".to_owned(),
                1..=3 => c.iter().cloned().collect::<Vec<_>>().join(" | "),
                n => format!("{n} different values"),
            };
            SettingRow {
                name,
                differs: distinct.len() > 1,
                values: columns.iter().map(value).collect(),
            }
        })
        .collect()
}

/// What stands between the compared columns and equal conditions. What was left out of a scene goes
/// to `dropped` too.
pub(crate) fn caveats(
    ctx: &Ctx<'_>,
    scenario: &str,
    compared: &BTreeSet<usize>,
    dropped: &mut BTreeSet<String>,
) -> Vec<String> {
    let mut out = Vec::new();
    let mut precisions = BTreeSet::new();
    for i in compared {
        let column = &ctx.cases.columns[*i];
        let name = text::line(&column.name);
        let mut approximated = BTreeSet::new();
        for r in results(ctx, scenario, *i) {
            precisions.insert(format!("{:?}", r.precision));
            approximated.extend(r.translation.approximated.iter().map(|a| text::line(&a.what)));
            dropped.extend(
                r.translation
                    .dropped
                    .iter()
                    .map(|d| format!("{name} leaves out {}", text::line(d))),
            );
        }
        if !approximated.is_empty() {
            let list: Vec<String> = approximated.into_iter().collect();
            out.push(format!("{name} approximates {}", list.join(", ")));
        }
        if column.versions.len() > 1 {
            out.push(format!("{name} ran in {} versions", column.versions.len()));
        }
    }
    out.splice(0..0, dropped.iter().cloned());
    if precisions.len() > 1 {
        out.push("different floating-point precision".to_owned());
    }
    if compared.len() > 1 {
        let rows = settings(ctx, scenario);
        let names: Vec<&str> = rows.iter().filter(|r| r.differs).map(|r| r.name.as_str()).collect();
        match names.as_slice() {
            [] => {}
            [one] => out.push(format!("setting {one} differs")),
            [_, _] | [_, _, _] => out.push(format!("settings {} differ", names.join(", "))),
            more => out.push(format!("{} like-named settings differ", more.len())),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_written_as_such_where_they_are_exact() {
        let text = |x: f64| setting(&SettingValue::Number(x));
        assert_eq!(text(1.0 / 240.0), "1/240");
        assert_eq!(text(f64::from(1.0f32 / 240.0)), "1/240 in binary32");
        assert_eq!(text(0.02), "0.02");
        assert_eq!(text(0.004_166_7), "0.0041667");
        assert_eq!(text(1e-8), "1e-8");
    }
}
