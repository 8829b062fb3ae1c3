//! Trees: folders and files named by content.
//!
//! The digest of a tree is a Merkle hash. A file's content digest is the plain BLAKE3 of its bytes
//! (what `b3sum` prints). A folder's is taken over its entries sorted by name bytes: name, kind
//! (`f` file, `x` executable file, `l` symbolic link, `d` folder) and content digest, or the
//! target's bytes for a link. Empty folders count. Times, owners and other permission bits do not.

use crate::hash::hash_file;
use crate::{Result, Store, StoreError, sync_dir};
use fs_err as fs;
use rayon::prelude::*;
use sim_model::digest::Canonical;
use sim_model::{Digest, TreeRef};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A file system object, hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A regular file.
    File {
        /// BLAKE3 of its bytes.
        digest: Digest,
        /// Whether anyone may execute it.
        executable: bool,
        /// Length in bytes.
        bytes: u64,
    },
    /// A symbolic link.
    Link {
        /// Where it points, as written.
        target: Vec<u8>,
    },
    /// A folder, by entry name.
    Dir(BTreeMap<Vec<u8>, Node>),
}

impl Node {
    fn kind(&self) -> u8 {
        match self {
            Self::File { executable: false, .. } => b'f',
            Self::File { executable: true, .. } => b'x',
            Self::Link { .. } => b'l',
            Self::Dir(_) => b'd',
        }
    }

    fn feed(&self, to: &mut Canonical) {
        to.tag(self.kind());
        match self {
            Self::File { digest, .. } => to.bytes(digest.as_bytes()),
            Self::Link { target } => to.bytes(target),
            Self::Dir(_) => to.bytes(self.dir_digest().as_bytes()),
        };
    }

    fn dir_digest(&self) -> Digest {
        let mut c = Canonical::new("sim-pipe tree v1 folder");
        if let Self::Dir(entries) = self {
            c.u64(entries.len() as u64);
            for (name, node) in entries {
                c.bytes(name);
                node.feed(&mut c);
            }
        }
        c.finish()
    }

    /// The digest that names a tree with this node at its root.
    pub fn digest(&self) -> Digest {
        let mut c = Canonical::new("sim-pipe tree v1");
        self.feed(&mut c);
        c.finish()
    }

    /// Digest, bytes and number of files.
    pub fn tree_ref(&self) -> TreeRef {
        let (mut bytes, mut files) = (0, 0);
        self.visit(&mut Vec::new(), &mut |_, node| {
            if let Self::File { bytes: b, .. } = node {
                bytes += b;
                files += 1;
            }
        });
        TreeRef { digest: self.digest(), bytes, files }
    }

    /// Calls `f` with the path (joined by `/`) and node of everything below, folders before their
    /// entries, in name order.
    pub fn visit(&self, path: &mut Vec<u8>, f: &mut dyn FnMut(&[u8], &Self)) {
        f(path, self);
        if let Self::Dir(entries) = self {
            for (name, node) in entries {
                let len = path.len();
                if len > 0 {
                    path.push(b'/');
                }
                path.extend_from_slice(name);
                node.visit(path, f);
                path.truncate(len);
            }
        }
    }
}

/// How deep folders may nest.
const MAX_DEPTH: usize = 200;

/// What `scan` refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkRule {
    /// Links are kept as they are (a user's source tree).
    Keep,
    /// A link must be relative and must not point outside the tree (an action's output).
    Inside,
}

struct Pending {
    path: PathBuf,
    name: Vec<Vec<u8>>,
    bytes: u64,
    executable: bool,
}

/// Reads and hashes what is at `path`.
pub fn scan(path: &Path, links: LinkRule) -> Result<Node> {
    let mut files = Vec::new();
    let mut root = shape(path, path, &mut Vec::new(), links, &mut files)?;
    let total: u64 = files.iter().map(|f| f.bytes).sum();
    let hash = |f: &Pending| hash_file(&f.path, f.bytes);
    let digests: Vec<Result<(Digest, u64)>> = if files.len() > 16 || total > 4 << 20 {
        files.par_iter().map(hash).collect()
    } else {
        files.iter().map(hash).collect()
    };
    for (file, digest) in files.iter().zip(digests) {
        let (digest, bytes) = digest?;
        let node = Node::File { digest, executable: file.executable, bytes };
        place(&mut root, &file.name, node);
    }
    Ok(root)
}

fn place(root: &mut Node, name: &[Vec<u8>], node: Node) {
    match (name.split_first(), root) {
        (None, root) => *root = node,
        (Some((first, rest)), Node::Dir(entries)) => {
            if let Some(child) = entries.get_mut(first) {
                place(child, rest, node);
            }
        }
        _ => {}
    }
}

