//! The page of one action: where its numbers come from and how to get them again.

use super::case::gate_line;
use super::settings::setting;
use super::{Ctx, Link, Room, words};
use crate::load::Page;
use crate::number::{bytes, date, full, seconds, significant, whole};
use crate::text;
use serde::Serialize;
use sim_engine_protocol::JobResult;
use sim_model::{Class, Digest, Record};
use std::collections::BTreeMap;

/// Characters of one value.
const MOST_VALUE: usize = 400;

/// The page.
#[derive(Serialize)]
pub(crate) struct ActionPage {
    pub(crate) title: String,
    pub(crate) key: String,
    pub(crate) outcome: String,
    pub(crate) tone: &'static str,
    pub(crate) reason: String,
    pub(crate) promise: String,
    pub(crate) facts: Vec<[String; 2]>,
    pub(crate) commands: Vec<[String; 2]>,
    pub(crate) case: Option<Link>,
    pub(crate) sample: Vec<[String; 3]>,
    pub(crate) gates: Vec<[String; 5]>,
    pub(crate) exact: Vec<String>,
    pub(crate) approximated: Vec<String>,
    pub(crate) dropped: Vec<String>,
    pub(crate) settings: Vec<[String; 2]>,
    pub(crate) counters: Vec<[String; 2]>,
    pub(crate) snapshots: Vec<[String; 3]>,
    pub(crate) inputs: Vec<InputRow>,
    pub(crate) more_inputs: usize,
    pub(crate) users: Vec<Link>,
    pub(crate) more_users: usize,
    pub(crate) components: Vec<[String; 2]>,
    pub(crate) more_components: usize,
    pub(crate) conditions: Vec<[String; 2]>,
    pub(crate) warnings: Vec<String>,
    pub(crate) log: Option<String>,
    pub(crate) log_note: String,
}

/// One input.
#[derive(Serialize)]
pub(crate) struct InputRow {
    pub(crate) name: String,
    pub(crate) tree: String,
    pub(crate) from: String,
    pub(crate) href: String,
}

/// Which pages use an action, by its key.
pub(crate) fn users(ctx: &Ctx<'_>) -> BTreeMap<Digest, Vec<usize>> {
    let mut out: BTreeMap<Digest, Vec<usize>> = BTreeMap::new();
    for (i, page) in ctx.input.pages.iter().enumerate() {
        let Some(record) = page.record.map(|r| &ctx.input.records[r]) else { continue };
        let makers = record.inputs.iter().filter_map(|input| ctx.maker(input));
        for key in makers.filter_map(|m| Some(ctx.input.records[ctx.input.pages[m].record?].key)) {
            let list = out.entry(key).or_default();
            if list.last() != Some(&i) {
                list.push(i);
            }
        }
    }
    out
}

