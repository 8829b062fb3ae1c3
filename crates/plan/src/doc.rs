//! A parsed TOML text as a small tree in which every key and value knows where it was written.
//!
//! Syntax errors are reported here, all at once. Integers beyond 64 bits, floats that are not
//! finite, and dates become [`Val::Bad`]; the first two are reported here too.

use crate::diag::{Diag, Sink};
use crate::source::Span;
use crate::suggest::quote;
use std::borrow::Cow;
use toml::de::{DeTable, DeValue};

/// Bytes of a long text that are parsed at once.
const PIECE: usize = 64 << 10;
/// Largest text of which all syntax errors are reported; of a larger one the first is.
const RECOVER: usize = 4 << 20;

/// A value and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Node<'t> {
    pub(crate) span: Span,
    pub(crate) val: Val<'t>,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Val<'t> {
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Cow<'t, str>),
    List(Vec<Node<'t>>),
    Table(Table<'t>),
    /// Not usable; `true` when that was reported already.
    Bad(bool, &'static str),
}

/// A table in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table<'t> {
    pub(crate) entries: Vec<Entry<'t>>,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'t> {
    pub(crate) key: Cow<'t, str>,
    pub(crate) key_span: Span,
    pub(crate) node: Node<'t>,
}

impl<'t> Table<'t> {
    pub(crate) fn get(&self, key: &str) -> Option<&Entry<'t>> {
        self.entries.iter().find(|e| e.key == key)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Entry<'t>> {
        self.entries.iter_mut().find(|e| e.key == key)
    }
}

impl<'t> Node<'t> {
    /// TOML name of the type.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.val {
            Val::Bool(_) => "boolean",
            Val::Int(_) => "integer",
            Val::Float(_) => "float",
            Val::Str(_) => "string",
            Val::List(_) => "array",
            Val::Table(_) => "table",
            Val::Bad(_, name) => name,
        }
    }

    /// Whether it was reported already.
    pub(crate) fn reported(&self) -> bool {
        matches!(self.val, Val::Bad(true, _))
    }

    /// Whether a string at any depth has this part.
    pub(crate) fn mentions(&self, part: &str) -> bool {
        match &self.val {
            Val::Str(s) => s.contains(part),
            Val::List(items) => items.iter().any(|n| n.mentions(part)),
            Val::Table(t) => t.entries.iter().any(|e| e.node.mentions(part)),
            _ => false,
        }
    }

    /// Whether a string at any depth has a brace, so that placeholders must be looked for.
    pub(crate) fn has_braces(&self) -> bool {
        match &self.val {
            Val::Str(s) => s.contains(['{', '}']),
            Val::List(items) => items.iter().any(Node::has_braces),
            Val::Table(t) => t.entries.iter().any(|e| e.node.has_braces()),
            _ => false,
        }
    }
}

/// Parses a text. With syntax errors the tree holds what could be made out.
pub(crate) fn parse<'t>(text: &'t str, file: u32, sink: &mut Sink) -> Table<'t> {
    if let Some(table) = in_pieces(text, file, sink) {
        return table;
    }
    let table = match DeTable::parse(text) {
        Ok(table) => table.into_inner(),
        Err(error) if text.len() > RECOVER => {
            let help = "a text this large is checked no further once its syntax is wrong";
            sink.damage(Span::new(file, 0..text.len()));
            sink.push(syntax(&error, text, file).help(help.to_owned()));
            DeTable::new()
        }
        Err(_) => {
            let (table, errors) = DeTable::parse_recoverable(text);
            damage(&errors, text, file, sink);
            table.into_inner()
        }
    };
    convert_table(table, Base { file, offset: 0 }, sink)
}

/// Parses a long text piece by piece, cut before lines that are `[[stage]]`, so that the parser's
/// own tokens and tables are never there for the whole text at once: a third of the time and of
/// the memory. `None` when that is not the same as parsing the whole: a piece has an error (a
/// string or an array goes over the cut), or two pieces give one key.
fn in_pieces<'t>(text: &'t str, file: u32, sink: &mut Sink) -> Option<Table<'t>> {
    const HEADER: &str = "\n[[stage]]\n";
    let mut whole: Table<'t> = Table::default();
    let mut start = 0;
    while start < text.len() {
        let far = (start + PIECE).min(text.len());
        let next =
            text.as_bytes()[far..].windows(HEADER.len()).position(|w| w == HEADER.as_bytes());
        let end = match next {
            _ if start == 0 => text.find(HEADER)? + 1,
            Some(n) => far + n + 1,
            None => text.len(),
        };
        let table = DeTable::parse(&text[start..end]).ok()?.into_inner();
        if start == 0 && table.contains_key("stage") {
            return None;
        }
        for entry in convert_table(table, Base { file, offset: start }, sink).entries {
            match (whole.get_mut(&entry.key), entry.node.val) {
                (None, val) => {
                    let node = Node { val, ..entry.node };
                    whole.entries.push(Entry { node, ..entry });
                }
                (Some(before), Val::List(mut more)) if entry.key == "stage" => {
                    let Val::List(stages) = &mut before.node.val else { return None };
                    stages.append(&mut more);
                }
                _ => return None,
            }
        }
        start = end;
    }
    Some(whole)
}

