//! The kind `protocol`: candidates × scenarios × repeats of a plant, gates on what came out, and the
//! largest timestep that passes all of them.
//!
//! A stage expands into the model, made from the configuration; a run for each candidate, scenario and
//! repeat; and a verdict over all of them. What a run depends on holds no gate, so a changed threshold
//! runs the verdict alone.

#[cfg(test)]
mod gates_tests;
pub mod plots;
pub mod report;
mod run;
mod vehicle_plots;
mod verdict;

use sim_model::action::Class;
use sim_model::kind::{
    Cell, Draft, DraftInput, ExpandCtx, InputSpec, Kind, Param, ParamType, Place, Problem,
};
use sim_model::request::{Request, StatusFile};
use sim_model::value::Value;
use sim_stage_sdk::{IoContext, Stage, StageError, arg, input, ok};
use sim_vehicle::config::Config;
use sim_vehicle::protocol::{Protocol, Scenario};
use std::path::Path;
use std::time::Duration;

/// The kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProtocolKind;

const TIMEOUT: Duration = Duration::from_secs(300);

const PARAMS: &[Param] = &[
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
        doc: "The plant's configuration, from which its model is made.",
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

/// What of a scenario decides what is driven; windows and gates are for the verdict.
fn driven(scenario: &Scenario) -> Scenario {
    Scenario {
        steady_from_s: 1.0,
        acceleration_window_s: None,
        command_window_s: None,
        braking_window_s: None,
        stress_from_s: None,
        gates: Vec::new(),
        ..scenario.clone()
    }
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
        let protocol = Protocol::parse(&protocol_text).map_err(|e| wrong(&protocol_path, e))?;
        Config::parse(&config_text).map_err(|e| wrong(&config_path, e))?;

        let mut model = Draft::new("protocol", Class::Pure);
        model.suffix = "model".into();
        model.args.insert("step".into(), "model".into());
        model.inputs.insert("config".into(), DraftInput::Source(config_path.clone()));
        model.outputs = vec!["model.xml".into()];
        model.export = false;
        let mut drafts = vec![model];
        let mut verdict = Draft::new("protocol", Class::Pure);
        for scenario in &protocol.scenarios {
            let at = protocol_text.find(&format!("name = \"{}\"", scenario.name)).unwrap_or(0);
            let json = serde_json::to_value(driven(scenario)).ok();
            let value = json.as_ref().and_then(Value::from_json);
            let Some(value) = value else {
                let message = format!("scenario `{}` holds a number that is none", scenario.name);
                return Err(wrong(&protocol_path, message));
            };
            for (i, candidate) in protocol.protocol.candidates_s.iter().enumerate() {
                for repeat in 0..protocol.protocol.repeats {
                    let mut draft = Draft::new("protocol", Class::Machine);
                    draft.suffix = run_name(&scenario.name, *candidate, repeat);
                    draft.args.insert("step".into(), "run".into());
                    draft.args.insert("scenario".into(), value.clone());
                    let timestep = Value::float(*candidate).unwrap_or(Value::Int(0));
                    draft.args.insert("timestep".into(), timestep);
                    // Another run of the same, not the same run.
                    draft.args.insert("repeat".into(), Value::Int(i64::from(repeat)));
                    draft.origins.insert("args.scenario".into(), ctx.origin(&protocol_path, at));
                    draft.origins.insert("args.timestep".into(), ctx.origin(&protocol_path, 0));
                    draft.inputs.insert("engine".into(), DraftInput::Declared("engine".into()));
                    let xml = DraftInput::Draft { index: 0, subpath: Some("model.xml".into()) };
                    draft.inputs.insert("model".into(), xml);
                    draft.inputs.insert("config".into(), DraftInput::Source(config_path.clone()));
                    draft.outputs = vec!["run.json".into(), "telemetry.bin".into()];
                    draft.seed = cell.seed;
                    draft.timeout = Some(cell.timeout.unwrap_or(TIMEOUT));
                    draft.export = false;
                    let input = DraftInput::Draft { index: drafts.len(), subpath: None };
                    verdict.inputs.insert(input_name(&scenario.name, i, repeat), input);
                    drafts.push(draft);
                }
            }
        }
        verdict.suffix = "verdict".into();
        verdict.args.insert("step".into(), "verdict".into());
        verdict.inputs.insert("protocol".into(), DraftInput::Source(protocol_path));
        verdict.inputs.insert("config".into(), DraftInput::Source(config_path));
        if let Some(published) = path("published") {
            verdict.inputs.insert("published".into(), DraftInput::Source(published));
        }
        let model = DraftInput::Draft { index: 0, subpath: Some("model.xml".into()) };
        verdict.inputs.insert("model".into(), model);
        verdict.outputs =
            ["report.json", "checks.csv", "metrics.csv", "plots.json"].map(Into::into).to_vec();
        drafts.push(verdict);
        Ok(drafts)
    }
}

impl Stage for ProtocolKind {
    fn run(&self, request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
        let step: String = arg(request, "step")?;
        match step.as_str() {
            "model" => {
                let config = config(request, dir)?;
                let path = dir.join("out/model.xml");
                fs_err::write(&path, sim_vehicle::mjcf::mjcf(&config)).at(&path)?;
                Ok(ok())
            }
            "run" => run::run(request, dir),
            "verdict" => verdict::run(request, dir, self.fingerprint()),
            other => Err(StageError::Argument {
                name: "step".into(),
                problem: format!("is `{other}`, which is no step of a protocol"),
            }),
        }
    }
}

/// The text of an input that is a file.
fn text(request: &Request, dir: &Path, name: &str) -> Result<String, StageError> {
    let path = input(request, dir, name)?;
    fs_err::read_to_string(&path).at(&path)
}

fn config(request: &Request, dir: &Path) -> Result<Config, StageError> {
    Config::parse(&text(request, dir, "config")?).map_err(StageError::Failed)
}
