//! Reads what the action was given: members, their results, records, logs and files.

use crate::batch::{self, Batch};
use crate::error::{At, ReportError};
use crate::protocol::{self, Judged};
use crate::replay::{self, Replay};
use crate::trial::Trial;
use sim_engine_protocol::JobResult;
use sim_model::Digest;
use sim_model::record::{RECORD_VERSION, Record, Status};
use sim_model::request::{Member, ProvenanceIndex, Request, RequestInput};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A result larger than this is refused rather than read.
const MOST_RESULT_BYTES: u64 = 16 << 20;

/// Texts that the pipeline gives the report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    pub(crate) title: String,
    /// The pipeline's file; empty where it is not known.
    pub(crate) pipeline: String,
    pub(crate) description: String,
    pub(crate) question: String,
    pub(crate) interest: String,
    pub(crate) not_measured: Vec<String>,
    /// Engine that scores are made against.
    pub(crate) baseline: String,
    pub(crate) logs: bool,
}

/// An action that has a page: a record, a trial, or both.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// Stem of the file.
    pub(crate) stem: String,
    /// Label.
    pub(crate) label: String,
    /// Index into [`Input::records`].
    pub(crate) record: Option<usize>,
    /// Index into [`Input::trials`].
    pub(crate) trial: Option<usize>,
}

/// A file that other steps made, to be copied into the site.
#[derive(Clone, Debug)]
pub(crate) struct Attachment {
    /// Label of the action that made it, or name of the input.
    pub(crate) label: String,
    /// Path below that action's output.
    pub(crate) name: String,
    /// Where it is now.
    pub(crate) source: PathBuf,
    /// Bytes.
    pub(crate) bytes: u64,
    /// Stem of the action's page.
    pub(crate) page: Option<String>,
}

/// A member of `protocols`, `renders` or `files` that gave nothing.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    /// Label of the action.
    pub(crate) label: String,
    /// Outcome.
    pub(crate) outcome: String,
    /// Why.
    pub(crate) reason: String,
    /// Stem of the action's page.
    pub(crate) page: Option<String>,
}

/// Everything that the report is made from.
#[derive(Debug, Default)]
pub(crate) struct Input {
    pub(crate) words: Words,
    pub(crate) trials: Vec<Trial>,
    pub(crate) records: Vec<Record>,
    pub(crate) pages: Vec<Page>,
    pub(crate) protocols: Vec<Judged>,
    pub(crate) batches: Vec<Batch>,
    pub(crate) replays: Vec<Replay>,
    pub(crate) renders: Vec<Attachment>,
    pub(crate) files: Vec<Attachment>,
    pub(crate) missing: Vec<Missing>,
    /// Engines that suites name as their baseline, by stage.
    pub(crate) baselines: BTreeMap<String, BTreeSet<String>>,
    pub(crate) provenance: PathBuf,
    pub(crate) templates: Option<PathBuf>,
    pub(crate) warnings: Vec<String>,
}

