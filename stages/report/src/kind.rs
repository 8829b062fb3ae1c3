//! The planning side: what a `report` stage takes and the one action it becomes.

use sim_model::action::Class;
use sim_model::kind::{
    Cell, Draft, DraftInput, ExpandCtx, InputSpec, Kind, Param, ParamType, Place, Problem,
};
use sim_model::value::Value;

/// The `report` kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report;

const PARAMS: &[Param] = &[
    Param {
        name: "title",
        ty: ParamType::Str,
        required: false,
        doc: "Title of the site. Default: the pipeline's.",
    },
    Param {
        name: "description",
        ty: ParamType::Str,
        required: false,
        doc: "One paragraph below the title. Default: none.",
    },
    Param {
        name: "question",
        ty: ParamType::Str,
        required: false,
        doc: "The question that the measurements answer, as one sentence. Default: derived from \
              the trials.",
    },
    Param {
        name: "interest",
        ty: ParamType::Str,
        required: false,
        doc: "Who made this and what they stand to gain; shown with the limits. Default: says that \
              no interest was declared.",
    },
    Param {
        name: "not_measured",
        ty: ParamType::StrList,
        required: false,
        doc: "Further things that were not measured, one sentence each; shown before any result. \
              Default: none.",
    },
    Param {
        name: "baseline",
        ty: ParamType::Str,
        required: false,
        doc: "Engine that the score of a suite is made against. Default: `mujoco`.",
    },
    Param {
        name: "logs",
        ty: ParamType::Bool,
        required: false,
        doc: "Whether the ends of the actions' logs are put on their pages. Default: true.",
    },
    Param {
        name: "templates",
        ty: ParamType::Path,
        required: false,
        doc: "Folder whose files replace the built-in templates, style and script of the same \
              name. Default: the built-in ones.",
    },
];

const INPUTS: &[InputSpec] = &[
    InputSpec {
        name: "trials",
        required: false,
        many: true,
        doc: "Trials to tabulate; failed ones are rows too.",
    },
    InputSpec {
        name: "protocols",
        required: false,
        many: true,
        doc: "Verdicts of `protocol` and `batch-protocol` stages, such as `m1[*]/verdict`: every check \
              with its limit and margin, why candidates failed, and what the runs did over time.",
    },
    InputSpec {
        name: "renders",
        required: false,
        many: true,
        doc: "Rendered media, shown with the scene they belong to.",
    },
    InputSpec {
        name: "files",
        required: false,
        many: true,
        doc: "Outputs of any other steps: SVG and PNG are shown, CSV becomes a table, the rest a \
              download.",
    },
];

impl Kind for Report {
    fn name(&self) -> &'static str {
        "report"
    }

    fn summary(&self) -> &'static str {
        "Writes a static site with tables, curves, methods, limits and the provenance of every \
         number."
    }

    fn class(&self) -> Class {
        Class::Pure
    }

    fn fingerprint(&self) -> &'static str {
        env!("SIM_FINGERPRINT")
    }

    fn params(&self) -> &'static [Param] {
        PARAMS
    }

    fn inputs(&self) -> &'static [InputSpec] {
        INPUTS
    }

    fn expand(&self, cell: &Cell, ctx: &mut dyn ExpandCtx) -> Result<Vec<Draft>, Vec<Problem>> {
        if !INPUTS.iter().any(|input| cell.inputs.contains(input.name)) {
            return Err(vec![Problem {
                place: Place::Stage,
                message: "a report of nothing: none of its inputs is given".to_owned(),
                hint: Some("add for example `inputs.trials = \"trial[*]\"`".to_owned()),
            }]);
        }
        let mut draft = Draft::new("report", Class::Pure);
        draft.seed = cell.seed;
        draft.timeout = cell.timeout;
        for (name, default) in [
            ("title", Value::Str(cell.pipeline_title.clone())),
            ("pipeline", Value::Str(cell.pipeline_file.clone())),
            ("description", Value::Str(String::new())),
            ("question", Value::Str(String::new())),
            ("interest", Value::Str(String::new())),
            ("not_measured", Value::List(Vec::new())),
            ("baseline", Value::str("mujoco")),
            ("logs", Value::Bool(true)),
        ] {
            if let Some(origin) = cell.origins.get(name) {
                draft.origins.insert(format!("args.{name}"), origin.clone());
            }
            let value = cell.params.get(name).cloned().unwrap_or(default);
            draft.args.insert(name.to_owned(), value);
        }
        for name in &cell.inputs {
            draft.inputs.insert(name.clone(), DraftInput::Declared(name.clone()));
        }
        if let Some(folder) = cell.params.get("templates").and_then(Value::as_str) {
            if !ctx.exists(folder) {
                return Err(vec![Problem {
                    place: Place::Param("templates".to_owned()),
                    message: format!("there is no folder {folder:?}"),
                    hint: None,
                }]);
            }
            draft.inputs.insert("templates".to_owned(), DraftInput::Source(folder.to_owned()));
        }
        draft.inputs.insert("provenance".to_owned(), DraftInput::Provenance);
        Ok(vec![draft])
    }
}
