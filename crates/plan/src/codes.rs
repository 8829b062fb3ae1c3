//! The diagnostic codes and their explanations, kept as one Markdown text beside this file.

use std::collections::BTreeMap;
use std::sync::LazyLock;

const TEXT: &str = include_str!("codes.md");

/// Every code with its section: the title in the first line, then the explanation.
static TABLE: LazyLock<BTreeMap<&'static str, &'static str>> = LazyLock::new(|| {
    let sections = TEXT.split("\n## ").skip(1);
    sections.filter_map(|s| Some((s.get(..6)?, s.get(8..)?.trim()))).collect()
});

/// What a code means, with a wrong and a right example, as Markdown; the title is the first line.
pub fn explain_code(code: &str) -> Option<&'static str> {
    TABLE.get(code).copied()
}

/// All codes, sorted.
pub fn codes() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}

/// The page of all codes, `docs/diagnostics.md`.
pub fn diagnostics_markdown() -> String {
    TEXT.to_owned()
}
