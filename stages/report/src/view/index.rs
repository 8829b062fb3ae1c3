//! The first page.

use super::batch;
use super::control::{ControlRow, controls};
use super::coverage::{Coverage, coverage};
use super::curves::{Figure, figures};
use super::differences::{Differences, differences};
use super::files::FileList;
use super::limits;
use super::precision::{Quantity, quantities};
use super::protocol::{self, ProtocolEntry};
use super::replay::{ReplayCase, Replays, Thumb};
use super::score::{SuiteScore, scores};
use super::sheets::DataFile;
use super::table::{Metric, Table, table};
use super::verdict::{Verdict, verdicts};
use super::{ColumnHead, Ctx, Room, words};
use crate::cases::{Case, Purpose};
use crate::number::span;
use crate::text;
use serde::Serialize;
use std::collections::BTreeSet;

/// The first page.
#[derive(Serialize)]
pub(crate) struct Index<'a> {
    pub(crate) description: String,
    pub(crate) question: String,
    pub(crate) facts: Vec<[String; 2]>,
    pub(crate) not_measured: Vec<String>,
    pub(crate) interest: String,
    pub(crate) protocols: Vec<ProtocolEntry>,
    /// Error against cost.
    pub(crate) precision: Vec<Quantity>,
    pub(crate) more_precision: usize,
    pub(crate) scores: Vec<SuiteScore>,
    pub(crate) controls: Vec<ControlRow>,
    pub(crate) differences: Option<Differences>,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) legend: Vec<ColumnHead>,
    pub(crate) performance: Vec<Table>,
    pub(crate) single_repeat: bool,
    pub(crate) groups: usize,
    pub(crate) figures: Vec<Figure>,
    pub(crate) more_figures: usize,
    pub(crate) memory: Vec<Table>,
    pub(crate) setup: Option<Table>,
    pub(crate) coverage: Coverage,
    /// A picture of each scene that has replays.
    pub(crate) thumbs: Vec<Thumb>,
    /// Replays that belong to no scene of the report.
    pub(crate) replays: Vec<&'a ReplayCase>,
    pub(crate) files: &'a FileList,
    pub(crate) data: &'a [DataFile],
}

/// See [`Index`].
pub(crate) fn page<'a>(
    ctx: &Ctx<'_>,
    files: &'a FileList,
    data: &'a [DataFile],
    replays: &'a Replays,
    room: Room,
) -> Index<'a> {
    let mut figures = figures(ctx, ctx.cases.scenarios.keys(), "");
    let more_figures = figures.len().saturating_sub(room.figures());
    figures.truncate(room.figures());
    let mut verdicts = verdicts(ctx, "");
    verdicts.truncate(room.rows());
    let groups: BTreeSet<_> = ctx.cases.columns.iter().map(|c| c.group).collect();
    let all = || ctx.cases.run_for(Purpose::Performance);
    let has_timed = all().next().is_some();
    let mut precision = quantities(ctx, None, "");
    let more_precision = precision.len().saturating_sub(room.frontiers());
    precision.truncate(room.frontiers());
    let mut controls = controls(ctx, "");
    controls.truncate(room.rows());
    Index {
        description: text::clean(&ctx.input.words.description),
        question: question(ctx),
        facts: facts(ctx),
        not_measured: limits::not_measured(ctx),
        interest: limits::interest(ctx),
        protocols: protocol::entries(ctx).into_iter().chain(batch::entries(ctx)).collect(),
        precision,
        more_precision,
        scores: scores(ctx),
        controls,
        differences: differences(ctx),
        verdicts,
        legend: ctx.heads(),
        performance: performance(ctx, &all(), "", room),
        single_repeat: ctx.cases.most_repeats() == 1,
        groups: groups.len(),
        figures,
        more_figures,
        memory: memory(ctx, &all(), "", room),
        setup: has_timed.then(|| table(ctx, &Metric::Setup, all(), "", room)),
        coverage: coverage(ctx, None, "", room),
        thumbs: replays.thumbs(ctx),
        replays: replays
            .strays()
            .iter()
            .filter(|r| !protocol::shows(ctx, r))
            .take(room.frontiers())
            .collect(),
        files,
        data,
    }
}

