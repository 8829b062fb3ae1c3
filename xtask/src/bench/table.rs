//! What comes out: a section of Markdown for each row, which can take its place in a document.

use crate::shell;
use anyhow::{Context as _, Result, bail};
use std::path::Path;

/// What one row of the command found.
#[derive(Default)]
pub(super) struct Section {
    rows: Vec<Vec<String>>,
    tables: Vec<(String, Vec<Vec<String>>)>,
    notes: Vec<String>,
}

const BUDGET: [&str; 5] = ["what", "measured", "beside it", "ratio or value", "goal"];

impl Section {
    /// A figure, its yardstick and its goal.
    pub(super) fn row(
        &mut self,
        what: &str,
        measured: String,
        beside: String,
        ratio: String,
        goal: Goal,
    ) {
        let mark = goal.mark.map_or(String::new(), |m| format!("**{m}:** "));
        let row = vec![what.to_owned(), measured, beside, format!("{mark}{ratio}"), goal.text];
        shell::say(&format!("  {}", row.join(" · ")));
        self.rows.push(row);
    }

    /// A table of its own; the first row is its head.
    pub(super) fn table(&mut self, title: &str, rows: Vec<Vec<String>>) {
        self.tables.push((title.to_owned(), rows));
    }

    pub(super) fn note(&mut self, text: &str) {
        shell::say(&format!("  {text}"));
        self.notes.push(text.to_owned());
    }

    /// As Markdown, below a line that says how it was made.
    pub(super) fn text(&self, how: &str) -> String {
        let mut out = format!("{how}\n");
        if !self.rows.is_empty() {
            let head: Vec<String> = BUDGET.map(str::to_owned).to_vec();
            out += &markdown(std::iter::once(&head).chain(&self.rows));
        }
        for (title, rows) in &self.tables {
            out += &format!("\n{title}\n{}", markdown(rows.iter()));
        }
        for note in &self.notes {
            out += &format!("\n- {}", note.replace('\n', " "));
        }
        if !self.notes.is_empty() {
            out.push('\n');
        }
        out
    }
}

fn markdown<'a>(rows: impl Iterator<Item = &'a Vec<String>>) -> String {
    let mut out = String::from("\n");
    for (i, row) in rows.enumerate() {
        out += &format!("| {} |\n", row.join(" | "));
        if i == 0 {
            out += &format!("|{}\n", " --- |".repeat(row.len()));
        }
    }
    out
}

/// Puts a section where a document has `<!-- measured: NAME -->` and, after it, `<!-- end -->`.
pub(super) fn refresh(path: &Path, name: &str, text: &str) -> Result<()> {
    let document = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    shell::write(
        path,
        &replaced(&document, name, text).with_context(|| path.display().to_string())?,
    )?;
    Ok(())
}

fn replaced(document: &str, name: &str, text: &str) -> Result<String> {
    let begin = format!("<!-- measured: {name} -->\n");
    let Some((before, rest)) = document.split_once(&begin) else {
        bail!("there is no line `{}` in it", begin.trim_end());
    };
    let Some((_, after)) = rest.split_once("<!-- end -->") else {
        bail!("no line `<!-- end -->` follows `{}`", begin.trim_end());
    };
    Ok(format!("{before}{begin}\n{}\n\n<!-- end -->{after}", text.trim()))
}

/// A goal and whether it was reached.
pub(super) struct Goal {
    text: String,
    /// What is said before the value.
    mark: Option<&'static str>,
}

impl Goal {
    pub(super) fn at_most(value: f64, limit: f64, text: &str) -> Self {
        Self { text: text.to_owned(), mark: (value > limit).then_some("missed") }
    }

    pub(super) fn at_least(value: f64, limit: f64, text: &str) -> Self {
        Self { text: text.to_owned(), mark: (value < limit).then_some("missed") }
    }

    /// One that is said in words, because it may also be neither reached nor missed.
    pub(super) fn said(mark: &'static str, text: &str) -> Self {
        Self { text: text.to_owned(), mark: Some(mark) }
    }

    pub(super) fn none() -> Self {
        Self { text: "-".to_owned(), mark: None }
    }
}

/// Seconds for a reader.
pub(super) fn ms(seconds: f64) -> String {
    match seconds * 1e3 {
        ms if ms.is_nan() => "-".to_owned(),
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms if ms < 1e3 => format!("{ms:.0} ms"),
        ms => format!("{:.2} s", ms / 1e3),
    }
}

/// A number with commas.
pub(super) fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        assert_eq!(count(999), "999");
        assert_eq!(count(10_000), "10,000");
        assert_eq!(count(1_234_567), "1,234,567");
    }

    #[test]
    fn a_section_takes_its_place_and_leaves_the_rest() {
        let document = "# A\n<!-- measured: hash -->\nold\n<!-- end -->\ntext\n\
                        <!-- measured: report -->\nstays\n<!-- end -->\n";
        let new = replaced(document, "hash", "new\n").expect("it has the section");
        assert!(new.contains("\nnew\n") && !new.contains("old"), "{new}");
        assert!(new.contains("text") && new.contains("stays"), "{new}");
        assert_eq!(replaced(&new, "hash", "new\n").expect("again"), new);
        assert!(replaced(document, "graphs", "new").is_err());
    }
}
