//! Pages of protocols that batched engines answered: agreement with the plant, and every number of worlds
//! with its gates, engines beside each other.

use super::protocol::{Failure, Group, PlotView, ProtocolEntry, Step, cell, seconds, table};
use super::{Ctx, Link};
use crate::batch::Batch;
use crate::error::ReportError;
use crate::number::{significant, whole};
use crate::site::Site;
use crate::{svg, text};
use serde::Serialize;
use sim_stage_batch_protocol::plots::Series;
use sim_stage_batch_protocol::report::{Check, Report, ScaleReport};
use std::collections::BTreeSet;

/// Files of a verdict that are copied beside its page.
const FILES: [&str; 4] = ["report.json", "checks.csv", "scales.csv", "plots.json"];

/// The page of a protocol.
#[derive(Serialize)]
pub(crate) struct BatchPage {
    pub(crate) title: String,
    pub(crate) sentences: Vec<String>,
    pub(crate) facts: Vec<[String; 2]>,
    /// Engines: columns.
    pub(crate) engines: Vec<Step>,
    pub(crate) errors: Vec<[String; 2]>,
    pub(crate) failures: Vec<Failure>,
    pub(crate) agreement: Group,
    pub(crate) plots: Vec<PlotView>,
    pub(crate) rates: Vec<Rate>,
    pub(crate) scales: Vec<Group>,
    pub(crate) extremes: Vec<Extremes>,
    /// By what is left out, the engines of which it is said.
    pub(crate) not_measured: Vec<[String; 2]>,
    pub(crate) identity: Vec<[String; 2]>,
    pub(crate) versions: Vec<[String; 2]>,
    pub(crate) verdicts: Vec<Verdict>,
}

/// One engine with a number of worlds: what it took.
#[derive(Serialize)]
pub(crate) struct Rate {
    pub(crate) worlds: String,
    pub(crate) engine: usize,
    pub(crate) steps: String,
    pub(crate) transitions: String,
    pub(crate) physics: String,
    pub(crate) setup: String,
    pub(crate) memory: String,
}

/// The extremes of an engine over simulated time.
#[derive(Serialize)]
pub(crate) struct Extremes {
    pub(crate) engine: String,
    pub(crate) legend: Vec<[String; 3]>,
    pub(crate) plots: Vec<PlotView>,
}

/// Where a verdict comes from.
#[derive(Serialize)]
pub(crate) struct Verdict {
    pub(crate) engine: String,
    pub(crate) label: String,
    pub(crate) action: String,
    pub(crate) files: Vec<Link>,
}

/// A verdict and the name of its column.
struct Named<'a> {
    name: String,
    batch: &'a Batch,
}

/// The verdicts of one protocol.
pub(crate) struct Together<'a> {
    /// Path of their page.
    pub(crate) path: String,
    list: Vec<Named<'a>>,
}

/// Verdicts by protocol: those whose identity is the same are beside each other.
pub(crate) fn together<'a>(ctx: &Ctx<'a>) -> Vec<Together<'a>> {
    let mut out: Vec<Together<'a>> = Vec::new();
    for batch in &ctx.input.batches {
        let name = name(&batch.report);
        let of = |t: &&mut Together<'_>| {
            t.list[0].batch.report.protocol.identity == batch.report.protocol.identity
        };
        if let Some(known) = out.iter_mut().find(of) {
            known.list.push(Named { name, batch });
            continue;
        }
        // A dot is in no slug, so no page of another protocol has this name; the identity tells two of
        // one name apart.
        let head = &batch.report.protocol;
        let short: String = head.identity.chars().take(8).collect();
        let path = format!("protocols/batch.{}-{short}.html", text::slug(&head.name));
        out.push(Together { path, list: vec![Named { name, batch }] });
    }
    out.iter_mut().for_each(|t| tell_apart(&mut t.list));
    out
}

/// Two runs of one engine are told apart by the stages that ran them.
fn tell_apart(list: &mut [Named<'_>]) {
    let names: Vec<String> = list.iter().map(|n| n.name.clone()).collect();
    for named in list {
        if names.iter().filter(|name| **name == named.name).count() > 1 {
            let label = &named.batch.label;
            let stage = label.strip_suffix("/verdict").unwrap_or(label);
            named.name = format!("{}, {}", named.name, text::line(stage));
        }
    }
}

/// What the first page says.
pub(crate) fn entries(ctx: &Ctx<'_>) -> Vec<ProtocolEntry> {
    let entry = |t: Together<'_>| {
        let passed = t.list.iter().filter(|n| n.batch.report.passed).count();
        ProtocolEntry {
            title: title(&t.list),
            href: t.path,
            word: match (passed, t.list.len()) {
                (p, n) if p == n => "passes",
                (0, _) => "fails",
                _ => "some pass",
            },
            tone: if passed == t.list.len() { "good" } else { "bad" },
            sentences: t.list.iter().map(sentence).collect(),
        }
    };
    together(ctx).into_iter().map(entry).collect()
}

