//! Argument values: what a pipeline file can say, with one order and one encoding.

use crate::digest::Canonical;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A value after matrix expansion and defaults. Floats are finite by construction
/// ([`Value::float`]); maps are sorted by key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "t", content = "v")]
pub enum Value {
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// A finite IEEE-754 double.
    Float(f64),
    /// A text.
    Str(String),
    /// An ordered list.
    List(Vec<Value>),
    /// A map sorted by key.
    Map(BTreeMap<String, Value>),
}

impl Value {
    /// A float, or `None` when it is not finite. Negative zero becomes zero: both compare equal.
    pub fn float(x: f64) -> Option<Self> {
        x.is_finite().then_some(Self::Float(if x == 0.0 { 0.0 } else { x }))
    }

    /// A text value.
    pub fn str(text: impl Into<String>) -> Self {
        Self::Str(text.into())
    }

    /// The text, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(s) => Some(s),
            _ => None,
        }
    }

    /// The integer, if this is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(i) => Some(*i),
            _ => None,
        }
    }

    /// The number as a double, from an integer or a float.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(i) => Some(*i as f64),
            Self::Float(x) => Some(*x),
            _ => None,
        }
    }

    /// The boolean, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// The list, if this is one.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(v) => Some(v),
            _ => None,
        }
    }

    /// The map, if this is one.
    pub fn as_map(&self) -> Option<&BTreeMap<String, Value>> {
        match self {
            Self::Map(m) => Some(m),
            _ => None,
        }
    }

    /// The TOML name of this value's type, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Bool(_) => "boolean",
            Self::Int(_) => "integer",
            Self::Float(_) => "float",
            Self::Str(_) => "string",
            Self::List(_) => "array",
            Self::Map(_) => "table",
        }
    }

    /// Feeds the canonical encoding: a tag, then the content. An integer and a float of the same
    /// number differ; floats enter by their IEEE-754 bits.
    pub fn encode(&self, to: &mut Canonical) {
        match self {
            Self::Bool(b) => {
                to.tag(b'b').tag(u8::from(*b));
            }
            Self::Int(i) => {
                to.tag(b'i').u64(i.cast_unsigned());
            }
            Self::Float(x) => {
                to.tag(b'f').u64(x.to_bits());
            }
            Self::Str(s) => {
                to.tag(b's').str(s);
            }
            Self::List(items) => {
                to.tag(b'l').u64(items.len() as u64);
                items.iter().for_each(|v| v.encode(to));
            }
            Self::Map(map) => {
                to.tag(b'm').u64(map.len() as u64);
                for (k, v) in map {
                    to.str(k);
                    v.encode(to);
                }
            }
        }
    }

    /// As plain JSON (types carried by JSON itself), for requests and people.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Bool(b) => (*b).into(),
            Self::Int(i) => (*i).into(),
            Self::Float(x) => {
                serde_json::Number::from_f64(*x).map_or(serde_json::Value::Null, Into::into)
            }
            Self::Str(s) => s.as_str().into(),
            Self::List(v) => v.iter().map(Self::to_json).collect(),
            Self::Map(m) => {
                serde_json::Value::Object(m.iter().map(|(k, v)| (k.clone(), v.to_json())).collect())
            }
        }
    }

    /// From plain JSON; `None` for null and for numbers that are neither `i64` nor finite doubles.
    pub fn from_json(json: &serde_json::Value) -> Option<Self> {
        Some(match json {
            serde_json::Value::Null => return None,
            serde_json::Value::Bool(b) => Self::Bool(*b),
            serde_json::Value::Number(n) => match n.as_i64() {
                Some(i) => Self::Int(i),
                None => Self::float(n.as_f64()?)?,
            },
            serde_json::Value::String(s) => Self::Str(s.clone()),
            serde_json::Value::Array(v) => {
                Self::List(v.iter().map(Self::from_json).collect::<Option<_>>()?)
            }
            serde_json::Value::Object(m) => Self::Map(
                m.iter()
                    .map(|(k, v)| Some((k.clone(), Self::from_json(v)?)))
                    .collect::<Option<_>>()?,
            ),
        })
    }
}

