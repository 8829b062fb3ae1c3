//! Diagnostics as people read them: the source line, an underline, and what to do.

use crate::Outcome;
use crate::diag::{Diagnostic, Label, Severity};
use crate::source::Sources;
use annotate_snippets::{
    Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet,
};
use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

/// Most diagnostics that are shown.
const SHOWN: usize = 100;
/// Bytes of one line that are shown on either side of what is meant.
const CONTEXT: usize = 400;
/// Most bytes that are underlined.
const UNDERLINED: usize = 200;

/// All diagnostics of an outcome as text, ending in a line that counts them. `width` is the
/// terminal's. Nothing for an outcome without diagnostics.
pub fn render(outcome: &Outcome, color: bool, width: usize) -> String {
    render_from(outcome, &str::to_owned, color, width)
}

/// The same, with every file named as `shown` says.
pub fn render_from(
    outcome: &Outcome,
    shown: &dyn Fn(&str) -> String,
    color: bool,
    width: usize,
) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(width.clamp(40, 400));
    let mut out = String::new();
    for diag in outcome.diagnostics.iter().take(SHOWN) {
        out.push_str(&one(diag, &outcome.sources, shown, &renderer));
        out.push_str("\n\n");
    }
    let total = outcome.diagnostics.len() + outcome.dropped;
    if total > SHOWN {
        let _ = writeln!(out, "{} more not shown", total - SHOWN);
    }
    let errors = outcome.errors();
    let warnings = outcome.diagnostics.len() - errors;
    let counts = [(errors + outcome.dropped, "error"), (warnings, "warning")];
    let counts: Vec<_> = counts.iter().filter(|(n, _)| *n > 0).collect();
    let counts = counts.iter().map(|(n, noun)| crate::suggest::count(*n, noun));
    let counts = counts.collect::<Vec<_>>().join(", ");
    if let Some(first) = outcome.diagnostics.first() {
        let code = first.code;
        let _ = writeln!(out, "{counts}; `sim-pipe help {code}` explains the first");
    }
    out
}

/// A piece of a text that is shown, and where in it the underline stands.
struct Window {
    text: String,
    line: usize,
    mark: Range<usize>,
    /// Whether the line begins further left.
    cut: bool,
}

/// The line of a label, cut to what is near the label.
fn window(label: &Label, sources: &Sources) -> Option<Window> {
    let source = sources.get(&label.file)?;
    let text = &*source.text;
    let start = floor(text, label.start);
    let line = source.line_range(start);
    let start = start.min(line.end);
    let end = floor(text, label.end.min(line.end).min(start + UNDERLINED)).max(start);
    let from = floor(text, start.saturating_sub(CONTEXT).max(line.start)).max(line.start);
    let to = floor(text, (end + CONTEXT).min(line.end)).max(end);
    let before = if from > line.start { "…" } else { "" };
    let after = if to < line.end { "…" } else { "" };
    let mark = start - from + before.len()..end - from + before.len();
    let shown: String =
        text[from..to].chars().map(|c| if c == '\u{feff}' { ' ' } else { c }).collect();
    let mark = if shown.len() == to - from { mark } else { 0..0 };
    Some(Window {
        text: format!("{before}{shown}{after}"),
        line: label.line as usize,
        mark,
        cut: from > line.start,
    })
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn one(
    diag: &Diagnostic,
    sources: &Sources,
    shown: &dyn Fn(&str) -> String,
    renderer: &Renderer,
) -> String {
    let level = match diag.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut elements: Vec<Element<'_>> = Vec::new();
    let labels = std::iter::once((&diag.at, AnnotationKind::Primary))
        .chain(diag.labels.iter().map(|l| (l, AnnotationKind::Context)));
    for (label, kind) in labels {
        let Some(window) = window(label, sources) else {
            elements.push(Origin::path(shown(&label.file)).into());
            continue;
        };
        let mark: Annotation<'_> = kind.span(window.mark).label(match label.text.as_str() {
            "" => None,
            text => Some(Cow::Borrowed(text)),
        });
        let mut snippet = Snippet::source(window.text).line_start(window.line);
        if window.cut {
            // The column would be counted in the piece that is shown.
            let origin = Origin::path(shown(&label.file)).line(label.line as usize);
            elements.push(origin.char_column(label.column as usize).into());
        } else {
            snippet = snippet.path(shown(&label.file));
        }
        elements.push(snippet.fold(false).annotation(mark).into());
    }
    let title = level.primary_title(diag.message.as_str()).id(diag.code);
    let mut groups = vec![Group::with_title(title).elements(elements)];
    if let Some(help) = &diag.help {
        groups.push(Group::with_title(Level::HELP.secondary_title(help.as_str())));
    }
    renderer.render(&groups)
}
