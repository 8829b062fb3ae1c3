//! Placeholders in strings: `{name}` stands for a value, `{{` and `}}` are braces. The planner fills
//! in what it knows; of a command line it leaves `{out}`, `{inputs.NAME}` and `{threads}`, and doubled
//! braces as they are, for [`fill_in`].

use std::ops::Range;

/// A part of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text as it is.
    Text(&'a str),
    /// A brace that was written twice.
    Brace(char),
    /// A placeholder with the range of its braces and all.
    Name(&'a str, Range<usize>),
}

/// A brace without its partner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Where it is.
    pub range: Range<usize>,
    /// What is wrong with it, as the end of a sentence that begins with "a brace".
    pub why: &'static str,
}

/// Splits a string into its pieces.
pub fn scan<'a>(text: &'a str, mut each: impl FnMut(Piece<'a>)) -> Result<(), Malformed> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let next = text[at..].find(['{', '}']).map_or(bytes.len(), |n| at + n);
        if next > at {
            each(Piece::Text(&text[at..next]));
        }
        at = next;
        let Some(brace) = bytes.get(at) else { break };
        if bytes.get(at + 1) == Some(brace) {
            each(Piece::Brace(char::from(*brace)));
            at += 2;
            continue;
        }
        if *brace == b'}' {
            return Err(Malformed { range: at..at + 1, why: "closes nothing" });
        }
        match text[at + 1..].find(['{', '}']) {
            Some(n) if bytes[at + 1 + n] == b'}' => {
                let end = at + n + 2;
                each(Piece::Name(&text[at + 1..end - 1], at..end));
                at = end;
            }
            _ => return Err(Malformed { range: at..at + 1, why: "is never closed" }),
        }
    }
    Ok(())
}

/// Fills one word of a planned command line in, in one pass: what `lookup` gives is not looked at
/// again. A placeholder that `lookup` does not know stays as it is.
pub fn fill_in(word: &str, lookup: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(word.len());
    let scanned = scan(word, |piece| match piece {
        Piece::Text(text) => out.push_str(text),
        Piece::Brace(brace) => out.push(brace),
        Piece::Name(name, range) => match lookup(name) {
            Some(value) => out.push_str(&value),
            None => out.push_str(&word[range]),
        },
    });
    // A planned word is well formed; any other is left alone.
    if scanned.is_ok() { out } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_filled_in_once() {
        let lookup = |name: &str| match name {
            "out" => Some("{inputs.x}".to_owned()),
            "inputs.x" => Some("in/x".to_owned()),
            _ => None,
        };
        assert_eq!(
            fill_in("{out}/{inputs.x} {{out}} {seed}", lookup),
            "{inputs.x}/in/x {out} {seed}"
        );
        assert_eq!(fill_in("{open", lookup), "{open");
    }
}
