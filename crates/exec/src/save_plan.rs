//! The plan as it is kept with a run: see [`SavedPlan`].

use crate::error::Result;
use crate::preview::{Preview, State};
use crate::resolve::Resolver;
use crate::run::Options;
use sim_model::plan::{GlobFiles, PlannedInput};
use sim_model::saved_plan::{SAVED_PLAN_VERSION, SavedAction, SavedPlan};
use sim_model::{Digest, PlannedAction, Value};
use std::collections::BTreeMap;

/// The plan of a resolver: what must still be so when a run of it is resumed.
pub fn saved_plan(resolver: &Resolver<'_>, options: &Options) -> Result<SavedPlan> {
    let plan = resolver.plan;
    let (mut sources, mut tools) = (BTreeMap::new(), BTreeMap::new());
    for action in &plan.actions {
        for input in action.inputs.values() {
            let (name, digest) = match input {
                PlannedInput::Source(path) => (path, read(resolver.source(&action.label, path))),
                PlannedInput::Glob(found) => {
                    let GlobFiles { pattern, base, files } = &**found;
                    (pattern, read(resolver.glob(&action.label, base, files)))
                }
                _ => continue,
            };
            sources.entry(name.clone()).or_insert(digest);
        }
        let program = action.argv.first().filter(|p| !p.contains(['/', '{']));
        for tool in action.tools.iter().chain(program) {
            let path_var = action.env.get("PATH").map(String::as_str);
            let identity = || {
                let found = resolver.tools.identity(tool, path_var);
                found.unwrap_or_else(|| "not on PATH".to_owned())
            };
            tools.entry(tool.clone()).or_insert_with(identity);
        }
    }
    Ok(SavedPlan {
        v: SAVED_PLAN_VERSION,
        pipeline: plan.name.clone(),
        file: options.pipeline_file.clone(),
        tool_version: options.tool_version.clone(),
        identity: resolver.machine.identity(),
        machine: resolver.machine.clone(),
        sources,
        tools,
        actions: plan.actions.iter().map(saved).collect(),
    })
}

/// Adds what is known of each action: probes and others that have ended, and what would be left out.
pub fn with_outcomes(plan: &mut SavedPlan, preview: &Preview) {
    for (action, state) in plan.actions.iter_mut().zip(&preview.states) {
        match state {
            State::Reused(stored) => {
                action.status = Some(stored.record.status.name().to_owned());
            }
            State::LeftOut(reason) => action.skip = Some(reason.clone()),
            State::WouldRun(_) | State::Waits(_) | State::Blocked(_) | State::Impossible(_) => {}
        }
    }
}

fn read(digest: Result<Digest>) -> String {
    digest.map_or_else(|e| format!("unreadable: {e}"), |d| d.to_string())
}

fn saved(action: &PlannedAction) -> SavedAction {
    let mut parts = BTreeMap::from([
        ("class".to_owned(), action.class.name().to_owned()),
        ("fingerprint".to_owned(), action.fingerprint.clone()),
        ("seed".to_owned(), action.seed.to_string()),
        ("repeat".to_owned(), action.repeat.to_string()),
    ]);
    for (name, value) in &action.args {
        part(&mut parts, format!("args.{name}"), value);
    }
    if !action.argv.is_empty() {
        parts.insert("run".to_owned(), format!("{:?}", action.argv));
    }
    if !action.outputs.is_empty() {
        parts.insert("outputs".to_owned(), action.outputs.join(", "));
    }
    for (name, value) in &action.env {
        parts.insert(format!("env.{name}"), value.clone());
    }
    let skip = action.skip.as_ref().map(ToString::to_string);
    SavedAction {
        label: action.label.clone(),
        kind: action.kind.clone(),
        parts,
        skip,
        status: None,
    }
}

/// An argument, a table leaf by leaf, so that a difference names the leaf.
fn part(parts: &mut BTreeMap<String, String>, name: String, value: &Value) {
    match value {
        Value::Map(map) => {
            for (key, value) in map {
                part(parts, format!("{name}.{key}"), value);
            }
        }
        other => drop(parts.insert(name, other.to_string())),
    }
}
