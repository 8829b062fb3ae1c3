//! The kind `calibrate`: the buffer sizes that an engine needs for everything that suites ask of it.
//!
//! ```text
//! suites ─▶ workloads: (scenario, size, timestep, settings), each over the scenario's longest horizon
//!                │
//!                ├─▶ one run a repeat: adapter in mode `calibrate`, buffers that grow ─▶ peaks.json
//!                ▼
//!           the peaks of all runs, by scenario and size ─▶ calibration.json ─▶ trials
//! ```
//!
//! A run's key holds the adapter, the scene, the settings and the steps: when any of them changes, the run
//! is due again, and no list says so by hand (P046). Trials take `calibration.json` by content, so that a
//! calibration that comes to the same peaks reruns none.

mod run;

use sim_model::action::Class;
use sim_model::kind::{
    Cell, Draft, DraftInput, ExpandCtx, InputSpec, Kind, Param, ParamType, Place, Problem,
};
use sim_model::plan::Origin;
use sim_model::request::{Request, StatusFile};
use sim_model::value::Value;
use sim_stage_build_engine::{Runtime, engine_name, take_kernels};
use sim_stage_sdk::{Stage, StageError};
use sim_stage_trial::{CALIBRATION_FILE, Workload, of_points, workloads};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calibrate;

/// The kind that gathers the peaks of runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calibration;

/// P033.
const REPEATS: i64 = 3;
/// P276, as with trials.
const MAX_THREADS: u32 = 8;
/// Counters are read after every step, and nothing is timed.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// What kernels are compiled with, as trials do.
const COMPILED_FIRST: (&str, u64) = ("mixed_pile", 4);
/// What a run leaves for the gathering: nothing that differs where the peaks do not.
const PEAKS: &str = "peaks.json";

const PARAMS: &[Param] = &[
    Param {
        name: "suites",
        ty: ParamType::StrList,
        required: true,
        doc: "Files of all suites whose trials take the calibration: each of their sizes is calibrated, over \
              the longest horizon that any of them has for its scenario.",
    },
    Param {
        name: "engine",
        ty: ParamType::Str,
        required: false,
        doc: "Engine name. Default: the matrix value `engine`.",
    },
    Param {
        name: "source",
        ty: ParamType::Path,
        required: false,
        doc: "Folder with the engine's engine.toml, which says whether kernels are compiled ahead. Default: \
              `engines/ENGINE`.",
    },
    Param {
        name: "backend",
        ty: ParamType::Str,
        required: false,
        doc: "Backend of the engine. Default: `cpu`.",
    },
    Param {
        name: "repeats",
        ty: ParamType::Int { min: 1, max: 100 },
        required: false,
        doc: "Runs of each workload; the largest peak counts. Default: 3.",
    },
    Param {
        name: "threads",
        ty: ParamType::Int { min: 1, max: 1024 },
        required: false,
        doc: "Worker threads requested of the engine. Default: the machine's processors, at most 8.",
    },
];

const INPUTS: &[InputSpec] = &[InputSpec {
    name: "engine",
    required: true,
    many: false,
    doc: "The adapter, from a `build-engine` stage.",
}];

impl Kind for Calibrate {
    fn name(&self) -> &'static str {
        "calibrate"
    }

    fn summary(&self) -> &'static str {
        "Finds the buffer sizes that an engine needs for the workloads of suites."
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
        let engine = engine_name(cell).map_err(|p| vec![p])?;
        let text = |name: &str| cell.params.get(name).and_then(Value::as_str);
        let int = |name: &str| cell.params.get(name).and_then(Value::as_int);
        let mut runs = runs(cell, &engine, ctx)?;
        let source = text("source").map_or_else(|| format!("engines/{engine}"), str::to_owned);
        let mut drafts = Vec::new();
        let runtime = Runtime::new(&source, ctx, &mut drafts)?;
        // P207: no trial of a case that the engine does not do waits for it.
        if !runtime.may_simulate_points() {
            runs.retain(|run| !of_points(&run.workload.scenario));
        }
        if runs.is_empty() {
            return Err(vec![Problem {
                place: Place::Param("suites".to_owned()),
                message: format!("the suites have no case that {engine} does"),
                hint: Some("scenes of material points need `mpm = true` in the pin".to_owned()),
            }]);
        }
        let common = Common {
            cell,
            engine: &engine,
            backend: text("backend").unwrap_or("cpu"),
            threads: int("threads").unwrap_or_else(|| i64::from(ctx.cpus().min(MAX_THREADS))),
            runtime,
        };
        let kernels = runs.first().and_then(|run| common.kernels(&run.workload, &mut drafts));
        let mut peaks = Vec::new();
        for run in &runs {
            let name = name(&run.workload, &runs);
            let scene = common.scene(&run.workload, &mut drafts, &run.origin);
            for repeat in 0..int("repeats").unwrap_or(REPEATS) {
                drafts.push(common.run(run, &name, scene, repeat as u32, kernels));
                peaks.push(drafts.len() - 1);
            }
        }
        drafts.push(common.gather(&peaks));
        Ok(drafts)
    }
}