/// The structure below `path` with files left unhashed; they are listed in `files`.
fn shape(
    path: &Path,
    top: &Path,
    name: &mut Vec<Vec<u8>>,
    links: LinkRule,
    files: &mut Vec<Pending>,
) -> Result<Node> {
    let shown = || {
        let relative = path.strip_prefix(top).unwrap_or(path);
        if relative.as_os_str().is_empty() { path.to_path_buf() } else { relative.to_path_buf() }
    };
    let bad = |problem: String| StoreError::BadEntry { path: shown(), problem };
    if name.len() > MAX_DEPTH {
        return Err(bad(format!("lies more than {MAX_DEPTH} folders deep")));
    }
    let meta = fs::symlink_metadata(path)?;
    let kind = meta.file_type();
    if kind.is_symlink() {
        let target = fs::read_link(path)?;
        if links == LinkRule::Inside && leaves(&target, name.len().saturating_sub(1)) {
            return Err(bad(format!("is a link that leads outside: {}", target.display())));
        }
        return Ok(Node::Link { target: target.as_os_str().as_bytes().to_vec() });
    }
    if kind.is_file() {
        files.push(Pending {
            path: path.to_path_buf(),
            name: name.clone(),
            bytes: meta.len(),
            executable: meta.permissions().mode() & 0o111 != 0,
        });
        return Ok(Node::File {
            digest: Digest::from_bytes([0; 32]),
            executable: false,
            bytes: meta.len(),
        });
    }
    if !kind.is_dir() {
        use std::os::unix::fs::FileTypeExt;
        let what = if kind.is_fifo() {
            "a named pipe"
        } else if kind.is_socket() {
            "a socket"
        } else {
            "a device"
        };
        return Err(bad(format!("is {what}; only files, folders and links can be kept")));
    }
    let mut entries = BTreeMap::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let entry_name = entry.file_name().as_bytes().to_vec();
        name.push(entry_name.clone());
        let node = shape(&entry.path(), top, name, links, files)?;
        name.pop();
        entries.insert(entry_name, node);
    }
    Ok(Node::Dir(entries))
}

/// Whether a link `depth` folders below the top leads out of it, judged by its text alone.
fn leaves(target: &Path, depth: usize) -> bool {
    let mut level = depth;
    for part in target.components() {
        match part {
            std::path::Component::ParentDir => match level.checked_sub(1) {
                Some(l) => level = l,
                None => return true,
            },
            std::path::Component::Normal(_) => level += 1,
            std::path::Component::CurDir => {}
            std::path::Component::RootDir | std::path::Component::Prefix(_) => return true,
        }
    }
    false
}

/// The paths in which two trees differ: added (`+`), removed (`-`) or changed (`~`), sorted.
pub fn diff(a: &Node, b: &Node) -> Vec<(char, Vec<u8>)> {
    let flat = |node: &Node| {
        let mut out = BTreeMap::new();
        node.visit(&mut Vec::new(), &mut |path, node| {
            let content = match node {
                Node::Dir(_) => Node::Dir(BTreeMap::new()),
                other => other.clone(),
            };
            out.insert(path.to_vec(), content);
        });
        out
    };
    let (a, b) = (flat(a), flat(b));
    let mut out = Vec::new();
    for path in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
        match (a.get(path), b.get(path)) {
            (Some(_), None) => out.push(('-', path.clone())),
            (None, Some(_)) => out.push(('+', path.clone())),
            (Some(x), Some(y)) if x != y => out.push(('~', path.clone())),
            _ => {}
        }
    }
    out
}

/// Removes a file or folder, read-only folders included.
pub fn remove_all(path: &Path) -> std::io::Result<()> {
    let meta = match std::fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    if !meta.is_dir() {
        return std::fs::remove_file(path);
    }
    if std::fs::remove_dir_all(path).is_ok() {
        return Ok(());
    }
    // A folder without write permission stops an ordinary user: give it back, then try again.
    let mut todo = vec![path.to_path_buf()];
    while let Some(dir) = todo.pop() {
        let _ = std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700));
        for entry in std::fs::read_dir(&dir)?.flatten() {
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                todo.push(entry.path());
            }
        }
    }
    std::fs::remove_dir_all(path)
}

