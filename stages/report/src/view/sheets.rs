//! The tables as data files, every row and every digit.

use super::settings::setting;
use super::{Ctx, words};
use crate::cases::Case;
use crate::csv::{Field, Sheet, fields};
use crate::error::ReportError;
use crate::number::{bytes, whole};
use crate::site::Site;
use crate::text;
use serde::Serialize;

/// One table as data.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DataFile {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) rows: String,
    pub(crate) csv_size: String,
}

/// Writes all tables below `data/`.
pub(crate) fn write(ctx: &Ctx<'_>, site: &Site) -> Result<Vec<DataFile>, ReportError> {
    let mut out = Vec::new();
    let sheets = [
        performance,
        precision,
        scores,
        controls,
        samples,
        memory,
        super::device::sheet,
        gates,
        settings,
        translations,
        actions,
    ];
    for sheet in sheets.map(|f| f(ctx)) {
        let csv = sheet.csv();
        site.write(&format!("data/{}.csv", sheet.name), csv.as_bytes())?;
        let json = sheet.json().map_err(|e| ReportError::Input {
            what: format!("table {}", sheet.name),
            problem: e.to_string(),
        })?;
        site.write(&format!("data/{}.json", sheet.name), json.as_bytes())?;
        out.push(DataFile {
            name: sheet.name,
            doc: sheet.doc,
            rows: whole(sheet.rows.len() as u64),
            csv_size: bytes(csv.len() as u64),
        });
    }
    Ok(out)
}

fn machine(ctx: &Ctx<'_>, case: &Case) -> Option<String> {
    ctx.machines.get(case.machine).map(|m| m.identity().to_string())
}

fn performance(ctx: &Ctx<'_>) -> Sheet {
    let mut rows = Vec::new();
    for case in &ctx.cases.cases {
        for (i, cell) in case.cells.iter().enumerate() {
            let (Some(cell), column) = (cell, &ctx.cases.columns[i]) else { continue };
            let (ms, rate) = (cell.ms.as_ref(), cell.rate.as_ref());
            rows.push(fields![
                case.scenario.as_str(),
                case.size,
                case.worlds,
                case.steps,
                case.timestep,
                case.suite.as_str(),
                case.variant.as_str(),
                case.side.as_str(),
                column.engine.as_str(),
                column.backend.as_str(),
                column.threads,
                column.group.name(),
                cell.timed.len(),
                cell.passed,
                cell.noisy,
                ms.map(|s| s.median),
                ms.map(|s| s.q1),
                ms.map(|s| s.q3),
                ms.map(|s| s.min),
                ms.map(|s| s.max),
                rate.map(|s| s.median),
                rate.map(|s| s.q1),
                rate.map(|s| s.q3),
                cell.setup_s.as_ref().map(|s| s.median),
                cell.warmup_s.as_ref().map(|s| s.median),
                case.fastest.contains(&i),
                words::failures(cell, ctx.input),
                machine(ctx, case),
            ]);
        }
    }
    Sheet {
        name: "performance",
        doc: "One row a case and engine: medians and quartiles over the trials that passed.",
        header: &[
            "scenario",
            "size",
            "worlds",
            "steps",
            "timestep_s",
            "suite",
            "variant",
            "side",
            "engine",
            "backend",
            "threads",
            "group",
            "planned",
            "passed",
            "noisy",
            "ms_per_step_median",
            "ms_per_step_q1",
            "ms_per_step_q3",
            "ms_per_step_min",
            "ms_per_step_max",
            "world_steps_per_second_median",
            "world_steps_per_second_q1",
            "world_steps_per_second_q3",
            "setup_s_median",
            "warmup_s_median",
            "fastest_of_group",
            "failures",
            "machine",
        ],
        rows,
    }
}

fn precision(ctx: &Ctx<'_>) -> Sheet {
    let row = |m: &super::precision::Measured<'_>| {
        let column = &ctx.cases.columns[m.column];
        fields![
            m.case.scenario.as_str(),
            m.case.size,
            m.case.worlds,
            m.case.steps,
            m.case.timestep,
            column.engine.as_str(),
            column.backend.as_str(),
            column.threads,
            m.case.variant.as_str(),
            m.id.as_str(),
            m.quantity.as_str(),
            m.unit.as_str(),
            m.error.map(|s| s.median),
            m.error.map(|s| s.min),
            m.error.map(|s| s.max),
            m.cost.map(|s| s.median),
            m.cost.map(|s| s.q1),
            m.cost.map(|s| s.q3),
            m.cost.map(|s| s.n),
            m.complete,
            machine(ctx, m.case),
        ]
    };
    Sheet {
        name: "precision",
        doc: "One row a case, engine, settings and quantity: error and cost.",
        header: &[
            "scenario",
            "size",
            "worlds",
            "steps",
            "timestep_s",
            "engine",
            "backend",
            "threads",
            "variant",
            "quantity",
            "what",
            "unit",
            "error_median",
            "error_min",
            "error_max",
            "ms_per_simulated_second_median",
            "ms_per_simulated_second_q1",
            "ms_per_simulated_second_q3",
            "n",
            "complete",
            "machine",
        ],
        rows: super::precision::measured(ctx).iter().map(row).collect(),
    }
}

