//! What keeps a thing in the store: the way from a root to it.

use crate::{Result, Store};
use sim_model::{Digest, Record};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A shortest way from a root to a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The root.
    pub root: String,
    /// Keys and labels: first the one the root names, each the maker of an input of the one before.
    pub links: Vec<(Digest, String)>,
}

impl Store {
    /// For each root that reaches any of `wanted`, a shortest way to one.
    pub fn chains(&self, records: &[Record], wanted: &BTreeSet<Digest>) -> Result<Vec<Chain>> {
        let mut by_key: BTreeMap<Digest, Vec<&Record>> = BTreeMap::new();
        for record in records {
            by_key.entry(record.key).or_default().push(record);
        }
        let label = |key: &Digest| {
            let newest = by_key.get(key).and_then(|all| all.last());
            newest.map_or_else(|| key.short(), |r| r.label.clone())
        };
        let mut chains = Vec::new();
        for (name, root) in self.roots()? {
            let mut from: BTreeMap<Digest, Option<Digest>> = BTreeMap::new();
            let mut todo = VecDeque::new();
            for entry in &root.entries {
                from.entry(entry.key).or_insert(None);
                todo.push_back(entry.key);
            }
            while let Some(key) = todo.pop_front() {
                if wanted.contains(&key) {
                    let mut links = Vec::new();
                    let mut at = Some(key);
                    while let Some(key) = at {
                        links.push((key, label(&key)));
                        at = from.get(&key).copied().flatten();
                    }
                    links.reverse();
                    chains.push(Chain { root: name, links });
                    break;
                }
                for record in by_key.get(&key).into_iter().flatten() {
                    for input in record.inputs.iter().filter_map(|i| i.key) {
                        from.entry(input).or_insert_with(|| {
                            todo.push_back(input);
                            Some(key)
                        });
                    }
                }
            }
        }
        Ok(chains)
    }
}
