//! The form of what a command prints: text for people, or one JSON document.

use crate::error::CliError;
use crate::global::Global;
use crate::text;
use clap::{Args, ValueEnum};
use serde::Serialize;

/// The option of commands that print one document
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Format {
    /// How to print: text, or one JSON document (`--json` puts it on one line)
    #[arg(long, value_enum, default_value_t = Form::Text, value_name = "FORMAT")]
    format: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    Text,
    /// One document; `sim-pipe schema` has its schema
    Json,
}

impl Format {
    /// Whether JSON is wanted.
    pub(crate) fn json(self, global: &Global) -> bool {
        global.json || self.format == Form::Json
    }

    /// Prints a document: on one line after `--json`, over many after `--format json`.
    pub(crate) fn print(self, global: &Global, document: &impl Serialize) -> Result<(), CliError> {
        text::out(&if global.json {
            serde_json::to_string(document)?
        } else {
            serde_json::to_string_pretty(document)?
        });
        Ok(())
    }
}