/// See [`ActionPage`].
pub(crate) fn page(
    ctx: &Ctx<'_>,
    page: &Page,
    users: &BTreeMap<Digest, Vec<usize>>,
    room: Room,
) -> ActionPage {
    let record = page.record.map(|r| &ctx.input.records[r]);
    let trial = page.trial.map(|t| &ctx.input.trials[t]);
    let result = trial.and_then(|t| t.result.as_deref());
    let outcome = match (record, trial) {
        (_, Some(t)) if t.outcome == "unreadable" => "unreadable",
        (Some(r), _) => r.status.name(),
        (None, Some(t)) => t.outcome.as_str(),
        (None, None) => "not_run",
    };
    let reason = match (trial, record) {
        (Some(t), _) if !t.reason.is_empty() => text::clean(&t.reason),
        (_, Some(r)) => text::clean(&r.reason),
        _ => String::new(),
    };
    let label = text::line(&page.label);
    let mut out = ActionPage {
        title: label.clone(),
        key: record.map_or_else(|| "none: it was never run".into(), |r| r.key.to_string()),
        outcome: words::outcome(outcome),
        tone: words::tone(outcome),
        reason,
        promise: record.map_or("", |r| promise(r.class)).to_owned(),
        facts: record.map_or_else(Vec::new, facts),
        commands: commands(&ctx.input.words.pipeline, &label, record),
        case: page.trial.and_then(|t| case_link(ctx, t)),
        sample: result.map_or_else(Vec::new, sample),
        gates: result
            .map_or_else(Vec::new, |r| r.gates.iter().take(room.rows()).map(gate_line).collect()),
        exact: vec![],
        approximated: vec![],
        dropped: vec![],
        settings: vec![],
        counters: result.map_or_else(Vec::new, counters),
        snapshots: result.map_or_else(Vec::new, snapshots),
        inputs: vec![],
        more_inputs: 0,
        users: vec![],
        more_users: 0,
        components: vec![],
        more_components: 0,
        conditions: record.and_then(|r| r.conditions.as_ref()).map_or_else(Vec::new, conditions),
        warnings: vec![],
        log: None,
        log_note: String::new(),
    };
    if let Some(r) = result {
        let t = &r.translation;
        let lines = |list: &[String]| list.iter().take(room.rows()).map(|x| cut(x)).collect();
        out.exact = lines(&t.exact);
        out.dropped = lines(&t.dropped);
        out.approximated = t
            .approximated
            .iter()
            .take(room.rows())
            .map(|a| cut(&format!("{}: {}", a.what, a.how)))
            .collect();
        out.settings = r
            .settings
            .iter()
            .take(room.rows())
            .map(|(k, v)| [text::line(k), cut(&setting(v))])
            .collect();
    }
    if let Some(r) = record {
        out.warnings = r.warnings.iter().take(50).map(|w| cut(w)).collect();
        fill_lists(ctx, r, users, room, &mut out);
        log(ctx, r, room, &mut out);
    }
    out
}

fn cut(value: &str) -> String {
    let value = text::line(value);
    if value.chars().count() <= MOST_VALUE {
        return value;
    }
    value.chars().take(MOST_VALUE - 1).chain(['\u{2026}']).collect()
}

fn promise(class: Class) -> &'static str {
    match class {
        Class::Pure => "Same key, same bytes, anywhere.",
        Class::Machine => "Same key, same bytes on machines of one class.",
        Class::Measured => {
            "An observation of one machine: running it again adds another, it replaces none."
        }
    }
}

fn facts(r: &Record) -> Vec<[String; 2]> {
    let mut out: Vec<[String; 2]> = vec![
        ["Kind".into(), text::line(&r.kind)],
        ["Class".into(), r.class.name().into()],
        ["Generation".into(), r.generation.to_string()],
        ["Started".into(), date(r.started_unix_ms)],
        ["Wall time of the whole action".into(), seconds(r.usage.wall_ms * 1e-3)],
        ["CPU time".into(), seconds(r.usage.cpu_ms * 1e-3)],
        [
            "Peak memory of its processes".into(),
            match r.usage.peak_tree_bytes {
                0 => "ended before the first sample".into(),
                n => bytes(n),
            },
        ],
        ["Sandbox".into(), text::line(&r.sandbox)],
    ];
    for (name, value) in r.limits.iter().take(10) {
        let shown = if name.contains("byte") || name.contains("memory") {
            bytes(value.max(0.0) as u64)
        } else {
            seconds(*value)
        };
        out.push([format!("Limit: {}", text::line(name)), shown]);
    }
    if let Some(o) = &r.output {
        let files = format!(
            "{} file{}, {}",
            whole(o.files),
            words::plural(o.files as usize),
            bytes(o.bytes)
        );
        out.push(["Output".into(), files]);
        out.push(["Output tree".into(), o.digest.to_string()]);
    }
    if !r.argv.is_empty() {
        let line: Vec<String> = r.argv.iter().take(40).map(|w| text::shell_word(w)).collect();
        out.push(["Command line".into(), cut(&line.join(" "))]);
    }
    out.push(["Machine".into(), text::line(&r.machine.cpu_model)]);
    out.push(["Written by".into(), format!("sim-pipe {}", text::line(&r.tool_version))]);
    out
}

