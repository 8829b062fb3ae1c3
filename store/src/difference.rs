//! In what two trees differ, file by file, to the byte.

use crate::tree::{LinkRule, Node, diff, scan};
use crate::{Result, StoreError};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// One entry in which two trees differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Path below the tree; empty for a tree that is one file.
    pub path: Vec<u8>,
    /// How.
    pub how: How,
}

/// How an entry differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// It is in the first tree alone.
    OnlyFirst,
    /// It is in the second tree alone.
    OnlySecond,
    /// One is a file, the other a folder or a link.
    Kind,
    /// The same bytes, and one of them may be executed.
    Mode,
    /// Links with other targets.
    Target,
    /// Files with other bytes.
    Bytes {
        /// Offset of the first byte that differs; where one file ends, its length.
        offset: u64,
        /// Length in the first tree.
        first: u64,
        /// Length in the second.
        second: u64,
    },
}

/// All differences of the trees that lie at two paths, in order of their paths.
pub fn differences(first: &Path, second: &Path) -> Result<Vec<Difference>> {
    let (a, b) = (scan(first, LinkRule::Keep)?, scan(second, LinkRule::Keep)?);
    let mut out = Vec::new();
    for (mark, path) in diff(&a, &b) {
        let how = match mark {
            '-' => How::OnlyFirst,
            '+' => How::OnlySecond,
            _ => how(first, second, &path, &a, &b)?,
        };
        out.push(Difference { path, how });
    }
    Ok(out)
}

fn how(first: &Path, second: &Path, path: &[u8], a: &Node, b: &Node) -> Result<How> {
    use std::os::unix::ffi::OsStrExt;
    let below = std::ffi::OsStr::from_bytes(path);
    let at = |top: &Path| if path.is_empty() { top.to_path_buf() } else { top.join(below) };
    Ok(match (node(a, path), node(b, path)) {
        (
            Some(Node::File { digest: x, bytes: m, .. }),
            Some(Node::File { digest: y, bytes: n, .. }),
        ) => {
            if x == y {
                How::Mode
            } else {
                let offset = first_difference(&at(first), &at(second))?;
                How::Bytes { offset, first: *m, second: *n }
            }
        }
        (Some(Node::Link { .. }), Some(Node::Link { .. })) => How::Target,
        _ => How::Kind,
    })
}

fn node<'n>(top: &'n Node, path: &[u8]) -> Option<&'n Node> {
    path.split(|b| *b == b'/').filter(|name| !name.is_empty()).try_fold(top, |node, name| {
        let Node::Dir(entries) = node else { return None };
        entries.get(name)
    })
}

/// Where two files differ first.
fn first_difference(first: &Path, second: &Path) -> Result<u64> {
    let open = |path: &Path| File::open(path).map_err(|e| StoreError::at(path, e));
    let (mut a, mut b) = (BufReader::new(open(first)?), BufReader::new(open(second)?));
    let (mut x, mut y) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    let mut offset = 0;
    loop {
        let (m, n) = (fill(&mut a, &mut x)?, fill(&mut b, &mut y)?);
        let same = x[..m].iter().zip(&y[..n]).take_while(|(p, q)| p == q).count();
        offset += same as u64;
        if same < m.max(n) || m == 0 {
            return Ok(offset);
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut len = 0;
    while len < buffer.len() {
        match from.read(&mut buffer[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn every_kind_of_difference() {
        let dir = tempfile::tempdir().expect("tempdir");
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        for (top, long, target) in [(&a, 200_000, "x"), (&b, 150_000, "y")] {
            fs::create_dir_all(top.join("d")).expect("mkdir");
            fs::write(top.join("d/same"), "same").expect("write");
            fs::write(top.join("d/long"), vec![7; long]).expect("write");
            fs::write(top.join("mode"), "m").expect("write");
            symlink(target, top.join("link")).expect("ln");
        }
        fs::write(a.join("bytes"), "abcdef").expect("write");
        fs::write(b.join("bytes"), "abcDef").expect("write");
        fs::write(a.join("gone"), "").expect("write");
        fs::write(b.join("new"), "").expect("write");
        fs::write(a.join("kind"), "").expect("write");
        fs::create_dir(b.join("kind")).expect("mkdir");
        fs::set_permissions(b.join("mode"), fs::Permissions::from_mode(0o755)).expect("chmod");
        let found: Vec<(String, How)> = differences(&a, &b)
            .expect("compare")
            .into_iter()
            .map(|d| (String::from_utf8(d.path).expect("text"), d.how))
            .collect();
        let expected = [
            ("bytes", How::Bytes { offset: 3, first: 6, second: 6 }),
            ("d/long", How::Bytes { offset: 150_000, first: 200_000, second: 150_000 }),
            ("gone", How::OnlyFirst),
            ("kind", How::Kind),
            ("link", How::Target),
            ("mode", How::Mode),
            ("new", How::OnlySecond),
        ];
        assert_eq!(found, expected.map(|(p, h)| (p.to_owned(), h)));
        assert_eq!(differences(&a, &a).expect("compare"), []);
        // A tree that is one file.
        let (one, other) = (a.join("bytes"), b.join("bytes"));
        let found = differences(&one, &other).expect("compare");
        assert_eq!(found[0].how, How::Bytes { offset: 3, first: 6, second: 6 });
    }
}
