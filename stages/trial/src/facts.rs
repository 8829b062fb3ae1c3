//! The kind `suite`: what a suite says of itself and a report must know, such as its baseline. It is an
//! action of its own so that no trial's key depends on it: another baseline runs no trial again.

use crate::suite::Suite;
use fs_err as fs;
use sim_model::action::Class;
use sim_model::kind::{Cell, Draft, ExpandCtx, InputSpec, Kind, Param, Problem};
use sim_model::request::{Request, StatusFile};
use sim_model::value::Value;
use sim_stage_sdk::{IoContext, Stage, StageError, ok};
use std::path::Path;

/// The kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct SuiteFacts;

/// The draft of a suite that has something to say.
pub(crate) fn draft(suite: &Suite, baseline: &str) -> Draft {
    let mut draft = Draft::new("suite", Class::Pure);
    draft.suffix = "suite".to_owned();
    for (name, value) in [
        ("name", suite.name.as_str()),
        ("title", suite.title.as_str()),
        ("purpose", suite.purpose.name()),
        ("baseline", baseline),
    ] {
        draft.args.insert(name.to_owned(), Value::str(value));
    }
    draft.outputs = vec!["suite.json".to_owned()];
    draft
}

impl Kind for SuiteFacts {
    fn name(&self) -> &'static str {
        "suite"
    }

    fn summary(&self) -> &'static str {
        "Writes down what a suite says of itself."
    }

    fn class(&self) -> Class {
        Class::Pure
    }

    fn fingerprint(&self) -> &'static str {
        env!("SIM_FINGERPRINT")
    }

    fn params(&self) -> &'static [Param] {
        &[]
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[]
    }

    fn public(&self) -> bool {
        false
    }

    fn expand(&self, _: &Cell, _: &mut dyn ExpandCtx) -> Result<Vec<Draft>, Vec<Problem>> {
        Ok(Vec::new())
    }
}

impl Stage for SuiteFacts {
    fn run(&self, request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
        let text = serde_json::to_string_pretty(&request.args)
            .map_err(|e| StageError::Failed(format!("the suite cannot be written as JSON: {e}")))?;
        let path = dir.join("out/suite.json");
        fs::write(&path, text + "\n").at(&path)?;
        Ok(ok())
    }
}
