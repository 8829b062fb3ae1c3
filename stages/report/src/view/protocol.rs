//! Pages of protocols: what was decided and why, every check with its limit and margin, and of each
//! scenario what the runs did over time.

use super::replay::{ReplayCase, Replays};
use super::{Ctx, Link};
use crate::error::ReportError;
use crate::number::{significant, whole};
use crate::protocol::Judged;
use crate::site::Site;
use crate::{svg, text};
use serde::Serialize;
use sim_stage_protocol::report::{Candidate, Check, Report, ScenarioReport};
use std::collections::BTreeSet;

/// Files of a verdict that are copied beside its page.
const FILES: [&str; 4] = ["report.json", "checks.csv", "metrics.csv", "plots.json"];
/// Published values that differ and are listed on the page; all are in `report.json`.
const MOST_DIFFERENT: usize = 150;

/// What the first page says of a protocol.
#[derive(Serialize)]
pub(crate) struct ProtocolEntry {
    pub(crate) title: String,
    pub(crate) href: String,
    pub(crate) word: &'static str,
    pub(crate) tone: &'static str,
    pub(crate) sentences: Vec<String>,
}

/// The page of a protocol.
#[derive(Serialize)]
pub(crate) struct ProtocolPage {
    pub(crate) title: String,
    pub(crate) label: String,
    pub(crate) sentences: Vec<String>,
    /// What the model assumes, and what must not be concluded from it.
    pub(crate) assumptions: Vec<String>,
    pub(crate) facts: Vec<[String; 2]>,
    pub(crate) steps: Vec<Step>,
    /// Runs that ended early: step and scenario, and why.
    pub(crate) errors: Vec<[String; 2]>,
    pub(crate) failures: Vec<Failure>,
    pub(crate) groups: Vec<Group>,
    pub(crate) published: Option<Published>,
    pub(crate) identity: Vec<[String; 2]>,
    pub(crate) model: Vec<[String; 2]>,
    pub(crate) action: String,
    pub(crate) files: Vec<Link>,
}

/// The page of a scenario.
#[derive(Serialize)]
pub(crate) struct ScenarioPage<'a> {
    pub(crate) title: String,
    pub(crate) protocol: Link,
    pub(crate) steps: Vec<Step>,
    pub(crate) errors: Vec<[String; 2]>,
    pub(crate) plots: Vec<PlotView>,
    pub(crate) replays: Vec<&'a ReplayCase>,
    pub(crate) checks: Group,
    pub(crate) metrics: Vec<MetricRow>,
    pub(crate) repeats: Vec<[String; 3]>,
}

/// A candidate: a column.
#[derive(Clone, Serialize)]
pub(crate) struct Step {
    pub(crate) key: String,
    pub(crate) style: usize,
    pub(crate) name: String,
    pub(crate) checks: String,
    pub(crate) word: &'static str,
    pub(crate) tone: &'static str,
    pub(crate) note: &'static str,
}

/// A check that does not hold.
#[derive(Serialize)]
pub(crate) struct Failure {
    pub(crate) step: String,
    pub(crate) scenario: String,
    pub(crate) href: String,
    pub(crate) metric: String,
    pub(crate) asked: String,
    pub(crate) value: String,
    pub(crate) exact: String,
    pub(crate) margin: String,
}

impl Failure {
    /// The check of a column, `step`, in a scenario.
    pub(crate) fn of(
        step: String,
        scenario: String,
        href: String,
        check: &Check,
        found: CheckCell,
    ) -> Self {
        let CheckCell { value, exact, margin, .. } = found;
        let metric = text::line(&check.metric);
        Self { step, scenario, href, metric, asked: asked(check), value, exact, margin }
    }
}

/// Checks of a kind or a scenario.
#[derive(Serialize)]
pub(crate) struct Group {
    pub(crate) title: String,
    pub(crate) href: String,
    pub(crate) rows: Vec<Row>,
}

/// One check, of all candidates.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) metric: String,
    pub(crate) id: String,
    pub(crate) asked: String,
    pub(crate) cells: Vec<Option<CheckCell>>,
}

/// One check of one candidate.
#[derive(Serialize)]
pub(crate) struct CheckCell {
    pub(crate) value: String,
    pub(crate) exact: String,
    pub(crate) margin: String,
    pub(crate) passed: bool,
}

/// A plot.
#[derive(Serialize)]
pub(crate) struct PlotView {
    pub(crate) title: String,
    pub(crate) limit: String,
    pub(crate) svg: String,
}

