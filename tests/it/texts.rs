//! Texts of the program made comparable, and compared.

use std::path::Path;

/// The difference of two texts is easier to see line by line.
#[track_caller]
pub(crate) fn assert_text(actual: &str, expected: &str) {
    let (actual, expected) = (actual.trim_end(), expected.trim_matches('\n').trim_end());
    if actual == expected {
        return;
    }
    let mut shown = String::new();
    let (a, e): (Vec<&str>, Vec<&str>) = (actual.lines().collect(), expected.lines().collect());
    for i in 0..a.len().max(e.len()) {
        match (a.get(i), e.get(i)) {
            (Some(x), Some(y)) if x == y => shown.push_str(&format!("  {x}\n")),
            (x, y) => {
                if let Some(y) = y {
                    shown.push_str(&format!("- {y}\n"));
                }
                if let Some(x) = x {
                    shown.push_str(&format!("+ {x}\n"));
                }
            }
        }
    }
    panic!("texts differ (- expected, + actual):\n{shown}\nactual, whole:\n{actual}\n[end]");
}

/// Text with what differs between machines and runs replaced: paths, digests, times, sizes, dates.
pub(crate) fn normal(dir: &Path, text: &str) -> String {
    let exe = Path::new(env!("CARGO_BIN_EXE_sim-pipe"));
    let text = text
        .replace(&dir.join("project").display().to_string(), "[PROJECT]")
        .replace(&dir.display().to_string(), "[DIR]")
        .replace(&exe.display().to_string(), "[SIM-PIPE]");
    let mut out = String::new();
    for line in text.lines() {
        let mut line = normal_line(line);
        // A shard is the beginning of the digest after it, which tools of the machine enter.
        for folder in ["records/", "blobs/"] {
            let mut from = 0;
            while let Some(at) = line[from..].find(folder).map(|i| from + i + folder.len()) {
                if line[at..].get(2..).is_some_and(|rest| rest.starts_with("/[HASH]")) {
                    line.replace_range(at..at + 2, "[..]");
                }
                from = at;
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn normal_line(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-' || c == ':'))
            .unwrap_or(rest.len());
        let word = &rest[..end];
        let after = &rest[end..];
        let number = word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || c == '.');
        let unit = after.strip_prefix(' ').map(|a| a.split([' ', ',', ')']).next().unwrap_or(a));
        if is_digest(word) {
            out.push_str("[HASH]");
            rest = after;
        } else if number && matches!(unit, Some("ms" | "s")) {
            out.push_str("[TIME]");
            rest = &after[1 + unit.unwrap_or_default().len()..];
        } else if number && matches!(unit, Some("B" | "KiB" | "MiB" | "GiB")) {
            out.push_str("[SIZE]");
            rest = &after[1 + unit.unwrap_or_default().len()..];
        } else if is_date(word) && after.len() >= 13 && after[10..].starts_with("UTC") {
            out.push_str("[DATE]");
            rest = &after[13..];
        } else if let Some(dot) = word.find('.').filter(|d| is_digest(&word[..*d])) {
            out.push_str("[HASH]");
            rest = &rest[dot..];
        } else {
            out.push_str(word);
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

fn is_digest(word: &str) -> bool {
    matches!(word.len(), 12 | 64)
        && word.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        && word.bytes().any(|b| b.is_ascii_digit())
}

fn is_date(word: &str) -> bool {
    word.len() == 10
        && word
            .bytes()
            .enumerate()
            .all(|(i, b)| if i == 4 || i == 7 { b == b'-' } else { b.is_ascii_digit() })
}

#[test]
fn texts_are_normalised() {
    let dir = Path::new("/d/it-1");
    let text = "ran  a[1]  31 ms  d26ee9ef50c8\nat /d/it-1/project/x: 1.5 KiB on 2026-11-30 20:15:00 UTC, p.toml:12";
    let expected = "ran  a[1]  [TIME]  [HASH]\nat [PROJECT]/x: [SIZE] on [DATE], p.toml:12\n";
    assert_eq!(normal(dir, text), expected);
}
