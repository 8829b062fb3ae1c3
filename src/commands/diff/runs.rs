//! Two runs: what their pins, machines, actions, outputs and measurements say differently.

use super::files;
use crate::error::{CliError, CliResult, exit};
use crate::find::{self, Run};
use crate::format::Format;
use crate::global::Global;
use crate::text;
use serde_json::Value;
use sim_model::{Class, Record};
use sim_provenance::diff::{ActionChange, Change, Member, MetricChange, RunDiff, RunName, Sample};
use sim_provenance::interval::Side;
use sim_store::Store;

/// Files and components shown of one action; JSON has all.
const SHOWN: usize = 6;

pub(super) fn run(global: &Global, store: &Store, a: &str, b: &str, format: Format) -> CliResult {
    let (a, b) = (find::run(store, Some(a))?, find::run(store, Some(b))?);
    let (x, y) = (members(store, &a)?, members(store, &b)?);
    let diff = RunDiff::of((name(&a), &x), (name(&b), &y), |r, s| files(store, r, s))?;
    if format.json(global) {
        format.print(global, &diff)?;
    } else {
        show(&diff);
    }
    Ok(exit::OK)
}

fn name(run: &Run) -> RunName {
    RunName {
        name: run.name.clone(),
        run: run.id.clone(),
        pipeline: run.pipeline.clone(),
        actions: run.entries.len() as u64,
    }
}

fn members(store: &Store, run: &Run) -> Result<Vec<Member>, CliError> {
    let records = run.records(store)?;
    let of = |(entry, record): (&find::RunEntry, Record)| {
        let samples = samples(store, &record);
        Member { label: entry.label.clone(), record, samples }
    };
    Ok(run.entries.iter().zip(records).map(of).collect())
}

/// What a measured action measured: a trial's own numbers where it has a result, else the time of the
/// whole action. One that did not end well measured nothing.
fn samples(store: &Store, record: &Record) -> Vec<Sample> {
    if record.class != Class::Measured || record.status != sim_model::Status::Ok {
        return Vec::new();
    }
    let result: Option<Value> =
        record.output.as_ref().filter(|_| record.kind == "trial").and_then(|t| {
            let bytes = std::fs::read(store.tree_path(&t.digest).join("result.json")).ok()?;
            serde_json::from_slice(&bytes).ok()
        });
    let Some(result) = result else {
        let wall = record.usage.wall_ms;
        return vec![Sample { metric: "wall time of the action".into(), unit: "ms", value: wall }];
    };
    let mut out = Vec::new();
    if let Some(value) = result["ms_per_step"].as_f64() {
        out.push(Sample { metric: "time per step".into(), unit: "ms", value });
    }
    for memory in result["memory"]["metrics"].as_array().into_iter().flatten() {
        if let (Some(name), Some(value)) = (memory["name"].as_str(), memory["peak_bytes"].as_f64())
        {
            out.push(Sample { metric: format!("peak memory, {name}"), unit: "B", value });
        }
    }
    out
}

fn show(d: &RunDiff) {
    for (side, run) in [("a", &d.a), ("b", &d.b)] {
        text::out(&format!(
            "{side}: {} · run {} of {} · {}",
            run.name,
            run.run,
            run.pipeline,
            text::count(run.actions as usize, "action")
        ));
    }
    section("pins", &d.pins);
    section("machine and environment", &d.environment);
    if !d.actions.is_empty() {
        text::out("\nactions");
        for a in &d.actions {
            action(a);
        }
    }
    let compared: Vec<&MetricChange> =
        d.metrics.iter().filter(|m| m.verdict != "same_records").collect();
    if !compared.is_empty() {
        text::out("\nmeasured");
        for m in &compared {
            metric(m);
        }
        text::out(&format!("  ({})", d.method));
        let tried = compared.iter().filter(|m| m.ratio.is_some()).count();
        if tried > 1 {
            text::out(&format!(
                "  (of {tried} ratios without any difference about {:.1} would show one)",
                tried as f64 * 0.05
            ));
        }
    }
    let same = match d.metrics.len() - compared.len() {
        0 => String::new(),
        n => format!(", {} of the same records", text::count(n, "measurement")),
    };
    text::say(&format!(
        "{} the same in both{same} · {} not",
        text::count(d.same as usize, "action"),
        d.actions.len()
    ));
}

fn section(title: &str, changes: &[Change]) {
    if changes.is_empty() {
        return;
    }
    text::out(&format!("\n{title}"));
    for c in changes {
        text::out(&format!("  {}", c.what));
        pair(c, "    ");
    }
}

fn pair(c: &Change, indent: &str) {
    let value = |v: &Option<String>| v.clone().unwrap_or_else(|| "(none)".to_owned());
    text::out(&format!("{indent}a: {}", value(&c.a)));
    text::out(&format!("{indent}b: {}", value(&c.b)));
}

fn action(a: &ActionChange) {
    let what = match a.change {
        "only_a" => "only in a",
        "only_b" => "only in b",
        "again" => "observed again",
        _ if a.differs.iter().any(|c| c.what == "output") => "another key, another output",
        _ => "another key, the same output",
    };
    text::out(&format!("  {}: {what}", a.label));
    for c in a.differs.iter().filter(|c| matches!(c.what.as_str(), "status" | "reason")) {
        if !a.change.starts_with("only") {
            text::out(&format!("    {}", c.what));
            pair(c, "      ");
        }
    }
    for c in a.components.iter().take(SHOWN) {
        text::out(&format!("    {}", c.what));
        pair(c, "      ");
    }
    more(a.components.len(), "component");
    for f in a.files.iter().take(SHOWN) {
        text::out(&format!("    {} {}", f.change, f.path));
    }
    more(a.files.len(), "file");
}

fn more(n: usize, what: &str) {
    if n > SHOWN {
        text::out(&format!("    and {}", text::count(n - SHOWN, &format!("more {what}"))));
    }
}

fn metric(m: &MetricChange) {
    text::out(&format!("  {} · {}", m.case, m.metric));
    for (side, s) in [("a", &m.a), ("b", &m.b)] {
        if let Some(s) = s {
            text::out(&format!("    {side}: {}", summary(s, &m.unit)));
        }
    }
    let said = match (m.verdict, &m.ratio) {
        (verdict, Some(r)) => {
            let verdict = match verdict {
                "lower" => "b is lower",
                "higher" => "b is higher",
                _ => "no difference shown",
            };
            format!("b/a {:.4} [{:.4}, {:.4}] · {verdict}", r.ratio, r.low, r.high)
        }
        ("single_repeat", None) => "no ratio: it takes two repeats in each run".to_owned(),
        ("other_machine", None) => "no ratio: measured on different machines".to_owned(),
        ("only_a", None) => "only in a".to_owned(),
        ("only_b", None) => "only in b".to_owned(),
        (other, None) => other.to_owned(),
    };
    text::out(&format!("    {said}"));
}

fn summary(s: &Side, unit: &str) -> String {
    let interval = match (s.low, s.high) {
        (Some(low), Some(high)) => format!(" [{}, {}]", digits(low), digits(high)),
        _ => String::new(),
    };
    format!("{}{interval} {unit} · {}", digits(s.mean), text::count(s.n as usize, "repeat"))
}

/// Five significant digits, whole numbers whole.
fn digits(x: f64) -> String {
    let decimals = (4 - x.abs().log10().floor() as i32).clamp(0, 12) as usize;
    format!("{x:.decimals$}")
}
