//! Two actions, or two observations of one, side by side.

use crate::error::{CliResult, exit};
use crate::find;
use crate::text;
use sim_model::Record;
use sim_store::Store;
use sim_store::tree::{LinkRule, scan};
use std::collections::BTreeMap;

/// Prints what differs; with `json` one object a line.
pub(super) fn run(store: &Store, a: &str, b: &str, json: bool) -> CliResult {
    let (a, b) = (find::observation(store, a)?.record, find::observation(store, b)?.record);
    let mut rows: Vec<(String, String, String)> = Vec::new();
    let mut row = |what: &str, x: String, y: String| {
        if x != y {
            rows.push((what.to_owned(), x, y));
        }
    };
    row("key", a.key.to_string(), b.key.to_string());
    row("observation", a.generation.to_string(), b.generation.to_string());
    row("status", a.status.name().to_owned(), b.status.name().to_owned());
    row("reason", a.reason.clone(), b.reason.clone());
    let parts = |r: &Record| -> BTreeMap<String, String> {
        r.components.iter().map(|c| (c.path.clone(), c.value.clone())).collect()
    };
    let (x, y) = (parts(&a), parts(&b));
    for path in x.keys().chain(y.keys()).collect::<std::collections::BTreeSet<_>>() {
        let get = |m: &BTreeMap<String, String>| m.get(path).cloned().unwrap_or("(none)".into());
        row(path, get(&x), get(&y));
    }
    let (m, n) = (a.machine.parts(), b.machine.parts());
    for (part, value) in &m {
        row(&format!("machine.{part}"), value.clone(), n.get(part).cloned().unwrap_or_default());
    }
    row("wall", format!("{:.1} ms", a.usage.wall_ms), format!("{:.1} ms", b.usage.wall_ms));
    row("cpu", format!("{:.1} ms", a.usage.cpu_ms), format!("{:.1} ms", b.usage.cpu_ms));
    row("sandbox", a.sandbox.clone(), b.sandbox.clone());
    let tree = |r: &Record| r.output.as_ref().map_or("(none)".to_owned(), |t| t.digest.to_string());
    row("output", tree(&a), tree(&b));
    for (what, x, y) in &rows {
        if json {
            text::out(&serde_json::json!({"v": 1, "what": what, "a": x, "b": y}).to_string());
        } else {
            text::out(&format!("{what}\n  a: {x}\n  b: {y}"));
        }
    }
    if let (Some(x), Some(y)) = (&a.output, &b.output)
        && x.digest != y.digest
        && store.has_tree(&x.digest)
        && store.has_tree(&y.digest)
    {
        let scan = |d| scan(&store.tree_path(d), LinkRule::Keep);
        for (mark, path) in sim_store::tree::diff(&scan(&x.digest)?, &scan(&y.digest)?) {
            let path = String::from_utf8_lossy(&path).into_owned();
            if json {
                text::out(
                    &serde_json::json!({"v": 1, "file": path, "change": mark.to_string()})
                        .to_string(),
                );
            } else {
                text::out(&format!("  {mark} {path}"));
            }
        }
    }
    if rows.is_empty() {
        text::say("no difference");
    }
    Ok(exit::OK)
}