/// One workload over the horizon at which it is calibrated.
struct Run {
    workload: Workload,
    /// Where the suite names it.
    origin: Origin,
}

/// Every workload of every suite once, over the longest horizon of its scenario (P032, P033).
fn runs(cell: &Cell, engine: &str, ctx: &mut dyn ExpandCtx) -> Result<Vec<Run>, Vec<Problem>> {
    let paths = cell.params.get("suites").and_then(Value::as_list).unwrap_or_default();
    let (mut runs, mut problems) = (Vec::<Run>::new(), Vec::new());
    let mut horizons = BTreeMap::<String, f64>::new();
    for path in paths.iter().filter_map(Value::as_str) {
        let found = ctx.read(path).map_err(|message| {
            let place = Place::Param("suites".to_owned());
            vec![Problem { place, message: format!("{path}: {message}"), hint: None }]
        });
        let list = match found.and_then(|source| workloads(path, &source, engine)) {
            Ok(list) => list,
            Err(more) => {
                problems.extend(more);
                continue;
            }
        };
        for workload in list {
            let horizon = horizons.entry(workload.scenario.clone()).or_default();
            *horizon = horizon.max(workload.steps as f64 * workload.timestep);
            let same = |run: &Run| Workload { steps: 0, at: 0, ..run.workload.clone() };
            let this = Workload { steps: 0, at: 0, ..workload.clone() };
            if !runs.iter().any(|run| same(run) == this) {
                let origin = ctx.origin(path, workload.at);
                runs.push(Run { workload, origin });
            }
        }
    }
    if problems.is_empty() && runs.is_empty() {
        problems.push(Problem {
            place: Place::Param("suites".to_owned()),
            message: "no suite is named, so there is nothing to calibrate".to_owned(),
            hint: Some("name the suites of the trials that take the calibration".to_owned()),
        });
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    for Run { workload, .. } in &mut runs {
        // A millionth of a step is rounding.
        let exact = horizons[&workload.scenario] / workload.timestep;
        workload.steps = (exact - 1e-6).ceil().max(1.0) as u64;
    }
    Ok(runs)
}

/// What all drafts of a cell have in common.
struct Common<'a> {
    cell: &'a Cell,
    engine: &'a str,
    backend: &'a str,
    threads: i64,
    runtime: Runtime,
}

