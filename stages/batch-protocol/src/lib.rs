//! The kind `batch-protocol`: a batched engine drives the vehicle. One world is compared with the plant on a CPU;
//! many worlds are driven at declared scales; gates judge both.
//!
//! A stage expands into the model, made from the configuration; the plant's run and the engine's run of one
//! schedule; a run for each scale; and a verdict over all of them. What a run depends on holds no gate, so a
//! changed threshold runs the verdict alone.

pub mod plots;
pub mod report;
mod run;
mod verdict;

use sim_model::action::Class;
use sim_model::kind::{
    Cell, Draft, DraftInput, ExpandCtx, InputSpec, Kind, Param, ParamType, Place, Problem,
};
use sim_model::plan::Origin;
use sim_model::request::{Request, StatusFile};
use sim_model::value::Value;
use sim_stage_build_engine::{Runtime, engine_name, take_kernels};
use sim_stage_sdk::{IoContext, Stage, StageError, arg, input, ok};
use sim_vehicle::batch::{BatchProtocol, Scale};
use sim_vehicle::config::Config;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchProtocolKind;

const TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// A scale of a thousand worlds on a CPU.
const SCALE_TIMEOUT: Duration = Duration::from_secs(90 * 60);
const CPU: &str = "cpu";

const PARAMS: &[Param] = &[
    Param {
        name: "protocol",
        ty: ParamType::Path,
        required: true,
        doc: "The protocol's file: schedule, tolerances, law, scales, gates.",
    },
    Param {
        name: "config",
        ty: ParamType::Path,
        required: true,
        doc: "The plant's configuration, from which its model is made.",
    },
    Param {
        name: "engine",
        ty: ParamType::Str,
        required: false,
        doc: "Name of the batched engine. Default: the matrix value `engine`.",
    },
    Param {
        name: "source",
        ty: ParamType::Path,
        required: false,
        doc: "Folder with its engine.toml. Default: `engines/ENGINE`.",
    },
    Param {
        name: "backend",
        ty: ParamType::Str,
        required: false,
        doc: "Backend of the engine. Default: `cpu`.",
    },
];

const INPUTS: &[InputSpec] = &[
    InputSpec {
        name: "engine",
        required: true,
        many: false,
        doc: "The batched engine, from a `build-engine` stage.",
    },
    InputSpec {
        name: "plant",
        required: true,
        many: false,
        doc: "The plant that it is compared with, from a `build-engine` stage.",
    },
];

/// The name of a scale's input to the verdict.
pub(crate) fn scale_input(worlds: u32) -> String {
    format!("scale_{worlds}")
}

/// Control steps and warm-up chunks of a scale on a backend.
pub(crate) fn lengths(protocol: &BatchProtocol, scale: &Scale, backend: &str) -> (u64, u32) {
    match &scale.cpu {
        Some(less) if backend == CPU => (less.steps, less.warmup_chunks),
        _ => (scale.steps, protocol.protocol.warmup_chunks),
    }
}