/// Reads the inputs of `request` in `dir`.
pub(crate) fn load(request: &Request, dir: &Path) -> Result<Input, ReportError> {
    let mut input = Input { words: words(request), ..Input::default() };
    if let Some(RequestInput::Tree { path }) = request.inputs.get("provenance") {
        input.provenance = inside(dir, path)?;
        input.records = records(&input.provenance, &mut input.warnings)?;
    }
    if let Some(RequestInput::Tree { path }) = request.inputs.get("templates") {
        input.templates = Some(inside(dir, path)?);
    }
    let by_key: BTreeMap<Digest, usize> =
        input.records.iter().enumerate().map(|(i, r)| (r.key, i)).collect();
    let mut pages: BTreeMap<String, Page> = input
        .records
        .iter()
        .enumerate()
        .map(|(i, r)| {
            let stem = r.key.to_string();
            (stem.clone(), Page { stem, label: r.label.clone(), record: Some(i), trial: None })
        })
        .collect();

    for member in members(request, "trials") {
        if member.action.as_ref().is_some_and(|a| a.kind == "suite") {
            baseline(&member, &mut input);
            continue;
        }
        let mut trial = Trial::new(&member, result(dir, &member));
        let key = member.action.as_ref().and_then(|a| a.key);
        trial.page = stem(key, &member.label);
        trial.record = key.and_then(|k| by_key.get(&k).copied());
        if let Some(record) = trial.record.map(|i| &input.records[i])
            && trial.outcome == "failed"
            && matches!(record.status, Status::TimedOut | Status::OutOfMemory)
        {
            // The record knows more than the member's six words.
            record.status.name().clone_into(&mut trial.outcome);
        }
        let page = pages.entry(trial.page.clone()).or_insert_with(|| Page {
            stem: trial.page.clone(),
            label: trial.label.clone(),
            record: None,
            trial: None,
        });
        page.trial.get_or_insert(input.trials.len());
        input.trials.push(trial);
    }
    for member in members(request, "protocols") {
        let key = member.action.as_ref().and_then(|a| a.key);
        let page = key.filter(|k| by_key.contains_key(k)).map(|k| k.to_string());
        let missing = |outcome: &str, reason: &str| Missing {
            label: member.label.clone(),
            outcome: outcome.to_owned(),
            reason: reason.to_owned(),
            page: page.clone(),
        };
        let Some(path) = &member.path else {
            input.missing.push(missing(&member.outcome, &member.reason));
            continue;
        };
        let read = if member.action.as_ref().is_some_and(|a| a.kind == "batch-protocol") {
            batch::read(dir, &member, path, page.as_ref()).map(|b| input.batches.push(b))
        } else {
            protocol::read(dir, &member, path, page.as_ref()).map(|p| input.protocols.push(p))
        };
        if let Err(problem) = read {
            input.missing.push(missing("unreadable", &problem));
        }
    }
    for (name, list) in [("renders", &mut input.renders), ("files", &mut input.files)] {
        for member in members(request, name) {
            let key = member.action.as_ref().and_then(|a| a.key);
            let page = key.filter(|k| by_key.contains_key(k)).map(|k| k.to_string());
            if name == "renders" {
                match replay::read(dir, &member, page.as_ref(), &input.trials) {
                    Ok(Some(replays)) => {
                        input.replays.extend(replays);
                        continue;
                    }
                    Ok(None) => {}
                    // Its files are shown as files all the same.
                    Err(problem) => input.warnings.push(format!("{}: {problem}", member.label)),
                }
            }
            match &member.path {
                Some(path) => {
                    let root = inside(dir, path)?;
                    attach(&root, &member.label, page.as_ref(), list, &mut input.warnings)?;
                }
                None => input.missing.push(Missing {
                    label: member.label.clone(),
                    outcome: member.outcome.clone(),
                    reason: member.reason.clone(),
                    page,
                }),
            }
        }
    }
    // Pages in plan order, then those without a record by name.
    let mut rest: BTreeSet<String> = pages.keys().cloned().collect();
    for record in &input.records {
        let stem = record.key.to_string();
        if rest.remove(&stem) {
            input.pages.extend(pages.remove(&stem));
        }
    }
    input.pages.extend(pages.into_values());
    Ok(input)
}

fn words(request: &Request) -> Words {
    let text =
        |name: &str| request.args.get(name).and_then(|v| v.as_str()).unwrap_or_default().to_owned();
    let list = request.args.get("not_measured").and_then(|v| v.as_array());
    Words {
        title: text("title"),
        pipeline: text("pipeline"),
        description: text("description"),
        question: text("question"),
        interest: text("interest"),
        not_measured: list
            .into_iter()
            .flatten()
            .filter_map(|v| v.as_str())
            .map(str::to_owned)
            .collect(),
        baseline: match text("baseline") {
            given if given.is_empty() => "mujoco".to_owned(),
            given => given,
        },
        logs: request.args.get("logs").and_then(serde_json::Value::as_bool).unwrap_or(true),
    }
}

/// What a suite says of itself, in the arguments of its action.
fn baseline(member: &Member, input: &mut Input) {
    let args = member.action.as_ref().map(|a| &a.args);
    if let Some(engine) = args.and_then(|a| a.get("baseline")).and_then(|v| v.as_str()) {
        let stage = crate::trial::stage(&member.label).to_owned();
        input.baselines.entry(stage).or_default().insert(engine.to_owned());
    }
}

/// The members of an input; a single tree is its own only member.
fn members(request: &Request, name: &str) -> Vec<Member> {
    match request.inputs.get(name) {
        Some(RequestInput::Many { members }) => members.clone(),
        Some(RequestInput::Tree { path }) => vec![Member {
            label: name.to_owned(),
            path: Some(path.clone()),
            outcome: "ok".to_owned(),
            reason: String::new(),
            action: None,
        }],
        None => Vec::new(),
    }
}

