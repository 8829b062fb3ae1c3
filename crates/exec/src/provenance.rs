//! Lays out a `provenance` input: records and the ends of logs of everything an action depends on.

use crate::error::Result;
use crate::resolve::{Outcomes, Resolver};
use fs_err as fs;
use sim_model::digest::Canonical;
use sim_model::request::{PROTOCOL, ProvenanceIndex};
use sim_model::{Digest, PlannedAction};
use std::path::Path;

/// The end of a log that is given along.
const LOG_TAIL: usize = 64 << 10;

/// What a `provenance` input enters a key as: labels of everything that an action depends on, in plan
/// order, with the digests of their records, or why there is none.
pub fn digest<'a>(entries: impl IntoIterator<Item = (&'a str, Option<Digest>, &'a str)>) -> Digest {
    let mut c = Canonical::new("sim-pipe provenance v1");
    for (label, record, reason) in entries {
        c.str(label);
        match record {
            Some(record) => c.tag(b'r').bytes(record.as_bytes()),
            None => c.tag(b'0').str(reason),
        };
    }
    c.finish()
}

pub(crate) fn lay_out(
    resolver: &Resolver<'_>,
    action: &PlannedAction,
    outcomes: &Outcomes,
    dir: &Path,
) -> Result<()> {
    fs::create_dir_all(dir.join("records"))?;
    fs::create_dir_all(dir.join("logs"))?;
    let mut keys = Vec::new();
    for i in resolver.ancestors(action) {
        let Some(outcome) = outcomes.get(&i) else { continue };
        let (Some(key), Some(_)) = (outcome.key, outcome.record) else { continue };
        let Some(record) = resolver.store.record_generation(&key, outcome.generation)? else {
            continue;
        };
        let bytes = serde_json::to_vec(&record).map_err(std::io::Error::other)?;
        fs::write(dir.join("records").join(format!("{key}.json")), bytes)?;
        // A lost log is no reason to fail: the record says that there was one.
        if let Some(log) = record.log.and_then(|d| resolver.store.blob(&d).ok()) {
            let tail = &log[log.len().saturating_sub(LOG_TAIL)..];
            fs::write(dir.join("logs").join(format!("{key}.txt")), tail)?;
        }
        keys.push(key);
    }
    let index = ProvenanceIndex { protocol: PROTOCOL, keys };
    let bytes = serde_json::to_vec(&index).map_err(std::io::Error::other)?;
    fs::write(dir.join("index.json"), bytes)?;
    Ok(())
}