impl fmt::Display for Value {
    /// As TOML would write it inline; control characters are escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(b) => write!(f, "{b}"),
            Self::Int(i) => write!(f, "{i}"),
            Self::Float(x) => write!(f, "{x:?}"),
            Self::Str(s) => write!(f, "{s:?}"),
            Self::List(v) => {
                f.write_str("[")?;
                for (i, x) in v.iter().enumerate() {
                    write!(f, "{}{x}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
            Self::Map(m) => {
                f.write_str("{")?;
                for (i, (k, x)) in m.iter().enumerate() {
                    write!(f, "{}{} = {x}", if i > 0 { ", " } else { " " }, name(k))?;
                }
                f.write_str(" }")
            }
        }
    }
}

/// A key of a table: a bare word as it is, anything else in quotes.
pub(crate) fn name(key: &str) -> std::borrow::Cow<'_, str> {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(bare) { key.into() } else { format!("{key:?}").into() }
}

/// The text in quotes at the beginning of `text`, and what follows it.
pub(crate) fn unquote(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.strip_prefix('"')?.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, &text[at + 2..])),
            '\\' => out.push(match chars.next()?.1 {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '0' => '\0',
                'u' => {
                    let rest = &text[chars.next()?.0 + 2..];
                    let digits = &rest[..rest.find('}')?];
                    (0..=digits.len()).try_for_each(|_| chars.next().map(|_| ()))?;
                    u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?
                }
                same => same,
            }),
            c => out.push(c),
        }
    }
    None
}

/// How deep values nest that are read back from text.
const DEEPEST: usize = 100;

impl Value {
    /// The value whose [`Display`](fmt::Display) text this is; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (value, rest) = Self::parse_some(text, 0)?;
        rest.is_empty().then_some(value)
    }

    fn parse_some(text: &str, depth: usize) -> Option<(Self, &str)> {
        if depth > DEEPEST {
            return None;
        }
        if text.starts_with('"') {
            return unquote(text).map(|(s, rest)| (Self::Str(s), rest));
        }
        if let Some(mut rest) = text.strip_prefix('[') {
            let mut items = Vec::new();
            loop {
                if let Some(rest) = rest.strip_prefix(']') {
                    return Some((Self::List(items), rest));
                }
                if !items.is_empty() {
                    rest = rest.strip_prefix(", ")?;
                }
                let (item, after) = Self::parse_some(rest, depth + 1)?;
                items.push(item);
                rest = after;
            }
        }
        if let Some(mut rest) = text.strip_prefix('{') {
            let mut map = BTreeMap::new();
            // A table that is a component of its own is written without the space.
            if let Some(rest) = rest.strip_prefix('}') {
                return Some((Self::Map(map), rest));
            }
            loop {
                if let Some(rest) = rest.strip_prefix(" }") {
                    return Some((Self::Map(map), rest));
                }
                rest = rest.strip_prefix(if map.is_empty() { " " } else { ", " })?;
                let (key, after) = match unquote(rest) {
                    Some(quoted) => quoted,
                    None => {
                        let end = rest.find(" = ")?;
                        (rest[..end].to_owned(), &rest[end..])
                    }
                };
                let (value, after) = Self::parse_some(after.strip_prefix(" = ")?, depth + 1)?;
                map.insert(key, value);
                rest = after;
            }
        }
        let end = text.find([',', ']', ' ', '}']).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let value = match word {
            "true" => Self::Bool(true),
            "false" => Self::Bool(false),
            _ => match word.parse::<i64>() {
                Ok(i) => Self::Int(i),
                Err(_) if word.contains(['.', 'e']) => Self::float(word.parse().ok()?)?,
                Err(_) => return None,
            },
        };
        // `+5` and `1e3` are numbers, and not what is written for them.
        (value.to_string() == word).then_some((value, rest))
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Self::Str(s.to_owned())
    }
}

impl From<String> for Value {
    fn from(s: String) -> Self {
        Self::Str(s)
    }
}

impl From<i64> for Value {
    fn from(i: i64) -> Self {
        Self::Int(i)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}