impl Common<'_> {
    /// The draft that compiles kernels ahead, for adapters where one serves all scenes. Trials of the same
    /// adapter draft the same action.
    fn kernels(&self, workload: &Workload, drafts: &mut Vec<Draft>) -> Option<usize> {
        if !self.runtime.compiles(self.backend) || !self.runtime.compiles_once() {
            return None;
        }
        let (scenario, size) = COMPILED_FIRST;
        let workload = Workload {
            scenario: scenario.to_owned(),
            size,
            timestep: 1.0 / 240.0,
            ..workload.clone()
        };
        let origin = Origin::Derived("what is compiled first".into());
        let scene = self.scene(&workload, drafts, &origin);
        let job = BTreeMap::from([
            ("mode".to_owned(), Value::str("timed")),
            ("worlds".to_owned(), Value::Int(1)),
            ("threads".to_owned(), Value::Int(self.threads)),
            ("backend".to_owned(), Value::str(self.backend)),
            ("settings".to_owned(), Value::Map(BTreeMap::new())),
        ]);
        let scene = DraftInput::Draft { index: scene, subpath: Some("scene.json".into()) };
        let (job, suffix) = (Value::Map(job), "kernels".to_owned());
        let mut draft = self.runtime.kernels(job, ("scene.json", scene), suffix, None);
        let origin = Origin::Derived("the calibrations that run it".into());
        for arg in ["step", "job", "file"] {
            draft.origins.insert(format!("args.{arg}"), origin.clone());
        }
        drafts.push(draft);
        Some(drafts.len() - 1)
    }

    fn scene(&self, workload: &Workload, drafts: &mut Vec<Draft>, origin: &Origin) -> usize {
        let Workload { scenario, size, timestep, .. } = workload;
        let mut draft = sim_stage_scene::draft(scenario, *size, *timestep, self.cell.seed);
        for arg in ["scenario", "size", "timestep"] {
            draft.origins.insert(format!("args.{arg}"), origin.clone());
        }
        if let Some(fetch) = sim_stage_scene::source_draft(scenario) {
            sim_stage_scene::take_source(&mut draft, scenario, drafts.len());
            drafts.push(fetch);
        }
        drafts.push(draft);
        drafts.len() - 1
    }

    fn run(
        &self,
        run: &Run,
        name: &str,
        scene: usize,
        repeat: u32,
        kernels: Option<usize>,
    ) -> Draft {
        let workload = &run.workload;
        let mut draft = Draft::new("calibrate", Class::Measured);
        draft.suffix = format!("{name}/r{repeat}");
        draft.args = BTreeMap::from([
            ("engine".to_owned(), Value::str(self.engine)),
            ("backend".to_owned(), Value::str(self.backend)),
            ("scenario".to_owned(), Value::str(workload.scenario.as_str())),
            ("size".to_owned(), Value::Int(workload.size.cast_signed())),
            ("steps".to_owned(), Value::Int(workload.steps.cast_signed())),
            ("threads".to_owned(), Value::Int(self.threads)),
        ]);
        if !workload.settings.is_empty() {
            draft.args.insert("settings".to_owned(), Value::Map(workload.settings.clone()));
        }
        for arg in ["scenario", "size", "steps", "settings"] {
            draft.origins.insert(format!("args.{arg}"), run.origin.clone());
        }
        draft.inputs.insert("engine".into(), DraftInput::Declared("engine".into()));
        let scene = DraftInput::Draft { index: scene, subpath: Some("scene.json".into()) };
        draft.inputs.insert("scene".into(), scene);
        self.runtime.enter(&mut draft);
        if let Some(index) = kernels {
            take_kernels(&mut draft, index);
        }
        draft.seed = self.cell.seed;
        draft.repeat = repeat;
        draft.timeout = Some(self.cell.timeout.unwrap_or(TIMEOUT));
        // No trial: it has no place in a table of them.
        draft.export = false;
        draft
    }

    /// The stage's output.
    fn gather(&self, runs: &[usize]) -> Draft {
        let mut draft = Draft::new("calibration", Class::Pure);
        draft.args = BTreeMap::from([
            ("engine".to_owned(), Value::str(self.engine)),
            ("backend".to_owned(), Value::str(self.backend)),
        ]);
        for (i, index) in runs.iter().enumerate() {
            let peaks = DraftInput::Draft { index: *index, subpath: Some(PEAKS.into()) };
            draft.inputs.insert(format!("run{i:04}"), peaks);
        }
        draft.outputs = vec![CALIBRATION_FILE.to_owned()];
        draft
    }
}

/// A workload's name below the stage's: its timestep stands in it where there are several of its scenario and
/// size, and its steps never, so that a longer horizon is another key of the same name.
fn name(workload: &Workload, all: &[Run]) -> String {
    let mut name = format!("{}/{}", workload.scenario, workload.size);
    let same = |w: &Workload| (w.scenario == workload.scenario) && w.size == workload.size;
    let mut others = all.iter().map(|r| &r.workload).filter(|w| same(w));
    if others.any(|w| w.timestep.to_bits() != workload.timestep.to_bits()) {
        name += &format!("/dt{}", workload.timestep);
    }
    for (setting, value) in &workload.settings {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        name += &format!("/{setting}-{value}");
    }
    name
}

impl Stage for Calibrate {
    fn run(&self, request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
        run::run(request, dir)
    }
}

impl Kind for Calibration {
    fn name(&self) -> &'static str {
        "calibration"
    }

    fn summary(&self) -> &'static str {
        "Gathers the peaks of calibration runs."
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

impl Stage for Calibration {
    fn run(&self, request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
        run::gather(request, dir)
    }
}
