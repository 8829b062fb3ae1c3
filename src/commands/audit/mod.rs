//! `sim-pipe audit`: does every result of a pipeline still hold?
//!
//! Three questions, each answered by computing again: does today's pipeline still lead to the records of
//! the last run ([`plan`]); is every record, output, source and log what it says it is ([`objects`]);
//! and is every page and number of the sites what these records make of it ([`site`]).

mod numbers;
mod objects;
mod plan;
mod site;

use crate::commands::run::key_value;
use crate::error::{CliError, CliResult, exit};
use crate::format::Format;
use crate::global::Global;
use crate::project::Project;
use crate::text;
use clap::Args;
use sim_exec::Resolver;
use sim_model::Digest;
use sim_provenance::audit::{Audit, Checked, Finding, What};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// The pipeline file
    pipeline: PathBuf,
    /// Where its site is laid out, to be compared as well [default: out/PIPELINE in the project's root,
    /// where it is there]
    #[arg(long, value_name = "DIR")]
    site: Option<PathBuf>,
    /// Set a value of the pipeline, as for the run that is audited
    #[arg(long = "set", value_parser = key_value, value_name = "KEY=VALUE")]
    set: Vec<(String, String)>,
    #[command(flatten)]
    format: Format,
}

/// What is found on the way.
#[derive(Default)]
struct Findings {
    list: Vec<Finding>,
    checked: Checked,
    left_out: Vec<String>,
}

impl Findings {
    fn add(&mut self, what: What, label: &str, problem: impl Into<String>) {
        self.list.push(Finding {
            what,
            label: label.to_owned(),
            key: None,
            file: None,
            problem: problem.into(),
        });
    }

    fn about(&mut self, what: What, label: &str, key: &Digest, problem: impl Into<String>) {
        self.add(what, label, problem);
        if let Some(last) = self.list.last_mut() {
            last.key = Some(key.to_string());
        }
    }

    fn file(&mut self, what: What, label: &str, file: String, problem: impl Into<String>) {
        self.add(what, label, problem);
        if let Some(last) = self.list.last_mut() {
            last.file = Some(file);
        }
    }
}

pub(crate) fn run(global: &Global, args: &AuditArgs) -> CliResult {
    let project = Project::load(global, &args.pipeline, &args.set)?;
    let store = project.store(global)?;
    let _lease = store.lease()?;
    let options = project.options()?;
    let Some(root) = store.root_named(&store.root_name(&project.plan.name, &project.root)?)? else {
        return Err(CliError::new(
            exit::NOTHING,
            format!("`{}` has no finished run", project.plan.name),
        )
        .hint(format!("`sim-pipe run {}` makes one", args.pipeline.display())));
    };
    let resolver = Resolver::new(
        &store,
        &project.plan,
        &project.root,
        project.machine.clone(),
        options.path_var.clone(),
    );
    let mut found = Findings::default();
    let settled = plan::check(&project, &resolver, &root, &mut found)?;
    resolver.save()?;
    let objects = objects::check(&store, &root, &mut found)?;
    let auditor = site::Sites {
        project: &project,
        store: &store,
        root: &root,
        resolver: &resolver,
        options: &options,
        settled: &settled,
        objects: &objects,
    };
    auditor.check(args.site.as_deref(), &mut found)?;

    let audit = Audit {
        v: 1,
        pipeline: project.plan.name.clone(),
        run: root.run.clone(),
        holds: found.list.is_empty(),
        checked: found.checked,
        findings: found.list,
        left_out: found.left_out,
    };
    if args.format.json(global) {
        args.format.print(global, &audit)?;
    } else {
        show(&audit);
    }
    Ok(if audit.holds { exit::OK } else { exit::AUDIT })
}

fn show(audit: &Audit) {
    for f in &audit.findings {
        let file = f.file.as_ref().map_or(String::new(), |f| format!("{f}: "));
        text::out(&format!("{}: {file}{}", f.label, f.problem));
    }
    for what in &audit.left_out {
        text::say(&format!("not looked at: {what}"));
    }
    let c = &audit.checked;
    let mut parts = vec![
        match audit.findings.len() {
            0 => "everything holds".to_owned(),
            n => text::count(n, "finding"),
        },
        format!("{} recomputed", text::count(c.plan as usize, "key")),
        format!(
            "{}, {} and {} hashed again ({})",
            text::count(c.records as usize, "record"),
            text::count(c.trees as usize, "tree"),
            text::count(c.logs as usize, "log"),
            text::bytes(c.bytes)
        ),
    ];
    if c.failed > 0 {
        parts.push(format!("{} recorded as failed, which a run tries again", c.failed));
    }
    if c.sites > 0 {
        let sites = if c.sites == 1 { "the site".to_owned() } else { format!("{} sites", c.sites) };
        parts.push(format!(
            "{sites} written again, {} files compared, {} numbers followed",
            c.pages + c.laid_out,
            c.numbers
        ));
    }
    text::say(&format!("{}: {}", audit.pipeline, parts.join(" · ")));
}
