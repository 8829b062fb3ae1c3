//! What a string below `inputs.` means: a path, a glob, or a part of what a stage made.

/// The parts of an input string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference<'a> {
    /// A path or a glob of the project.
    Path(&'a str),
    /// A single word: a stage, or a file or folder at the root.
    Word(&'a str),
    /// `STAGE[CELL]/SUFFIX:SUBPATH`.
    Stage {
        stage: &'a str,
        /// Between the brackets; `None` without brackets.
        cell: Option<&'a str>,
        /// Which of the cell's actions; a glob.
        suffix: Option<&'a str>,
        /// Part of the output.
        subpath: Option<&'a str>,
    },
    /// A bracket without its partner.
    Malformed(&'static str),
}

/// Takes an input string apart. It looks at no file and no stage.
pub(crate) fn parse(text: &str) -> Reference<'_> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let end = text.find(|c| !word(c)).unwrap_or(text.len());
    let (stage, rest) = text.split_at(end);
    if !crate::check::is_slug(stage) {
        return Reference::Path(text);
    }
    let (cell, rest) = match rest.chars().next() {
        None => return Reference::Word(text),
        Some(':') => (None, rest),
        Some('[') => match rest.find(']') {
            Some(close) => (Some(&rest[1..close]), &rest[close + 1..]),
            None => return Reference::Malformed("the bracket is never closed"),
        },
        Some(_) => return Reference::Path(text),
    };
    let (suffix, subpath) = match rest.chars().next() {
        None => (None, None),
        Some(':') => (None, Some(&rest[1..])),
        Some('/') => match rest[1..].split_once(':') {
            Some((suffix, subpath)) => (Some(suffix), Some(subpath)),
            None => (Some(&rest[1..]), None),
        },
        // Such as `data[0-9].csv`.
        Some(_) => return Reference::Path(text),
    };
    if suffix == Some("") || subpath == Some("") {
        return Reference::Malformed("nothing stands behind the sign at the end");
    }
    Reference::Stage { stage, cell, suffix, subpath }
}

/// Whether the text between the brackets takes several cells.
pub(crate) fn is_pattern(cell: &str) -> bool {
    cell == "*" || (cell.contains('*') && cell.split(',').any(|part| part == "*"))
}

/// Whether a cell (the text between its brackets) is taken by a pattern.
pub(crate) fn matches(pattern: &str, cell: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    let (mut want, mut have) = (pattern.split(','), cell.split(','));
    loop {
        match (want.next(), have.next()) {
            (None, None) => return true,
            (Some(w), Some(h)) if w == "*" || w == h => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_apart() {
        let stage =
            |stage, cell, suffix, subpath| Reference::Stage { stage, cell, suffix, subpath };
        assert_eq!(parse("a/b.csv"), Reference::Path("a/b.csv"));
        assert_eq!(parse("analyse.py"), Reference::Path("analyse.py"));
        assert_eq!(parse("./trial"), Reference::Path("./trial"));
        assert_eq!(parse("trial"), Reference::Word("trial"));
        assert_eq!(parse("trial[*]"), stage("trial", Some("*"), None, None));
        assert_eq!(parse("trial[a,1]/x/*"), stage("trial", Some("a,1"), Some("x/*"), None));
        assert_eq!(parse("t[a]:s/p"), stage("t", Some("a"), None, Some("s/p")));
        assert_eq!(parse("t[a]/r0:s"), stage("t", Some("a"), Some("r0"), Some("s")));
        assert_eq!(parse("fetch:bin"), stage("fetch", None, None, Some("bin")));
        assert_eq!(parse("data[0-9].csv"), Reference::Path("data[0-9].csv"));
        assert!(matches!(parse("trial[a"), Reference::Malformed(_)));
        assert!(matches!(parse("trial[a]/"), Reference::Malformed(_)));
        assert!(matches("a,*", "a,1") && !matches("a,*", "b,1") && !matches("a,*", "a"));
        assert!(matches("*", "a,b") && is_pattern("a,*") && !is_pattern("a"));
    }
}