/// `dir/path`, refused where it would leave `dir`.
pub(crate) fn inside(dir: &Path, path: &str) -> Result<PathBuf, ReportError> {
    let relative = Path::new(path);
    if relative.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir)) {
        Ok(dir.join(relative))
    } else {
        Err(ReportError::Input {
            what: format!("path {path:?}"),
            problem: "leaves the action's folder".to_owned(),
        })
    }
}

fn stem(key: Option<Digest>, label: &str) -> String {
    key.map_or_else(
        || format!("unkeyed-{}", Digest::of(label.as_bytes()).short()),
        |k| k.to_string(),
    )
}

/// The result of a member, where it left one. The error is a reason for people.
fn result(dir: &Path, member: &Member) -> Result<Option<Box<JobResult>>, String> {
    let Some(path) = &member.path else { return Ok(None) };
    let path = inside(dir, path).map_err(|e| e.to_string())?.join("result.json");
    let Ok(meta) = fs::symlink_metadata(&path) else { return Ok(None) };
    if !meta.is_file() || meta.len() > MOST_RESULT_BYTES {
        return Err(format!("result.json is no file of at most {MOST_RESULT_BYTES} bytes"));
    }
    let bytes = fs::read(&path).map_err(|e| format!("result.json: {e}"))?;
    let result: JobResult =
        serde_json::from_slice(&bytes).map_err(|e| format!("result.json: {e}"))?;
    if result.protocol != sim_engine_protocol::PROTOCOL {
        return Err(format!("result.json speaks protocol {}", result.protocol));
    }
    Ok(Some(Box::new(result)))
}

fn records(folder: &Path, warnings: &mut Vec<String>) -> Result<Vec<Record>, ReportError> {
    let path = folder.join("index.json");
    let bytes = fs::read(&path).at(&path)?;
    let index: ProvenanceIndex = serde_json::from_slice(&bytes).map_err(|e| {
        ReportError::Input { what: "in/provenance/index.json".to_owned(), problem: e.to_string() }
    })?;
    let mut records = Vec::with_capacity(index.keys.len());
    let mut seen = BTreeSet::new();
    for key in index.keys {
        if !seen.insert(key) {
            continue;
        }
        let path = folder.join("records").join(format!("{key}.json"));
        let read = fs::read(&path)
            .map_err(|e| e.to_string())
            .and_then(|bytes| serde_json::from_slice::<Record>(&bytes).map_err(|e| e.to_string()));
        match read {
            Ok(record) if record.version > RECORD_VERSION => {
                warnings.push(format!("record {key} has version {}; left out", record.version));
            }
            Ok(record) if record.key != key => {
                warnings.push(format!("record {key} is of another key, {}; left out", record.key));
            }
            Ok(record) => records.push(record),
            Err(problem) => warnings.push(format!("record {key} cannot be read: {problem}")),
        }
    }
    Ok(records)
}

/// Lists the files below `root`, in order; links are left out and named in the warnings.
fn attach(
    root: &Path,
    label: &str,
    page: Option<&String>,
    list: &mut Vec<Attachment>,
    warnings: &mut Vec<String>,
) -> Result<(), ReportError> {
    let mut todo = vec![root.to_path_buf()];
    while let Some(path) = todo.pop() {
        // The member itself may be a link: that is how inputs are laid out.
        let meta = if path == root { fs::metadata(&path) } else { fs::symlink_metadata(&path) };
        let meta = meta.at(&path)?;
        if meta.is_dir() {
            let mut below = Vec::new();
            for entry in fs::read_dir(&path).at(&path)? {
                below.push(entry.at(&path)?.path());
            }
            below.sort_by(|a, b| b.cmp(a));
            todo.extend(below);
        } else if meta.is_file() {
            let name = path.strip_prefix(root).ok().filter(|p| !p.as_os_str().is_empty());
            let name = name.or_else(|| path.file_name().map(Path::new)).unwrap_or(&path);
            list.push(Attachment {
                label: label.to_owned(),
                name: name.to_string_lossy().into_owned(),
                source: path.clone(),
                bytes: meta.len(),
                page: page.cloned(),
            });
        } else {
            warnings.push(format!("{label}: {} is a link and was left out", path.display()));
        }
    }
    Ok(())
}

impl Input {
    /// The log of a record, as much of its end as there is.
    pub(crate) fn log(&self, record: &Record) -> Option<Vec<u8>> {
        fs::read(self.provenance.join("logs").join(format!("{}.txt", record.key))).ok()
    }
}