/// Parses a single value, such as one given on the command line.
pub(crate) fn parse_value<'t>(text: &'t str, file: u32, sink: &mut Sink) -> Option<Node<'t>> {
    match DeValue::parse(text) {
        Ok(value) => {
            let base = Base { file, offset: 0 };
            let span = base.span(value.span());
            Some(convert(value.into_inner(), span, base, sink))
        }
        Err(_) => None,
    }
}

/// Reports syntax errors, one a line, and marks the tables they are in.
fn damage(errors: &[toml::de::Error], text: &str, file: u32, sink: &mut Sink) {
    let mut starts: Vec<_> = errors.iter().map(|e| (e.span().map_or(0, |s| s.start), e)).collect();
    starts.sort_by_key(|(at, _)| *at);
    let (mut line_end, mut table_end) = (None, None);
    for (at, error) in starts {
        let diag = syntax(error, text, file);
        let at = at.min(text.len());
        if swallows(error, text, at) {
            // An array that is never closed takes in all that follows, and everything there is an
            // error in an array. Only the first says something.
            let help = "an array above this line is not closed: `]` is missing".to_owned();
            sink.push(diag.help(help));
            let from = table_end.unwrap_or(0).min(at);
            let from = headers(text, from..at).next_back().unwrap_or(from);
            sink.damage(Span::new(file, from..text.len() + 1));
            return;
        }
        let line = |from: usize| text.as_bytes()[from..].iter().position(|b| *b == b'\n');
        if line_end.is_none_or(|end| at > end) {
            line_end = Some(line(at).map_or(text.len(), |n| at + n));
            sink.push(diag);
        }
        if table_end.is_none_or(|end| at >= end) {
            let from = table_end.unwrap_or(0);
            let start = headers(text, from..at).next_back().unwrap_or(from);
            let end = headers(text, at..text.len()).next().unwrap_or(text.len() + 1).max(at + 1);
            sink.damage(Span::new(file, start..end));
            table_end = Some(end);
        }
    }
}

/// Offsets of the table headers in a range.
fn headers(
    text: &str,
    range: std::ops::Range<usize>,
) -> impl DoubleEndedIterator<Item = usize> + '_ {
    let bytes = text.as_bytes();
    range.filter(|i| bytes[*i] == b'[' && (*i == 0 || bytes[*i - 1] == b'\n'))
}

/// Whether the error is a new line's key or table header where an array goes on.
fn swallows(error: &toml::de::Error, text: &str, at: usize) -> bool {
    let start = text.as_bytes()[..at].iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
    if !error.message().starts_with("missing comma") || !text[start..at].trim().is_empty() {
        return false;
    }
    let line = text[at..].lines().next().unwrap_or_default();
    line.starts_with('[')
        || line.split_once('=').is_some_and(|(key, _)| {
            key.trim().bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        })
}

fn syntax(error: &toml::de::Error, text: &str, file: u32) -> Diag {
    let clip = |at: usize| {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let span = error.span().unwrap_or(0..0);
    let span = Span::new(file, clip(span.start)..clip(span.end.max(span.start)));
    let message = error.message();
    let help = match message {
        "duplicate key" => {
            Some("give each key once in a table, and each `[table]` once".to_owned())
        }
        _ => None,
    };
    Diag::error("SP0004", span, message.to_owned()).help(help)
}

/// Where the parsed piece of a text begins.
#[derive(Clone, Copy)]
struct Base {
    file: u32,
    offset: usize,
}

impl Base {
    fn span(self, range: std::ops::Range<usize>) -> Span {
        Span::new(self.file, range.start + self.offset..range.end + self.offset)
    }
}

fn convert_table<'t>(table: DeTable<'t>, base: Base, sink: &mut Sink) -> Table<'t> {
    let mut entries: Vec<_> = table
        .into_iter()
        .map(|(key, value)| {
            let span = base.span(value.span());
            let node = convert(value.into_inner(), span, base, sink);
            Entry { key_span: base.span(key.span()), key: key.into_inner(), node }
        })
        .collect();
    entries.sort_by_key(|e| e.key_span);
    Table { entries }
}

/// Recursion is bounded by the parser's own limit on nesting.
fn convert<'t>(value: DeValue<'t>, span: Span, base: Base, sink: &mut Sink) -> Node<'t> {
    let val = match value {
        DeValue::String(s) => Val::Str(s),
        DeValue::Boolean(b) => Val::Bool(b),
        // What the parser puts where a value was missing.
        DeValue::Integer(_) if sink.is_damaged() && span.end == 0 => Val::Bad(true, "integer"),
        DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(i) => Val::Int(i),
            Err(_) => {
                let text = quote(&i.to_string());
                sink.push(
                    Diag::error("SP0112", span, format!("the integer {text} is too large"))
                        .help("integers have 64 bits and a sign".to_owned()),
                );
                Val::Bad(true, "integer")
            }
        },
        DeValue::Float(f) => match f.as_str().parse::<f64>() {
            Ok(x) if x.is_finite() => Val::Float(x),
            _ => {
                let text = quote(f.as_str());
                sink.push(
                    Diag::error("SP0112", span, format!("the number {text} is not finite"))
                        .help("a number in a pipeline file is finite".to_owned()),
                );
                Val::Bad(true, "float")
            }
        },
        DeValue::Datetime(_) => Val::Bad(false, "date"),
        DeValue::Array(items) => Val::List(
            items
                .into_iter()
                .map(|item| {
                    let span = base.span(item.span());
                    convert(item.into_inner(), span, base, sink)
                })
                .collect(),
        ),
        DeValue::Table(table) => Val::Table(convert_table(table, base, sink)),
    };
    Node { span, val }
}

