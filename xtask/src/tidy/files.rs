//! Source files and documents.

use super::Findings;
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};

const MAX_LINES: usize = 700;
/// Folders that hold no source of ours.
const SKIPPED: [&str; 6] = ["target", ".git", ".sim-pipe", "out", "node_modules", "vendor"];

pub(super) fn check(root: &Path, found: &mut Findings) -> Result<()> {
    for file in rust_files(root)? {
        let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        source(&name, &text, found);
    }
    forgotten_modules(root, found)?;
    for document in documents(root)? {
        let text = std::fs::read_to_string(root.join(&document))?;
        links(root, &document, &text, found);
        if document == Path::new("ARCHITECTURE.md") {
            paths(root, &document, &text, found);
        }
    }
    Ok(())
}

fn source(name: &str, text: &str, found: &mut Findings) {
    let lines = text.lines().count();
    if lines > MAX_LINES {
        found.push(format!("{name} has {lines} lines, more than {MAX_LINES}: split it"));
    }
    // Written so that this file does not find itself.
    for (word, why) in [
        (concat!("todo", "!("), "finish it"),
        (concat!("unimplemented", "!("), "finish it"),
        (concat!("#[igno", "re"), "a test runs or is deleted"),
    ] {
        if let Some(line) = text.lines().position(|l| l.contains(word)) {
            found.push(format!("{name}:{} says `{word}`: {why}", line + 1));
        }
    }
}

/// All Rust files below a folder.
pub(super) fn rust_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    walk(dir, &mut out)?;
    out.sort();
    Ok(out)
}

fn walk(dir: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if !SKIPPED.iter().any(|s| entry.file_name() == **s) {
                walk(&path, out)?;
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
    Ok(())
}

/// A file in a test crate's folder that no `mod` names is a test that never runs.
fn forgotten_modules(root: &Path, found: &mut Findings) -> Result<()> {
    for dir in ["tests/it", "crates/plan/tests/it"] {
        let Ok(main) = std::fs::read_to_string(root.join(dir).join("main.rs")) else { continue };
        for entry in std::fs::read_dir(root.join(dir))? {
            let path = entry?.path();
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let is_module = path.is_dir() && path.join("mod.rs").is_file()
                || path.extension().is_some_and(|e| e == "rs");
            if is_module && stem != "main" && !main.contains(&format!("mod {stem};")) {
                found.push(format!("{dir}/{stem} is in no `mod` of {dir}/main.rs"));
            }
        }
    }
    Ok(())
}

fn documents(root: &Path) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for dir in ["", "docs", "engines", "scenes"] {
        for entry in std::fs::read_dir(root.join(dir))? {
            let name = entry?.file_name();
            if Path::new(&name).extension().is_some_and(|e| e == "md") {
                out.push(Path::new(dir).join(name));
            }
        }
    }
    out.sort();
    Ok(out)
}

/// Relative links lead somewhere.
fn links(root: &Path, document: &Path, text: &str, found: &mut Findings) {
    for part in text.split("](").skip(1) {
        let target = part.split(')').next().unwrap_or_default();
        let path = target.split('#').next().unwrap_or_default();
        if path.is_empty() || path.contains(':') || path.contains(' ') {
            continue;
        }
        let folder = document.parent().unwrap_or(Path::new(""));
        if !root.join(folder).join(path).exists() {
            found.push(format!("{} links to {path}, which is not there", document.display()));
        }
    }
}

/// Every path in backquotes that begins with a top folder, or names a file at the root, is there.
fn paths(root: &Path, document: &Path, text: &str, found: &mut Findings) {
    const TOP: [&str; 14] = [
        "src",
        "crates",
        "store",
        "stages",
        "engines",
        "scenes",
        "pipelines",
        "templates",
        "tests",
        "docs",
        "xtask",
        ".ci",
        ".cargo",
        "suites",
    ];
    let mut fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for code in line.split('`').skip(1).step_by(2) {
            let plain = code.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
            let top = code.split('/').next().unwrap_or_default();
            if plain && code.contains('/') && TOP.contains(&top) && !root.join(code).exists() {
                found.push(format!("{} names {code}, which is not there", document.display()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_and_unfinished_work_are_found() {
        let mut found = Findings::new();
        source("a.rs", &"\n".repeat(701), &mut found);
        source("b.rs", concat!("fn f() {\n    todo", "!()\n}\n"), &mut found);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].starts_with("b.rs:2 says"), "{found:?}");
    }

    #[test]
    fn paths_and_links_that_lead_nowhere_are_found() {
        let root = crate::shell::root();
        let text = "See `src/main.rs`, `src/no.rs`, `records/KEY` and [this](docs/no.md#x), [that](README.md).\n";
        let mut found = Findings::new();
        paths(root, Path::new("A.md"), text, &mut found);
        assert_eq!(found, ["A.md names src/no.rs, which is not there"]);
        found.clear();
        links(root, Path::new("A.md"), text, &mut found);
        assert_eq!(
            found.first().map(String::as_str),
            Some("A.md links to docs/no.md, which is not there")
        );
    }
}
