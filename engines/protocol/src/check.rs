//! Field errors: what is wrong, where, and with which value.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FieldError {
    /// Where: `bodies[3].mass`.
    pub path: String,
    /// The offending value as text.
    pub value: String,
    /// What is wrong with it.
    pub problem: String,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: {}", self.path, self.value, self.problem)
    }
}

impl std::error::Error for FieldError {}

/// All problems of one document, at most [`FieldErrors::MOST`] of them listed.
#[derive(Clone, Debug, Default)]
pub struct FieldErrors {
    list: Vec<FieldError>,
    more: usize,
}

impl FieldErrors {
    /// So a hostile document of a million bad bodies does not become a million messages.
    pub const MOST: usize = 100;

    /// The problems that `find` adds.
    pub fn of(find: impl FnOnce(&mut Self)) -> Result<(), Vec<FieldError>> {
        let mut errors = Self::default();
        find(&mut errors);
        errors.finish()
    }

    /// Adds one problem.
    pub fn add(
        &mut self,
        path: impl Into<String>,
        value: impl ToString,
        problem: impl Into<String>,
    ) {
        if self.list.len() < Self::MOST {
            let (path, problem) = (path.into(), problem.into());
            self.list.push(FieldError { path, value: value.to_string(), problem });
        } else {
            self.more += 1;
        }
    }

    /// How many problems were added.
    pub(crate) fn count(&self) -> usize {
        self.list.len() + self.more
    }

    /// `Ok` where nothing was added.
    pub fn finish(mut self) -> Result<(), Vec<FieldError>> {
        if self.list.is_empty() {
            return Ok(());
        }
        if self.more > 0 {
            self.list.push(FieldError {
                path: "…".into(),
                value: self.more.to_string(),
                problem: "further problems, not listed".into(),
            });
        }
        Err(self.list)
    }

    /// Adds a problem unless the number is finite; says whether it is.
    pub(crate) fn finite(&mut self, path: &str, value: f64) -> bool {
        if !value.is_finite() {
            self.add(path, value, "must be finite");
        }
        value.is_finite()
    }

    /// Adds a problem unless the number is finite and within the bounds.
    pub(crate) fn within(&mut self, path: &str, value: f64, low: f64, high: f64) {
        if self.finite(path, value) && !(low..=high).contains(&value) {
            self.add(path, value, format!("must be from {low} to {high}"));
        }
    }

    /// Checks that every component is finite and no larger than `most` in size.
    pub(crate) fn vector(&mut self, path: &str, value: &[f64], most: f64) -> bool {
        let before = self.list.len() + self.more;
        for (i, x) in value.iter().enumerate() {
            self.within(&format!("{path}[{i}]"), *x, -most, most);
        }
        before == self.list.len() + self.more
    }
}

/// The fields of a document that JSON could not hold: NaN and infinities.
///
/// serde_json writes them as `null`, which no document of this protocol contains otherwise
/// (absent values are left out), so every `null` is a number that is not finite.
pub fn non_finite_fields(value: &impl Serialize) -> Result<(), Vec<FieldError>> {
    let mut errors = FieldErrors::default();
    match serde_json::to_value(value) {
        Ok(json) => walk(&json, "", &mut errors),
        Err(e) => errors.add("", "document", e.to_string()),
    }
    errors.finish()
}

fn walk(json: &serde_json::Value, path: &str, errors: &mut FieldErrors) {
    match json {
        serde_json::Value::Null => errors.add(path, "not a finite number", "must be finite"),
        serde_json::Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                walk(item, &format!("{path}[{i}]"), errors);
            }
        }
        serde_json::Value::Object(fields) => {
            for (name, item) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                walk(item, &format!("{path}{dot}{name}"), errors);
            }
        }
        _ => {}
    }
}
