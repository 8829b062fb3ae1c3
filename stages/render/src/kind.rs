//! The planning side: what a `render` stage takes and the one action it becomes.

use sim_model::action::Class;
use sim_model::kind::{
    Cell, Draft, DraftInput, ExpandCtx, InputSpec, Kind, Param, ParamType, Place, Problem,
};
use sim_model::request::{Request, StatusFile};
use sim_model::value::Value;
use sim_stage_sdk::{Stage, StageError};
use std::path::Path;

/// The kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Render;

/// Parameter, default.
const DEFAULTS: [(&str, i64); 3] = [("width", 640), ("height", 400), ("frames_per_second", 20)];

const PARAMS: &[Param] = &[
    Param {
        name: "width",
        ty: ParamType::Int { min: 32, max: 3840 },
        required: false,
        doc: "Width of the pictures in pixels. Default: 640.",
    },
    Param {
        name: "height",
        ty: ParamType::Int { min: 32, max: 2160 },
        required: false,
        doc: "Height of the pictures in pixels. Default: 400.",
    },
    Param {
        name: "frames_per_second",
        ty: ParamType::Int { min: 1, max: 60 },
        required: false,
        doc: "Frames of an animation for each second of simulated time; the nearest that the \
              captures' cadence allows is taken. Default: 20.",
    },
];

const INPUTS: &[InputSpec] = &[InputSpec {
    name: "captures",
    required: true,
    many: true,
    doc: "Captures, such as `trial[*]/**/capture`. What is no capture is left aside; one that \
          failed is shown as failed.",
}];

impl Kind for Render {
    fn name(&self) -> &'static str {
        "render"
    }

    fn summary(&self) -> &'static str {
        "Renders captures: animations, stills and tracks for the interactive replay, the same way \
         for every engine."
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

    fn expand(&self, cell: &Cell, _: &mut dyn ExpandCtx) -> Result<Vec<Draft>, Vec<Problem>> {
        let int =
            |name: &str, default| cell.params.get(name).and_then(Value::as_int).unwrap_or(default);
        let (width, height) = (int("width", DEFAULTS[0].1), int("height", DEFAULTS[1].1));
        // Four rays a pixel are kept for every picture that is being made.
        if width * height > 4_000_000 {
            return Err(vec![Problem {
                place: Place::Param("width".to_owned()),
                message: format!("pictures of {width} × {height} pixels"),
                hint: Some("at most 4,000,000 pixels are rendered".to_owned()),
            }]);
        }
        let mut draft = Draft::new("render", Class::Pure);
        draft.seed = cell.seed;
        draft.timeout = cell.timeout;
        for (name, default) in DEFAULTS {
            draft.args.insert(name.to_owned(), Value::Int(int(name, default)));
            if let Some(origin) = cell.origins.get(name) {
                draft.origins.insert(format!("args.{name}"), origin.clone());
            }
        }
        draft.inputs.insert("captures".into(), DraftInput::Declared("captures".into()));
        Ok(vec![draft])
    }
}

impl Stage for Render {
    fn run(&self, request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
        crate::run::run(request, dir)
    }
}
