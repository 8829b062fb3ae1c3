//! The stage kinds a pipeline may name.

use sim_model::kind::Kind;
use std::collections::HashMap;

/// Stage kinds by name.
#[derive(Default)]
pub struct Registry {
    kinds: Vec<Box<dyn Kind>>,
    by_name: HashMap<&'static str, usize>,
}

impl Registry {
    /// A registry of these kinds. Where two have one name, the first stands.
    pub fn new(kinds: Vec<Box<dyn Kind>>) -> Self {
        let mut by_name = HashMap::new();
        for (i, kind) in kinds.iter().enumerate() {
            by_name.entry(kind.name()).or_insert(i);
        }
        Self { kinds, by_name }
    }

    /// The kind of this name.
    pub fn get(&self, name: &str) -> Option<&dyn Kind> {
        self.by_name.get(name).map(|i| &*self.kinds[*i])
    }

    /// Every kind, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Kind> {
        self.kinds.iter().map(|kind| &**kind)
    }

    /// Names of the kinds that a pipeline may use, sorted.
    pub fn public_names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.iter().filter(|k| k.public()).map(Kind::name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