impl Kind for BatchProtocolKind {
    fn name(&self) -> &'static str {
        "batch-protocol"
    }

    fn summary(&self) -> &'static str {
        "Drives a batched engine by a declared protocol: agreement with a plant, and scales."
    }

    fn class(&self) -> Class {
        Class::Measured
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
        let text = |name: &str| cell.params.get(name).and_then(Value::as_str).map(str::to_owned);
        let engine = engine_name(cell).map_err(|p| vec![p])?;
        let backend = text("backend").unwrap_or_else(|| CPU.to_owned());
        let (protocol_path, config_path) =
            (text("protocol").unwrap_or_default(), text("config").unwrap_or_default());
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
        let protocol =
            BatchProtocol::parse(&protocol_text).map_err(|e| wrong(&protocol_path, e))?;
        Config::parse(&config_text).map_err(|e| wrong(&config_path, e))?;
        let source = text("source").unwrap_or_else(|| format!("engines/{engine}"));

        let mut drafts = Vec::new();
        let runtime = Runtime::new(&source, ctx, &mut drafts)?;
        let mut model = Draft::new("batch-protocol", Class::Pure);
        model.suffix = "model".into();
        model.args.insert("step".into(), "model".into());
        model.inputs.insert("config".into(), DraftInput::Source(config_path.clone()));
        model.outputs = vec!["model.xml".into()];
        model.export = false;
        drafts.push(model);
        let mut expansion = Expansion {
            cell,
            protocol: &protocol,
            config: config_path.clone(),
            backend: &backend,
            origin: ctx.origin(&protocol_path, 0),
            runtime,
            model: drafts.len() - 1,
            kernels: BTreeMap::new(),
            drafts,
        };
        let reference = expansion.reference().map_err(|e| wrong(&protocol_path, e))?;
        let agreement = expansion.agreement().map_err(|e| wrong(&protocol_path, e))?;
        let mut verdict = Draft::new("batch-protocol", Class::Pure);
        let whole = |index| DraftInput::Draft { index, subpath: None };
        for scale in &protocol.scales {
            let index = expansion.scale(scale).map_err(|e| wrong(&protocol_path, e))?;
            verdict.inputs.insert(scale_input(scale.worlds), whole(index));
        }
        verdict.suffix = "verdict".into();
        verdict.args.insert("step".into(), "verdict".into());
        verdict.args.insert("backend".into(), Value::str(backend.as_str()));
        let origin = cell.origins.get("backend").cloned();
        verdict.origins.insert("args.backend".into(), origin.unwrap_or(Origin::Default));
        verdict.inputs.insert("reference".into(), whole(reference));
        verdict.inputs.insert("agreement".into(), whole(agreement));
        verdict.inputs.insert("protocol".into(), DraftInput::Source(protocol_path));
        verdict.inputs.insert("config".into(), DraftInput::Source(config_path));
        verdict.inputs.insert("model".into(), expansion.model());
        verdict.outputs =
            ["report.json", "checks.csv", "scales.csv", "plots.json"].map(str::to_owned).to_vec();
        expansion.drafts.push(verdict);
        Ok(expansion.drafts)
    }
}

struct Expansion<'a> {
    cell: &'a Cell,
    protocol: &'a BatchProtocol,
    config: String,
    backend: &'a str,
    origin: Origin,
    runtime: Runtime,
    model: usize,
    /// Drafts that compile kernels, by the number of worlds.
    kernels: BTreeMap<u32, usize>,
    drafts: Vec<Draft>,
}

fn value(json: &serde_json::Value) -> Result<Value, String> {
    Value::from_json(json).ok_or_else(|| "the protocol holds a number that is none".to_owned())
}

