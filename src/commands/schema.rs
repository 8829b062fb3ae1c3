//! `sim-pipe schema`: JSON schemas of what people and programs write.

use crate::error::{CliError, CliResult, exit};
use crate::{kinds, text};
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// What people and engines write: pipeline, scene, job, result, description,
    /// capacity-samples or device-samples; or what commands
    /// print: audit, run-diff, action-diff, critical-path, why-depends, what-ran, runs or store-size
    #[arg(default_value = "pipeline")]
    what: String,
}

pub(crate) fn run(args: &SchemaArgs) -> CliResult {
    if args.what == "pipeline" {
        let schema = sim_plan::json_schema(&kinds::registry());
        text::out(&serde_json::to_string_pretty(&schema)?);
        return Ok(exit::OK);
    }
    let mut schemas = sim_engine_protocol::schemas();
    schemas.extend(sim_provenance::schema::schemas());
    match schemas.iter().find(|(name, _)| *name == args.what) {
        Some((_, schema)) => {
            text::out(&serde_json::to_string_pretty(schema)?);
            Ok(exit::OK)
        }
        None => {
            let names: Vec<&str> = schemas.iter().map(|(n, _)| *n).collect();
            Err(CliError::new(exit::USAGE, format!("there is no schema `{}`", args.what))
                .hint(format!("there are pipeline, {}", names.join(", "))))
        }
    }
}
