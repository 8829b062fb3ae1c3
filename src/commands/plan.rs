//! `sim-pipe plan`.

use crate::commands::run::key_value;
use crate::error::{CliResult, exit};
use crate::global::Global;
use crate::project::Project;
use crate::skip_case::{self, SkipCase};
use crate::text;
use clap::Args;
use sim_exec::{Resolver, State, preview};
use sim_provenance::picture::{Node, Picture};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The pipeline file
    pipeline: PathBuf,
    /// List every action, reused ones too
    #[arg(short, long)]
    all: bool,
    /// As `run --remeasure`
    #[arg(long)]
    remeasure: bool,
    /// As `run --retry-failed`
    #[arg(long)]
    retry_failed: bool,
    /// As `run --retry-known-failures`
    #[arg(long)]
    retry_known_failures: bool,
    /// As `run --skip-case`
    #[arg(long = "skip-case", value_parser = skip_case::parse, value_name = "CASE=REASON")]
    skip_cases: Vec<SkipCase>,
    /// Also write the plan, with what is known of each action, as a run keeps it
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Print the graph in Graphviz's language instead, for `dot -Tsvg`
    #[arg(long, conflicts_with_all = ["all", "mermaid"])]
    dot: bool,
    /// Print the graph as a Mermaid flowchart instead
    #[arg(long, conflicts_with = "all")]
    mermaid: bool,
    /// Draw by stages where there are more actions than this; 0 always does
    #[arg(long, default_value_t = 200, value_name = "N")]
    group_above: usize,
    /// Set a value of the pipeline
    #[arg(long = "set", value_parser = key_value, value_name = "KEY=VALUE")]
    set: Vec<(String, String)>,
}

pub(crate) fn run(global: &Global, args: &PlanArgs) -> CliResult {
    let mut project = Project::load(global, &args.pipeline, &args.set)?;
    skip_case::apply(&mut project.plan, &args.skip_cases)?;
    let (store, _elsewhere) = project.store_to_look_at(global)?;
    let mut options = project.options()?;
    options.remeasure = args.remeasure;
    options.retry_failed = args.retry_failed;
    options.retry_known = args.retry_known_failures;
    let resolver = Resolver::new(
        &store,
        &project.plan,
        &project.root,
        project.machine.clone(),
        options.path_var.clone(),
    );
    let preview = preview(&resolver, &options)?;

    if let Some(file) = &args.save {
        let mut saved = sim_exec::saved_plan(&resolver, &options)?;
        sim_exec::with_outcomes(&mut saved, &preview);
        let mut bytes = serde_json::to_vec_pretty(&saved)?;
        bytes.push(b'\n');
        fs_err::write(file, bytes)?;
        text::say(&format!("plan: {}", file.display()));
    }
    if args.dot || args.mermaid {
        picture(&project, &preview.states, args);
        return Ok(exit::OK);
    }

    // What each label took last time, for an estimate.
    let mut past: BTreeMap<String, f64> = BTreeMap::new();
    if let Some(root) = store.root_named(&store.root_name(&project.plan.name, &project.root)?)? {
        for e in &root.entries {
            if let Ok(Some(r)) = store.record_generation(&e.key, e.generation) {
                past.insert(r.label.clone(), r.usage.wall_ms);
            }
        }
    }
    let (mut estimate, mut unknown) = (0.0, 0);
    for (action, state) in project.plan.actions.iter().zip(&preview.states) {
        let (word, detail, key) = match state {
            State::Reused(s) => ("reused", s.record.status.name().to_owned(), Some(s.record.key)),
            State::WouldRun(r) => ("run", String::new(), Some(r.key)),
            State::Waits(first) => (
                "run",
                format!("if {} gives something new", project.plan.actions[*first].label),
                None,
            ),
            State::Blocked(by) => {
                ("skip", format!("needs {}", project.plan.actions[*by].label), None)
            }
            State::Impossible(why) | State::LeftOut(why) => ("skip", why.clone(), None),
        };
        if word == "run" {
            match past.get(&action.label) {
                Some(ms) => estimate += ms,
                None => unknown += 1,
            }
        }
        if global.json {
            let line = serde_json::json!({
                "v": 1, "label": action.label, "kind": action.kind, "class": action.class.name(),
                "do": word, "detail": detail, "key": key,
            });
            text::out(&line.to_string());
        } else if args.all || word != "reused" {
            let key = key.map_or_else(|| " ".repeat(12), |k| k.short());
            let detail = if detail.is_empty() { detail } else { format!("  ({detail})") };
            text::out(format!("{word:>7}  {key}  {}{detail}", action.label).trim_end());
        }
    }
    if !global.json {
        let [reused, run, waits, skip] = preview.counts();
        let mut parts = vec![format!("{reused} reused"), format!("{run} to run")];
        if waits > 0 {
            parts.push(format!("{waits} behind those"));
        }
        if skip > 0 {
            parts.push(format!("{skip} skipped"));
        }
        if estimate > 0.0 {
            let time = text::duration(Duration::from_secs_f64(estimate / 1e3));
            let rest = if unknown > 0 { format!(", {unknown} never timed") } else { String::new() };
            parts.push(format!("about {time} of work as last time{rest}"));
        }
        text::say(&format!("{}: {}", project.plan.name, parts.join(" · ")));
    }
    Ok(exit::OK)
}

/// Prints the graph; what is said about it goes to standard error.
fn picture(project: &Project, states: &[State], args: &PlanArgs) {
    let nodes: Vec<Node> = project
        .plan
        .actions
        .iter()
        .zip(states)
        .map(|(action, state)| {
            let needs = action.dependencies().chain(action.after.iter().copied());
            let mut needs: Vec<usize> = needs.collect();
            needs.sort_unstable();
            needs.dedup();
            Node {
                label: action.label.clone(),
                class: action.class.name(),
                runs: matches!(state, State::WouldRun(_) | State::Waits(_)),
                needs,
            }
        })
        .collect();
    let mut drawn = Picture::of(&project.plan.name, &nodes, args.group_above);
    if args.mermaid && drawn.grouped().is_none() && drawn.too_much_for_mermaid() {
        drawn = Picture::of(&project.plan.name, &nodes, 0);
        text::say("Mermaid refuses more than 500 arrows");
    }
    text::out(if args.dot { drawn.dot() } else { drawn.mermaid() }.trim_end());
    if let Some(groups) = drawn.grouped() {
        let actions = text::count(nodes.len(), "action");
        text::say(&format!(
            "{actions} drawn as {groups} by stage and class; --group-above changes that"
        ));
    }
}