impl Expansion<'_> {
    fn model(&self) -> DraftInput {
        DraftInput::Draft { index: self.model, subpath: Some("model.xml".into()) }
    }

    fn push(&mut self, mut draft: Draft, timeout: Duration) -> usize {
        draft.inputs.insert("model".into(), self.model());
        draft.inputs.insert("config".into(), DraftInput::Source(self.config.clone()));
        draft.seed = self.cell.seed;
        draft.timeout = Some(self.cell.timeout.unwrap_or(timeout));
        draft.export = false;
        for name in draft.args.keys() {
            draft.origins.insert(format!("args.{name}"), self.origin.clone());
        }
        self.drafts.push(draft);
        self.drafts.len() - 1
    }

    /// The plant's run of the schedule.
    fn reference(&mut self) -> Result<usize, String> {
        let mut draft = Draft::new("batch-protocol", Class::Machine);
        draft.suffix = "reference".into();
        draft.args.insert("step".into(), "reference".into());
        let scenario = serde_json::to_value(self.protocol.scenario()).map_err(|e| e.to_string())?;
        draft.args.insert("scenario".into(), value(&scenario)?);
        let timestep = serde_json::json!(self.protocol.protocol.physics_dt_s);
        draft.args.insert("timestep".into(), value(&timestep)?);
        draft.inputs.insert("plant".into(), DraftInput::Declared("plant".into()));
        draft.outputs = vec!["run.json".into(), "telemetry.bin".into()];
        Ok(self.push(draft, TIMEOUT))
    }

    /// The engine's run of the schedule.
    fn agreement(&mut self) -> Result<usize, String> {
        let p = self.protocol;
        let job = serde_json::json!({
            "worlds": 1, "duration_s": p.agreement.duration_s, "warmup_chunks": 0, "actions": p.agreement.actions, "telemetry": true,
        });
        let mut draft = self.drive(job, 1, Class::Machine)?;
        draft.suffix = "agreement".into();
        draft.outputs = vec!["run.json".into(), "telemetry.bin".into()];
        Ok(self.push(draft, TIMEOUT))
    }

    /// The engine's run of a scale.
    fn scale(&mut self, scale: &Scale) -> Result<usize, String> {
        let p = self.protocol;
        let (steps, warmup_chunks) = lengths(p, scale, self.backend);
        let job = serde_json::json!({
            "worlds": scale.worlds, "steps": steps, "warmup_chunks": warmup_chunks,
            "law": p.law, "resets": p.resets, "telemetry": false,
        });
        let mut draft = self.drive(job, scale.worlds, Class::Measured)?;
        draft.suffix = format!("scale/{}", scale.worlds);
        draft.outputs = vec!["run.json".into()];
        // P149: what asks for more comes later.
        draft.order = u64::from(scale.worlds) << 32 | steps.min(u64::from(u32::MAX));
        Ok(self.push(draft, SCALE_TIMEOUT))
    }

    fn drive(
        &mut self,
        mut job: serde_json::Value,
        worlds: u32,
        class: Class,
    ) -> Result<Draft, String> {
        let head = &self.protocol.protocol;
        job["format"] = run::FORMAT.into();
        job["backend"] = self.backend.into();
        job["timestep"] = head.physics_dt_s.into();
        job["contacts_per_world"] = head.contacts_per_world.into();
        job["constraints_per_world"] = head.constraints_per_world.into();
        job["chunk_steps"] = head.chunk_steps.into();
        let mut draft = Draft::new("batch-protocol", class);
        draft.args.insert("step".into(), "drive".into());
        draft.args.insert("job".into(), value(&job)?);
        draft.inputs.insert("engine".into(), DraftInput::Declared("engine".into()));
        self.runtime.enter(&mut draft);
        if self.runtime.is_needed() {
            let compiled = self.runtime.compiled_worlds(worlds);
            let index = match self.kernels.get(&compiled) {
                Some(index) => *index,
                None => self.compile(compiled)?,
            };
            take_kernels(&mut draft, index);
        }
        Ok(draft)
    }

    fn compile(&mut self, worlds: u32) -> Result<usize, String> {
        let head = &self.protocol.protocol;
        let job = serde_json::json!({
            "worlds": worlds, "backend": self.backend, "timestep": head.physics_dt_s,
            "contacts_per_world": head.contacts_per_world,
            "constraints_per_world": head.constraints_per_world,
        });
        let given = ("model.xml", self.model());
        let mut draft =
            self.runtime.kernels(value(&job)?, given, format!("kernels/{worlds}"), None);
        for arg in ["step", "job", "file"] {
            draft.origins.insert(format!("args.{arg}"), self.origin.clone());
        }
        self.drafts.push(draft);
        self.kernels.insert(worlds, self.drafts.len() - 1);
        Ok(self.drafts.len() - 1)
    }
}

impl Stage for BatchProtocolKind {
    fn run(&self, request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
        let step: String = arg(request, "step")?;
        match step.as_str() {
            "model" => {
                let config = config(request, dir)?;
                let path = dir.join("out/model.xml");
                fs_err::write(&path, sim_vehicle::mjcf::mjcf(&config)).at(&path)?;
                Ok(ok())
            }
            "reference" => run::reference(request, dir),
            "drive" => run::drive(request, dir),
            "verdict" => verdict::run(request, dir, self.fingerprint()),
            other => Err(StageError::Argument {
                name: "step".into(),
                problem: format!("is `{other}`, which is no step of a batch protocol"),
            }),
        }
    }
}

/// The text of an input that is a file.
pub(crate) fn text(request: &Request, dir: &Path, name: &str) -> Result<String, StageError> {
    let path = input(request, dir, name)?;
    fs_err::read_to_string(&path).at(&path)
}

pub(crate) fn config(request: &Request, dir: &Path) -> Result<Config, StageError> {
    Config::parse(&text(request, dir, "config")?).map_err(StageError::Failed)
}
