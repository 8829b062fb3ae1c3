//! The store as the catalog reads it.

use sim_catalog::{Source, SourceError, TreeFile};
use sim_model::event::Line;
use sim_model::{Digest, Record};
use sim_store::tree::{LinkRule, Node, scan};
use sim_store::{Store, StoreError};

/// A store behind the catalog's trait.
pub(crate) struct StoreSource<'a>(pub(crate) &'a Store);

impl Source for StoreSource<'_> {
    fn records(&self) -> Result<Vec<Record>, SourceError> {
        Ok(self.0.records()?.0)
    }

    fn list(&self, tree: &Digest) -> Result<Option<Vec<TreeFile>>, SourceError> {
        if !self.0.has_tree(tree) {
            return Ok(None);
        }
        let node = scan(&self.0.tree_path(tree), LinkRule::Keep)?;
        let mut files = Vec::new();
        node.visit(&mut Vec::new(), &mut |path, node| {
            let path = String::from_utf8_lossy(path).into_owned();
            match node {
                Node::Dir(_) => {}
                Node::File { digest, executable, bytes } => files.push(TreeFile {
                    path,
                    bytes: *bytes,
                    digest: Some(*digest),
                    executable: *executable,
                    link: None,
                }),
                Node::Link { target } => files.push(TreeFile {
                    path,
                    bytes: target.len() as u64,
                    digest: None,
                    executable: false,
                    link: Some(String::from_utf8_lossy(target).into_owned()),
                }),
            }
        });
        Ok(Some(files))
    }

    fn file(&self, tree: &Digest, path: &str) -> Result<Option<Vec<u8>>, SourceError> {
        if path.starts_with('/') || path.split('/').any(|p| p == "..") {
            return Ok(None);
        }
        match std::fs::read(self.0.tree_path(tree).join(path)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(format!("{path} in tree {}: {e}", tree.short()).into()),
        }
    }

    fn log(&self, blob: &Digest) -> Result<Option<Vec<u8>>, SourceError> {
        match self.0.blob(blob) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(StoreError::MissingBlob { .. } | StoreError::Damaged { .. }) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn journal(&self) -> Result<Vec<Line>, SourceError> {
        let mut lines = Vec::new();
        for path in self.0.journals()? {
            lines.extend(self.0.journal_lines(&path)?);
        }
        Ok(lines)
    }
}
