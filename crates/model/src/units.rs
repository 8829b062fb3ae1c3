//! Durations, sizes and fractions as people write them in a pipeline file.

use std::time::Duration;

/// A limit on memory: bytes, or a share of the machine's RAM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MemoryLimit {
    /// So many bytes.
    Bytes(u64),
    /// A fraction of the machine's RAM, in (0, 1].
    Share(f64),
}

impl MemoryLimit {
    /// The limit in bytes on a machine with `ram` bytes.
    pub fn resolve(self, ram: u64) -> u64 {
        match self {
            Self::Bytes(n) => n,
            Self::Share(s) => (ram as f64 * s) as u64,
        }
    }
}

/// Why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// No number in front.
    #[error("{0:?} has no number in front of its unit")]
    Number(String),
    /// The unit is missing or unknown.
    #[error("{text:?} needs one of the units {allowed}")]
    Unit {
        /// What was written.
        text: String,
        /// The units that are understood.
        allowed: &'static str,
    },
    /// Zero, negative or too large.
    #[error("{0:?} is out of range")]
    Range(String),
}

fn split(text: &str) -> Result<(f64, &str), UnitError> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number = text[..end].parse::<f64>().map_err(|_| UnitError::Number(text.to_owned()))?;
    Ok((number, text[end..].trim()))
}

/// Parses a duration: `250ms`, `120s`, `5min`, `2h`. Must be positive and at most 30 days.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let (n, unit) = split(text)?;
    let scale = match unit {
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        _ => {
            return Err(UnitError::Unit { text: text.to_owned(), allowed: "ms, s, min, h" });
        }
    };
    let seconds = n * scale;
    if !(seconds > 0.0 && seconds <= 30.0 * 86400.0) {
        return Err(UnitError::Range(text.to_owned()));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Parses a memory limit: `56.25%`, `512MiB`, `4GiB`, `2GB`.
pub fn parse_memory(text: &str) -> Result<MemoryLimit, UnitError> {
    let (n, unit) = split(text)?;
    let bytes = match unit {
        "%" => {
            return if n > 0.0 && n <= 100.0 {
                Ok(MemoryLimit::Share(n / 100.0))
            } else {
                Err(UnitError::Range(text.to_owned()))
            };
        }
        "KiB" => n * 1024.0,
        "MiB" => n * 1024f64.powi(2),
        "GiB" => n * 1024f64.powi(3),
        "MB" => n * 1e6,
        "GB" => n * 1e9,
        _ => {
            return Err(UnitError::Unit {
                text: text.to_owned(),
                allowed: "%, KiB, MiB, GiB, MB, GB",
            });
        }
    };
    if !(1.0..=9e18).contains(&bytes) {
        return Err(UnitError::Range(text.to_owned()));
    }
    Ok(MemoryLimit::Bytes(bytes as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_mean_what_they_say() {
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("1.5 min"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_memory("56.25%"), Ok(MemoryLimit::Share(0.5625)));
        assert_eq!(parse_memory("2GiB"), Ok(MemoryLimit::Bytes(2 << 30)));
        assert_eq!(MemoryLimit::Share(0.5625).resolve(16 << 30), 9 << 30);
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in ["", "s", "0s", "12", "9999h", "-1s", "1e400s", "nan s"] {
            assert!(parse_duration(bad).is_err(), "{bad:?}");
        }
        for bad in ["0%", "101%", "5", "3 apples", "0GiB"] {
            assert!(parse_memory(bad).is_err(), "{bad:?}");
        }
    }
}
