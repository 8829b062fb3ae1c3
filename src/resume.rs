//! `run --resume`: goes on with an interrupted run where everything that could change a result is as
//! it was (P143 to P145).

use crate::error::{CliError, exit};
use crate::find::{self, Run};
use crate::project::Project;
use sim_exec::{Options, Resolver, Resume};
use sim_model::event::Event;
use sim_model::saved_plan::SavedPlan;
use sim_store::Store;
use std::collections::BTreeMap;

/// At most this many differences are shown.
const SHOWN: usize = 5;

/// What a resumed run goes on with. What the run was told to leave out is left out again.
pub(crate) fn prepare(
    project: &mut Project,
    store: &Store,
    options: &Options,
    name: &str,
) -> Result<Resume, CliError> {
    let run = find::run(store, Some(name))?;
    let then = saved(store, &run)?;
    let now = {
        let (root, machine) = (&project.root, project.machine.clone());
        let resolver = Resolver::new(store, &project.plan, root, machine, options.path_var.clone());
        sim_exec::saved_plan(&resolver, options)?
    };
    let differences = then.differences(&now);
    if !differences.is_empty() {
        let how_many = match differences.len() {
            1 => "one thing is not".to_owned(),
            n => format!("{n} things are not"),
        };
        let mut error = CliError::new(
            exit::PIPELINE,
            format!("run {} cannot be resumed: {how_many} as it was; nothing was run", run.id),
        );
        for difference in differences.iter().take(SHOWN) {
            error = error.hint(difference.to_string());
        }
        if differences.len() > SHOWN {
            error = error.hint(format!("and {} more", differences.len() - SHOWN));
        }
        return Err(error.hint("without --resume, what changed is run again and the rest reused"));
    }
    let skips: BTreeMap<&str, &String> =
        then.actions.iter().filter_map(|a| Some((a.label.as_str(), a.skip.as_ref()?))).collect();
    for action in project.plan.actions.iter_mut().filter(|a| a.skip.is_none()) {
        action.skip = skips.get(action.label.as_str()).map(|s| s.as_str().into());
    }
    let mut ended = BTreeMap::new();
    for id in chain(store, &run)?.iter().rev() {
        let before = find::run(store, Some(id))?;
        for line in &before.lines {
            if let Event::ActionFinished { key, generation, .. } = &line.event {
                ended.insert(*key, *generation);
            }
        }
    }
    Ok(Resume { run: run.id, ended })
}

/// The plan that was kept with a run.
fn saved(store: &Store, run: &Run) -> Result<SavedPlan, CliError> {
    let digest = run.journal()?.iter().find_map(|line| match &line.event {
        Event::RunPlanned { plan, .. } => Some(*plan),
        _ => None,
    });
    let Some(digest) = digest else {
        let message = format!("run {} kept no plan: it ran nothing that measures", run.id);
        return Err(CliError::new(exit::NOTHING, message)
            .hint("run the pipeline again: what is recorded is reused")
            .hint("`sim-pipe runs` lists the runs"));
    };
    let damaged = |problem: String| {
        let message = format!("the plan of run {} cannot be read: {problem}", run.id);
        CliError::new(exit::STORE, message)
    };
    let bytes = store.blob(&digest).map_err(|e| damaged(e.to_string()))?;
    SavedPlan::from_json(&bytes).map_err(damaged)
}

/// A run and those that it goes on with, newest first.
pub(crate) fn chain(store: &Store, run: &Run) -> Result<Vec<String>, CliError> {
    let mut out = vec![run.id.clone()];
    let mut next = resumes(run);
    while let Some(id) = next.filter(|id| !out.contains(id)) {
        out.push(id.clone());
        // One whose journal is elsewhere ends what is known.
        next = find::run(store, Some(&id)).ok().as_ref().and_then(resumes);
    }
    Ok(out)
}

/// The run that a run goes on with.
fn resumes(run: &Run) -> Option<String> {
    run.lines.iter().find_map(|line| match &line.event {
        Event::RunPlanned { resumes, .. } => resumes.clone(),
        _ => None,
    })
}