fn title(list: &[Named<'_>]) -> String {
    format!("{}, in a batch", text::line(&list[0].batch.report.protocol.name))
}

fn name(report: &Report) -> String {
    format!("{} {}", text::line(&report.engine.name), text::line(&report.engine.version))
}

fn checks(report: &Report) -> impl Iterator<Item = &Check> {
    report.agreement.checks.iter().chain(report.scales.iter().flat_map(|s| &s.checks))
}

/// `1, 64 and 256`
fn listed(numbers: &[String]) -> String {
    match numbers {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn sentence(named: &Named<'_>) -> String {
    let report = &named.batch.report;
    let who = format!(
        "{} on its {} backend, {} precision,",
        named.name,
        text::line(&report.engine.backend).to_uppercase(),
        text::line(&report.engine.precision)
    );
    let worlds: Vec<String> = report.scales.iter().map(|s| whole(s.worlds.into())).collect();
    let (count, failed) = (checks(report).count(), checks(report).filter(|c| !c.passed).count());
    let apart = report.agreement.checks.iter().filter(|c| !c.passed).count();
    let agreed = report.agreement.checks.len();
    let fewer = report.scales.iter().any(|s| s.steps < s.declared_steps);
    if report.passed {
        return format!(
            "{who} agrees with the plant in all {agreed} quantities, and every gate holds with {} \
             worlds{}.",
            listed(&worlds),
            if fewer { ", over fewer steps than declared" } else { "" }
        );
    }
    if failed == 0 {
        return format!("{who} does not pass: {}.", text::line(&report.failures.join(", ")));
    }
    format!(
        "{who} fails {failed} of {count} checks: {apart} of {agreed} quantities in which it is \
         compared with the plant, {} gates.",
        failed - apart
    )
}

/// Copies the verdicts' files; gives links to them from their page.
pub(crate) fn files(together: &Together<'_>, site: &Site) -> Result<Vec<Vec<Link>>, ReportError> {
    let stem = together.path.trim_end_matches(".html");
    let each = together.list.iter().map(|Named { batch, .. }| {
        let mut out = Vec::new();
        for name in FILES.iter().filter(|name| batch.folder.join(name).is_file()) {
            let path = format!("{stem}/{}/{name}", text::slug(&batch.label));
            site.copy(&path, &batch.folder.join(name))?;
            out.push(Link { text: (*name).to_owned(), href: format!("../{path}") });
        }
        Ok(out)
    });
    each.collect()
}

fn engines(list: &[Named<'_>]) -> Vec<Step> {
    let step = |(i, n): (usize, &Named<'_>)| {
        let b = n.batch;
        let (count, passed) =
            (checks(&b.report).count(), checks(&b.report).filter(|c| c.passed).count());
        Step {
            key: svg::key(i),
            style: i % svg::STYLES,
            name: n.name.clone(),
            checks: format!("{passed} of {count}"),
            word: if b.report.passed { "passes" } else { "fails" },
            tone: if b.report.passed { "good" } else { "bad" },
            note: "",
        }
    };
    list.iter().enumerate().map(step).collect()
}

/// A table of checks with a column an engine.
fn group(list: &[Named<'_>], title: String, of: impl Fn(&Batch) -> &[Check]) -> Group {
    let columns: Vec<&[Check]> = list.iter().map(|n| of(n.batch)).collect();
    Group { title, href: String::new(), rows: table(&columns) }
}

/// The numbers of worlds of all engines.
fn worlds(list: &[Named<'_>]) -> BTreeSet<u32> {
    list.iter().flat_map(|n| n.batch.report.scales.iter().map(|s| s.worlds)).collect()
}

fn scale(batch: &Batch, worlds: u32) -> Option<&ScaleReport> {
    batch.report.scales.iter().find(|s| s.worlds == worlds)
}

fn count_of(worlds: u32) -> String {
    format!("{} {}", whole(worlds.into()), if worlds == 1 { "world" } else { "worlds" })
}

/// See [`BatchPage`].
pub(crate) fn page(together: &Together<'_>, files: Vec<Vec<Link>>) -> BatchPage {
    let list = &together.list;
    let report = &list[0].batch.report;
    let head = &report.protocol;
    let scales = worlds(list).into_iter().map(|worlds| {
        group(list, count_of(worlds), |b| scale(b, worlds).map_or(&[], |s| s.checks.as_slice()))
    });
    let verdict = |(n, files): (&Named<'_>, Vec<Link>)| Verdict {
        engine: n.name.clone(),
        label: text::line(&n.batch.label),
        action: n
            .batch
            .page
            .as_ref()
            .map_or_else(String::new, |p| format!("../provenance/{p}.html")),
        files,
    };
    BatchPage {
        title: title(list),
        sentences: list.iter().map(sentence).collect(),
        facts: vec![
            ["Physics step".into(), seconds(head.physics_dt_s)],
            ["Control step".into(), seconds(head.control_dt_s)],
            ["Plant, simulator".into(), text::line(&report.engine.plant_version)],
            ["Rows compared".into(), whole(report.agreement.rows as u64)],
        ],
        engines: engines(list),
        errors: list.iter().flat_map(errors).collect(),
        failures: list.iter().flat_map(failures).collect(),
        agreement: group(list, "agreement with the plant".to_owned(), |b| {
            &b.report.agreement.checks
        }),
        plots: agreement_plots(list),
        rates: rates(list),
        scales: scales.collect(),
        extremes: list.iter().filter_map(extremes).collect(),
        not_measured: not_measured(list),
        identity: vec![
            ["Identity of the protocol".into(), head.identity.clone()],
            ["Code of metrics and checks".into(), head.source_fingerprint.clone()],
            ["Protocol, SHA-256".into(), head.protocol_sha256.clone()],
            ["Configuration, SHA-256".into(), head.config_sha256.clone()],
            ["Model, SHA-256".into(), head.model_sha256.clone()],
        ],
        versions: list.iter().map(versions).collect(),
        verdicts: list.iter().zip(files).map(verdict).collect(),
    }
}

fn versions(Named { name, batch }: &Named<'_>) -> [String; 2] {
    let engine = &batch.report.engine;
    let rests: Vec<String> = engine.versions.iter().map(|(n, v)| format!("{n} {v}")).collect();
    [name.clone(), text::line(&rests.join(", "))]
}

fn errors(Named { name, batch }: &Named<'_>) -> Vec<[String; 2]> {
    let agreement = batch.report.agreement.error.iter().map(|e| ("agreement".to_owned(), e));
    let scales = batch.report.scales.iter();
    let scales = scales.filter_map(|s| Some((count_of(s.worlds), s.error.as_ref()?)));
    agreement.chain(scales).map(|(what, e)| [format!("{name}, {what}"), text::line(e)]).collect()
}

fn failures(Named { name, batch }: &Named<'_>) -> Vec<Failure> {
    let scales = batch.report.scales.iter();
    let scales = scales.flat_map(|s| s.checks.iter().map(|c| (count_of(s.worlds), c)));
    let agreement = batch.report.agreement.checks.iter().map(|c| ("agreement".to_owned(), c));
    let failed = agreement.chain(scales).filter(|(_, c)| !c.passed);
    failed
        .map(|(scenario, c)| Failure::of(name.clone(), scenario, String::new(), c, cell(c)))
        .collect()
}

/// One plot a quantity, one curve an engine.
fn agreement_plots(list: &[Named<'_>]) -> Vec<PlotView> {
    let mut order: Vec<&Series> = Vec::new();
    for series in list.iter().flat_map(|n| &n.batch.plots.agreement) {
        if !order.iter().any(|s| s.quantity == series.quantity) {
            order.push(series);
        }
    }
    let of = |first: &&Series| {
        let curves = list.iter().enumerate().filter_map(|(i, n)| {
            let s = n.batch.plots.agreement.iter().find(|s| s.quantity == first.quantity)?;
            Some((i, s.points.as_slice()))
        });
        drawn(first, curves.collect())
    };
    order.iter().filter_map(of).collect()
}

fn drawn(first: &Series, curves: Vec<(usize, &[[f64; 2]])>) -> Option<PlotView> {
    let (title, y) = (text::line(&first.title), text::line(&first.y));
    let plot = svg::Plot {
        title: &title,
        x: "time, s",
        y: &y,
        equal: false,
        limit: first.limit,
        circles: &[],
        curves,
    };
    let limit = first.limit.map_or_else(String::new, |l| format!("limit {l}"));
    Some(PlotView { title: title.clone(), limit, svg: svg::plot(&plot)? })
}

/// One plot a metric, one curve a number of worlds.
fn extremes(Named { name, batch }: &Named<'_>) -> Option<Extremes> {
    let worlds: Vec<u32> = batch.report.scales.iter().map(|s| s.worlds).collect();
    let mut metrics: Vec<&Series> = Vec::new();
    for series in &batch.plots.scales {
        if !metrics.iter().any(|s| s.quantity == series.quantity) {
            metrics.push(series);
        }
    }
    let of = |first: &&Series| {
        let all = batch.plots.scales.iter().filter(|s| s.quantity == first.quantity);
        let curves = all.filter_map(|s| {
            Some((worlds.iter().position(|w| *w == s.worlds)?, s.points.as_slice()))
        });
        drawn(first, curves.collect())
    };
    let plots: Vec<PlotView> = metrics.iter().filter_map(of).collect();
    let key = |(i, w): (usize, &u32)| [svg::key(i), (i % svg::STYLES).to_string(), count_of(*w)];
    (!plots.is_empty()).then(|| Extremes {
        engine: name.clone(),
        legend: worlds.iter().enumerate().map(key).collect(),
        plots,
    })
}

fn rates(list: &[Named<'_>]) -> Vec<Rate> {
    let of = |worlds: u32| {
        list.iter().enumerate().filter_map(move |(engine, n)| {
            let s = scale(n.batch, worlds)?;
            let rate = |x: Option<f64>| x.map_or_else(|| "none".to_owned(), rate);
            let steps = match s.steps == s.declared_steps {
                true => whole(s.steps),
                false => format!("{} of {}", whole(s.steps), whole(s.declared_steps)),
            };
            let memory = s
                .peak_memory_bytes
                .map_or_else(|| "not read".to_owned(), |b| format!("{} MiB", whole(b >> 20)));
            Some(Rate {
                worlds: whole(worlds.into()),
                engine,
                steps,
                transitions: rate(s.transitions_per_s),
                physics: rate(s.world_physics_steps_per_s),
                setup: significant(s.setup_s, 3),
                memory,
            })
        })
    };
    worlds(list).into_iter().flat_map(of).collect()
}

/// Whole above a hundred.
fn rate(x: f64) -> String {
    if x < 100.0 { significant(x, 3) } else { whole(x as u64) }
}

fn not_measured(list: &[Named<'_>]) -> Vec<[String; 2]> {
    let mut out: Vec<(String, Vec<String>)> = Vec::new();
    for Named { name, batch } in list {
        for what in &batch.report.not_measured {
            match out.iter_mut().find(|(known, _)| known == what) {
                Some((_, names)) => names.push(name.clone()),
                None => out.push((what.clone(), vec![name.clone()])),
            }
        }
    }
    let all = list.len();
    out.into_iter()
        .map(|(what, names)| {
            let who = if names.len() == all { String::new() } else { names.join(", ") };
            [text::line(&what), who]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_stage_batch_protocol::plots::Plots;
    use std::path::PathBuf;

    /// Two runs of one engine have names of their own, another engine keeps its own.
    #[test]
    fn columns_are_told_apart() {
        let batch = |label: &str, engine: &str| Batch {
            label: label.to_owned(),
            page: None,
            folder: PathBuf::new(),
            report: serde_json::from_value(serde_json::json!({
                "format": 2,
                "protocol": {"name": "p", "physics_dt_s": 0.005, "control_dt_s": 0.05,
                    "identity": "i", "source_fingerprint": "f", "protocol_sha256": "a",
                    "config_sha256": "b", "model_sha256": "c"},
                "engine": {"name": engine, "version": "1", "backend": "cpu", "precision": "single",
                    "versions": {}, "plant_version": "3"},
                "passed": true, "failures": [],
                "agreement": {"rows": 1, "checks": [], "error": null},
                "scales": [], "not_measured": []
            }))
            .expect("a report"),
            plots: Plots { format: 1, agreement: vec![], scales: vec![] },
        };
        let all = [
            batch("m2[a]/verdict", "a"),
            batch("whole[a]/verdict", "a"),
            batch("m2[b]/verdict", "b"),
        ];
        let mut list: Vec<Named<'_>> =
            all.iter().map(|batch| Named { name: name(&batch.report), batch }).collect();
        tell_apart(&mut list);
        let names: Vec<&str> = list.iter().map(|n| n.name.as_str()).collect();
        assert_eq!(names, ["a 1, m2[a]", "a 1, whole[a]", "b 1"]);
        let sentences: Vec<String> = list.iter().map(sentence).collect();
        assert_ne!(sentences[0], sentences[1]);
    }
}
