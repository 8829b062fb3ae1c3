//! JSON schemas of the documents that commands print.

use crate::{audit, critical, depends, diff, listing};
use schemars::schema_for;
use serde_json::Value;

/// Name and schema of each document.
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("audit", schema_for!(audit::Audit).to_value()),
        ("run-diff", schema_for!(diff::RunDiff).to_value()),
        ("critical-path", schema_for!(critical::CriticalPath).to_value()),
        ("why-depends", schema_for!(depends::WhyDepends).to_value()),
        ("what-ran", schema_for!(listing::WhatRan).to_value()),
        ("store-size", schema_for!(listing::StoreSize).to_value()),
    ]
}
