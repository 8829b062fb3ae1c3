//! Is everything that the last run reached what it says it is?

use super::Findings;
use crate::error::CliError;
use sim_model::action::InputDigest;
use sim_model::{Class, Described, Digest, Record};
use sim_provenance::audit::What;
use sim_store::tree::Node;
use sim_store::{Root, Store, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// What was read: records that can be trusted to be what they were, and outputs that hash to their names.
#[derive(Default)]
pub(super) struct Objects {
    /// Records by key and generation.
    pub(super) records: BTreeMap<(Digest, u32), Record>,
    trees: BTreeMap<Digest, Option<Node>>,
}

impl Objects {
    /// An output, where it hashes to its name.
    pub(super) fn tree(&self, digest: &Digest) -> Option<&Node> {
        self.trees.get(digest)?.as_ref()
    }
}

/// Reads every record that the run reached, directly or through an input, and hashes what they name.
pub(super) fn check(store: &Store, root: &Root, found: &mut Findings) -> Result<Objects, CliError> {
    let mut objects = Objects::default();
    let mut todo: Vec<(Digest, Option<u32>, String)> =
        root.entries.iter().map(|e| (e.key, Some(e.generation), e.label.clone())).collect();
    todo.reverse();
    let mut seen = BTreeSet::new();
    while let Some((key, generation, label)) = todo.pop() {
        if !seen.insert((key, generation)) {
            continue;
        }
        // Through an input only the key is known: any of its observations may have been used.
        let generations: Vec<u32> = match generation {
            Some(g) => vec![g],
            None => (0..).take_while(|g| exists(store, &key, *g)).collect(),
        };
        for g in generations {
            if objects.records.contains_key(&(key, g)) {
                continue;
            }
            match store.record_generation(&key, g) {
                Ok(Some(record)) => {
                    found.checked.records += 1;
                    describes_itself(&record, found);
                    todo.extend(
                        record
                            .inputs
                            .iter()
                            .filter_map(|i| Some((i.key?, None, format!("{} of {label}", i.name)))),
                    );
                    objects.records.insert((key, g), record);
                }
                Ok(None) => {
                    let problem = format!("its record {} is gone", key.short());
                    found.about(What::Record, &label, &key, problem);
                }
                Err(e @ StoreError::DamagedRecord { .. }) => {
                    found.about(What::Record, &label, &key, e.to_string());
                }
                Err(e) => return Err(e.into()),
            }
        }
    }
    contents(store, &mut objects, found)?;
    inputs(&objects, found);
    Ok(objects)
}

fn exists(store: &Store, key: &Digest, generation: u32) -> bool {
    !matches!(store.record_generation(key, generation), Ok(None))
}

/// A record's key is the key of what its components describe, and the rest of it says the same.
fn describes_itself(r: &Record, found: &mut Findings) {
    let mut wrong = |problem: String| found.about(What::Record, &r.label, &r.key, problem);
    let described = match Described::parse(&r.components) {
        Ok(described) => described,
        Err(e) => return wrong(format!("its record {} describes no action: {e}", r.key.short())),
    };
    if described.key != r.key {
        return wrong(format!(
            "its record says key {}, but what it describes has key {}",
            r.key.short(),
            described.key.short()
        ));
    }
    if described.class != r.class {
        wrong(format!(
            "its record says class {}, its key was made for class {}",
            r.class.name(),
            described.class.name()
        ));
    }
    if described.kind != r.kind {
        wrong(format!("its record says kind {}, its key was made for {}", r.kind, described.kind));
    }
    let machine = match described.class {
        Class::Pure => None,
        Class::Machine => Some(r.machine.class()),
        Class::Measured => Some(r.machine.identity()),
    };
    if machine != described.machine {
        wrong("its record tells of another machine than its key was made for".to_owned());
    }
    for input in &r.inputs {
        let whole = described.inputs.get(&input.name);
        let entered = match whole {
            Some(InputDigest::Tree(d) | InputDigest::Placed { tree: d, .. }) => Some(Some(*d)),
            Some(InputDigest::Many(_)) => None,
            None => input.name.split_once('[').and_then(|(name, label)| {
                let InputDigest::Many(members) = described.inputs.get(name)? else { return None };
                Some(members.get(label.strip_suffix(']')?)?.tree)
            }),
        };
        // A `provenance` input is no tree: its digest is over records.
        let provenance = input.tree.is_none() && input.key.is_none() && whole.is_some();
        if !provenance && entered != Some(input.tree) {
            wrong(format!(
                "its record says that input {} was {}, its key was made for {}",
                input.name,
                named(input.tree),
                entered.map_or_else(|| "no such input".to_owned(), named)
            ));
        }
    }
}

fn named(tree: Option<Digest>) -> String {
    tree.map_or_else(|| "nothing".to_owned(), |d| format!("tree {}", d.short()))
}

/// Hashes outputs, sources and logs again, each once.
fn contents(store: &Store, objects: &mut Objects, found: &mut Findings) -> Result<(), CliError> {
    let mut logs = BTreeSet::new();
    let mut sources = BTreeSet::new();
    for r in objects.records.values() {
        if let Some(tree) = &r.output
            && !objects.trees.contains_key(&tree.digest)
        {
            found.checked.trees += 1;
            let node = match store.verified_tree(&tree.digest) {
                Ok(node) => {
                    let is = node.tree_ref();
                    found.checked.bytes += is.bytes;
                    if is != *tree {
                        let problem = format!(
                            "its record says {} files of {} bytes, the output has {} of {}",
                            tree.files, tree.bytes, is.files, is.bytes
                        );
                        found.about(What::Record, &r.label, &r.key, problem);
                    }
                    Some(node)
                }
                Err(e) => {
                    found.about(What::Tree, &r.label, &r.key, e.to_string());
                    None
                }
            };
            objects.trees.insert(tree.digest, node);
        }
    }
    for r in objects.records.values() {
        for tree in r.inputs.iter().filter(|i| i.key.is_none()).filter_map(|i| i.tree) {
            // A snapshot that a collection took is not needed to use a result.
            if !sources.insert(tree) || !store.has_tree(&tree) {
                continue;
            }
            found.checked.sources += 1;
            match store.verified_tree(&tree) {
                Ok(node) => found.checked.bytes += node.tree_ref().bytes,
                Err(e) => found.about(What::Source, &r.label, &r.key, e.to_string()),
            }
        }
        let Some(log) = r.log.filter(|l| logs.insert(*l)) else { continue };
        match store.blob(&log) {
            Ok(bytes) => {
                found.checked.logs += 1;
                found.checked.bytes += bytes.len() as u64;
            }
            Err(StoreError::MissingBlob { .. }) if store.log_was_lost(&log) => {
                found.checked.logs_gone += 1;
            }
            Err(e) => {
                found.checked.logs += 1;
                found.about(What::Log, &r.label, &r.key, e.to_string());
            }
        }
    }
    Ok(())
}

/// Every input is what the action gave that is said to have made it, or a part of that.
fn inputs(objects: &Objects, found: &mut Findings) {
    let mut makers: BTreeMap<Digest, Vec<&Record>> = BTreeMap::new();
    for r in objects.records.values() {
        makers.entry(r.key).or_default().push(r);
    }
    // Digests of all parts of an output, found when the first input needs them.
    let mut parts: BTreeMap<Digest, BTreeSet<Digest>> = BTreeMap::new();
    for r in objects.records.values() {
        for input in &r.inputs {
            found.checked.inputs += 1;
            let (Some(key), Some(tree)) = (input.key, input.tree) else { continue };
            let Some(made_by) = makers.get(&key) else {
                let problem = format!(
                    "input {} was made by {}, which has no record",
                    input.name,
                    key.short()
                );
                found.about(What::Input, &r.label, &r.key, problem);
                continue;
            };
            let outputs: Vec<Digest> =
                made_by.iter().filter_map(|m| m.output.as_ref()).map(|t| t.digest).collect();
            // A damaged output is a finding already; what it held cannot be told.
            let damaged = outputs.iter().any(|o| objects.tree(o).is_none());
            let is_part = |o: &Digest, parts: &mut BTreeMap<Digest, BTreeSet<Digest>>| {
                let Some(node) = objects.tree(o) else { return false };
                let all = parts.entry(*o).or_insert_with(|| {
                    let mut all = BTreeSet::new();
                    node.visit(&mut Vec::new(), &mut |_, node| {
                        all.insert(node.digest());
                    });
                    all
                });
                all.contains(&tree)
            };
            if !damaged
                && !outputs.contains(&tree)
                && !outputs.iter().any(|o| is_part(o, &mut parts))
            {
                let maker = made_by.first().map_or_else(String::new, |m| m.label.clone());
                let problem = format!(
                    "input {} was tree {}, which {maker} did not give",
                    input.name,
                    tree.short()
                );
                found.about(What::Input, &r.label, &r.key, problem);
            }
        }
    }
}