fn scores(ctx: &Ctx<'_>) -> Sheet {
    let mut rows = Vec::new();
    for s in super::score::scores(ctx) {
        for r in &s.rows {
            rows.push(fields![
                s.suite.as_str(),
                s.baseline.as_str(),
                s.cases,
                r.column.id.as_str(),
                r.interval.map(|i| i.middle),
                r.interval.map(|i| i.low),
                r.interval.map(|i| i.high),
                r.words.as_str(),
            ]);
        }
    }
    Sheet {
        name: "scores",
        doc: "One row a suite and engine: geometric mean of the ratios to the baseline, or why it is withheld.",
        header: &[
            "suite",
            "baseline",
            "cases",
            "engine",
            "ratio",
            "ratio_low",
            "ratio_high",
            "words",
        ],
        rows,
    }
}

fn controls(ctx: &Ctx<'_>) -> Sheet {
    let row = |c: &super::control::ControlRow| {
        let [a, b] = [&c.medians[0], &c.medians[1]];
        fields![
            c.scene.as_str(),
            c.case.as_str(),
            c.column.id.as_str(),
            a.as_str(),
            b.as_str(),
            c.ratio.as_str(),
            c.verdict.as_str(),
            c.noisy,
        ]
    };
    Sheet {
        name: "controls",
        doc: "One row a control: an engine against itself.",
        header: &[
            "scene",
            "case",
            "engine",
            "a_ms_per_step",
            "b_ms_per_step",
            "ratio",
            "verdict",
            "noisy",
        ],
        rows: super::control::controls(ctx, "").iter().map(row).collect(),
    }
}

fn samples(ctx: &Ctx<'_>) -> Sheet {
    let row = |t: &crate::trial::Trial| {
        let r = t.result.as_deref();
        let record = t.record.map(|i| &ctx.input.records[i]);
        let noisy = record.and_then(|r| r.conditions.as_ref()).map(|c| c.noisy.join("; "));
        fields![
            t.label.as_str(),
            record.map(|r| r.key.to_string()),
            record.map(|r| u64::from(r.generation)),
            t.mode.as_str(),
            t.outcome.as_str(),
            t.reason.as_str(),
            t.engine.as_str(),
            r.map(|r| r.engine.version.as_str()),
            t.backend.as_str(),
            t.threads,
            t.scenario.as_str(),
            t.size,
            t.worlds,
            t.steps,
            t.timestep,
            t.repeat,
            t.ms_per_step(),
            t.world_steps_per_second(),
            r.and_then(|r| r.phases.setup_ns),
            r.and_then(|r| r.phases.warmup_ns),
            r.and_then(|r| r.phases.measured_ns),
            r.and_then(|r| r.counters.contacts),
            r.and_then(|r| r.final_state_digest.as_deref()),
            noisy,
            record.map(|r| r.started_unix_ms),
        ]
    };
    Sheet {
        name: "samples",
        doc: "One row a trial of any mode, failed ones included.",
        header: &[
            "label",
            "key",
            "generation",
            "mode",
            "outcome",
            "reason",
            "engine",
            "engine_version",
            "backend",
            "threads",
            "scenario",
            "size",
            "worlds",
            "steps",
            "timestep_s",
            "repeat",
            "ms_per_step",
            "world_steps_per_second",
            "setup_ns",
            "warmup_ns",
            "measured_ns",
            "contacts",
            "final_state",
            "noisy",
            "started_unix_ms",
        ],
        rows: ctx.input.trials.iter().map(row).collect(),
    }
}

