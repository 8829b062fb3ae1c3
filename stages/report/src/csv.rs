//! Tables as files beside the pages: CSV for spreadsheets, JSON for programs; every digit kept.

use crate::number::full;
use serde::Serialize;
use std::fmt::Write as _;

/// One value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Field {
    Null,
    Bool(bool),
    Int(u64),
    Float(f64),
    Text(String),
}

impl From<bool> for Field {
    fn from(v: bool) -> Self {
        Self::Bool(v)
    }
}

impl From<u64> for Field {
    fn from(v: u64) -> Self {
        Self::Int(v)
    }
}

impl From<usize> for Field {
    fn from(v: usize) -> Self {
        Self::Int(v as u64)
    }
}

impl From<f64> for Field {
    fn from(v: f64) -> Self {
        if v.is_finite() { Self::Float(v) } else { Self::Null }
    }
}

impl From<&str> for Field {
    fn from(v: &str) -> Self {
        Self::Text(v.to_owned())
    }
}

impl From<String> for Field {
    fn from(v: String) -> Self {
        Self::Text(v)
    }
}

impl<T: Into<Field>> From<Option<T>> for Field {
    fn from(v: Option<T>) -> Self {
        v.map_or(Self::Null, Into::into)
    }
}

/// A row of fields.
macro_rules! fields {
    ($($value:expr),* $(,)?) => { vec![$($crate::csv::Field::from($value)),*] };
}
pub(crate) use fields;

/// A table as data.
#[derive(Clone, Debug)]
pub(crate) struct Sheet {
    /// Stem of the files.
    pub(crate) name: &'static str,
    /// What a row is.
    pub(crate) doc: &'static str,
    /// Column names, units included.
    pub(crate) header: &'static [&'static str],
    /// Rows.
    pub(crate) rows: Vec<Vec<Field>>,
}

impl Sheet {
    /// RFC 4180 with a header; what is absent is an empty field, an empty text is quoted.
    pub(crate) fn csv(&self) -> String {
        let mut out = self.header.join(",") + "\n";
        for row in &self.rows {
            for (i, field) in row.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                match field {
                    Field::Null => {}
                    Field::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
                    Field::Int(n) => {
                        let _ = write!(out, "{n}");
                    }
                    Field::Float(x) => out.push_str(&full(*x)),
                    Field::Text(t) if t.is_empty() || t.contains(['"', ',', '\n', '\r']) => {
                        let _ = write!(out, "\"{}\"", t.replace('"', "\"\""));
                    }
                    Field::Text(t) => out.push_str(t),
                }
            }
            out.push('\n');
        }
        out
    }

    /// An array of arrays with the names beside it, one row a line.
    pub(crate) fn json(&self) -> Result<String, serde_json::Error> {
        let mut out = format!(
            "{{\"about\":{},\"columns\":{},\"rows\":[",
            serde_json::to_string(self.doc)?,
            serde_json::to_string(self.header)?
        );
        for (i, row) in self.rows.iter().enumerate() {
            out.push_str(if i > 0 { ",\n" } else { "\n" });
            out.push_str(&serde_json::to_string(row)?);
        }
        out.push_str("\n]}\n");
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_numbers_keep_every_digit() {
        let sheet = Sheet {
            name: "t",
            doc: "A \"test\".",
            header: &["a", "b", "c"],
            rows: vec![fields![0.1 + 0.2, "x,\"y\"\n", None::<f64>], fields![3u64, "", true]],
        };
        assert_eq!(sheet.csv(), "a,b,c\n0.30000000000000004,\"x,\"\"y\"\"\n\",\n3,\"\",true\n");
        let json: serde_json::Value = serde_json::from_str(&sheet.json().unwrap()).unwrap();
        assert_eq!(json["rows"][0][1], "x,\"y\"\n");
        assert_eq!(json["rows"][0][2], serde_json::Value::Null);
    }
}
