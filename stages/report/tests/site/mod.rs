//! Reads a written site as a visitor would.

use sim_model::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// All files of a site by relative path, pages apart; binary files are there without their text.
pub(crate) struct Site {
    pub(crate) pages: BTreeMap<String, String>,
    pub(crate) files: BTreeMap<String, String>,
}

fn walk(dir: &Path, base: &Path, found: &mut dyn FnMut(String, Vec<u8>)) {
    for entry in fs::read_dir(dir).expect("list") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            walk(&path, base, found);
        } else {
            let name = path.strip_prefix(base).expect("below").to_str().expect("UTF-8").to_owned();
            found(name, fs::read(&path).expect("read"));
        }
    }
}

/// Every file's digest.
pub(crate) fn digests(dir: &Path) -> BTreeMap<String, Digest> {
    let mut out = BTreeMap::new();
    walk(dir, dir, &mut |name, bytes| {
        out.insert(name, Digest::of(&bytes));
    });
    out
}

impl Site {
    pub(crate) fn read(dir: &Path) -> Self {
        let (mut pages, mut files) = (BTreeMap::new(), BTreeMap::new());
        walk(dir, dir, &mut |name, bytes| {
            let text = String::from_utf8(bytes).unwrap_or_default();
            let map = if name.ends_with(".html") { &mut pages } else { &mut files };
            map.insert(name, text);
        });
        Self { pages, files }
    }

    /// Links and sources without a file, and fragments without an element.
    pub(crate) fn broken_links(&self) -> Vec<String> {
        let ids: BTreeMap<&str, BTreeSet<&str>> = self
            .pages
            .iter()
            .map(|(name, text)| {
                let ids = text.split(" id=\"").skip(1).filter_map(|t| t.split('"').next());
                (name.as_str(), ids.collect())
            })
            .collect();
        let mut problems = Vec::new();
        for (page, text) in &self.pages {
            let folder = page.rsplit_once('/').map_or("", |(f, _)| f);
            for link in attributes(text).collect::<BTreeSet<_>>() {
                let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
                let target = if path.is_empty() { page.clone() } else { join(folder, path) };
                let exists = self.pages.contains_key(&target) || self.files.contains_key(&target);
                let anchored = fragment.is_empty()
                    || ids.get(target.as_str()).is_some_and(|i| i.contains(fragment));
                if !exists || !anchored {
                    problems.push(format!("{page}: {link}"));
                }
            }
        }
        problems
    }
}

/// The values of all `href` and `src` attributes.
pub(crate) fn attributes(text: &str) -> impl Iterator<Item = &str> {
    [" href=\"", " src=\""]
        .into_iter()
        .flat_map(move |a| text.split(a).skip(1).filter_map(|t| t.split('"').next()))
}

fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|p| !p.is_empty()).collect();
    for part in path.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Rows of a CSV file by column name.
pub(crate) fn csv(text: &str) -> Vec<BTreeMap<String, String>> {
    let (mut rows, mut row, mut field, mut quoted) = (vec![], vec![], String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    let header = rows.remove(0);
    rows.into_iter().map(|r| header.iter().cloned().zip(r).collect()).collect()
}
