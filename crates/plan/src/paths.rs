//! Paths and globs of a project: normal form, and what a pattern matches.

use crate::files::Files;
use globset::{GlobBuilder, GlobMatcher};

/// Why a text is not a path inside the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadPath {
    Absolute,
    Leaves,
    Characters,
}

impl BadPath {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Absolute => "is absolute",
            Self::Leaves => "leaves the project's root",
            Self::Characters => "has characters that no path here may have",
        }
    }
}

/// The normal form of a path relative to the root: `./a//b/../c` is `a/c`. The root is empty.
pub(crate) fn normal(path: &str) -> Result<String, BadPath> {
    if path.contains(['\0', '\n', '\r']) || path.len() > 4096 {
        return Err(BadPath::Characters);
    }
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    if path.starts_with('/') || path.starts_with('\\') || drive {
        return Err(BadPath::Absolute);
    }
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    if path.split('/').all(plain) {
        return Ok(path.to_owned());
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or(BadPath::Leaves)?;
            }
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// Whether a text is a pattern and not a path.
pub(crate) fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// A compiled matcher; `*` and `?` stop at `/`, `**` does not.
pub(crate) fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    if pattern.len() > 1024 {
        return Err("a pattern has at most 1024 bytes".to_owned());
    }
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|e| e.kind().to_string())
}

/// A pattern with the folder that its fixed part names, and the files it matches, sorted.
pub(crate) fn expand(pattern: &str, files: &dyn Files) -> Result<(String, Vec<String>), String> {
    let matcher = matcher(pattern)?;
    let fixed: Vec<_> = pattern.split('/').take_while(|part| !is_glob(part)).collect();
    let base = fixed.join("/");
    let rest = pattern.split('/').count() - fixed.len();
    let depth = if pattern.contains("**") { usize::MAX } else { rest };
    if files.kind(&base).is_none() {
        return Ok((base, Vec::new()));
    }
    let mut found = files.list(&base, depth)?;
    found.retain(|path| matcher.is_match(path));
    Ok((base, found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemFiles;

    #[test]
    fn paths_have_one_form_and_stay_inside() {
        assert_eq!(normal("./a//b/../c").as_deref(), Ok("a/c"));
        assert_eq!(normal(".").as_deref(), Ok(""));
        assert_eq!(normal("a/../.."), Err(BadPath::Leaves));
        assert_eq!(normal("/etc/passwd"), Err(BadPath::Absolute));
        assert_eq!(normal("C:/x"), Err(BadPath::Absolute));
        assert_eq!(normal("a\0b"), Err(BadPath::Characters));
    }

    #[test]
    fn globs_match_by_folder() {
        let files = MemFiles::new().with("d/a.csv", "").with("d/e/b.csv", "").with("x.csv", "");
        let got = |p: &str| expand(p, &files).unwrap();
        assert_eq!(got("d/*.csv"), ("d".into(), vec!["d/a.csv".to_owned()]));
        assert_eq!(got("d/**/*.csv").1, ["d/a.csv", "d/e/b.csv"]);
        assert_eq!(got("*.csv"), (String::new(), vec!["x.csv".to_owned()]));
        assert!(got("nowhere/*").1.is_empty());
        assert!(expand("[", &files).is_err());
    }
}
