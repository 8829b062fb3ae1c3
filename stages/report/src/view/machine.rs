//! The machine and what else it did while it was measured.

use super::{Ctx, words};
use crate::number::{bytes, significant};
use crate::stats::Summary;
use crate::text;
use serde::Serialize;
use sim_model::{Class, Conditions, Record};
use std::collections::BTreeMap;

/// Noisy observations listed on the page.
const MOST_NOISY: usize = 200;

/// The page.
#[derive(Serialize)]
pub(crate) struct MachinePage {
    pub(crate) machines: Vec<MachineView>,
    pub(crate) noisy: Vec<Noisy>,
    pub(crate) more_noisy: usize,
}

/// One machine.
#[derive(Serialize)]
pub(crate) struct MachineView {
    pub(crate) name: String,
    pub(crate) identity: String,
    pub(crate) parts: Vec<[String; 2]>,
    pub(crate) observations: usize,
    pub(crate) span: String,
    /// Condition, summary, how many observations had it.
    pub(crate) conditions: Vec<[String; 3]>,
    pub(crate) sandboxes: Vec<String>,
    pub(crate) versions: Vec<String>,
}

/// One noisy observation.
#[derive(Serialize)]
pub(crate) struct Noisy {
    pub(crate) label: String,
    pub(crate) href: String,
    pub(crate) reasons: Vec<String>,
}

/// See [`MachinePage`].
pub(crate) fn page(ctx: &Ctx<'_>) -> MachinePage {
    let mut noisy = Vec::new();
    let mut more_noisy = 0;
    for r in &ctx.input.records {
        let Some(c) = r.conditions.as_ref().filter(|c| !c.noisy.is_empty()) else { continue };
        if noisy.len() >= MOST_NOISY {
            more_noisy += 1;
            continue;
        }
        noisy.push(Noisy {
            label: text::line(&r.label),
            href: format!("provenance/{}.html", r.key),
            reasons: c.noisy.iter().map(|n| text::line(n)).collect(),
        });
    }
    MachinePage {
        machines: (0..ctx.machines.len()).map(|i| machine(ctx, i)).collect(),
        noisy,
        more_noisy,
    }
}

fn machine(ctx: &Ctx<'_>, i: usize) -> MachineView {
    let m = ctx.machines[i];
    let identity = m.identity();
    let measured: Vec<&Record> = ctx
        .input
        .records
        .iter()
        .filter(|r| r.class == Class::Measured && r.machine.identity() == identity)
        .collect();
    let starts = measured.iter().map(|r| r.started_unix_ms);
    let span = match (starts.clone().min(), starts.max()) {
        (Some(a), Some(b)) => crate::number::span(a, b),
        _ => "no observation".to_owned(),
    };
    let none = |s: String| if s.is_empty() { "none visible".to_owned() } else { s };
    let list = |pick: fn(&Record) -> &str| {
        let all: std::collections::BTreeSet<String> =
            measured.iter().map(|r| text::line(pick(r))).collect();
        all.into_iter().collect()
    };
    MachineView {
        name: ctx.machine_name(i),
        parts: vec![
            ["Processor".into(), text::line(&m.cpu_model)],
            ["Family, model, stepping".into(), text::line(&m.cpu_signature)],
            ["Logical processors in use".into(), m.cpus.to_string()],
            ["Vector extensions".into(), text::line(&m.cpu_features.join(" "))],
            ["RAM".into(), bytes(m.ram_bytes)],
            ["GPUs".into(), none(text::line(&m.gpus.join("; ")))],
            ["System".into(), text::line(&m.os)],
            ["Kernel".into(), text::line(&m.kernel)],
            ["Platform".into(), text::line(&m.platform)],
        ],
        observations: measured.len(),
        span,
        conditions: conditions(&measured),
        sandboxes: list(|r| &r.sandbox),
        versions: list(|r| &r.tool_version),
        identity: identity.to_string(),
    }
}

fn conditions(records: &[&Record]) -> Vec<[String; 3]> {
    let all = || records.iter().filter_map(|r| r.conditions.as_ref());
    let measured = records.len();
    let mut governors: BTreeMap<String, usize> = BTreeMap::new();
    for g in all().filter_map(|c| c.governor.as_ref()) {
        *governors.entry(text::line(g)).or_default() += 1;
    }
    let count = governors.values().sum::<usize>();
    let names: Vec<String> = governors.into_keys().collect();
    let row = |name: &str, text: String, n: usize| {
        let text = if n == 0 { "not readable".to_owned() } else { text };
        [name.to_owned(), text, format!("{n} of {measured}")]
    };
    let mut out = vec![row("Frequency governor", names.join(", "), count)];
    let mut add = |name: &str, unit: &str, scale: f64, pick: fn(&Conditions) -> Option<f64>| {
        let summary = Summary::of(all().filter_map(pick));
        let text = summary.as_ref().map_or_else(String::new, |s| {
            let f = |v: f64| significant(v * scale, 3);
            format!("median {}{unit}, from {} to {}{unit}", f(s.median), f(s.min), f(s.max))
        });
        out.push(row(name, text, summary.map_or(0, |s| s.n)));
    };
    add("Load average before", "", 1.0, |c| c.load_before);
    add("Load average after", "", 1.0, |c| c.load_after);
    add("CPU used by others", "\u{a0}%", 100.0, |c| c.other_load);
    add("CPU stolen by a hypervisor", "\u{a0}%", 100.0, |c| c.stolen);
    add("Throttling events", "", 1.0, |c| c.throttle_events.map(|n| n as f64));
    add("Frequency before", "\u{a0}MHz", 1.0, |c| c.mhz_before);
    let noisy = all().filter(|c| !c.noisy.is_empty()).count();
    let s = words::plural(noisy);
    out.push([
        "Marked noisy".into(),
        format!("{noisy} observation{s}"),
        format!("{measured} of {measured}"),
    ]);
    out
}