/// A metric of all candidates.
#[derive(Serialize)]
pub(crate) struct MetricRow {
    pub(crate) name: String,
    pub(crate) cells: Vec<[String; 2]>,
}

/// The comparison with published values.
#[derive(Serialize)]
pub(crate) struct Published {
    pub(crate) sentence: String,
    pub(crate) rows: Vec<[String; 4]>,
    pub(crate) more: usize,
}

/// Where the page of a verdict lies, without its ending.
fn stem(judged: &Judged) -> String {
    let label = judged.label.strip_suffix("/verdict").unwrap_or(&judged.label);
    format!("protocols/{}", text::slug(label))
}

/// What the labels of a scenario's runs begin with.
fn runs(judged: &Judged, scenario: &str) -> String {
    let stage = judged.label.strip_suffix("/verdict").unwrap_or(&judged.label);
    format!("{stage}/{scenario}/")
}

/// Whether a replay is shown on the page of a scenario.
pub(crate) fn shows(ctx: &Ctx<'_>, replay: &ReplayCase) -> bool {
    let of = |judged: &Judged| {
        names(&judged.report).iter().any(|name| replay.is_of(&runs(judged, name)))
    };
    ctx.input.protocols.iter().any(of)
}

/// The place of a run's candidate, from the run's label and the name that its recording has.
pub(crate) fn candidate(ctx: &Ctx<'_>, label: &str, name: &str) -> Option<usize> {
    let of = |judged: &&Judged| {
        names(&judged.report).iter().any(|scenario| label.starts_with(&runs(judged, scenario)))
    };
    let judged = ctx.input.protocols.iter().find(of)?;
    judged.report.candidates.iter().position(|c| format!("{} s", c.timestep_s) == name)
}

fn scenario_href(judged: &Judged, scenario: &str) -> String {
    // A dot is in no slug, so no scenario's page is another protocol's.
    format!("{}.{}.html", stem(judged), text::slug(scenario))
}

/// What the first page says.
pub(crate) fn entries(ctx: &Ctx<'_>) -> Vec<ProtocolEntry> {
    let entry = |judged: &Judged| ProtocolEntry {
        title: title(&judged.report),
        href: format!("{}.html", stem(judged)),
        word: match (judged.report.selection.timestep_s, judged.report.candidates.len()) {
            (Some(_), 1) => "passes",
            (Some(_), _) => "selected",
            (None, _) => "none passes",
        },
        tone: if judged.report.selection.timestep_s.is_some() { "good" } else { "bad" },
        sentences: sentences(&judged.report),
    };
    ctx.input.protocols.iter().map(entry).collect()
}

/// Copies a verdict's files; gives links to them from its page.
pub(crate) fn files(judged: &Judged, site: &Site) -> Result<Vec<Link>, ReportError> {
    let mut out = Vec::new();
    for name in FILES.iter().filter(|name| judged.folder.join(name).is_file()) {
        let path = format!("{}/{name}", stem(judged));
        site.copy(&path, &judged.folder.join(name))?;
        out.push(Link { text: (*name).to_owned(), href: format!("../{path}") });
    }
    Ok(out)
}

/// The path of a verdict's page.
pub(crate) fn path(judged: &Judged) -> String {
    format!("{}.html", stem(judged))
}

/// The path of a scenario's page.
pub(crate) fn scenario_path(judged: &Judged, scenario: &ScenarioReport) -> String {
    scenario_href(judged, &scenario.scenario)
}

/// `m1-cpu-v1, simulator 3.10.0`
fn title(report: &Report) -> String {
    let versions: Vec<String> = report.runtime.versions.iter().map(|v| text::line(v)).collect();
    format!("{}, simulator {}", text::line(&report.protocol.name), versions.join(" and "))
}

/// A physics step, as the protocol writes it.
pub(crate) fn seconds(dt: f64) -> String {
    format!("{dt}\u{a0}s")
}

fn all_checks(c: &Candidate) -> impl Iterator<Item = &Check> {
    c.scenarios.iter().flat_map(|s| &s.checks).chain(&c.symmetry).chain(&c.convergence)
}