/// What to type, and what it does.
fn commands(pipeline: &str, label: &str, record: Option<&Record>) -> Vec<[String; 2]> {
    let word = text::shell_word(label);
    let file = if pipeline.is_empty() { "PIPELINE.toml" } else { pipeline };
    let file = text::shell_word(file);
    let measured = record.is_some_and(|r| r.class == Class::Measured);
    let (flag, what) = if measured {
        (" --remeasure", "observes it again and keeps both observations")
    } else {
        ("", "makes it where it is missing, from what it needs")
    };
    let mut out = vec![
        [format!("sim-pipe run {file} --only {word}{flag}"), what.to_owned()],
        [
            format!("sim-pipe explain {file} {word} --all"),
            "what its key is made of, where each part came from, and what differs now".to_owned(),
        ],
    ];
    if let Some(r) = record.filter(|r| r.log.is_some()) {
        out.push([format!("sim-pipe log {}", r.key.short()), "its whole log".to_owned()]);
    }
    out
}

fn case_link(ctx: &Ctx<'_>, trial: usize) -> Option<Link> {
    let case = ctx.cases.cases.get(*ctx.cases.case_of.get(trial)?)?;
    let scene = text::line(&ctx.cases.scenarios[&case.scenario]);
    Some(Link {
        text: format!("{scene}: {}", words::case(case)),
        href: format!("../cases/{}.html", case.page),
    })
}

/// The raw numbers: name, text, full value.
fn sample(r: &JobResult) -> Vec<[String; 3]> {
    let mut out = Vec::new();
    if let Some(ms) = r.ms_per_step {
        out.push(["per step".into(), format!("{} ms", significant(ms, 4)), full(ms)]);
    }
    if let Some(rate) = r.world_steps_per_second {
        out.push(["rate".into(), format!("{} world-steps/s", significant(rate, 4)), full(rate)]);
    }
    let p = &r.phases;
    for (name, ns) in [
        ("load", p.load_ns),
        ("set-up", p.setup_ns),
        ("warm-up", p.warmup_ns),
        ("reset", p.reset_ns),
        ("measured interval", p.measured_ns),
        ("read-back", p.readback_ns),
    ] {
        if let Some(ns) = ns {
            out.push([name.into(), seconds(ns as f64 * 1e-9), format!("{ns} ns")]);
        }
    }
    out.push([
        "steps".into(),
        format!("{} after a warm-up of {}", whole(r.steps), whole(r.warmup_steps)),
        String::new(),
    ]);
    if let Some(d) = &r.final_state_digest {
        out.push(["final state".into(), text::line(d), "BLAKE3 of all final poses".into()]);
    }
    if let Some(c) = &r.capture {
        let frames = format!("{} of {} bodies", whole(c.frames), whole(c.bodies));
        let every = format!("every {} of simulated time", seconds(c.interval_s));
        out.push(["frames".into(), frames, every]);
        out.push(["capture".into(), super::replay::state(&c.final_state), String::new()]);
    }
    if let Some(s) = &r.scene {
        out.push(["scene".into(), text::line(&s.digest), "BLAKE3 of the scene file".into()]);
    }
    let engine = format!("{} {}", text::line(&r.engine.name), text::line(&r.engine.version));
    out.push(["engine".into(), engine, String::new()]);
    out
}

fn counters(r: &JobResult) -> Vec<[String; 2]> {
    let c = &r.counters;
    let mut out: Vec<[String; 2]> = [
        ("contact points", c.contacts),
        ("constraint rows", c.constraints),
        ("solver iterations of the final step", c.solver_iterations),
        ("dropped for want of room", c.overflow),
        ("resets", c.resets),
        ("bodies awake", c.awake_bodies),
        ("bodies simulated", c.simulated_bodies),
    ]
    .into_iter()
    .map(|(name, v)| [name.to_owned(), v.map_or_else(|| "not counted".into(), whole)])
    .collect();
    // A scene of rigid bodies has none, which is not worth a line.
    let points = [("material points", c.particles), ("material points active", c.active_particles)];
    out.extend(points.iter().filter_map(|(name, n)| n.map(|n| [(*name).to_owned(), whole(n)])));
    out.extend(
        c.warnings.iter().take(50).map(|(k, n)| [format!("warning: {}", cut(k)), whole(*n)]),
    );
    out
}

