//! The kind `protocol`: candidates × scenarios × repeats of a plant, gates on what came out, and the
//! largest timestep that passes all of them.
//!
//! A stage expands into the models, made from the configuration; a run for each candidate, scenario and
//! repeat; and a verdict over all of them. What a run depends on holds no gate, so a changed threshold
//! runs the verdict alone. What is particular to a plant is a [`Plant`]: here they are only chosen among.

#[cfg(test)]
mod gates_tests;
pub mod report;
mod run;
#[cfg(test)]
mod snake_tests;
mod verdict;

use sim_model::action::Class;
use sim_model::kind::{
    Cell, Draft, DraftInput, ExpandCtx, InputSpec, Kind, Param, ParamType, Place, Problem,
};
use sim_model::request::{Request, StatusFile};
use sim_model::value::Value;
use sim_protocol::{Plant, Protocol, Scenario as _};
use sim_snake::Snake;
use sim_stage_sdk::{IoContext, Stage, StageError, arg, input, ok};
use sim_vehicle::Vehicle;
use std::path::Path;
use std::time::Duration;

pub use sim_protocol::plots;

/// The kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProtocolKind;

/// All plants.
const PLANTS: &[&str] = &[Vehicle::NAME, Snake::NAME];

const TIMEOUT: Duration = Duration::from_secs(300);

const PARAMS: &[Param] = &[
    Param {
        name: "plant",
        ty: ParamType::Enum(PLANTS),
        required: false,
        doc: "Whose protocol it is. Default: `vehicle`.",
    },
    Param {
        name: "protocol",
        ty: ParamType::Path,
        required: true,
        doc: "The protocol's file: candidates, scenarios, repeats, gates, tolerances.",
    },
    Param {
        name: "config",
        ty: ParamType::Path,
        required: true,
        doc: "The plant's configuration, from which its models are made.",
    },
    Param {
        name: "published",
        ty: ParamType::Path,
        required: false,
        doc: "Published values to compare with: a CSV file of scenario, metric, step and value. Default: \
              none.",
    },
];

const INPUTS: &[InputSpec] = &[InputSpec {
    name: "engine",
    required: true,
    many: false,
    doc: "The plant, from a `build-engine` stage.",
}];

/// A run's name below the stage's.
fn run_name(scenario: &str, candidate: f64, repeat: u32) -> String {
    format!("{scenario}/dt{candidate}/r{repeat}")
}

/// The name of a run's input to the verdict.
fn input_name(scenario: &str, candidate: usize, repeat: u32) -> String {
    format!("run_{scenario}_{candidate}_{repeat}")
}

impl Kind for ProtocolKind {
    fn name(&self) -> &'static str {
        "protocol"
    }

    fn summary(&self) -> &'static str {
        "Compares timesteps of a plant by a declared protocol and selects the largest that passes."
    }

    fn class(&self) -> Class {
        Class::Machine
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
        match cell.params.get("plant").and_then(Value::as_str) {
            Some(name) if name == Snake::NAME => expand::<Snake>(cell, ctx),
            _ => expand::<Vehicle>(cell, ctx),
        }
    }
}