/// The decision, in words.
fn sentences(report: &Report) -> Vec<String> {
    let mut out = Vec::new();
    let selected = report.selection.timestep_s;
    let several = report.candidates.len() > 1;
    out.push(match selected {
        Some(dt) if several => format!(
            "{} is selected: the largest of {} steps of which every check holds.",
            seconds(dt),
            report.candidates.len()
        ),
        Some(dt) => format!("Every check holds with a step of {}.", seconds(dt)),
        None if several => "No step passes: each fails a check.".to_owned(),
        None => "It does not pass.".to_owned(),
    });
    for c in report.candidates.iter().filter(|c| Some(c.timestep_s) != selected) {
        let count = all_checks(c).count();
        let failed = all_checks(c).filter(|k| !k.passed).count();
        let dt = seconds(c.timestep_s);
        out.push(match (c.passed, failed) {
            (true, _) if c.timestep_s == report.protocol.reference_s => {
                format!("{dt}, the reference, passes its {count} checks.")
            }
            (true, _) => format!("{dt} passes too."),
            (false, 0) => format!("{dt} is rejected: {}.", c.failures.join(", ")),
            (false, _) => {
                let where_: BTreeSet<&str> =
                    all_checks(c).filter(|k| !k.passed).map(|k| place(&k.id)).collect();
                let places: Vec<String> = where_.into_iter().map(text::line).collect();
                format!(
                    "{dt} is rejected: {failed} of {count} checks fail, in {}.",
                    places.join(", ")
                )
            }
        });
    }
    out
}

/// The scenario of a check's id, `kind.scenario.rest`.
fn place(id: &str) -> &str {
    id.split('.').nth(1).unwrap_or(id)
}

fn steps(report: &Report) -> Vec<Step> {
    let step = |(i, c): (usize, &Candidate)| {
        let (count, passed) =
            (all_checks(c).count(), all_checks(c).filter(|check| check.passed).count());
        let selected = report.selection.timestep_s == Some(c.timestep_s);
        let alone = report.candidates.len() == 1;
        let (word, tone) = match (selected && !alone, c.passed) {
            (true, _) => ("selected", "good"),
            (false, true) => ("passes", "good"),
            (false, false) => ("rejected", "bad"),
        };
        let reference = c.timestep_s == report.protocol.reference_s && report.candidates.len() > 1;
        Step {
            key: svg::key(i),
            style: i % svg::STYLES,
            name: seconds(c.timestep_s),
            checks: format!("{passed} of {count}"),
            word,
            tone,
            note: if reference { "reference" } else { "" },
        }
    };
    report.candidates.iter().enumerate().map(step).collect()
}

/// Four digits, or all of a count.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e6 {
        return value.to_string().replace('-', "\u{2212}");
    }
    significant(value, 4)
}

/// A limit as it was written, small ones with a power of ten.
fn limit(value: f64) -> String {
    let small = value != 0.0 && value.abs() < 1e-5;
    let text = if small { significant(value, 1) } else { value.to_string() };
    text.replace('-', "\u{2212}")
}

fn asked(check: &Check) -> String {
    let operator = match check.operator.as_str() {
        "<=" => "\u{2264}",
        ">=" => "\u{2265}",
        "==" => "=",
        other => other,
    };
    format!("{operator}\u{a0}{}", limit(check.limit))
}

/// How far a value lies inside its limit, in parts of the limit; outside it is negative.
fn margin(check: &Check) -> String {
    let Some(value) = check.value else { return String::new() };
    let room = match check.operator.as_str() {
        "<=" | "<" => check.limit - value,
        ">=" => value - check.limit,
        _ => return if check.passed { "exact".to_owned() } else { number(value - check.limit) },
    };
    if check.limit == 0.0 {
        return if room == 0.0 { "exact".to_owned() } else { number(room) };
    }
    let share = 100.0 * room / check.limit.abs();
    let digits = if share.abs() < 10.0 { 1 } else { 0 };
    if share.abs() >= 1e4 {
        let (side, sign) = if share < 0.0 { ("<", "\u{2212}") } else { (">", "") };
        return format!("{side} {sign}{}\u{a0}%", whole(10_000));
    }
    // The sign as it is typeset.
    format!("{share:.digits$}\u{a0}%").replace('-', "\u{2212}")
}

pub(crate) fn cell(check: &Check) -> CheckCell {
    CheckCell {
        value: check.value.map_or_else(|| "none".to_owned(), number),
        exact: check.value.map_or_else(|| "it could not be computed".to_owned(), |v| v.to_string()),
        margin: margin(check),
        passed: check.passed,
    }
}

/// Rows of the checks that `of` picks from each candidate.
fn rows<'a>(report: &'a Report, of: impl Fn(&'a Candidate) -> &'a [Check]) -> Vec<Row> {
    table(&report.candidates.iter().map(of).collect::<Vec<_>>())
}