fn snapshots(r: &JobResult) -> Vec<[String; 3]> {
    let value = |b: Option<u64>| b.map_or_else(|| "unavailable".into(), bytes);
    r.memory
        .iter()
        .flat_map(|m| &m.snapshots)
        .take(20)
        .map(|s| {
            let phase = serde_json::to_value(s.phase).ok();
            let phase = phase.as_ref().and_then(|p| p.as_str()).unwrap_or_default();
            [phase.replace('_', " "), value(s.ram_bytes), value(s.ram_peak_bytes)]
        })
        .collect()
}

fn conditions(c: &sim_model::Conditions) -> Vec<[String; 2]> {
    let number = |v: Option<f64>, scale: f64, unit: &str| {
        v.map_or_else(|| "not readable".into(), |v| format!("{}{unit}", significant(v * scale, 3)))
    };
    let mut out: Vec<[String; 2]> = vec![
        ["Governor".into(), c.governor.as_ref().map_or_else(|| "not readable".into(), |g| cut(g))],
        ["Load before".into(), number(c.load_before, 1.0, "")],
        ["Load after".into(), number(c.load_after, 1.0, "")],
        ["CPU used by others".into(), number(c.other_load, 100.0, "\u{a0}%")],
        ["CPU stolen".into(), number(c.stolen, 100.0, "\u{a0}%")],
        ["Throttling events".into(), number(c.throttle_events.map(|n| n as f64), 1.0, "")],
        ["Frequency before".into(), number(c.mhz_before, 1.0, "\u{a0}MHz")],
    ];
    out.extend(c.noisy.iter().take(20).map(|n| ["Noisy".to_owned(), cut(n)]));
    out
}

fn fill_lists(
    ctx: &Ctx<'_>,
    r: &Record,
    users: &BTreeMap<Digest, Vec<usize>>,
    room: Room,
    out: &mut ActionPage,
) {
    for input in r.inputs.iter().take(room.rows()) {
        let maker = ctx.maker(input).map(|i| &ctx.input.pages[i]);
        let from = match (maker, &input.source) {
            (Some(page), _) => cut(&page.label),
            (None, Some(source)) => format!("file {}", cut(source)),
            (None, None) => input.key.map_or_else(|| "no output".into(), |k| k.short()),
        };
        out.inputs.push(InputRow {
            name: cut(&input.name),
            tree: input.tree.map_or_else(|| "none".into(), |t| t.short()),
            from,
            href: maker.map_or_else(String::new, |p| format!("{}.html", p.stem)),
        });
    }
    out.more_inputs = r.inputs.len().saturating_sub(room.rows());
    let list = users.get(&r.key).map_or(&[][..], Vec::as_slice);
    for i in list.iter().take(60) {
        let p = &ctx.input.pages[*i];
        out.users.push(Link { text: cut(&p.label), href: format!("{}.html", p.stem) });
    }
    out.more_users = list.len().saturating_sub(60);
    out.components =
        r.components.iter().take(room.rows()).map(|c| [cut(&c.path), cut(&c.value)]).collect();
    out.more_components = r.components.len().saturating_sub(room.rows());
}

fn log(ctx: &Ctx<'_>, r: &Record, room: Room, out: &mut ActionPage) {
    if r.log.is_none() {
        out.log_note = "It wrote nothing.".into();
        return;
    }
    if !ctx.input.words.logs {
        out.log_note = "Logs are kept out of this site.".into();
        return;
    }
    let Some(raw) = ctx.input.log(r) else {
        out.log_note = "The log is no longer in the store.".into();
        return;
    };
    let clean = text::clean_bytes(&raw);
    let (tail, was_cut) = text::tail(&clean, room.log());
    if was_cut || raw.len() >= 64 << 10 {
        out.log_note = "The end of the log; the command above shows all of it.".into();
    }
    if r.log_dropped > 0 {
        out.log_note += &format!(" {} were dropped when it ran.", bytes(r.log_dropped));
    }
    out.log = Some(tail.to_owned());
}
