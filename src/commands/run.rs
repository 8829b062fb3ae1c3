//! `sim-pipe run`.

use crate::error::{CliError, CliResult, exit};
use crate::global::Global;
use crate::progress::Progress;
use crate::project::{Located, Project};
use crate::skip_case::{self, SkipCase};
use crate::{commands, resume, site, text};
use clap::Args;
use sim_exec::{Ahead, Cancel, Level, NotRun, Remembered, SandboxPolicy, Settled, Summary};
use sim_model::{Digest, Status};
use sim_store::Store;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The pipeline file
    pub(crate) pipeline: PathBuf,
    /// Only these stages, cells or labels, and what they need
    #[arg(long = "only", value_name = "SELECTOR")]
    pub(crate) only: Vec<String>,
    /// Actions at once; measured ones always run alone [default: the machine's processors]
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// auto, require, none, or one level: bubblewrap, namespaces, landlock
    #[arg(long, default_value = "auto", value_parser = sandbox, value_name = "POLICY")]
    pub(crate) sandbox: SandboxPolicy,
    /// Observe measured actions again; the new observations are added
    #[arg(long)]
    pub(crate) remeasure: bool,
    /// Run again what is recorded as a failed gate, unsupported or refused
    #[arg(long)]
    pub(crate) retry_failed: bool,
    /// Run again what is known to run out of memory on this machine
    #[arg(long)]
    retry_known_failures: bool,
    /// Leave a trial out, with a reason that the report shows; as often as needed:
    /// `mujoco:box_pile:1000:1=takes too long`
    #[arg(
        long = "skip-case",
        value_parser = skip_case::parse,
        value_name = "ENGINE:SCENARIO:SIZE:WORLDS=REASON"
    )]
    skip_cases: Vec<SkipCase>,
    /// Go on with an interrupted run: its id, or `last`. Refused unless pipeline, suites, pins,
    /// programs and machine are what they were; what ended in it, well or not, is kept
    #[arg(long, value_name = "RUN", conflicts_with = "remeasure")]
    resume: Option<String>,
    /// Start nothing more after the first failure
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Re-hash recorded results before using them
    #[arg(long)]
    pub(crate) verify: bool,
    /// Afterwards run every pure action again elsewhere, N times, and compare the bytes
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1",
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    check: Option<u32>,
    /// Set a value of the pipeline: `pipeline.seed=3`, `stage.trial.repeats=1`
    #[arg(long = "set", value_parser = key_value, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<(String, String)>,
    /// Where to lay out the site [default: out/PIPELINE in the project's root]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