/// Rows of the checks of each column, in the order in which they first come.
pub(crate) fn table(columns: &[&[Check]]) -> Vec<Row> {
    let mut order: Vec<&Check> = Vec::new();
    let mut seen = BTreeSet::new();
    for check in columns.iter().copied().flatten() {
        if seen.insert(check.id.as_str()) {
            order.push(check);
        }
    }
    let row = |check: &Check| Row {
        metric: text::line(&check.metric),
        id: text::line(&check.id),
        asked: asked(check),
        cells: columns
            .iter()
            .map(|c| c.iter().find(|other| other.id == check.id).map(cell))
            .collect(),
    };
    order.into_iter().map(row).collect()
}

fn scenario_rows(report: &Report, name: &str) -> Vec<Row> {
    rows(report, |c| {
        c.scenarios.iter().find(|s| s.scenario == name).map_or(&[], |s| s.checks.as_slice())
    })
}

fn names(report: &Report) -> Vec<&str> {
    report
        .candidates
        .first()
        .map_or_else(Vec::new, |c| c.scenarios.iter().map(|s| s.scenario.as_str()).collect())
}

/// A link from one page in `protocols/` to another.
fn beside(href: &str) -> String {
    href.strip_prefix("protocols/").unwrap_or(href).to_owned()
}

/// See [`ProtocolPage`].
pub(crate) fn page(judged: &Judged, files: Vec<Link>) -> ProtocolPage {
    let report = &judged.report;
    let head = &report.protocol;
    let names = names(report);
    let mut groups: Vec<Group> = names
        .iter()
        .map(|name| Group {
            title: text::line(name),
            href: beside(&scenario_href(judged, name)),
            rows: scenario_rows(report, name),
        })
        .collect();
    for (title, rows) in [
        ("mirror images", rows(report, |c| &c.symmetry)),
        ("difference to the reference", rows(report, |c| &c.convergence)),
    ] {
        if !rows.is_empty() {
            groups.push(Group { title: title.to_owned(), href: String::new(), rows });
        }
    }
    let total = report.candidates.iter().flat_map(all_checks).count();
    ProtocolPage {
        title: title(report),
        label: text::line(&judged.label),
        sentences: sentences(report),
        assumptions: report.assumptions.iter().map(|a| text::line(a)).collect(),
        facts: vec![
            ["Scenarios".into(), names.len().to_string()],
            ["Repeats of a run".into(), head.repeats.to_string()],
            ["Checks in all".into(), whole(total as u64)],
            ["Rule".into(), text::line(&report.selection.rule)],
        ],
        steps: steps(report),
        errors: errors(report),
        failures: failures(judged),
        groups,
        published: published(report),
        identity: vec![
            ["Identity of the protocol".into(), head.identity.clone()],
            ["Code of metrics and checks".into(), head.source_fingerprint.clone()],
            ["Protocol, SHA-256".into(), head.protocol_sha256.clone()],
            ["Configuration, SHA-256".into(), head.config_sha256.clone()],
            ["Model, SHA-256".into(), head.model_sha256.clone()],
        ],
        model: facts(&report.runtime.model),
        action: judged
            .page
            .as_ref()
            .map_or_else(String::new, |p| format!("../provenance/{p}.html")),
        files,
    }
}

/// Why runs ended early, the same reason of several repeats once.
fn errors(report: &Report) -> Vec<[String; 2]> {
    let mut out: Vec<[String; 2]> = Vec::new();
    for c in &report.candidates {
        for s in &c.scenarios {
            let run = format!("{}, {}", seconds(c.timestep_s), text::line(&s.scenario));
            for e in &s.errors {
                let row = [run.clone(), text::line(e)];
                if !out.contains(&row) {
                    out.push(row);
                }
            }
        }
    }
    out
}

/// The members of an object, as text.
fn facts(model: &serde_json::Value) -> Vec<[String; 2]> {
    let plain = |v: &serde_json::Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    let members = model.as_object().into_iter().flatten();
    members.map(|(name, v)| [text::line(&name.replace('_', " ")), text::line(&plain(v))]).collect()
}

fn failures(judged: &Judged) -> Vec<Failure> {
    let report = &judged.report;
    let known: BTreeSet<&str> = names(report).into_iter().collect();
    let mut out = Vec::new();
    for c in &report.candidates {
        for check in all_checks(c).filter(|check| !check.passed) {
            let scenario = place(&check.id);
            let found = cell(check);
            let href = if known.contains(scenario) {
                beside(&scenario_href(judged, scenario))
            } else {
                String::new()
            };
            let step = seconds(c.timestep_s);
            out.push(Failure::of(step, text::line(scenario), href, check, found));
        }
    }
    out
}