/// The bytes of the text at which a part of a decoded string is written: escapes are followed, so
/// that an underline stands below exactly that part. `part` is a range of bytes of the decoded
/// string, `raw` the string as written, with its quotes.
pub(crate) fn inside(span: Span, raw: &str, part: std::ops::Range<usize>) -> Span {
    let (quotes, escapes) = match raw {
        _ if raw.starts_with("\"\"\"") => (3, true),
        _ if raw.starts_with("'''") => (3, false),
        _ if raw.starts_with('"') => (1, true),
        _ if raw.starts_with('\'') => (1, false),
        _ => return span,
    };
    let mut at = quotes;
    if quotes == 3 {
        at += ["\r\n", "\n"].iter().find(|n| raw[at..].starts_with(**n)).map_or(0, |n| n.len());
    }
    let mut decoded = 0;
    let (mut start, mut end) = (None, None);
    while at < raw.len() {
        if decoded >= part.end {
            end = Some(at);
            break;
        }
        let Some(c) = raw[at..].chars().next() else { break };
        let (written, meant) = match c {
            '\\' if escapes => escape(&raw[at..]),
            c => (c.len_utf8(), c.len_utf8()),
        };
        if start.is_none() && decoded >= part.start && meant > 0 {
            start = Some(at);
        }
        at += written;
        decoded += meant;
    }
    let base = span.start as usize;
    match (start, end) {
        (Some(start), Some(end)) => Span::new(span.file, base + start..base + end),
        _ => span,
    }
}

/// Bytes that an escape takes in the text, and in the string that it means.
fn escape(text: &str) -> (usize, usize) {
    let digits = match text.as_bytes().get(1) {
        Some(b'x') => 2,
        Some(b'u') => 4,
        Some(b'U') => 8,
        Some(b' ' | b'\t' | b'\r' | b'\n') => {
            let rest = text[1..].trim_start_matches([' ', '\t', '\r', '\n']);
            return (text.len() - rest.len(), 0);
        }
        _ => return (2.min(text.len()), 1),
    };
    let code = text.get(2..2 + digits).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let c = code.and_then(char::from_u32);
    ((2 + digits).min(text.len()), c.map_or(1, char::len_utf8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_the_whole_are_one_tree() {
        let stages: String = (0..5000)
            .map(|i| format!("[[stage]]\nname = \"é{i}\"\n[stage.inputs]\nx = [{i}, 0x{i}]\n"))
            .collect();
        let head = "[pipeline]\nname = \"p\"\n";
        let good = format!("{head}{stages}[defaults]\ntimeout = \"1s\"\n");
        let shape = |table: Table<'_>| format!("{table:?}");
        let whole = |text: &str| {
            let table = DeTable::parse(text).unwrap().into_inner();
            shape(convert_table(table, Base { file: 0, offset: 0 }, &mut Sink::default()))
        };
        let pieces = in_pieces(&good, 0, &mut Sink::default()).unwrap();
        assert!(shape(pieces) == whole(&good));
        for bad in [
            format!("{head}[defaults]\n{stages}[defaults]\n"),
            format!("stage = []\n{head}{stages}"),
            format!("{head}x = \"\"\"\n{stages}\"\"\"\n"),
            format!("{head}{stages}x = [\n"),
            head.to_owned(),
        ] {
            assert!(in_pieces(&bad, 0, &mut Sink::default()).is_none());
        }
    }

    #[test]
    fn parts_of_strings_are_found_behind_escapes() {
        for (raw, part) in [
            (r#""ab{x}""#, "{x}"),
            (r#""\"\t{x}""#, "{x}"),
            (r#""\u00e9\U0001F600{x}y""#, "{x}"),
            ("\"\"\"\n\\\n   {x} \"\"\"", "{x}"),
            ("'''\nq{x}'''", "{x}"),
            (r"'\{x}'", "{x}"),
        ] {
            let text = format!("k = {raw}");
            let mut sink = Sink::default();
            let table = parse(&text, 0, &mut sink);
            assert!(!sink.failed());
            let node = &table.entries[0].node;
            let Val::Str(s) = &node.val else { panic!() };
            let at = s.find(part).unwrap();
            let found = inside(node.span, &text[node.span.range()], at..at + part.len());
            assert_eq!(&text[found.range()], part, "{raw}");
        }
    }
}