pub(crate) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((k, v)) if !k.is_empty() => Ok((k.trim().to_owned(), v.trim().to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

fn sandbox(text: &str) -> Result<SandboxPolicy, String> {
    Ok(match text {
        "auto" => SandboxPolicy::Auto,
        "require" => SandboxPolicy::Require,
        "none" => SandboxPolicy::Exactly(Level::None),
        "landlock" => SandboxPolicy::Exactly(Level::Landlock),
        "namespaces" => SandboxPolicy::Exactly(Level::Namespaces),
        "bubblewrap" => SandboxPolicy::Exactly(Level::Bubblewrap),
        _ => {
            return Err("expected auto, require, none, bubblewrap, namespaces or landlock".into());
        }
    })
}

pub(crate) fn run(global: &Global, args: &RunArgs) -> CliResult {
    let located = Located::find(&args.pipeline)?;
    let place = located.store_path(global);
    // Whoever asks for more than to have everything done is not served from memory.
    let plain = args.only.is_empty()
        && args.skip_cases.is_empty()
        && args.resume.is_none()
        && !(args.remeasure || args.retry_failed || args.retry_known_failures)
        && !(args.verify || args.check.is_some());
    let question = if plain { Some(located.question(&args.set)?) } else { None };
    let mut ahead = None;
    if place.join("format").exists() {
        let store = Store::open(&place)?;
        let remembered = match &question {
            Some(question) => remembered(global, &located, &store, question)?,
            None => Remembered::Nothing,
        };
        let memory = match remembered {
            Remembered::Settled(settled, wall_ms) => {
                return nothing_to_do(global, args, &located, &store, &settled, wall_ms);
            }
            Remembered::Changed(memory) => Some(memory),
            Remembered::Nothing => None,
        };
        // Only a look at what is there: whether the file is right, planning will tell.
        ahead = located.name.clone().filter(|_| !args.verify).map(|name| {
            let processors = located.machine.cpus as usize;
            Ahead::start(&store, name, located.root.clone(), processors, memory)
        });
    }
    let (mut project, planned) = Project::plan(global, located, &args.set)?;
    skip_case::apply(&mut project.plan, &args.skip_cases)?;
    // Only now: a file that is wrong makes no store.
    let store = Store::open(&place)?;
    let mut options = project.options()?;
    if let Some(run) = &args.resume {
        options.resume = Some(resume::prepare(&mut project, &store, &options, run)?);
    }
    options.ahead = ahead;
    options.question = question.map(|digest| sim_exec::Question { digest, planned });
    if let Some(jobs) = args.jobs {
        options.jobs = jobs.max(1);
    }
    options.sandbox = args.sandbox;
    options.remeasure = args.remeasure;
    options.retry_failed = args.retry_failed;
    options.retry_known = args.retry_known_failures;
    options.keep_going = !args.fail_fast;
    options.verify = args.verify;
    if !args.only.is_empty() {
        let mut only = Vec::new();
        for selector in &args.only {
            only.extend(project.select(selector)?);
        }
        options.only = Some(only);
    }

    let cancel = Cancel::new()?;
    let signal = on_signal(&cancel)?;
    let mut progress = Progress::new(global, &store);
    let summary = sim_exec::run(
        &store,
        &project.plan,
        &project.root,
        project.machine.clone(),
        &options,
        &cancel,
        &mut progress,
    )?;
    let code = verdict(&project, &summary);
    if !global.json {
        say_summary(&project, &args.pipeline, &summary, args.sandbox, progress.failures());
    }
    if summary.interrupted {
        let by = signal.load(std::sync::atomic::Ordering::SeqCst);
        return Ok(if by == 0 { exit::INTERRUPTED } else { 128u8.saturating_add(by as u8) });
    }
    lay_out_sites(global, &project, &store, &summary, args.output.as_deref())?;
    if code == exit::OK && summary.ran > 0 && !global.json && !global.quiet {
        say_where(&project, &summary);
    }
    let Some(rounds) = args.check else {
        // Taking ten thousand actions apart, right before the program ends, takes a while.
        std::mem::forget((project, summary));
        return Ok(code);
    };
    let checked =
        commands::check::check(global, &project, &store, &options, &cancel, &summary, rounds)?;
    if checked.interrupted {
        let by = signal.load(std::sync::atomic::Ordering::SeqCst);
        return Ok(128u8.saturating_add(by as u8));
    }
    Ok(if checked.disagreements.is_empty() { code } else { exit::AUDIT })
}

/// What an earlier run with this question found. Where it holds, that is the whole run.
fn remembered(
    global: &Global,
    located: &Located,
    store: &Store,
    question: &Digest,
) -> Result<Remembered, CliError> {
    let mut progress = Progress::new(global, store);
    Ok(sim_exec::run_settled(
        store,
        question,
        &located.file,
        located.machine.identity(),
        env!("CARGO_PKG_VERSION"),
        &mut progress,
    )?)
}

/// What is left of a run that had nothing to do.
fn nothing_to_do(
    global: &Global,
    args: &RunArgs,
    located: &Located,
    store: &Store,
    settled: &Settled,
    wall_ms: f64,
) -> CliResult {
    if !global.json {
        let time = text::duration(Duration::from_secs_f64(wall_ms / 1e3));
        let reused = settled.actions.len();
        text::say(&format!(
            "{}: nothing to do · 0 ran · {reused} reused · {time}",
            settled.pipeline
        ));
    }
    let base =
        args.output.clone().unwrap_or_else(|| located.root.join("out").join(&settled.pipeline));
    for (label, tree) in &settled.sites {
        lay_out_site(global, store, &tree.digest, &site_path(&base, label, settled.sites.len()))?;
    }
    Ok(exit::OK)
}

/// Cancels on the first SIGINT or SIGTERM; a second one ends the program at once. The signal is kept.
pub(crate) fn on_signal(
    cancel: &Cancel,
) -> Result<std::sync::Arc<std::sync::atomic::AtomicUsize>, CliError> {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    let by = std::sync::Arc::new(AtomicUsize::new(0));
    for signal in
        [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP]
    {
        let (cancel, by, seen) =
            (cancel.clone(), by.clone(), std::sync::Arc::new(AtomicBool::new(false)));
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, seen.clone())?;
        let action = move || {
            seen.store(true, Ordering::SeqCst);
            by.store(signal as usize, Ordering::SeqCst);
            cancel.cancel();
        };
        // SAFETY: the action only stores to atomics and writes to an eventfd, which is
        // async-signal-safe.
        #[expect(unsafe_code, reason = "a signal handler that does only what handlers may do")]
        unsafe {
            signal_hook::low_level::register(signal, action)?;
        }
    }
    Ok(by)
}

/// The exit code of a run.
fn verdict(project: &Project, summary: &Summary) -> u8 {
    let statuses: Vec<Status> =
        summary.failed().filter_map(|i| summary.outcomes.get(&i)?.status).collect();
    if statuses.iter().any(|s| *s != Status::GateFailed) {
        return exit::ACTION;
    }
    if !statuses.is_empty() {
        return exit::GATE;
    }
    // What could not be keyed for a reason of its own; what needed it only follows.
    let mut own = summary.outcomes.iter().filter_map(|(i, o)| {
        let own = o.status.is_none() && o.not_run != Some(NotRun::Blocked);
        own.then_some((&project.plan.actions[*i].label, &o.reason))
    });
    let missing = |(label, reason): (&String, &String)| {
        reason.starts_with(&format!("action {label} needs ")) && reason.ends_with(" is not on PATH")
    };
    if let Some(first) = own.next()
        && missing(first)
        && own.all(missing)
    {
        return exit::MISSING;
    }
    if summary.skipped > 0 || project.plan.actions.is_empty() { exit::ACTION } else { exit::OK }
}

fn say_summary(
    project: &Project,
    typed: &std::path::Path,
    summary: &Summary,
    asked_for: SandboxPolicy,
    failures: &[(String, String)],
) {
    let time = text::duration(Duration::from_secs_f64(summary.wall_ms / 1e3));
    let failed = summary.failed().count();
    let mut parts = vec![format!("{} ran", summary.ran), format!("{} reused", summary.reused)];
    if failed > 0 {
        parts.push(format!("{failed} not ok"));
    }
    if summary.skipped > 0 {
        parts.push(format!("{} skipped", summary.skipped));
    }
    if summary.sandbox == Some("none") {
        text::say(if asked_for == SandboxPolicy::Exactly(Level::None) {
            "  warning  without a sandbox, as asked for; the records say so"
        } else {
            "  warning  no sandbox on this system; the records say so (`sim-pipe doctor`)"
        });
    }
    if failures.len() > 1 {
        text::say("not ok:");
        for (label, reason) in failures.iter().take(30) {
            text::say(&format!("  {label}: {reason}"));
        }
        if failures.len() > 30 {
            text::say(&format!("  and {} more", failures.len() - 30));
        }
    }
    if let Some((label, _)) = failures.first() {
        let file = sim_provenance::shell::line([&*typed.display().to_string()]);
        text::say(&format!("hint: `sim-pipe log {file} '{label}'` prints its log"));
    }
    let nothing = summary.ran == 0 && summary.skipped == 0 && !summary.interrupted;
    let what = if summary.interrupted {
        "interrupted; what is done is kept, run again to go on"
    } else if nothing {
        "nothing to do"
    } else {
        "done"
    };
    text::say(&format!("{}: {what} · {} · {time}", project.plan.name, parts.join(" · ")));
}

/// Where there is no site to look at: how to find what was made.
fn say_where(project: &Project, summary: &Summary) {
    let actions = &project.plan.actions;
    if actions.iter().any(|a| a.kind == "report") {
        return;
    }
    let made = |i: &usize| summary.outcomes.get(i).is_some_and(|o| o.output.is_some());
    if let Some(last) = (0..actions.len()).rev().find(made) {
        let label = &actions[last].label;
        text::say(&format!("hint: `sim-pipe store path '{label}'` says where its output is"));
    }
}

/// Lays out the output of every report stage.
pub(crate) fn lay_out_sites(
    global: &Global,
    project: &Project,
    store: &Store,
    summary: &Summary,
    output: Option<&std::path::Path>,
) -> Result<(), CliError> {
    let reports: Vec<usize> = (0..project.plan.actions.len())
        .filter(|i| project.plan.actions[*i].kind == "report")
        .collect();
    let base = site_base(project, output);
    for index in &reports {
        let Some(tree) = summary.outcomes.get(index).and_then(|o| o.output.as_ref()) else {
            continue;
        };
        let label = &project.plan.actions[*index].label;
        lay_out_site(global, store, &tree.digest, &site_path(&base, label, reports.len()))?;
    }
    Ok(())
}

fn lay_out_site(
    global: &Global,
    store: &Store,
    tree: &Digest,
    to: &std::path::Path,
) -> Result<(), CliError> {
    let to = site::lay_out(store, tree, to)?;
    if global.json {
        text::out(&serde_json::json!({"v": 1, "site": to}).to_string());
    } else {
        text::say(&format!("site: {}", to.join("index.html").display()));
    }
    Ok(())
}

/// Where the sites of a pipeline go.
pub(crate) fn site_base(project: &Project, output: Option<&std::path::Path>) -> PathBuf {
    output.map_or_else(|| project.root.join("out").join(&project.plan.name), PathBuf::from)
}

/// Where the site of one report action goes: `base`, or a folder in it where there are several.
pub(crate) fn site_path(base: &std::path::Path, label: &str, reports: usize) -> PathBuf {
    if reports == 1 {
        base.to_path_buf()
    } else {
        base.join(label.replace(['/', '['], ".").replace(']', ""))
    }
}