/// Copies a file or folder, sharing blocks where the file system can. Links are copied as links.
pub fn copy_all(from: &Path, to: &Path) -> Result<()> {
    let meta = fs::symlink_metadata(from)?;
    if meta.file_type().is_symlink() {
        let target = fs::read_link(from)?;
        return std::os::unix::fs::symlink(target, to).map_err(|e| StoreError::at(to, e));
    }
    if meta.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_all(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if !meta.is_file() {
        return Err(StoreError::BadEntry {
            path: from.to_path_buf(),
            problem: "is neither a file, a folder nor a link".to_owned(),
        });
    }
    reflink_copy::reflink_or_copy(from, to).map_err(|e| {
        // It is the other disk that is full.
        let full = e.kind() == std::io::ErrorKind::StorageFull;
        StoreError::at(if full { to } else { from }, e)
    })?;
    let mode = if meta.permissions().mode() & 0o111 != 0 { 0o755 } else { 0o644 };
    fs::set_permissions(to, std::fs::Permissions::from_mode(mode))?;
    Ok(())
}

impl Store {
    /// Where a tree is, or would be.
    pub fn tree_path(&self, digest: &Digest) -> PathBuf {
        self.trees().join(digest.to_string())
    }

    /// Whether a tree is there. Its content is not looked at.
    pub fn has_tree(&self, digest: &Digest) -> bool {
        self.tree_path(digest).symlink_metadata().is_ok()
    }

    /// Takes what is at `path` (on the store's file system) into the store by renaming it. `path` is
    /// gone afterwards.
    pub fn take(&self, path: &Path, links: LinkRule) -> Result<(TreeRef, Node)> {
        if self.read_only() {
            return Err(StoreError::ReadOnly { root: self.root().to_path_buf() });
        }
        let node = scan(path, links)?;
        let tree = node.tree_ref();
        let to = self.tree_path(&tree.digest);
        if self.has_tree(&tree.digest) {
            if self.intact(&tree.digest)? {
                remove_all(path).map_err(|e| StoreError::at(path, e))?;
                return Ok((tree, node));
            }
            // Somebody changed it: what was just hashed takes its place.
            self.quarantine(&to)?;
        }
        seal(path, true, self.syncs())?;
        match fs::rename(path, &to) {
            Ok(()) => {}
            // Another process has taken an equal tree meanwhile.
            Err(_) if self.has_tree(&tree.digest) => {
                remove_all(path).map_err(|e| StoreError::at(path, e))?;
                return Ok((tree, node));
            }
            Err(e) => return Err(e.into()),
        }
        if matches!(node, Node::Dir(_)) {
            fs::set_permissions(&to, std::fs::Permissions::from_mode(0o555))?;
        }
        crate::untouched::mark(&to);
        if self.syncs() {
            sync_dir(&self.trees())?;
        }
        Ok((tree, node))
    }

    /// Copies what is at `path` into the store.
    pub fn copy_in(&self, path: &Path, links: LinkRule) -> Result<(TreeRef, Node)> {
        let scratch = self.scratch("copy-")?;
        let copy = scratch.path().join("tree");
        copy_all(path, &copy)?;
        self.take(&copy, links)
    }

    /// Reads and hashes a stored tree; an error when it does not hash to its name.
    pub fn verified_tree(&self, digest: &Digest) -> Result<Node> {
        let path = self.tree_path(digest);
        if !self.has_tree(digest) {
            return Err(StoreError::MissingTree { digest: *digest });
        }
        let node = scan(&path, LinkRule::Keep)?;
        let found = node.digest();
        if found != *digest {
            return Err(StoreError::Damaged { path, expected: *digest, found });
        }
        Ok(node)
    }

    /// All tree digests in the store, sorted, and names that are none.
    pub(crate) fn tree_digests(&self) -> Result<(Vec<Digest>, Vec<PathBuf>)> {
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(self.trees())? {
            let entry = entry?;
            match entry.file_name().to_str().and_then(|n| n.parse().ok()) {
                Some(digest) => good.push(digest),
                None => bad.push(entry.path()),
            }
        }
        good.sort();
        bad.sort();
        Ok((good, bad))
    }
}

/// Makes everything below `path` read-only and, with `sync`, durable. The top folder stays writable: it must be
/// renamed first.
fn seal(path: &Path, top: bool, sync: bool) -> Result<()> {
    let meta = fs::symlink_metadata(path)?;
    if meta.file_type().is_symlink() {
        return Ok(());
    }
    if meta.is_dir() {
        for entry in fs::read_dir(path)? {
            seal(&entry?.path(), false, sync)?;
        }
        if sync {
            sync_dir(path)?;
        }
        if !top {
            fs::set_permissions(path, std::fs::Permissions::from_mode(0o555))?;
        }
        return Ok(());
    }
    let mode = if meta.permissions().mode() & 0o111 != 0 { 0o555 } else { 0o444 };
    if sync {
        fs::File::open(path)?.sync_all()?;
    }
    fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().expect("tempdir");
        let store = Store::open(&dir.path().join("store")).expect("open");
        (dir, store)
    }

    fn tree(dir: &Path, files: &[(&str, &str)]) -> PathBuf {
        let path = dir.join("out");
        let _ = remove_all(&path);
        fs::create_dir(&path).expect("create");
        for (name, text) in files {
            let file = path.join(name);
            fs::create_dir_all(file.parent().expect("parent")).expect("create");
            fs::write(file, text).expect("write");
        }
        path
    }

    #[test]
    fn a_file_hashes_as_b3sum_does_and_the_tree_digest_is_golden() {
        let (dir, store) = store();
        let path = tree(dir.path(), &[("a.txt", "abc"), ("d/b", "")]);
        let (t, node) = store.take(&path, LinkRule::Inside).expect("take");
        let Node::Dir(entries) = &node else { panic!("a folder") };
        let Some(Node::File { digest, .. }) = entries.get(b"a.txt".as_slice()) else {
            panic!("a file")
        };
        // Published BLAKE3 test value for "abc".
        assert_eq!(
            digest.to_string(),
            "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"
        );
        assert_eq!((t.files, t.bytes), (2, 3));
        assert_eq!(t.digest.to_string(), GOLDEN);
        assert_eq!(store.verified_tree(&t.digest).expect("verify"), node);
    }

    /// Changing this loses every stored tree: change the domain with it.
    const GOLDEN: &str = "0c063166a7df3baed0c0500864f4e7ef779e23d840ade33aa9df91a62457c192";

    #[test]
    fn what_counts_changes_the_digest_and_what_does_not_does_not() {
        let (dir, _) = store();
        let digest = |f: &dyn Fn(&Path)| {
            let path = tree(dir.path(), &[("a", "1"), ("b", "2")]);
            f(&path);
            scan(&path, LinkRule::Keep).expect("scan").digest()
        };
        let base = digest(&|_| {});
        let mode = |m| std::fs::Permissions::from_mode(m);
        assert_eq!(
            base,
            digest(&|p| fs::set_permissions(p.join("a"), mode(0o600)).expect("chmod"))
        );
        assert_ne!(
            base,
            digest(&|p| fs::set_permissions(p.join("a"), mode(0o755)).expect("chmod"))
        );
        assert_ne!(base, digest(&|p| fs::create_dir(p.join("empty")).expect("mkdir")));
        assert_ne!(base, digest(&|p| fs::rename(p.join("a"), p.join("c")).expect("mv")));
        assert_ne!(base, digest(&|p| fs::write(p.join("a"), "2").expect("write")));
        let link = |target: &'static str| {
            digest(&move |p: &Path| {
                fs::remove_file(p.join("a")).expect("rm");
                std::os::unix::fs::symlink(target, p.join("a")).expect("ln");
            })
        };
        assert_ne!(link("b"), link("./b"));
        assert_ne!(base, link("b"));
    }

    #[test]
    fn odd_names_survive_byte_for_byte() {
        use std::ffi::OsStr;
        let (dir, store) = store();
        let path = tree(dir.path(), &[]);
        let names: [&[u8]; 5] =
            [b"with space", b"new\nline", "é".as_bytes(), "e\u{301}".as_bytes(), b"\xff\xfe"];
        for name in names {
            fs::write(path.join(OsStr::from_bytes(name)), name).expect("write");
        }
        let (t, _) = store.take(&path, LinkRule::Inside).expect("take");
        for name in names {
            let read = fs::read(store.tree_path(&t.digest).join(OsStr::from_bytes(name)));
            assert_eq!(read.expect("read"), name);
        }
    }

    #[test]
    fn links_that_lead_outside_and_special_files_are_refused_by_name() {
        let (dir, store) = store();
        for target in ["/etc/passwd", "../x", "d/../../x"] {
            let path = tree(dir.path(), &[("d/f", "1")]);
            std::os::unix::fs::symlink(target, path.join("l")).expect("ln");
            let e = store.take(&path, LinkRule::Inside).expect_err("refused").to_string();
            assert_eq!(e, format!("l is a link that leads outside: {target}"));
        }
        let path = tree(dir.path(), &[("d/f", "1")]);
        std::os::unix::fs::symlink("../d/f", path.join("d/l")).expect("ln");
        assert!(store.take(&path, LinkRule::Inside).is_ok());
        let path = tree(dir.path(), &[]);
        let _socket =
            std::os::unix::net::UnixListener::bind(path.join("s")).expect("a socket in out/");
        let e = store.take(&path, LinkRule::Inside).expect_err("refused").to_string();
        assert_eq!(e, "s is a socket; only files, folders and links can be kept");
    }

    #[test]
    fn a_flipped_byte_is_found() {
        let (dir, store) = store();
        let path = tree(dir.path(), &[("a", "1")]);
        let (t, _) = store.take(&path, LinkRule::Inside).expect("take");
        let file = store.tree_path(&t.digest).join("a");
        fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("chmod");
        fs::write(&file, "2").expect("write");
        assert!(matches!(store.verified_tree(&t.digest), Err(StoreError::Damaged { .. })));
    }
}
