//! BLAKE3 digests and the canonical, domain-separated encoding that feeds them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A 256-bit BLAKE3 digest, written as 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// Why a text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// Wrong number of characters.
    #[error("a digest has 64 hexadecimal digits, this has {0} characters")]
    Length(usize),
    /// A character that is no lowercase hexadecimal digit.
    #[error("a digest is lowercase hexadecimal, this has {0:?}")]
    Character(char),
}

impl Digest {
    /// The digest whose bytes are these.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The raw bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// BLAKE3 of `bytes`, without any domain.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The first 12 hexadecimal digits, for people; never used to look anything up alone.
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        if let Some(bad) = text.chars().find(|c| !matches!(c, '0'..='9' | 'a'..='f')) {
            return Err(DigestError::Character(bad));
        }
        let hash = blake3::Hash::from_hex(text).map_err(|_| DigestError::Length(text.len()))?;
        Ok(Self(*hash.as_bytes()))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.to_string())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Feeds a BLAKE3 hasher with a canonical encoding: every byte string is preceded by its length as
/// a little-endian `u64`, every structure by a tag byte, so that no two different sequences of
/// calls feed the same bytes.
pub struct Canonical {
    hasher: blake3::Hasher,
}

impl Canonical {
    /// Starts an encoding in `domain`, a text fixed for ever (a new meaning takes a new domain).
    pub fn new(domain: &str) -> Self {
        Self { hasher: blake3::Hasher::new_derive_key(domain) }
    }

    /// One tag byte.
    pub fn tag(&mut self, tag: u8) -> &mut Self {
        self.hasher.update(&[tag]);
        self
    }

    /// A length-prefixed byte string.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.hasher.update(&(bytes.len() as u64).to_le_bytes());
        self.hasher.update(bytes);
        self
    }

    /// A length-prefixed UTF-8 string.
    pub fn str(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// A 64-bit integer, little-endian.
    pub fn u64(&mut self, n: u64) -> &mut Self {
        self.hasher.update(&n.to_le_bytes());
        self
    }

    /// The digest of all that was fed.
    pub fn finish(&self) -> Digest {
        Digest(*self.hasher.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blake3_of_nothing_is_the_published_vector() {
        assert_eq!(
            Digest::of(b"").to_string(),
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
        );
    }

    #[test]
    fn text_round_trips_and_bad_text_is_refused() {
        let d = Digest::of(b"x");
        assert_eq!(d.to_string().parse::<Digest>(), Ok(d));
        assert_eq!("ab".parse::<Digest>(), Err(DigestError::Length(2)));
        let upper = d.to_string().to_uppercase();
        assert!(matches!(upper.parse::<Digest>(), Err(DigestError::Character(_))));
    }

    #[test]
    fn the_encoding_keeps_boundaries_apart() {
        let mut a = Canonical::new("t");
        a.str("ab").str("c");
        let mut b = Canonical::new("t");
        b.str("a").str("bc");
        let mut c = Canonical::new("u");
        c.str("ab").str("c");
        assert_ne!(a.finish(), b.finish());
        assert_ne!(a.finish(), c.finish());
    }
}
