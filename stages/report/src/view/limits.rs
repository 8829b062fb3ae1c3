//! What was not measured and what a number here does not say: read before any result.

use super::{Ctx, words};
use crate::cases::Group;
use crate::text;
use serde::Serialize;
use std::collections::BTreeSet;

/// The methods page.
#[derive(Serialize)]
pub(crate) struct Methods {
    pub(crate) not_measured: Vec<String>,
    pub(crate) single_repeat: bool,
    pub(crate) modes: BTreeSet<String>,
    /// `(metric, counter, method, scope)` of the memory replays.
    pub(crate) counters: Vec<[String; 4]>,
    /// Gate ids with metric, operator and unit.
    pub(crate) gates: Vec<[String; 4]>,
    pub(crate) gpu: bool,
    pub(crate) replays: bool,
    pub(crate) interest: String,
}

/// See the module.
pub(crate) fn methods(ctx: &Ctx<'_>) -> Methods {
    let mut counters = BTreeSet::new();
    let mut gates = BTreeSet::new();
    for r in ctx.input.trials.iter().filter_map(|t| t.result.as_deref()) {
        for m in r.memory.iter().flat_map(|m| &m.metrics) {
            counters.insert([&m.name, &m.peak_counter, &m.method, &m.scope].map(|s| text::line(s)));
        }
        for g in &r.gates {
            let operator = match g.operator {
                sim_engine_protocol::GateOperator::AtMost => "\u{2264}",
                sim_engine_protocol::GateOperator::AtLeast => "\u{2265}",
                sim_engine_protocol::GateOperator::Equal => "=",
            };
            let [id, metric, unit] = [&g.id, &g.metric, &g.unit].map(|s| text::line(s));
            gates.insert([id, metric, operator.to_owned(), unit]);
        }
    }
    Methods {
        not_measured: not_measured(ctx),
        single_repeat: ctx.cases.most_repeats() == 1,
        modes: ctx.input.trials.iter().map(|t| text::line(&t.mode)).collect(),
        counters: counters.into_iter().take(50).collect(),
        gates: gates.into_iter().take(50).collect(),
        gpu: ctx.cases.columns.iter().any(|c| c.group == Group::Gpu),
        replays: !ctx.input.replays.is_empty(),
        interest: interest(ctx),
    }
}

/// The statement of interest.
pub(crate) fn interest(ctx: &Ctx<'_>) -> String {
    let given = text::line(&ctx.input.words.interest);
    if given.is_empty() {
        "No statement of interest was given by the pipeline.".to_owned()
    } else {
        given
    }
}

/// One sentence each.
pub(crate) fn not_measured(ctx: &Ctx<'_>) -> Vec<String> {
    let mut out: Vec<String> = ctx.input.words.not_measured.iter().map(|s| text::line(s)).collect();
    let trials = &ctx.input.trials;
    if trials.is_empty() {
        out.extend(missing(ctx));
        return out;
    }
    let repeats = ctx.cases.most_repeats();
    if repeats == 1 {
        out.push(
            "Each case ran once. A single repeat checks that things work; it is no ranking, and \
             nothing is highlighted."
                .into(),
        );
    }
    let failed = trials.iter().filter(|t| !t.passed()).count();
    if failed > 0 {
        out.push(format!(
            "{failed} of {} trials did not pass; each is a row of the coverage table with its reason.",
            trials.len()
        ));
    }
    let skipped = trials.iter().filter(|t| t.outcome == "skipped").count();
    if skipped > 0 {
        out.push(format!(
            "{skipped} trial{} left out, though planned: after a limit that a smaller case met, for a \
             failure that is known of this machine, or on request. Each says why.",
            if skipped == 1 { " was" } else { "s were" }
        ));
    }
    let cells = || ctx.cases.cases.iter().flat_map(|c| c.cells.iter().flatten());
    let noisy: usize = cells().map(|c| c.noisy).sum();
    if noisy > 0 {
        let all: usize = cells().map(|c| c.passed).sum();
        out.push(format!(
            "The machine was not quiet: {noisy} of {all} timings are marked noisy, for load, frequency \
             or stolen time that was recorded with them."
        ));
    }
    out.push(
        "Accuracy was not matched. The gates are broad sanity checks, no certificate; equal step \
         and iteration counts do not imply equal accuracy or equal cost."
            .into(),
    );
    if !ctx.cases.columns.iter().any(|c| c.group == Group::Gpu) {
        out.push("No GPU backend was measured, and no device time.".into());
    } else if !cells().any(|c| c.device.as_ref().is_some_and(|d| d.ms.is_some())) {
        out.push("Device time was not measured; all times are synchronised wall time.".into());
    }
    if !trials.iter().any(|t| t.mode == "memory") {
        out.push("Memory was not measured: there are no memory replays.".into());
    }
    if ctx.machines.len() < 2 {
        out.push(
            "One machine was measured. Another processor, system, power setting or temperature \
             can change every ratio."
                .into(),
        );
    }
    let shared: BTreeSet<String> =
        ctx.cases.columns.iter().filter(|c| c.threads > 1).map(|c| text::line(&c.name)).collect();
    if !shared.is_empty() {
        out.push(format!(
            "Threads are requested ({}), not guaranteed: how many an engine uses at a time was not \
             measured.",
            shared.into_iter().collect::<Vec<_>>().join(", ")
        ));
    }
    out.extend(missing(ctx));
    out
}

fn missing(ctx: &Ctx<'_>) -> Option<String> {
    let n = ctx.input.missing.len();
    let s = words::plural(n);
    (n > 0).then(|| format!("{n} step{s} whose files belong here gave none; see Files."))
}