fn published(report: &Report) -> Option<Published> {
    let p = report.published.as_ref()?;
    let mut sentence = format!(
        "{} of {} published values came out, to the last digit that was published or, next to zero, \
         within 1e-11",
        whole(p.equal as u64),
        whole(p.values as u64)
    );
    if !p.missing.is_empty() {
        sentence += &format!("; {} have no counterpart here", p.missing.len());
    }
    let row = |d: &sim_stage_protocol::report::Different| {
        let apart = 100.0 * (d.value - d.published) / d.published.abs();
        let apart = if apart.is_finite() && apart.abs() < 1e6 {
            format!("{}\u{a0}%", significant(apart, 2))
        } else {
            String::new()
        };
        [text::line(&d.id), d.published.to_string(), significant(d.value, 6), apart]
    };
    Some(Published {
        sentence: sentence + ".",
        rows: p.different.iter().take(MOST_DIFFERENT).map(row).collect(),
        more: p.different.len().saturating_sub(MOST_DIFFERENT),
    })
}

/// The page of one scenario.
pub(crate) fn scenario<'a>(
    judged: &Judged,
    first: &ScenarioReport,
    replays: &'a Replays,
) -> ScenarioPage<'a> {
    let report = &judged.report;
    let name = first.scenario.as_str();
    let each: Vec<(&Candidate, Option<&ScenarioReport>)> = report
        .candidates
        .iter()
        .map(|c| (c, c.scenarios.iter().find(|s| s.scenario == name)))
        .collect();
    let metrics: BTreeSet<&str> = each
        .iter()
        .filter_map(|(_, s)| *s)
        .flat_map(|s| s.metrics.keys().map(String::as_str))
        .collect();
    let metric = |metric: &str| MetricRow {
        name: text::line(metric),
        cells: each
            .iter()
            .map(|(_, s)| match s.and_then(|s| s.metrics.get(metric)) {
                Some(value) => [number(*value), value.to_string()],
                None => ["\u{2014}".to_owned(), "not computed".to_owned()],
            })
            .collect(),
    };
    let errors = each.iter().flat_map(|(c, s)| {
        let errors = s.map_or(&[] as &[String], |s| &s.errors);
        errors.iter().map(|e| [seconds(c.timestep_s), text::line(e)])
    });
    let repeats = each.iter().flat_map(|(c, s)| {
        let hashes = s.map_or(&[] as &[String], |s| &s.telemetry_sha256);
        let row = |(i, h): (usize, &String)| [seconds(c.timestep_s), i.to_string(), text::line(h)];
        hashes.iter().enumerate().map(row)
    });
    ScenarioPage {
        title: text::line(name),
        protocol: Link { text: title(report), href: beside(&path(judged)) },
        steps: steps(report),
        errors: errors.collect(),
        plots: plots(judged, name),
        replays: replays.strays().iter().filter(|r| r.is_of(&runs(judged, name))).collect(),
        checks: Group {
            title: text::line(name),
            href: String::new(),
            rows: {
                let of_it = rows(report, |c| &c.convergence);
                let of_it = of_it.into_iter().filter(|row| place(&row.id) == name);
                scenario_rows(report, name).into_iter().chain(of_it).collect()
            },
        },
        metrics: metrics.into_iter().map(metric).collect(),
        repeats: repeats.collect(),
    }
}

fn plots(judged: &Judged, scenario: &str) -> Vec<PlotView> {
    let found = judged.plots.scenarios.iter().find(|s| s.scenario == scenario);
    let style = |dt: f64| {
        let at = judged.report.candidates.iter().position(|c| c.timestep_s == dt);
        at.unwrap_or(svg::STYLES - 1)
    };
    let view = |p: &sim_stage_protocol::plots::Plot| {
        let drawn = svg::plot(&svg::Plot {
            title: &p.title,
            x: &p.x,
            y: &p.y,
            equal: p.equal,
            limit: p.limit,
            circles: &p.circles,
            curves: p.curves.iter().map(|c| (style(c.timestep_s), c.points.as_slice())).collect(),
        })?;
        Some(PlotView {
            title: text::line(&p.title),
            limit: p.limit.map_or_else(String::new, |l| format!("limit {l}")),
            svg: drawn,
        })
    };
    found.into_iter().flat_map(|s| &s.plots).filter_map(view).collect()
}
