//! A whole run as a research crate.

use super::RoCrateArgs;
use super::crate_files::{Files, pack};
use crate::error::{CliError, CliResult, exit};
use crate::find::{self, Run};
use crate::global::Global;
use crate::project::nearest_store;
use crate::text;
use sim_model::{Digest, Record};
use sim_provenance::ro_crate::{Action, Crate, METADATA, Thing};
use sim_store::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The archive in a crate that `store import` takes in.
pub(crate) const ARCHIVE: &str = "store.simpipe";
/// A larger output is in the archive alone.
const PLAIN: u64 = 4 << 20;

pub(super) fn run(global: &Global, args: &RoCrateArgs) -> CliResult {
    let store = nearest_store(global)?;
    let run = find::run(&store, Some(&args.run))?;
    let roots: Vec<String> = store.root_names()?;
    let root =
        [run.name.clone(), format!("pin.{}", run.name)].into_iter().find(|n| roots.contains(n));
    let root = root.ok_or_else(|| {
        CliError::new(
            exit::NOTHING,
            format!("`{}` is no pipeline or pin, and only those are kept whole", args.run),
        )
        .hint(format!("`sim-pipe store ls` lists them; the run is of `{}`", run.pipeline))
    })?;
    if args.output.symlink_metadata().is_ok() {
        return Err(CliError::new(
            exit::USAGE,
            format!("{} is there already", args.output.display()),
        )
        .hint("choose a name that does not exist yet"));
    }
    let zip = args.output.extension().is_some_and(|e| e == "zip");
    let parent = match args.output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs_err::create_dir_all(parent)?;
    // Made beside its place: half a crate must never look whole.
    let scratch = tempfile::Builder::new().prefix(".sim-pipe-crate-").tempdir_in(parent)?;
    let mut files = Files::new(scratch.path().join("crate"));
    fs_err::create_dir(&files.folder)?;
    let lease = store.lease()?;
    let records = run.records(&store)?;
    let document = Filler { store: &store, run: &run, records: &records }.fill(&mut files, args)?;
    drop(lease);
    store.export(&[root], true, &files.folder.join(ARCHIVE))?;
    let about = "Records, outputs, sources and logs of the run, for `sim-pipe store import`";
    files.list(ARCHIVE, "The run's part of the store", about)?;
    let document = Crate { parts: files.parts.clone(), ..document };
    let mut bytes = serde_json::to_vec_pretty(&document.metadata())?;
    bytes.push(b'\n');
    fs_err::write(files.folder.join(METADATA), bytes)?;
    if zip {
        pack(&files.folder, &args.output)?;
    } else {
        fs_err::rename(&files.folder, &args.output)?;
    }
    if global.json {
        let line = serde_json::json!({"v": 1, "crate": args.output, "run": run.id,
                                      "actions": records.len(), "parts": document.parts.len()});
        text::out(&line.to_string());
    }
    text::say(&format!(
        "{}: {} of run {} · `sim-pipe store import {}` takes it in",
        args.output.display(),
        text::count(records.len(), "action"),
        run.id,
        args.output.display()
    ));
    Ok(exit::OK)
}

struct Filler<'a> {
    store: &'a Store,
    run: &'a Run,
    records: &'a [Record],
}

