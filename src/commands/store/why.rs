//! `sim-pipe store why`.

use crate::error::{CliError, CliResult, exit};
use crate::global::Global;
use crate::text;
use sim_model::{Class, Record};
use sim_store::Store;
use std::collections::BTreeSet;

/// Fewer digits name too much.
const LEAST_DIGITS: usize = 4;

pub(super) fn why(global: &Global, store: &Store, what: &str) -> CliResult {
    let (records, damaged) = store.records()?;
    if let Some(e) = damaged.into_iter().next() {
        return Err(e.into());
    }
    // A path into the store is as good as the digest in it.
    let digits = what.trim_end_matches('/').rsplit('/').next().unwrap_or(what);
    let hex = digits.len() >= LEAST_DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let named = |digest: sim_model::Digest| hex && digest.to_string().starts_with(digits);
    let holds = |r: &&Record| {
        r.label == what
            || named(r.key)
            || r.output.as_ref().is_some_and(|t| named(t.digest))
            || r.log.is_some_and(named)
            // A snapshot of sources has no maker: whoever uses it holds it.
            || r.inputs.iter().any(|i| i.key.is_none() && i.tree.is_some_and(named))
    };
    let holders: Vec<&Record> = records.iter().filter(holds).collect();
    if holders.is_empty() {
        return Err(CliError::new(
            exit::NOTHING,
            format!("no record makes, uses or is called `{what}`"),
        )
        .hint("give a label, or at least four digits of a key, a tree or a log")
        .hint("`sim-pipe store gc --dry-run` lists what nothing holds"));
    }
    let keys: BTreeSet<_> = holders.iter().map(|r| r.key).collect();
    let chains = store.chains(&records, &keys)?;
    if global.json {
        for chain in &chains {
            let links: Vec<_> = chain
                .links
                .iter()
                .map(|(key, label)| serde_json::json!({"key": key, "label": label}))
                .collect();
            text::out(&serde_json::json!({"v": 1, "root": chain.root, "chain": links}).to_string());
        }
        return Ok(exit::OK);
    }
    for chain in &chains {
        let labels: Vec<&str> = chain.links.iter().map(|(_, label)| label.as_str()).collect();
        text::out(&format!("root {}: {}", chain.root, labels.join(" ← ")));
    }
    if chains.is_empty() {
        let observed = holders.iter().any(|r| r.class == Class::Measured);
        text::out(if observed {
            "no root reaches it; it is an observation, which only `store gc --observations` removes"
        } else {
            "no root reaches it: `store gc` removes it"
        });
    }
    Ok(exit::OK)
}
