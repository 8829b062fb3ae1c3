//! Attestations of single actions.

use super::SlsaArgs;
use crate::error::{CliResult, exit};
use crate::find::{self, Found};
use crate::global::Global;
use crate::project::nearest_store;
use crate::text;
use sha2::{Digest as _, Sha256};
use sim_model::Record;
use sim_provenance::slsa::{Subject, statement};
use sim_store::Store;
use sim_store::tree::Node;
use std::os::unix::ffi::OsStrExt as _;

pub(super) fn run(global: &Global, args: &SlsaArgs) -> CliResult {
    let store = nearest_store(global)?;
    let _lease = store.lease()?;
    let found: Vec<Found> = if args.all {
        let (records, damaged) = store.records()?;
        if let Some(e) = damaged.into_iter().next() {
            return Err(e.into());
        }
        records.into_iter().map(|r| Found { label: r.label.clone(), record: r }).collect()
    } else if let Some(run) = &args.run {
        let run = find::run(&store, Some(run))?;
        let labels = run.entries.iter().map(|e| e.label.clone());
        labels.zip(run.records(&store)?).map(|(label, record)| Found { record, label }).collect()
    } else {
        let each = args.actions.iter().map(|a| find::observation(&store, a));
        each.collect::<Result<_, _>>()?
    };
    fs_err::create_dir_all(&args.output)?;
    let (mut written, mut without) = (0, Vec::new());
    for Found { record, label } in &found {
        let subjects = subjects(&store, record)?;
        let Some(statement) = statement(record, label, &subjects) else {
            without.push(label.as_str());
            continue;
        };
        let name = match record.generation {
            0 => format!("{}.json", record.key),
            n => format!("{}.{n}.json", record.key),
        };
        let mut bytes = serde_json::to_vec_pretty(&statement)?;
        bytes.push(b'\n');
        let path = args.output.join(name);
        fs_err::write(&path, bytes)?;
        if global.json {
            let line = serde_json::json!({"v": 1, "label": label, "key": record.key, "file": path});
            text::out(&line.to_string());
        }
        written += 1;
    }
    if !without.is_empty() {
        text::say(&format!(
            "{} gave no files, so there is nothing to state: {}",
            text::count(without.len(), "action"),
            without.join(", ")
        ));
    }
    text::say(&format!(
        "{} written to {}, not signed",
        text::count(written, "statement"),
        args.output.display()
    ));
    Ok(if written == 0 { exit::NOTHING } else { exit::OK })
}

/// The files of an output. They are hashed again on the way: a statement about damaged bytes would be
/// worse than none.
fn subjects(store: &Store, record: &Record) -> Result<Vec<Subject>, crate::error::CliError> {
    let Some(tree) = &record.output else { return Ok(Vec::new()) };
    let node = store.verified_tree(&tree.digest)?;
    let top = store.tree_path(&tree.digest);
    let mut files = Vec::new();
    node.visit(&mut Vec::new(), &mut |path, node| {
        if let Node::File { digest, .. } = node {
            files.push((path.to_vec(), *digest));
        }
    });
    let mut out = Vec::new();
    for (path, digest) in files {
        let at = match path.as_slice() {
            // An output that is a single file is the file itself.
            [] => top.clone(),
            path => top.join(std::ffi::OsStr::from_bytes(path)),
        };
        let mut hasher = Sha256::new();
        std::io::copy(&mut fs_err::File::open(&at)?, &mut hasher)?;
        out.push(Subject {
            path: String::from_utf8_lossy(&path).into_owned(),
            sha256: super::crate_files::hex(&hasher.finalize()),
            blake3: digest.to_string(),
        });
    }
    Ok(out)
}
