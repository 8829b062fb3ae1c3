//! What an audit found: the document that `audit --format json` prints.

use schemars::JsonSchema;
use serde::Serialize;

/// What does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The pipeline of today asks for another action, or one that was not run.
    Plan,
    /// A record is damaged, gone, or its key is not the key of what it describes.
    Record,
    /// An output does not hash to its name, or is gone.
    Tree,
    /// A source that was used does not hash to its name.
    Source,
    /// A log does not hash to its name, or is gone.
    Log,
    /// An input is not what the action that is said to have made it gave.
    Input,
    /// A page or file of the site is not what the report makes of the records.
    Page,
    /// A number of the site is not the number of the action that it names.
    Number,
}

impl What {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Record => "record",
            Self::Tree => "tree",
            Self::Source => "source",
            Self::Log => "log",
            Self::Input => "input",
            Self::Page => "page",
            Self::Number => "number",
        }
    }
}

/// One thing that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// What kind of thing.
    pub what: What,
    /// Label of the action.
    pub label: String,
    /// Key of the action, where it is about one record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// File, where it is about one: a page of the site, or a file in the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What is wrong, as a sentence.
    pub problem: String,
}

/// What was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Checked {
    /// Actions of today's plan whose key was computed from their sources.
    pub plan: u64,
    /// Of these, actions that are recorded as failed, timed out or out of memory: true, and no result.
    pub failed: u64,
    /// Records read whose key was computed again from what they describe.
    pub records: u64,
    /// Outputs hashed again.
    pub trees: u64,
    /// Snapshots of sources hashed again.
    pub sources: u64,
    /// Logs hashed again.
    pub logs: u64,
    /// Logs that a collection or a repair has taken away, and that are known to be gone.
    pub logs_gone: u64,
    /// Inputs followed to the action or source that gave them.
    pub inputs: u64,
    /// Bytes hashed.
    pub bytes: u64,
    /// Sites written again from the records.
    pub sites: u64,
    /// Their pages and files, compared byte by byte.
    pub pages: u64,
    /// Files of the sites as they lie laid out, compared byte by byte.
    pub laid_out: u64,
    /// Numbers of the sites' data followed to the record or result that they come from.
    pub numbers: u64,
}

/// The outcome of an audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Audit {
    /// Version of this document, 1.
    pub v: u32,
    /// The pipeline.
    pub pipeline: String,
    /// The run that was audited.
    pub run: String,
    /// Whether everything holds.
    pub holds: bool,
    /// What was looked at.
    pub checked: Checked,
    /// What does not hold.
    pub findings: Vec<Finding>,
    /// What could not be looked at, and why.
    pub left_out: Vec<String>,
}
