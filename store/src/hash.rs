//! The BLAKE3 of a file, on all processors.
//!
//! A file is read, not mapped: a mapped one that is cut meanwhile ends the whole program with SIGBUS.
//! BLAKE3 is a binary tree over the content, so parts are read and hashed side by side, each while it
//! is in a processor's own cache, and merged.

use crate::{Result, StoreError};
use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root,
};
use fs_err as fs;
use sim_model::Digest;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Read and hashed in one piece: a power of two, as subtrees are.
const PIECE: u64 = 256 << 10;

/// Hashes one file; an error when it changes meanwhile.
pub(crate) fn hash_file(path: &Path, expected_len: u64) -> Result<(Digest, u64)> {
    if expected_len < 128 << 10 {
        let bytes = fs::read(path)?;
        return Ok((Digest::of(&bytes), bytes.len() as u64));
    }
    let file = fs::File::open(path)?;
    let before = file.metadata()?;
    let len = before.len();
    let changed = || StoreError::ChangedWhileRead { path: path.to_path_buf() };
    let hashed = if len <= PIECE {
        piece(file.file(), 0, len, |bytes| *blake3::hash(bytes).as_bytes())
    } else {
        let left = left_subtree_len(len);
        halves(file.file(), 0, left, len)
            .map(|(l, r)| *merge_subtrees_root(&l, &r, Mode::Hash).as_bytes())
    };
    let hash = match hashed {
        Ok(hash) => hash,
        // It is shorter than it was.
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Err(changed()),
        Err(e) => return Err(StoreError::at(path, e)),
    };
    let after = file.metadata()?;
    let stamp = |m: &std::fs::Metadata| (m.len(), m.mtime(), m.mtime_nsec());
    if stamp(&before) != stamp(&after) {
        return Err(changed());
    }
    Ok((Digest::from_bytes(hash), len))
}

fn halves(
    file: &std::fs::File,
    at: u64,
    left: u64,
    len: u64,
) -> io::Result<(ChainingValue, ChainingValue)> {
    let (l, r) = rayon::join(|| subtree(file, at, left), || subtree(file, at + left, len - left));
    Ok((l?, r?))
}

/// The chaining value of `len` bytes from `at` on, which are not the whole file.
fn subtree(file: &std::fs::File, at: u64, len: u64) -> io::Result<ChainingValue> {
    if len <= PIECE {
        return piece(file, at, len, |bytes| {
            blake3::Hasher::new().set_input_offset(at).update(bytes).finalize_non_root()
        });
    }
    let (l, r) = halves(file, at, left_subtree_len(len), len)?;
    Ok(merge_subtrees_non_root(&l, &r, Mode::Hash))
}

thread_local! {
    static BUFFER: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
}

fn piece<T>(
    file: &std::fs::File,
    at: u64,
    len: u64,
    hash: impl FnOnce(&[u8]) -> T,
) -> io::Result<T> {
    BUFFER.with_borrow_mut(|buffer| {
        buffer.resize(PIECE as usize, 0);
        let bytes = &mut buffer[..len as usize];
        file.read_exact_at(bytes, at)?;
        Ok(hash(bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_hash_of_the_whole_content_at_every_size() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("f");
        let sizes = [
            0,
            1,
            1025,
            (128 << 10) - 1,
            128 << 10,
            PIECE as usize - 1,
            PIECE as usize,
            PIECE as usize + 1,
            3 * PIECE as usize,
            (1 << 20) + 1,
            (4 << 20) + 12_345,
        ];
        for size in sizes {
            let bytes: Vec<u8> = (0..size).map(|i| (i * 31 % 251) as u8).collect();
            fs::write(&path, &bytes).expect("write");
            // Another implementation: the reference way of the same crate, from memory.
            let expected = blake3::hash(&bytes);
            let (found, len) = hash_file(&path, size as u64).expect("hash");
            assert_eq!((found.as_bytes(), len), (expected.as_bytes(), size as u64), "{size}");
        }
    }

    #[test]
    fn a_file_that_is_shorter_by_now_is_no_crash() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("f");
        fs::write(&path, vec![7; 1 << 20]).expect("write");
        let file = std::fs::File::open(&path).expect("open");
        fs::write(&path, "short").expect("cut");
        let e = halves(&file, 0, 512 << 10, 1 << 20).expect_err("cut");
        assert_eq!(e.kind(), io::ErrorKind::UnexpectedEof);
    }
}