fn memory(ctx: &Ctx<'_>) -> Sheet {
    let mut rows = Vec::new();
    for case in &ctx.cases.cases {
        for (i, cell) in case.cells.iter().enumerate() {
            let (Some(cell), column) = (cell, &ctx.cases.columns[i]) else { continue };
            for (name, m) in &cell.memory {
                let counts = m.counts();
                rows.push(fields![
                    case.scenario.as_str(),
                    case.size,
                    case.worlds,
                    case.steps,
                    case.timestep,
                    column.engine.as_str(),
                    column.backend.as_str(),
                    column.threads,
                    name.as_str(),
                    m.needed,
                    m.peak.as_ref().map_or(0, |p| p.n),
                    counts.map(|s| s.median),
                    counts.map(|s| s.q1),
                    counts.map(|s| s.q3),
                    m.counters.iter().cloned().collect::<Vec<_>>().join("; "),
                    m.unavailable.iter().cloned().collect::<Vec<_>>().join("; "),
                ]);
            }
        }
    }
    Sheet {
        name: "memory",
        doc: "One row a case, engine and metric; a median only where every replay gave a value of one counter.",
        header: &[
            "scenario",
            "size",
            "worlds",
            "steps",
            "timestep_s",
            "engine",
            "backend",
            "threads",
            "metric",
            "needed",
            "values",
            "peak_bytes_median",
            "peak_bytes_q1",
            "peak_bytes_q3",
            "counters",
            "unavailable",
        ],
        rows,
    }
}

fn gates(ctx: &Ctx<'_>) -> Sheet {
    let mut rows = Vec::new();
    for t in &ctx.input.trials {
        for g in t.result.iter().flat_map(|r| &r.gates) {
            let operator = serde_json::to_value(g.operator).ok();
            rows.push(fields![
                t.label.as_str(),
                g.id.as_str(),
                g.metric.as_str(),
                g.value,
                operator.as_ref().and_then(|o| o.as_str()),
                g.limit,
                g.unit.as_str(),
                g.passed,
            ]);
        }
    }
    Sheet {
        name: "gates",
        doc: "One row a physical check of a trial.",
        header: &["label", "gate", "metric", "value", "operator", "threshold", "unit", "passed"],
        rows,
    }
}

fn settings(ctx: &Ctx<'_>) -> Sheet {
    let mut rows: Vec<Vec<Field>> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for t in &ctx.input.trials {
        for (name, value) in t.result.iter().flat_map(|r| &r.settings) {
            let row = (&t.engine, &t.backend, t.threads, &t.scenario, name, setting(value));
            if seen.insert(row.clone()) {
                let (engine, backend, threads, scenario, name, value) = row;
                rows.push(fields![
                    engine.as_str(),
                    backend.as_str(),
                    threads,
                    scenario.as_str(),
                    name.as_str(),
                    value,
                ]);
            }
        }
    }
    Sheet {
        name: "settings",
        doc: "One row an effective setting of an engine on a scene.",
        header: &["engine", "backend", "threads", "scenario", "setting", "value"],
        rows,
    }
}

fn translations(ctx: &Ctx<'_>) -> Sheet {
    let mut rows = Vec::new();
    for name in ctx.cases.scenarios.keys() {
        for t in super::settings::translations(ctx, name) {
            let mut add = |how: &str, what: &str| {
                rows.push(fields![name.as_str(), t.column.id.as_str(), how, what]);
            };
            t.exact.iter().for_each(|x| add("exact", x));
            t.approximated.iter().for_each(|x| add("approximated", x));
            t.dropped.iter().for_each(|x| add("dropped", x));
        }
    }
    Sheet {
        name: "translations",
        doc: "What each engine took exactly, approximated or left out of a scene.",
        header: &["scenario", "column", "treatment", "what"],
        rows,
    }
}

fn actions(ctx: &Ctx<'_>) -> Sheet {
    let rows = ctx
        .input
        .pages
        .iter()
        .map(|p| {
            let record = p.record.map(|r| &ctx.input.records[r]);
            let outcome = record.map_or_else(
                || p.trial.map_or("not_run", |t| ctx.input.trials[t].outcome.as_str()),
                |r| r.status.name(),
            );
            fields![
                p.label.as_str(),
                record.map(|r| r.key.to_string()),
                record.map(|r| u64::from(r.generation)),
                record.map(|r| r.kind.as_str()),
                record.map(|r| r.class.name()),
                outcome,
                record.map(|r| text::line(&r.reason)),
                record.map(|r| r.usage.wall_ms),
                record.map(|r| r.usage.cpu_ms),
                record.map(|r| r.usage.peak_tree_bytes),
                record.map(|r| r.sandbox.as_str()),
                record.and_then(|r| r.output.as_ref()).map(|o| o.digest.to_string()),
            ]
        })
        .collect();
    Sheet {
        name: "actions",
        doc: "One row an action that this report depends on.",
        header: &[
            "label",
            "key",
            "generation",
            "kind",
            "class",
            "status",
            "reason",
            "wall_ms",
            "cpu_ms",
            "peak_tree_bytes",
            "sandbox",
            "output",
        ],
        rows,
    }
}
