//! Words for a shell.

/// The word as a POSIX shell reads it back, in quotes where it must be.
pub fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    // `~` and `=` at the beginning of a word mean something to some shells.
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with('=') {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A command line.
pub fn line<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_inert() {
        assert_eq!(line(["sh", "-c", "echo $(x) it's"]), r"sh -c 'echo $(x) it'\''s'");
        assert_eq!(word(""), "''");
        assert_eq!(word("~root"), "'~root'");
        assert_eq!(word("=ls"), "'=ls'");
    }
}
