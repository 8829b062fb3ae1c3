//! Placeholders: `{name}` in a string stands for a matrix binding; `{{` and `}}` are braces.

use sim_model::Value;
use sim_model::template::{Malformed, Piece, scan};
use std::borrow::Cow;
use std::ops::Range;

/// A matrix value as it appears inside a text.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Str(s) => Cow::Borrowed(s),
        other => Cow::Owned(other.to_string()),
    }
}

/// What went wrong while filling a string in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unfilled {
    Malformed(Malformed),
    Unknown(String, Range<usize>),
}

/// Fills a string in. `lookup` gives a placeholder's text.
pub(crate) fn fill<'a, 'v>(
    text: &'a str,
    lookup: impl Fn(&str) -> Option<Cow<'v, str>>,
) -> Result<Cow<'a, str>, Unfilled> {
    if !text.contains(['{', '}']) {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut unknown = None;
    scan(text, |piece| match piece {
        Piece::Text(t) => out.push_str(t),
        Piece::Brace(c) => out.push(c),
        Piece::Name(name, range) => match lookup(name) {
            Some(value) => out.push_str(&value),
            None => {
                unknown.get_or_insert_with(|| Unfilled::Unknown(name.to_owned(), range));
            }
        },
    })
    .map_err(Unfilled::Malformed)?;
    unknown.map_or(Ok(Cow::Owned(out)), Err)
}

/// Fills one word of a command line in. Braces stay doubled and the names for which `keep` holds
/// stay as they are, since the executor fills those in.
pub(crate) fn fill_word<'v>(
    word: &str,
    lookup: impl Fn(&str) -> Option<Cow<'v, str>>,
    keep: impl Fn(&str) -> bool,
) -> Result<String, Unfilled> {
    let mut out = String::with_capacity(word.len() + 8);
    let mut unknown = None;
    scan(word, |piece| match piece {
        Piece::Text(t) => out.push_str(t),
        Piece::Brace(c) => out.extend([c, c]),
        Piece::Name(name, range) if keep(name) => out.push_str(&word[range]),
        Piece::Name(name, range) => match lookup(name) {
            Some(value) => {
                for c in value.chars() {
                    out.push(c);
                    if matches!(c, '{' | '}') {
                        out.push(c);
                    }
                }
            }
            None => {
                unknown.get_or_insert_with(|| Unfilled::Unknown(name.to_owned(), range));
            }
        },
    })
    .map_err(Unfilled::Malformed)?;
    unknown.map_or(Ok(out), Err)
}

/// The name, if the string is nothing but one placeholder.
pub(crate) fn sole(text: &str) -> Option<&str> {
    let name = text.strip_prefix('{')?.strip_suffix('}')?;
    (!name.contains(['{', '}'])).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(name: &str) -> Option<Cow<'static, str>> {
        (name == "x").then_some(Cow::Borrowed("1"))
    }

    #[test]
    fn placeholders_are_filled_and_braces_escaped() {
        assert_eq!(fill("a{x}b{{x}}", look).unwrap(), "a1b{x}");
        assert_eq!(fill("plain", look).unwrap(), "plain");
        assert_eq!(fill("{y}", look), Err(Unfilled::Unknown("y".into(), 0..3)));
        assert!(matches!(fill("ü{x", look), Err(Unfilled::Malformed(m)) if m.range == (2..3)));
        assert!(matches!(fill("x}", look), Err(Unfilled::Malformed(_))));
        assert_eq!(fill_word("{out}/{x}{{", look, |n| n == "out").unwrap(), "{out}/1{{");
        assert_eq!(sole("{n}"), Some("n"));
        assert_eq!(sole("{a}{b}"), None);
    }
}
