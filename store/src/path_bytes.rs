//! Paths in binary formats: they are bytes, not text, which is all that serde's own way takes.

use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// For `#[serde(with)]`.
pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(path.as_os_str().as_bytes())
}

/// For `#[serde(with)]`.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    struct Bytes;
    impl Visitor<'_> for Bytes {
        type Value = PathBuf;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the bytes of a path")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<PathBuf, E> {
            Ok(OsString::from_vec(bytes.to_vec()).into())
        }
    }
    from.deserialize_bytes(Bytes)
}