impl Filler<'_> {
    /// Fills the folder; gives the document without its list of parts.
    fn fill(&self, files: &mut Files, args: &RoCrateArgs) -> Result<Crate, CliError> {
        let pipeline = self.pipeline(files)?;
        let sources = self.sources(files)?;
        let mut outputs: BTreeMap<Digest, Thing> = BTreeMap::new();
        let mut results = Vec::new();
        let used: BTreeSet<Digest> =
            self.records.iter().flat_map(|r| r.inputs.iter().filter_map(|i| i.key)).collect();
        for (entry, r) in self.run.entries.iter().zip(self.records) {
            let Some(tree) = &r.output else { continue };
            if let std::collections::btree_map::Entry::Vacant(free) = outputs.entry(tree.digest) {
                free.insert(self.output(files, &entry.label, r)?);
            }
            if let (false, Some(Thing::Part(path))) =
                (used.contains(&r.key), outputs.get(&tree.digest))
            {
                results.push(path.clone());
            }
        }
        let mut actions = Vec::new();
        for (entry, r) in self.run.entries.iter().zip(self.records) {
            let input = |i: &sim_model::record::RecordInput| -> Thing {
                let source =
                    i.source.as_ref().zip(i.tree).and_then(|(s, t)| sources.get(&(s.clone(), t)));
                let made = i.tree.and_then(|t| outputs.get(&t));
                source.or(made).cloned().unwrap_or_else(|| Thing::Tree {
                    // What gave nothing, and the account of everything before, are no trees.
                    digest: i.tree.map_or_else(|| "none".to_owned(), |t| t.to_string()),
                    name: i.name.clone(),
                })
            };
            let log = match r.log.map(|l| self.store.blob(&l)) {
                Some(Ok(bytes)) => {
                    let path = format!("logs/{}-{}.txt", r.key.short(), r.generation);
                    let known = files.parts.iter().any(|p| p.path == path);
                    let name = format!("Log of {}", entry.label);
                    if !known {
                        files.write(&path, &bytes, &name, "")?;
                    }
                    Some(path)
                }
                Some(Err(sim_store::StoreError::MissingBlob { .. })) | None => None,
                Some(Err(e)) => return Err(e.into()),
            };
            actions.push(Action {
                label: entry.label.clone(),
                record: r.clone(),
                inputs: r.inputs.iter().filter(|i| i.tree.is_some()).map(input).collect(),
                outputs: r.output.iter().filter_map(|t| outputs.get(&t.digest).cloned()).collect(),
                log,
            });
        }
        Ok(Crate {
            name: format!("{}, run {}", self.run.pipeline, self.run.id),
            about: format!(
                "The run {} of the sim-pipe pipeline {}: {}, each with what it used and gave",
                self.run.id,
                self.run.file,
                text::count(self.records.len(), "action")
            ),
            licence: args.license.clone(),
            run: self.run.id.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pipeline,
            parts: Vec::new(),
            results,
            actions,
        })
    }

    /// The pipeline file, where it is beside the store still; else a note that it is not.
    fn pipeline(&self, files: &mut Files) -> Result<String, CliError> {
        let project = self.store.root().parent().map(|p| p.join(&self.run.file));
        let name = format!("Pipeline {}", self.run.file);
        let path = files.place("pipeline", &self.run.file);
        match project.filter(|p| p.is_file()) {
            Some(file) => {
                files.copy(&file, &path, &name, "The pipeline file as it is when exported")
            }
            None => {
                let note = format!(
                    "# The file {} of run {} was not beside the store when this was exported.\n\
                     # What each action was is in the records.\n",
                    self.run.file, self.run.id
                );
                files.write(&path, note.as_bytes(), &name, "The file was not there to be exported")
            }
        }
    }

    fn sources(&self, files: &mut Files) -> Result<BTreeMap<(String, Digest), Thing>, CliError> {
        let mut out = BTreeMap::new();
        for input in self.records.iter().flat_map(|r| &r.inputs) {
            let (Some(source), Some(tree)) = (&input.source, input.tree) else { continue };
            let key = (source.clone(), tree);
            if out.contains_key(&key) || !self.store.has_tree(&tree) {
                continue;
            }
            let node = self.store.verified_tree(&tree)?;
            let thing = if node.tree_ref().bytes <= PLAIN {
                // One source may lie within another, and in two states: each under its own digest.
                let name = source.rsplit('/').find(|p| !p.is_empty()).unwrap_or("source");
                let path = files.place(&format!("sources/{}", tree.short()), name);
                let about = format!("Source, as used; tree {tree}");
                Thing::Part(files.copy(&self.store.tree_path(&tree), &path, source, &about)?)
            } else {
                Thing::Tree { digest: tree.to_string(), name: source.clone() }
            };
            out.insert(key, thing);
        }
        Ok(out)
    }

    fn output(&self, files: &mut Files, label: &str, r: &Record) -> Result<Thing, CliError> {
        let Some(tree) = &r.output else {
            return Err(CliError::new(exit::INTERNAL, format!("{label} has no output")));
        };
        // Verified: a crate must not carry damage further.
        self.store.verified_tree(&tree.digest)?;
        let site = r.kind == "report";
        if !site && tree.bytes > PLAIN {
            return Ok(Thing::Tree {
                digest: tree.digest.to_string(),
                name: format!("output of {label}"),
            });
        }
        let (folder, name) = if site { ("sites", "Site") } else { ("outputs", "Output") };
        // One label may begin another: no output may lie within another.
        let path = files.place(folder, &label.replace('/', "."));
        let about = format!("{name} of {label}; tree {}", tree.digest);
        let from = self.store.tree_path(&tree.digest);
        Ok(Thing::Part(files.copy(&from, &path, &format!("{name} of {label}"), &about)?))
    }
}
