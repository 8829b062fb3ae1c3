//! Files that other steps made: copied into the site, shown where a page can show them.

use super::{Ctx, words};
use crate::error::{At, ReportError};
use crate::load::Attachment;
use crate::number::{bytes, whole};
use crate::site::Site;
use crate::text;
use serde::Serialize;
use std::fs;

/// A CSV larger than this, or longer, is only linked.
const MOST_CSV_BYTES: u64 = 40_000;
const MOST_CSV_ROWS: usize = 300;
/// A drawing larger than this is not looked into.
const MOST_SVG_BYTES: u64 = 1 << 20;
/// Files shown on the page; the rest is listed by name.
const MOST_SHOWN: usize = 24;
/// Files listed.
const MOST_LISTED: usize = 400;

/// All of them.
#[derive(Default, Serialize)]
pub(crate) struct FileList {
    pub(crate) files: Vec<FileView>,
    pub(crate) more: usize,
    pub(crate) missing: Vec<MissingView>,
}

/// One file.
#[derive(Serialize)]
pub(crate) struct FileView {
    pub(crate) name: String,
    pub(crate) href: String,
    pub(crate) size: String,
    pub(crate) label: String,
    pub(crate) page: String,
    /// `image`, `drawing` (an image that suits light and dark), `video`, `table`, `text` or `download`.
    pub(crate) show: &'static str,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) text: String,
}

/// A step that gave nothing.
#[derive(Serialize)]
pub(crate) struct MissingView {
    pub(crate) label: String,
    pub(crate) outcome: String,
    pub(crate) tone: &'static str,
    pub(crate) reason: String,
    pub(crate) page: String,
}

/// Copies the files and says how to show them.
pub(crate) fn write(ctx: &Ctx<'_>, site: &Site) -> Result<FileList, ReportError> {
    let mut out = FileList::default();
    let mut shown_bytes = 0;
    for (folder, list) in [("media", &ctx.input.renders), ("files", &ctx.input.files)] {
        for f in list {
            let href = format!("{folder}/{}/{}", text::slug(&f.label), file_name(&f.name));
            site.copy(&href, &f.source)?;
            if out.files.len() >= MOST_LISTED {
                out.more += 1;
                continue;
            }
            let mut view = FileView {
                name: text::line(&f.name),
                href,
                size: bytes(f.bytes),
                label: text::line(&f.label),
                page: f.page.as_ref().map_or_else(String::new, |p| format!("provenance/{p}.html")),
                show: "download",
                header: vec![],
                rows: vec![],
                text: String::new(),
            };
            if out.files.len() < MOST_SHOWN {
                show(f, &mut view, &mut shown_bytes)?;
            }
            out.files.push(view);
        }
    }
    for m in ctx.input.missing.iter().take(MOST_LISTED) {
        out.missing.push(MissingView {
            label: text::line(&m.label),
            outcome: words::outcome(&m.outcome),
            tone: words::tone(&m.outcome),
            reason: super::coverage::shorten(&text::line(&m.reason)),
            page: m.page.as_ref().map_or_else(String::new, |p| format!("provenance/{p}.html")),
        });
    }
    Ok(out)
}

fn show(f: &Attachment, view: &mut FileView, shown_bytes: &mut u64) -> Result<(), ReportError> {
    let extension = f.name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match extension.as_str() {
        "svg" if adapts(f)? => view.show = "drawing",
        "svg" | "png" | "jpg" | "jpeg" | "gif" | "webp" | "avif" => view.show = "image",
        "mp4" | "webm" => view.show = "video",
        // What is put on the page itself counts against its budget.
        "csv" | "txt" | "md" | "json" | "toml" if *shown_bytes + f.bytes <= MOST_CSV_BYTES => {
            let raw = fs::read(&f.source).at(&f.source)?;
            *shown_bytes += f.bytes;
            let content = text::clean_bytes(&raw);
            if extension == "csv" {
                csv(&content, view);
            } else {
                view.show = "text";
                view.text = content;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether a drawing says itself what it looks like on a dark page; any other lies on a light sheet.
fn adapts(f: &Attachment) -> Result<bool, ReportError> {
    if f.bytes > MOST_SVG_BYTES {
        return Ok(false);
    }
    let text = fs::read(&f.source).at(&f.source)?;
    Ok(String::from_utf8_lossy(&text).contains("prefers-color-scheme"))
}

/// A table, unless the file is no regular CSV.
fn csv(content: &str, view: &mut FileView) {
    let mut rows = parse_csv(content);
    if rows.len() < 2 || rows.len() > MOST_CSV_ROWS {
        view.text = format!("{} rows", whole(rows.len() as u64));
        return;
    }
    let width = rows[0].len();
    if rows.iter().any(|r| r.len() != width) {
        return;
    }
    view.header = rows.remove(0);
    view.rows = rows;
    view.show = "table";
}

fn parse_csv(content: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut chars = content.chars().peekable();
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
    if !field.is_empty() || !row.is_empty() {
        row.push(field);
        rows.push(row);
    }
    rows
}

/// A path below the file's folder that is safe in a URL and on any disk; every part keeps its
/// extension.
fn file_name(name: &str) -> String {
    let safe = |part: &str| match part.rsplit_once('.') {
        Some((stem, ext)) if !stem.is_empty() && ext.chars().all(|c| c.is_ascii_alphanumeric()) => {
            format!("{}.{}", text::slug(stem), ext.to_ascii_lowercase())
        }
        _ => text::slug(part),
    };
    name.split('/').filter(|p| !p.is_empty()).map(safe).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_fields_may_hold_anything() {
        assert_eq!(parse_csv("a,b\n\"x,\"\"y\"\"\n\",2\n"), [["a", "b"], ["x,\"y\"\n", "2"]]);
    }

    #[test]
    fn names_stay_below_their_folder() {
        assert_eq!(file_name("plots/one.svg"), "plots/one.svg");
        for bad in ["../../x.html", "a b/<c>.svg", "..", "%2e%2e/x"] {
            let name = file_name(bad);
            assert!(!name.contains("..") && !name.contains(['<', ' ', '%']), "{name}");
        }
    }
}
