//! Words for messages: quoting of text that others wrote, and "did you mean".

/// A text in backquotes, control characters escaped, cut to a length that a line can hold.
pub(crate) fn quote(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut out = String::with_capacity(text.len().min(LONGEST) + 2);
    out.push('`');
    for (i, c) in text.chars().enumerate() {
        if i == LONGEST {
            out.push('…');
            break;
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out.push('`');
    out
}

/// The candidate nearest to `word`, if one is near enough to have been meant.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if word.len() > 64 {
        return None;
    }
    let limit = (word.chars().count() / 3).max(1);
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .take(100_000)
        .filter(|c| c.len().abs_diff(word.len()) <= limit + 2)
        .map(|c| (strsim::osa_distance(&lower, &c.to_lowercase()), c))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// ``did you mean `x`?``, or the list of what is allowed when that is short.
pub(crate) fn did_you_mean(word: &str, candidates: &[&str]) -> Option<String> {
    if let Some(near) = nearest(word, candidates.iter().copied()) {
        return Some(format!("did you mean {}?", quote(near)));
    }
    list(candidates).map(|known| format!("known here: {known}"))
}

/// `` `a`, `b`, `c` ``; nothing for an empty list, and an ellipsis after a dozen.
pub(crate) fn list(words: &[&str]) -> Option<String> {
    if words.is_empty() {
        return None;
    }
    let mut out = words.iter().take(12).map(|w| quote(w)).collect::<Vec<_>>().join(", ");
    if words.len() > 12 {
        out.push_str(", …");
    }
    Some(out)
}

/// `1 action`, `2 actions`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_offered_and_far_ones_are_not() {
        assert_eq!(nearest("fetcj", ["fetch", "sim"]), Some("fetch"));
        assert_eq!(nearest("Trial", ["trial"]), Some("trial"));
        assert_eq!(nearest("report", ["fetch", "sim"]), None);
        assert_eq!(did_you_mean("x", &["aaa", "bbb"]).unwrap(), "known here: `aaa`, `bbb`");
        assert_eq!(quote("a\u{1b}[31m"), "`a\\u{1b}[31m`");
        assert_eq!(quote(&"x".repeat(500)).chars().count(), 83);
    }
}