fn expand<P: Plant>(cell: &Cell, ctx: &mut dyn ExpandCtx) -> Result<Vec<Draft>, Vec<Problem>> {
    let path = |name: &str| cell.params.get(name).and_then(Value::as_str).map(str::to_owned);
    let (protocol_path, config_path) =
        (path("protocol").unwrap_or_default(), path("config").unwrap_or_default());
    let mut read = |name: &str, path: &str| {
        ctx.read(path).map_err(|message| {
            vec![Problem { place: Place::Param(name.into()), message, hint: None }]
        })
    };
    let (protocol_text, config_text) =
        (read("protocol", &protocol_path)?, read("config", &config_path)?);
    let wrong = |path: &str, message: String| {
        let place = Place::File { path: path.to_owned(), span: 0..0 };
        vec![Problem { place, message, hint: None }]
    };
    let protocol = Protocol::parse::<P>(&protocol_text).map_err(|e| wrong(&protocol_path, e))?;
    P::parse(&config_text).map_err(|e| wrong(&config_path, e))?;

    let draft = |class: Class, step: &str| {
        let mut draft = Draft::new("protocol", class);
        draft.args.insert("step".into(), step.into());
        draft.args.insert("plant".into(), P::NAME.into());
        draft
    };
    let mut model = draft(Class::Pure, "model");
    model.suffix = "model".into();
    model.inputs.insert("config".into(), DraftInput::Source(config_path.clone()));
    model.outputs = P::MODELS.iter().map(|name| (*name).to_owned()).collect();
    model.export = false;
    let mut drafts = vec![model];
    let mut verdict = draft(Class::Pure, "verdict");
    for scenario in &protocol.scenarios {
        let name = scenario.name();
        let at = protocol_text.find(&format!("name = \"{name}\"")).unwrap_or(0);
        let json = serde_json::to_value(scenario.driven()).ok();
        let Some(value) = json.as_ref().and_then(Value::from_json) else {
            let message = format!("scenario `{name}` holds a number that is none");
            return Err(wrong(&protocol_path, message));
        };
        for (i, candidate) in protocol.protocol.candidates_s.iter().enumerate() {
            for repeat in 0..protocol.protocol.repeats {
                let mut draft = draft(Class::Machine, "run");
                draft.suffix = run_name(name, *candidate, repeat);
                draft.args.insert("scenario".into(), value.clone());
                let timestep = Value::float(*candidate).unwrap_or(Value::Int(0));
                draft.args.insert("timestep".into(), timestep);
                // Another run of the same, not the same run.
                draft.args.insert("repeat".into(), Value::Int(i64::from(repeat)));
                draft.origins.insert("args.scenario".into(), ctx.origin(&protocol_path, at));
                draft.origins.insert("args.timestep".into(), ctx.origin(&protocol_path, 0));
                draft.inputs.insert("engine".into(), DraftInput::Declared("engine".into()));
                let subpath = Some(P::model_of(scenario).to_owned());
                draft.inputs.insert("model".into(), DraftInput::Draft { index: 0, subpath });
                draft.inputs.insert("config".into(), DraftInput::Source(config_path.clone()));
                let files = P::FILES.iter().chain(P::EXTRAS).map(|name| (*name).to_owned());
                draft.outputs = std::iter::once("run.json".to_owned()).chain(files).collect();
                draft.seed = cell.seed;
                draft.timeout = Some(cell.timeout.unwrap_or(TIMEOUT));
                // What can be drawn is shown to other stages, one of equal repeats.
                draft.export = P::CAPTURES && repeat == 0;
                let input = DraftInput::Draft { index: drafts.len(), subpath: None };
                verdict.inputs.insert(input_name(name, i, repeat), input);
                drafts.push(draft);
            }
        }
    }
    verdict.suffix = "verdict".into();
    verdict.inputs.insert("protocol".into(), DraftInput::Source(protocol_path));
    verdict.inputs.insert("config".into(), DraftInput::Source(config_path));
    if let Some(published) = path("published") {
        verdict.inputs.insert("published".into(), DraftInput::Source(published));
    }
    verdict.inputs.insert("models".into(), DraftInput::Draft { index: 0, subpath: None });
    verdict.outputs =
        ["report.json", "checks.csv", "metrics.csv", "plots.json"].map(Into::into).to_vec();
    if P::RECEIPT {
        verdict.outputs.push("receipts".into());
    }
    drafts.push(verdict);
    Ok(drafts)
}

impl Stage for ProtocolKind {
    fn run(&self, request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
        let plant: String = arg(request, "plant")?;
        if plant == Vehicle::NAME {
            step::<Vehicle>(request, dir, self.fingerprint())
        } else if plant == Snake::NAME {
            step::<Snake>(request, dir, self.fingerprint())
        } else {
            Err(StageError::Argument {
                name: "plant".into(),
                problem: format!("is `{plant}`, which is no plant"),
            })
        }
    }
}

fn step<P: Plant>(
    request: &Request,
    dir: &Path,
    fingerprint: &str,
) -> Result<StatusFile, StageError> {
    let step: String = arg(request, "step")?;
    match step.as_str() {
        "model" => {
            let plant: P = plant(request, dir)?;
            let models = plant.models().map_err(StageError::Failed)?;
            for (name, text) in P::MODELS.iter().zip(models) {
                let path = dir.join("out").join(name);
                fs_err::write(&path, text).at(&path)?;
            }
            Ok(ok())
        }
        "run" => run::run(request, dir),
        "verdict" => verdict::run::<P>(request, dir, fingerprint),
        other => Err(StageError::Argument {
            name: "step".into(),
            problem: format!("is `{other}`, which is no step of a protocol"),
        }),
    }
}

/// The text of an input that is a file.
fn text(request: &Request, dir: &Path, name: &str) -> Result<String, StageError> {
    let path = input(request, dir, name)?;
    fs_err::read_to_string(&path).at(&path)
}

fn plant<P: Plant>(request: &Request, dir: &Path) -> Result<P, StageError> {
    P::parse(&text(request, dir, "config")?).map_err(StageError::Failed)
}
