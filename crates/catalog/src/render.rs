//! Results as text: a box for people, Markdown, CSV, JSON.

use crate::query::Selected;
use std::fmt::Write as _;

/// Cells wider than this are cut in a box.
const WIDEST: usize = 60;

/// Whether a DuckDB type is a number, to be set flush right.
fn numeric(ty: &str) -> bool {
    let ty = ty.split('(').next().unwrap_or(ty);
    matches!(
        ty,
        "tinyint"
            | "smallint"
            | "integer"
            | "bigint"
            | "hugeint"
            | "utinyint"
            | "usmallint"
            | "uinteger"
            | "ubigint"
            | "uhugeint"
            | "float"
            | "double"
            | "decimal"
    )
}

/// Short type names, as DuckDB's own shell writes them.
fn short_type(ty: &str) -> String {
    match ty {
        "integer" => "int32",
        "bigint" => "int64",
        "smallint" => "int16",
        "tinyint" => "int8",
        "hugeint" => "int128",
        other => other,
    }
    .to_owned()
}

/// One line without control characters, so that no data can move a terminal's cursor.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control()
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
            {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// Columns that a character takes on a terminal.
fn char_width(c: char) -> usize {
    match c as u32 {
        0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// At most `most` columns of `text`, with an ellipsis where something is missing.
fn cut(text: String, most: usize) -> String {
    if width(&text) <= most {
        return text;
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += char_width(c);
        if used > most {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

fn pad(text: &str, to: usize, right: bool) -> String {
    let space = " ".repeat(to.saturating_sub(width(text)));
    if right { space + text } else { text.to_owned() + &space }
}

fn centre(text: &str, to: usize) -> String {
    let space = to.saturating_sub(width(text));
    format!("{}{text}{}", " ".repeat(space / 2), " ".repeat(space - space / 2))
}

/// A box with names, types, rows and their number.
pub(crate) fn table(s: &Selected, most_width: usize) -> String {
    let names: Vec<String> = s.rows.columns.iter().map(|n| cut(printable(n), WIDEST)).collect();
    let types: Vec<String> = s.types.iter().map(|t| cut(short_type(t), WIDEST)).collect();
    let cells: Vec<Vec<String>> = s
        .rows
        .rows
        .iter()
        .map(|row| {
            row.iter()
                .map(|c| cut(c.as_deref().map_or_else(|| "NULL".to_owned(), printable), WIDEST))
                .collect()
        })
        .collect();
    let widths: Vec<usize> = (0..names.len())
        .map(|i| {
            let widest = cells.iter().map(|row| width(&row[i])).max().unwrap_or(0);
            widest.max(width(&names[i])).max(width(&types[i])).max(1)
        })
        .collect();
    let shown = fitting(&widths, most_width);
    let hidden = names.len() - shown.iter().flatten().count();
    let widths: Vec<usize> = shown.iter().map(|i| i.map_or(1, |i| widths[i])).collect();
    let line = |pick: &dyn Fn(usize) -> String, aligned: &dyn Fn(usize, &str, usize) -> String| {
        let parts: Vec<String> = shown
            .iter()
            .zip(&widths)
            .map(|(i, w)| match i {
                Some(i) => aligned(*i, &pick(*i), *w),
                None => "…".to_owned(),
            })
            .collect();
        format!("│ {} │\n", parts.join(" │ "))
    };
    let rule = |left: &str, middle: &str, right: &str| {
        let parts: Vec<String> = widths.iter().map(|w| "─".repeat(w + 2)).collect();
        format!("{left}{}{right}\n", parts.join(middle))
    };
    let by_type = |i: usize, text: &str, w: usize| pad(text, w, numeric(&s.types[i]));
    let centred = |_: usize, text: &str, w: usize| centre(text, w);
    let mut out = rule("┌", "┬", "┐");
    out += &line(&|i| names[i].clone(), &centred);
    out += &line(&|i| types[i].clone(), &centred);
    out += &rule("├", "┼", "┤");
    for (n, row) in cells.iter().enumerate() {
        if s.gap == Some(n) {
            for _ in 0..3 {
                out += &line(&|_| "·".to_owned(), &centred);
            }
        }
        out += &line(&|i| row[i].clone(), &by_type);
    }
    out += &rule("└", "┴", "┘");
    let _ = write!(out, "{} row{}", s.total, if s.total == 1 { "" } else { "s" });
    if s.gap.is_some() {
        let _ = write!(out, " ({} shown)", cells.len());
    }
    if hidden > 0 {
        let _ = write!(out, ", {} columns ({} shown)", names.len(), names.len() - hidden);
    }
    out.push('\n');
    out
}

/// Indices of the columns that fit; `None` stands for those left out of the middle.
fn fitting(widths: &[usize], most: usize) -> Vec<Option<usize>> {
    let total = |shown: &[Option<usize>]| {
        1 + shown.iter().map(|i| i.map_or(1, |i| widths[i]) + 3).sum::<usize>()
    };
    let all: Vec<Option<usize>> = (0..widths.len()).map(Some).collect();
    if most == 0 || total(&all) <= most {
        return all;
    }
    let (mut left, mut right) = (all.len().div_ceil(2), all.len() / 2);
    loop {
        let shown: Vec<Option<usize>> = (0..left)
            .map(Some)
            .chain([None])
            .chain((all.len() - right..all.len()).map(Some))
            .collect();
        if total(&shown) <= most || left + right <= 1 {
            return shown;
        }
        if right >= left { right -= 1 } else { left -= 1 }
    }
}

/// A Markdown table.
pub(crate) fn markdown(s: &Selected) -> String {
    let escape =
        |text: &str| printable(text).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;");
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = row(s.rows.columns.iter().map(|n| escape(n)).collect());
    out +=
        &row(s.types.iter().map(|t| if numeric(t) { "---:" } else { "---" }.to_owned()).collect());
    for r in &s.rows.rows {
        out += &row(r.iter().map(|c| c.as_deref().map_or_else(String::new, &escape)).collect());
    }
    out
}

/// RFC 4180 with LF ends; NULL is empty, an empty text is quoted.
pub(crate) fn csv(s: &Selected) -> String {
    let field = |text: &str| {
        if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    let mut out = s.rows.columns.iter().map(|n| field(n)).collect::<Vec<_>>().join(",") + "\n";
    for row in &s.rows.rows {
        let fields: Vec<String> =
            row.iter().map(|c| c.as_deref().map_or_else(String::new, field)).collect();
        out += &fields.join(",");
        out.push('\n');
    }
    out
}

/// An array with one object a line.
pub(crate) fn json(objects: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = objects.collect();
    if lines.is_empty() {
        return "[]\n".to_owned();
    }
    format!("[\n{}\n]\n", lines.join(",\n"))
}