/// Time per step, and the rate where worlds were swept.
pub(crate) fn performance<'a>(
    ctx: &Ctx<'_>,
    cases: &(impl Iterator<Item = &'a Case> + Clone),
    root: &str,
    room: Room,
) -> Vec<Table> {
    let mut out = Vec::new();
    if cases.clone().next().is_some() {
        out.push(table(ctx, &Metric::Time, cases.clone(), root, room));
    }
    let swept: BTreeSet<&str> =
        cases.clone().filter(|c| c.worlds > 1).map(|c| c.scenario.as_str()).collect();
    // Only the sizes that were swept: a lone single world is no sweep.
    let sizes: BTreeSet<(&str, u64)> =
        cases.clone().filter(|c| c.worlds > 1).map(|c| (c.scenario.as_str(), c.size)).collect();
    if !swept.is_empty() {
        let rows = cases.clone().filter(|c| sizes.contains(&(c.scenario.as_str(), c.size)));
        out.push(table(ctx, &Metric::Rate, rows, root, room));
    }
    // A table of nothing but processors would say one word many times; cases' pages and the data do.
    let profiled = |c: &&Case| {
        let mut devices = c.cells.iter().flatten().filter_map(|x| x.device.as_ref());
        devices.any(|d| d.says_something())
    };
    if cases.clone().any(|c| profiled(&c)) {
        out.push(table(ctx, &Metric::Device, cases.clone().filter(profiled), root, room));
    }
    out
}

/// One table a metric.
pub(crate) fn memory<'a>(
    ctx: &Ctx<'_>,
    cases: &(impl Iterator<Item = &'a Case> + Clone),
    root: &str,
    room: Room,
) -> Vec<Table> {
    let replayed = |c: &&Case| c.cells.iter().flatten().any(|x| x.replays.contains_key("memory"));
    let mut names: BTreeSet<&str> = cases
        .clone()
        .flat_map(|c| c.cells.iter().flatten())
        .flat_map(|c| c.memory.keys().map(String::as_str))
        .collect();
    if names.is_empty() && cases.clone().any(|c| replayed(&c)) {
        names.insert("ram");
    }
    names
        .into_iter()
        .map(|n| table(ctx, &Metric::Memory(n), cases.clone().filter(replayed), root, room))
        .collect()
}

fn question(ctx: &Ctx<'_>) -> String {
    let given = text::line(&ctx.input.words.question);
    if !given.is_empty() || ctx.input.trials.is_empty() {
        return given;
    }
    let names: Vec<String> = ctx.cases.columns.iter().map(|c| text::line(&c.name)).collect();
    let scenes = ctx.cases.scenarios.len();
    if ctx.cases.run_for(Purpose::Performance).next().is_none() {
        return format!(
            "How near to what is known does the motion of {} come, and for how much computing?",
            names.join(", ")
        );
    }
    format!(
        "How long does a physics step take in {}, on {scenes} scene{}?",
        names.join(", "),
        words::plural(scenes)
    )
}

fn facts(ctx: &Ctx<'_>) -> Vec<[String; 2]> {
    let trials = &ctx.input.trials;
    let mut out = Vec::new();
    if !trials.is_empty() {
        let timed: Vec<_> = trials.iter().filter(|t| t.mode == "timed").collect();
        let passed = timed.iter().filter(|t| t.passed()).count();
        out.push(["Timed trials passed".into(), format!("{passed} of {}", timed.len())]);
        let replays = trials.len() - timed.len();
        if replays > 0 {
            let ok = trials.iter().filter(|t| t.mode != "timed" && t.passed()).count();
            out.push(["Replays passed".into(), format!("{ok} of {replays}")]);
        }
        let cases = ctx.cases.cases.len();
        let scenes = ctx.cases.scenarios.len();
        out.push(["Cases".into(), format!("{cases} in {scenes} scene{}", words::plural(scenes))]);
        let repeats = ctx.cases.most_repeats();
        out.push(["Repeats of a case".into(), format!("{repeats}")]);
    }
    match ctx.machines.as_slice() {
        _ if trials.is_empty() => {}
        [] => {}
        [_] => out.push(["Machine".into(), ctx.machine_name(0)]),
        several => out.push(["Machines".into(), several.len().to_string()]),
    }
    let times =
        trials.iter().filter_map(|t| t.record).map(|r| ctx.input.records[r].started_unix_ms);
    if let (Some(first), Some(last)) = (times.clone().min(), times.max()) {
        out.push(["Observed".into(), span(first, last)]);
    }
    let levels: BTreeSet<&str> = trials
        .iter()
        .filter_map(|t| t.record)
        .map(|r| ctx.input.records[r].sandbox.as_str())
        .collect();
    if !levels.is_empty() {
        let levels: Vec<String> = levels.into_iter().map(text::line).collect();
        out.push(["Sandbox".into(), levels.join(", ")]);
    }
    out
}
