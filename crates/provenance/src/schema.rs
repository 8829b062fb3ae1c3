//! JSON schemas of the documents that commands print.

use crate::{audit, critical, depends, diff, listing};
use schemars::{Schema, schema_for};

/// Name and schema of each document.
pub fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("audit", schema_for!(audit::Audit)),
        ("run-diff", schema_for!(diff::RunDiff)),
        ("action-diff", schema_for!(diff::ActionDiff)),
        ("critical-path", schema_for!(critical::CriticalPath)),
        ("why-depends", schema_for!(depends::WhyDepends)),
        ("what-ran", schema_for!(listing::WhatRan)),
        ("runs", schema_for!(listing::Runs)),
        ("store-size", schema_for!(listing::StoreSize)),
    ]
}
