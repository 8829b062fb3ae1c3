//! Text from elsewhere (labels, reasons, logs) made fit for a page. Escaping for HTML is the
//! template engine's business; this only removes what no page can show.

use std::fmt::Write as _;

/// Bytes as text: invalid UTF-8 becomes U+FFFD, terminal escape sequences go, other control
/// characters (bidirectional overrides among them) become visible names.
pub(crate) fn clean_bytes(bytes: &[u8]) -> String {
    clean(&String::from_utf8_lossy(bytes))
}

/// As [`clean_bytes`], for text. Newline and tab stay.
pub(crate) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\u{1b}' => skip_escape(&mut chars),
            c if hidden(c) => {
                let _ = write!(out, "\u{27e8}U+{:04X}\u{27e9}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// As [`clean`], on one line.
pub(crate) fn line(text: &str) -> String {
    clean(text).replace(['\n', '\t'], " ")
}

fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Skips a control sequence (`ESC [ … letter`), an operating system command (`ESC ] … BEL`) or one
/// further character.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            while let Some(c) = chars.peek() {
                let last = ('\u{40}'..='\u{7e}').contains(c);
                if !last && !('\u{20}'..='\u{3f}').contains(c) {
                    return;
                }
                chars.next();
                if last {
                    return;
                }
            }
        }
        Some(']') => {
            for c in chars.by_ref() {
                if matches!(c, '\u{7}' | '\n') {
                    return;
                }
            }
        }
        Some(_) => {
            chars.next();
        }
        None => {}
    }
}

/// The end of a log that takes at most `budget` bytes once escaped for HTML, cut at a line where
/// there is one, and whether anything was cut.
pub(crate) fn tail(text: &str, budget: usize) -> (&str, bool) {
    let mut used = 0;
    for (i, c) in text.char_indices().rev() {
        used += match c {
            '<' | '>' => 4,
            '&' => 5,
            '"' | '\'' | '/' => 6,
            c => c.len_utf8(),
        };
        if used > budget {
            let rest = &text[i + c.len_utf8()..];
            let start = rest.find('\n').map_or(0, |n| n + 1);
            return (if start < rest.len() { &rest[start..] } else { rest }, true);
        }
    }
    (text, false)
}

/// A name for files and anchors made of `[a-z0-9_-]`. Where anything had to be replaced, a short
/// digest keeps different names apart.
pub(crate) fn slug(text: &str) -> String {
    let mut out = String::new();
    let mut changed = text.is_empty();
    for c in text.chars().take(64) {
        match c {
            'a'..='z' | '0'..='9' | '_' | '-' => out.push(c),
            'A'..='Z' => {
                out.push(c.to_ascii_lowercase());
                changed = true;
            }
            _ => {
                if !out.ends_with('-') {
                    out.push('-');
                }
                changed = true;
            }
        }
    }
    if changed || text.chars().nth(64).is_some() {
        let digest = sim_model::Digest::of(text.as_bytes()).short();
        out = format!("{}-{}", out.trim_matches('-'), &digest[..8]);
    }
    out.trim_start_matches('-').to_owned()
}

/// A word between single quotes for a POSIX shell, bare where it needs none.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_page_can_show_is_named_or_removed() {
        assert_eq!(
            clean_bytes(b"a\x1b[31mred\x1b[0m\x07b\xff"),
            "ared\u{27e8}U+0007\u{27e9}b\u{fffd}"
        );
        assert_eq!(clean("\x1b]0;title\x07x"), "x");
        assert_eq!(clean("one\r\ntwo\rthree"), "one\ntwo\nthree");
        assert_eq!(clean("\u{202e}abc"), "\u{27e8}U+202E\u{27e9}abc");
        assert_eq!(line("a\nb\tc"), "a b c");
    }

    #[test]
    fn a_tail_fits_its_budget_after_escaping() {
        let (t, cut) = tail("first\nsecond\nthird", 12);
        assert_eq!((t, cut), ("third", true));
        assert_eq!(tail("short", 100), ("short", false));
        let (t, _) = tail("<<<<<<<<<<", 12);
        assert_eq!(t, "<<<");
    }

    #[test]
    fn slugs_are_safe_and_distinct() {
        assert_eq!(slug("box_pile"), "box_pile");
        let (a, b) = (slug("../../etc"), slug("/etc"));
        assert!(a.starts_with("etc-") && b.starts_with("etc-") && a != b);
        assert!(!slug("").is_empty());
        assert!(slug(&"x".repeat(500)).len() < 80);
    }

    #[test]
    fn shell_words_are_inert() {
        assert_eq!(shell_word("trial[a]/x"), "'trial[a]/x'");
        assert_eq!(shell_word("it's $(x)"), "'it'\\''s $(x)'");
        assert_eq!(shell_word("plain-1.0"), "plain-1.0");
    }
}
