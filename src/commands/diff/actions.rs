//! Two actions, or two observations of one, side by side.

use super::files;
use crate::error::{CliResult, exit};
use crate::find;
use crate::format::Format;
use crate::global::Global;
use crate::text;
use sim_provenance::diff::ActionDiff;
use sim_store::Store;

pub(super) fn run(global: &Global, store: &Store, a: &str, b: &str, format: Format) -> CliResult {
    let (a, b) = (find::observation(store, a)?.record, find::observation(store, b)?.record);
    let diff = ActionDiff::of(&a, &b, files(store, &a, &b)?);
    if format.json(global) {
        format.print(global, &diff)?;
        return Ok(exit::OK);
    }
    let value = |v: &Option<String>| v.clone().unwrap_or_else(|| "(none)".to_owned());
    for c in &diff.differs {
        text::out(&format!("{}\n  a: {}\n  b: {}", c.what, value(&c.a), value(&c.b)));
    }
    for f in &diff.files {
        text::out(&format!("  {} {}", f.change, f.path));
    }
    if diff.differs.is_empty() {
        text::say("no difference");
    }
    Ok(exit::OK)
}
