//! Diagnostics as data, and the sink that gathers, deduplicates and orders them.

use crate::source::{Sources, Span};
use serde::Serialize;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// There is no plan.
    Error,
    /// The plan stands, but it is likely not what was meant.
    Warning,
}

/// A place in a text, with what to say there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// Path relative to the project's root.
    pub file: String,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// 1-based line of `start`.
    pub line: u32,
    /// 1-based column of `start`, in characters.
    pub column: u32,
    /// 1-based line of `end`.
    pub end_line: u32,
    /// 1-based column of `end`, in characters.
    pub end_column: u32,
    /// What to say there; may be empty.
    pub text: String,
}

/// One thing that is wrong, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Stable code, explained by [`crate::explain_code`].
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// One sentence fragment that names what was written.
    pub message: String,
    /// Where.
    pub at: Label,
    /// Other places that have to do with it.
    pub labels: Vec<Label>,
    /// What to do.
    pub help: Option<String>,
}

/// A diagnostic while it is being made.
#[derive(Clone, Debug)]
pub(crate) struct Diag {
    pub(crate) code: &'static str,
    severity: Severity,
    message: String,
    span: Span,
    label: String,
    labels: Vec<(Span, String)>,
    help: Option<String>,
}

impl Diag {
    pub(crate) fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        let (severity, message, label) = (Severity::Error, message.into(), String::new());
        Self { code, severity, message, span, label, labels: Vec::new(), help: None }
    }

    pub(crate) fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }

    pub(crate) fn label(mut self, text: impl Into<String>) -> Self {
        self.label = text.into();
        self
    }

    pub(crate) fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push((span, text.into()));
        self
    }

    pub(crate) fn help(mut self, text: impl Into<Option<String>>) -> Self {
        self.help = text.into();
        self
    }
}

/// Most diagnostics that are kept as data; the rest are counted.
pub(crate) const KEPT: usize = 1000;

/// Gathers diagnostics.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    kept: Vec<Diag>,
    seen: HashSet<u64>,
    dropped: usize,
    errors: usize,
    /// Where syntax errors are, as the ranges from one table header to the next. What is said of
    /// such a range may be the damage speaking.
    damage: Vec<Span>,
}

/// Codes that say that something is absent. They are not trusted in a text with syntax errors.
const ABSENCES: [&str; 7] = ["SP0102", "SP0104", "SP0115", "SP0302", "SP0309", "SP0311", "SP0315"];

impl Sink {
    /// Takes a diagnostic unless the same was said of the same place before.
    pub(crate) fn push(&mut self, diag: Diag) {
        debug_assert!(crate::explain_code(diag.code).is_some(), "{} has no entry", diag.code);
        self.errors += usize::from(diag.severity == Severity::Error);
        if diag.code != "SP0004" && self.is_damaged() {
            let at = diag.span;
            let before = self.damage.partition_point(|d| (d.file, d.start) <= (at.file, at.start));
            let inside = before.checked_sub(1).map(|i| self.damage[i]);
            let inside = inside.is_some_and(|d| d.file == at.file && at.start < d.end);
            if inside || ABSENCES.contains(&diag.code) {
                return;
            }
        }
        if self.kept.len() >= KEPT {
            self.dropped += 1;
            return;
        }
        let mut hasher = DefaultHasher::new();
        (diag.code, diag.span, &diag.message).hash(&mut hasher);
        if self.seen.insert(hasher.finish()) {
            self.kept.push(diag);
        }
    }

    /// Marks a range as damaged; ranges come in order.
    pub(crate) fn damage(&mut self, span: Span) {
        if self.damage.last() != Some(&span) {
            self.damage.push(span);
        }
    }

    /// Whether a text has syntax errors.
    pub(crate) fn is_damaged(&self) -> bool {
        !self.damage.is_empty()
    }

    /// Whether an error was pushed.
    pub(crate) fn failed(&self) -> bool {
        self.errors > 0
    }

    /// Diagnostics by position (the pipeline file first), and how many more there were.
    pub(crate) fn finish(mut self, sources: &Sources) -> (Vec<Diagnostic>, usize) {
        self.kept.sort_by(|a, b| {
            (a.span, a.code, a.message.as_str()).cmp(&(b.span, b.code, b.message.as_str()))
        });
        let list = self.kept.into_iter().map(|d| publish(d, sources)).collect();
        (list, self.dropped)
    }
}

fn publish(diag: Diag, sources: &Sources) -> Diagnostic {
    let place = |span: Span, text: String| {
        let file = sources.file(span.file);
        let (line, column) = file.position(span.start as usize);
        let (end_line, end_column) = file.position(span.end as usize);
        let (start, end) = (span.start as usize, span.end as usize);
        Label { file: file.path.to_string(), start, end, line, column, end_line, end_column, text }
    };
    Diagnostic {
        code: diag.code,
        severity: diag.severity,
        message: diag.message,
        at: place(diag.span, diag.label),
        labels: diag.labels.into_iter().map(|(s, t)| place(s, t)).collect(),
        help: diag.help,
    }
}
