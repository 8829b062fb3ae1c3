//! The kind `trial`: one engine over a suite of cases, each case repeated, each run a process of its
//! own (P001).
//!
//! A stage expands into scenes (shared by all engines), timed trials in a deterministic shuffled
//! order, and for each timed trial the replays that were asked for, which run only after it passed.

mod calibration;
mod capture;
mod captures;
mod execute;
mod facts;
mod suite;
mod workloads;

pub use calibration::{CALIBRATION_FILE, CALIBRATION_FORMAT, CalibratedScenario, Calibrations};
pub use execute::{Ran, adapter};
pub use facts::SuiteFacts;
pub use workloads::{Workload, of_points, workloads};

use sim_model::action::Class;
use sim_model::kind::{
    Cell, Draft, DraftInput, ExpandCtx, InputSpec, Kind, Param, ParamType, Place, Problem,
};
use sim_model::plan::{Origin, Series};
use sim_model::request::{Request, StatusFile};
use sim_model::value::Value;
use sim_stage_build_engine::{Runtime, take_kernels};
use sim_stage_sdk::{Stage, StageError};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use suite::{Case, Purpose, Suite, Variant};

/// The kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trial;

const REPLAYS: &[&str] = &["memory", "capture", "profile"];

/// The input with buffer sizes.
const CALIBRATION: &str = "calibration";
/// P280: every adapter process on a CPU backend.
const TIMEOUT: Duration = Duration::from_secs(120);
/// P280: those on a GPU backend, and the structures of 110,000 bodies and more.
const LONG_TIMEOUT: Duration = Duration::from_secs(300);
const LARGE: u64 = 100_000;
/// P276.
const MAX_THREADS: u32 = 8;
/// What a probe simulates: the least that every engine knows.
const PROBE: (&str, u64) = ("free_fall", 1);
/// What is compiled first where an engine compiles ahead: much of it serves every scene, so others need
/// compile only what it lacks.
const COMPILED_FIRST: (&str, u64) = ("mixed_pile", 4);

/// What trials have in common of which one may tell of another that it would meet a limit: a larger
/// timed trial says nothing of a capture, which is of one world.
const SAME: &[&str] = &[
    "kind",
    "machine.identity",
    "inputs.engine",
    "args.engine",
    "args.backend",
    "args.threads",
    "args.scenario",
    "args.settings",
    "args.mode",
];
/// What decides, beside those, how long one takes.
const PACE: &[&str] = &["args.steps", "args.warmup", "args.timestep"];
/// P148: at least as many environments and bodies.
const GROWS: &[&str] = &["args.worlds", "args.size"];

const PARAMS: &[Param] = &[
    Param {
        name: "suite",
        ty: ParamType::Path,
        required: true,
        doc: "The suite's file: scenarios, sizes, worlds, steps, repeats.",
    },
    Param {
        name: "engine",
        ty: ParamType::Str,
        required: false,
        doc: "Engine name, for labels and reports. Default: the matrix value `engine`.",
    },
    Param {
        name: "source",
        ty: ParamType::Path,
        required: false,
        doc: "Folder with the engine's engine.toml, which says whether the adapter runs in an environment. \
              Default: `engines/ENGINE`.",
    },
    Param {
        name: "backend",
        ty: ParamType::Str,
        required: false,
        doc: "Backend of the engine. Default: `cpu`.",
    },
    Param {
        name: "replays",
        ty: ParamType::EnumList(REPLAYS),
        required: false,
        doc: "Replays of each passing timed trial: `memory`, `capture`, `profile`. Default: none.",
    },
    Param {
        name: "probe",
        ty: ParamType::Bool,
        required: false,
        doc: "Whether the engine takes two steps of one falling body first; where it cannot, none of \
              its trials runs, and each is a row with that reason. Default: false.",
    },
    Param {
        name: "skip_after_resource_limit",
        ty: ParamType::Bool,
        required: false,
        doc: "Whether what asks for no less is left out, once a trial met its timeout or ran out of \
              memory. Default: the suite's.",
    },
    Param {
        name: "repeats",
        ty: ParamType::Int { min: 1, max: 1000 },
        required: false,
        doc: "Repeats of each case. Default: the suite's.",
    },
    Param {
        name: "threads",
        ty: ParamType::Int { min: 1, max: 1024 },
        required: false,
        doc: "Worker threads requested of the engine. Default: the machine's processors, at most 8.",
    },
];

const INPUTS: &[InputSpec] = &[
    InputSpec {
        name: "engine",
        required: true,
        many: false,
        doc: "The adapter, from a `build-engine` stage.",
    },
    InputSpec {
        name: "calibration",
        required: false,
        many: false,
        doc: "Buffer sizes that the workloads need, from a `calibrate` stage of the same engine and backend; \
              needed by engines whose buffers have fixed sizes.",
    },
];

impl Kind for Trial {
    fn name(&self) -> &'static str {
        "trial"
    }

    fn summary(&self) -> &'static str {
        "Runs the cases of a suite on one engine: timed trials and their replays."
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
        let text = |name: &str| cell.params.get(name).and_then(Value::as_str);
        let engine = text("engine").or_else(|| cell.bindings.get("engine").and_then(Value::as_str));
        let Some(engine) = engine else {
            return Err(vec![Problem {
                place: Place::Stage,
                message: "no engine is named".to_owned(),
                hint: Some("add `engine = \"mujoco\"` or `matrix.engine = [\"mujoco\", …]`".into()),
            }]);
        };
        let path = text("suite").unwrap_or_default().to_owned();
        let source = ctx.read(&path).map_err(|message| {
            vec![Problem { place: Place::Param("suite".into()), message, hint: None }]
        })?;
        let suite = Suite::parse(&path, &source)?;
        known_engines(&suite, engine, &path, ctx)?;
        let flag = |name: &str| match cell.params.get(name) {
            Some(Value::Bool(flag)) => Some(*flag),
            _ => None,
        };
        let int = |name: &str| cell.params.get(name).and_then(Value::as_int);
        let repeats = int("repeats").map_or(suite.repeats, |n| n as u32);
        let threads = int("threads").map_or_else(|| ctx.cpus().min(MAX_THREADS), |n| n as u32);
        let mut replays: Vec<&str> = cell
            .params
            .get("replays")
            .and_then(Value::as_list)
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        replays.sort_unstable();
        replays.dedup();

        let source = text("source").map_or_else(|| format!("engines/{engine}"), str::to_owned);
        let mut drafts = Vec::new();
        let runtime = Runtime::new(&source, ctx, &mut drafts)?;
        let mut expansion = Expansion {
            cell,
            engine,
            backend: text("backend").unwrap_or("cpu"),
            threads,
            purpose: suite.purpose,
            ends_at_limit: flag("skip_after_resource_limit").unwrap_or(suite.ends_at_limit),
            path: &path,
            ctx,
            drafts,
            scenes: BTreeMap::new(),
            probe: None,
            runtime,
            kernels: BTreeMap::new(),
        };
        if let Some(baseline) = &suite.baseline {
            expansion.drafts.push(facts::draft(&suite, baseline));
        }
        if flag("probe").unwrap_or(false) {
            expansion.probe();
        }
        for case in &suite.cases {
            // P207: a case that an engine does not do is none of its suite.
            if expansion.points(case) && !expansion.runtime.may_simulate_points() {
                continue;
            }
            let own = Variant::new();
            let named = case.variants.iter().filter(|v| **v == own || v.contains_key(engine));
            for variant in named {
                let settings = variant.get(engine);
                for worlds in &case.worlds {
                    for size in &case.sizes {
                        for repeat in 0..repeats {
                            for side in suite.purpose.sides() {
                                let (size, worlds) = (*size, *worlds);
                                let run = Run { case, settings, size, worlds, side, repeat };
                                expansion.run(&run, &replays);
                            }
                        }
                    }
                }
            }
        }
        Ok(expansion.drafts)
    }
}

struct Expansion<'a> {
    cell: &'a Cell,
    engine: &'a str,
    backend: &'a str,
    threads: u32,
    purpose: Purpose,
    ends_at_limit: bool,
    path: &'a str,
    ctx: &'a mut dyn ExpandCtx,
    drafts: Vec<Draft>,
    scenes: BTreeMap<(String, u64, u64), usize>,
    /// The draft that all trials wait for.
    probe: Option<usize>,
    runtime: Runtime,
    /// Drafts that compile kernels, by what they are named after.
    kernels: BTreeMap<String, usize>,
}

/// P280.
fn timeout(backend: &str, size: u64) -> Duration {
    if backend != "cpu" || size >= LARGE { LONG_TIMEOUT } else { TIMEOUT }
}

/// Engines that a suite names must be there: a misspelt one would be left out without a word.
fn known_engines(
    suite: &Suite,
    own: &str,
    path: &str,
    ctx: &dyn ExpandCtx,
) -> Result<(), Vec<Problem>> {
    let unknown = suite
        .named
        .iter()
        .filter(|(name, _)| name != own && !ctx.exists(&format!("engines/{name}/engine.toml")));
    let problems: Vec<Problem> = unknown
        .map(|(name, span)| Problem {
            place: Place::File { path: path.to_owned(), span: span.clone() },
            message: format!("there is no engine `{name}`"),
            hint: Some(format!(
                "an engine is a folder below engines/ with an engine.toml, or this stage's `{own}`"
            )),
        })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// One timed trial and its replays.
struct Run<'a> {
    case: &'a Case,
    /// What differs from the adapter's own settings.
    settings: Option<&'a BTreeMap<String, Value>>,
    size: u64,
    worlds: u32,
    /// `a` or `b` in a control, else empty.
    side: &'a str,
    repeat: u32,
}

impl Run<'_> {
    /// Its name below the stage's: what does not vary within a suite is not in it.
    fn name(&self) -> String {
        let mut name = format!("{}/{}x{}", self.case.scenario, self.size, self.worlds);
        if let Some(dt) = &self.case.swept {
            name += &format!("/dt{}", dt.replace('/', "_"));
        }
        for (setting, value) in self.settings.into_iter().flatten() {
            let value = match value {
                Value::Str(text) => text.clone(),
                other => other.to_string(),
            };
            name += &format!("/{setting}-{value}");
        }
        if !self.side.is_empty() {
            name += &format!("/{}", self.side);
        }
        name
    }
}

impl Expansion<'_> {
    /// Whether a case is one of material points.
    fn points(&self, case: &Case) -> bool {
        of_points(&case.scenario)
    }

    /// The probe of P277 and P278: one a cell, before everything else that is measured. Cells and
    /// stages that probe alike share its record.
    fn probe(&mut self) {
        let (scenario, size) = PROBE;
        let timestep = 1.0 / 240.0;
        self.drafts.push(sim_stage_scene::draft(scenario, size, timestep, self.cell.seed));
        let scene = self.drafts.len() - 1;
        let mut draft = Draft::new("trial", Class::Measured);
        draft.suffix = "probe".to_owned();
        let gates = serde_json::to_value(sim_engine_protocol::Gates::default()).unwrap_or_default();
        let gates = gates.as_object().into_iter().flatten();
        let gates = gates.filter_map(|(k, v)| Some((k.clone(), Value::float(v.as_f64()?)?)));
        draft.args = BTreeMap::from([
            ("engine".to_owned(), Value::str(self.engine)),
            ("backend".to_owned(), Value::str(self.backend)),
            ("mode".to_owned(), Value::str("probe")),
            ("scenario".to_owned(), Value::str(scenario)),
            ("size".to_owned(), Value::Int(size.cast_signed())),
            ("worlds".to_owned(), Value::Int(1)),
            ("steps".to_owned(), Value::Int(2)),
            ("warmup".to_owned(), Value::Int(0)),
            ("timestep".to_owned(), Value::Float(timestep)),
            ("threads".to_owned(), Value::Int(i64::from(self.threads))),
            ("gates".to_owned(), Value::Map(gates.collect())),
        ]);
        for name in draft.args.keys() {
            let origin = self.cell.origins.get(name).cloned();
            let derived = Origin::Derived("the probe".into());
            draft.origins.insert(format!("args.{name}"), origin.unwrap_or(derived));
        }
        draft.inputs.insert("engine".into(), DraftInput::Declared("engine".into()));
        let kernels = self.kernels("probe".to_owned(), scene, 1, None, false);
        self.enter(&mut draft, kernels);
        let scene = DraftInput::Draft { index: scene, subpath: Some("scene.json".into()) };
        draft.inputs.insert("scene".into(), scene);
        draft.seed = self.cell.seed;
        draft.timeout = Some(self.cell.timeout.unwrap_or(timeout(self.backend, size)));
        // No trial: a row of its own in a table would say nothing.
        draft.export = false;
        self.drafts.push(draft);
        self.probe = Some(self.drafts.len() - 1);
    }

    fn run(&mut self, run: &Run<'_>, replays: &[&str]) {
        let (case, size, repeat) = (run.case, run.size, run.repeat);
        let scene = self.scene(case, size);
        let name = run.name();
        let mut make = |mode: &str, after: Option<usize>| {
            // P171: a capture is of world 0 alone.
            let worlds = if mode == "capture" { 1 } else { run.worlds };
            let worlds = self.runtime.compiled_worlds(worlds);
            let named = Run { worlds, side: "", ..*run }.name();
            let kernels = self.kernels(named, scene, worlds, run.settings, self.points(case));
            let mut draft = Draft::new("trial", Class::Measured);
            draft.suffix = format!("{name}/r{repeat}/{mode}");
            draft.args = self.args(run, mode);
            self.origins(case, &mut draft);
            draft.inputs.insert("engine".into(), DraftInput::Declared("engine".into()));
            let scene = DraftInput::Draft { index: scene, subpath: Some("scene.json".into()) };
            draft.inputs.insert("scene".into(), scene);
            self.enter(&mut draft, kernels);
            if self.cell.inputs.contains(CALIBRATION) {
                let calibration = DraftInput::Declared(CALIBRATION.into());
                draft.inputs.insert(CALIBRATION.into(), calibration);
            }
            if let (Some(timed), "capture") = (after, mode) {
                let subpath = Some(execute::STATE.to_owned());
                let state = DraftInput::Draft { index: timed, subpath };
                draft.inputs.insert("timed_state".into(), state);
            }
            draft.seed = self.cell.seed;
            draft.repeat = repeat;
            draft.after.extend(after.or(self.probe));
            draft.order = order(self.cell.seed, self.engine, &name, run, mode);
            draft.timeout = Some(self.cell.timeout.unwrap_or(timeout(self.backend, size)));
            draft.series = Some(Box::new(Series {
                case: format!("{}:{}:{size}:{}", self.engine, case.scenario, run.worlds),
                same: SAME,
                pace: PACE,
                grows: GROWS,
                ends_at_limit: self.ends_at_limit,
            }));
            self.drafts.push(draft);
            self.drafts.len() - 1
        };
        let timed = make("timed", None);
        let captured = case.captures.takes(size, run.worlds, case.timestep, run.settings.is_some());
        for replay in replays {
            // A capture shows what happened; once is enough where repeats differ only in time.
            if *replay != "capture" || (repeat == 0 && captured) {
                make(replay, Some(timed));
            }
        }
    }

    /// The draft that compiles what a run of that name needs; none for an adapter without an environment.
    fn kernels(
        &mut self,
        name: String,
        scene: usize,
        worlds: u32,
        settings: Option<&BTreeMap<String, Value>>,
        points: bool,
    ) -> Option<usize> {
        if !self.runtime.compiles(self.backend) {
            return None;
        }
        if let Some(index) = self.kernels.get(&name) {
            return Some(*index);
        }
        if points {
            // Kernels of rigid bodies are none of theirs.
            return Some(self.compile(name, scene, worlds, settings, None));
        }
        let base = self.kernels.get("first").copied().unwrap_or_else(|| {
            let (scenario, size) = COMPILED_FIRST;
            let timestep = 1.0 / 240.0;
            self.drafts.push(sim_stage_scene::draft(scenario, size, timestep, self.cell.seed));
            self.compile("first".to_owned(), self.drafts.len() - 1, 1, None, None)
        });
        if self.runtime.compiles_once() {
            return Some(base);
        }
        Some(self.compile(name, scene, worlds, settings, Some(base)))
    }

    fn compile(
        &mut self,
        name: String,
        scene: usize,
        worlds: u32,
        settings: Option<&BTreeMap<String, Value>>,
        base: Option<usize>,
    ) -> usize {
        // What decides which kernels there are. Steps do not, and two are enough to compile them all.
        let job = Value::Map(BTreeMap::from([
            ("mode".to_owned(), Value::str("timed")),
            ("worlds".to_owned(), Value::Int(i64::from(worlds))),
            ("threads".to_owned(), Value::Int(i64::from(self.threads))),
            ("backend".to_owned(), Value::str(self.backend)),
            ("settings".to_owned(), Value::Map(settings.cloned().unwrap_or_default())),
        ]));
        let scene = DraftInput::Draft { index: scene, subpath: Some("scene.json".into()) };
        let given = ("scene.json", scene);
        let mut draft = self.runtime.kernels(job, given, format!("{name}/kernels"), base);
        let origin = Origin::Derived("the trials that run it".into());
        for arg in ["step", "job", "file"] {
            draft.origins.insert(format!("args.{arg}"), origin.clone());
        }
        self.drafts.push(draft);
        self.kernels.insert(name, self.drafts.len() - 1);
        self.drafts.len() - 1
    }

    /// Gives a run what it needs beside the adapter and the scene.
    fn enter(&self, draft: &mut Draft, kernels: Option<usize>) {
        self.runtime.enter(draft);
        if let Some(index) = kernels {
            take_kernels(draft, index);
        }
    }

    fn scene(&mut self, case: &Case, size: u64) -> usize {
        let key = (case.scenario.clone(), size, case.timestep.to_bits());
        if let Some(index) = self.scenes.get(&key) {
            return *index;
        }
        let mut draft = sim_stage_scene::draft(&case.scenario, size, case.timestep, self.cell.seed);
        draft.origins.insert("args.size".into(), self.ctx.origin(self.path, case.sizes_at));
        draft.origins.insert("args.timestep".into(), self.ctx.origin(self.path, case.at));
        draft.origins.insert("args.scenario".into(), self.ctx.origin(self.path, case.at));
        if let Some(fetch) = sim_stage_scene::source_draft(&case.scenario) {
            sim_stage_scene::take_source(&mut draft, &case.scenario, self.drafts.len());
            self.drafts.push(fetch);
        }
        self.drafts.push(draft);
        self.scenes.insert(key, self.drafts.len() - 1);
        self.drafts.len() - 1
    }

    fn args(&self, run: &Run<'_>, mode: &str) -> BTreeMap<String, Value> {
        let case = run.case;
        let gates =
            case.gates.iter().filter_map(|(k, v)| Some((k.clone(), Value::float(*v)?))).collect();
        let mut args = BTreeMap::from([
            ("engine".to_owned(), Value::str(self.engine)),
            ("backend".to_owned(), Value::str(self.backend)),
            ("mode".to_owned(), Value::str(mode)),
            ("scenario".to_owned(), Value::str(case.scenario.as_str())),
            ("size".to_owned(), Value::Int(run.size.cast_signed())),
            ("worlds".to_owned(), Value::Int(i64::from(run.worlds))),
            ("steps".to_owned(), Value::Int(case.steps.cast_signed())),
            ("warmup".to_owned(), Value::Int(case.warmup.cast_signed())),
            ("timestep".to_owned(), Value::Float(case.timestep)),
            ("threads".to_owned(), Value::Int(i64::from(self.threads))),
            ("gates".to_owned(), Value::Map(gates)),
        ]);
        // What is usual is no argument, so that the same trial in another suite has the same key.
        if let Some(settings) = run.settings {
            args.insert("settings".to_owned(), Value::Map(settings.clone()));
        }
        if self.purpose != Purpose::Performance {
            args.insert("purpose".to_owned(), Value::str(self.purpose.name()));
        }
        if !run.side.is_empty() {
            args.insert("side".to_owned(), Value::str(run.side));
        }
        args
    }

    fn origins(&self, case: &Case, draft: &mut Draft) {
        let at = |offset: usize| self.ctx.origin(self.path, offset);
        for (name, offset) in [
            ("scenario", case.at),
            ("size", case.sizes_at),
            ("worlds", case.worlds_at),
            ("steps", case.steps_at),
            ("timestep", case.timestep_at),
            ("warmup", case.at),
        ] {
            draft.origins.insert(format!("args.{name}"), at(offset));
        }
        for (gate, offset) in &case.gates_at {
            let origin = match offset {
                Some(offset) => at(*offset),
                None => Origin::Derived(format!("scenes/{}/scene.toml", case.scenario)),
            };
            draft.origins.insert(format!("args.gates.{gate}"), origin);
        }
        for name in ["engine", "backend", "threads"] {
            let origin = self.cell.origins.get(name).cloned();
            draft.origins.insert(format!("args.{name}"), origin.unwrap_or(Origin::Default));
        }
        draft.origins.insert("args.mode".into(), Origin::Derived("the trial's replays".into()));
        for name in ["purpose", "side", "settings"] {
            draft.origins.insert(format!("args.{name}"), at(case.at));
        }
    }
}

/// Place among measured actions (P003, P149): ascending worlds, then sizes; within those a shuffle
/// fixed by the seed, so that engines, scenarios and repeats interleave. Whatever has at least as many
/// worlds and bodies comes later or ties in both, so a limit is met before what it rules out.
fn order(seed: u64, engine: &str, name: &str, run: &Run<'_>, mode: &str) -> u64 {
    let hash = blake3::hash(format!("{seed}|{engine}|{name}|{}|{mode}", run.repeat).as_bytes());
    let [a, b, c, ..] = *hash.as_bytes();
    let shuffle = u64::from(u32::from_le_bytes([a, b, c, 0]));
    (u64::from(run.worlds.min(0xffff)) << 48) | (run.size.min(0xff_ffff) << 24) | shuffle
}

impl Stage for Trial {
    fn run(&self, request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
        execute::run(request, dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_then_sizes_ascend_and_engines_interleave() {
        let suite = Suite::parse(
            "s.toml",
            "[suite]\nname = \"s\"\nrepeats = 3\n[[case]]\nscenario = \"box_pile\"\nsizes = [10]\nsteps = 5\n",
        )
        .expect("parses");
        let case = &suite.cases[0];
        let at = |engine: &str, size, worlds, repeat| {
            let run = Run { case, settings: None, size, worlds, side: "", repeat };
            order(7, engine, &run.name(), &run, "timed")
        };
        assert!(at("mujoco", 1000, 1, 0) < at("mujoco", 10, 2, 0));
        assert!(at("mujoco", 10, 2, 0) < at("mujoco", 11, 2, 0));
        let mut runs: Vec<(u64, &str)> = (0..8)
            .flat_map(|r| [(at("mujoco", 10, 1, r), "m"), (at("rapier", 10, 1, r), "r")])
            .collect();
        runs.sort_unstable();
        let sequence: String = runs.iter().map(|(_, e)| *e).collect();
        assert!(!sequence.contains("mmmmmmmm") && !sequence.contains("rrrrrrrr"), "{sequence}");
    }

    /// P148, P149: of two trials of which one asks for no less in both worlds and bodies, and for more
    /// in one of them, that one is later, whatever they are called.
    #[test]
    fn what_asks_for_more_comes_later() {
        let text = "[suite]\nname = \"s\"\n[[case]]\nscenario = \"box_pile\"\nsizes = [10]\n";
        let suite = Suite::parse("s.toml", text).expect("parses");
        let case = &suite.cases[0];
        let steps = [1_u64, 2, 10, 4096, 8192];
        let at = |engine: &str, worlds: u64, size: u64, mode: &str| {
            let worlds = worlds as u32;
            let run = Run { case, settings: None, size, worlds, side: "", repeat: 0 };
            order(7, engine, &run.name(), &run, mode)
        };
        for (w, s) in steps.iter().flat_map(|w| steps.iter().map(move |s| (*w, *s))) {
            for (x, t) in steps.iter().flat_map(|w| steps.iter().map(move |s| (*w, *s))) {
                if x >= w && t >= s && (x, t) != (w, s) {
                    assert!(at("a", w, s, "timed") < at("b", x, t, "memory"), "{w}x{s} {x}x{t}");
                }
            }
        }
    }

    /// P280.
    #[test]
    fn timeouts_are_those_of_the_backend() {
        let seconds = |backend: &str, size| timeout(backend, size).as_secs();
        assert_eq!((seconds("cpu", 1000), seconds("cpu", 110_000)), (120, 300));
        assert_eq!((seconds("cuda", 1000), seconds("metal", 110_000)), (300, 300));
    }

    #[test]
    fn names_hold_what_varies_and_nothing_else() {
        let text = "[suite]\nname = \"s\"\n[[case]]\nscenario = \"pendulum\"\nsizes = [4]\n";
        let plain = Suite::parse("s.toml", text).expect("parses");
        let swept = format!("{text}timesteps = [\"1/240\"]\n");
        let swept = Suite::parse("s.toml", &swept).expect("parses");
        let settings = BTreeMap::from([
            ("integrator".to_owned(), Value::str("RK4")),
            ("substeps".to_owned(), Value::Int(4)),
        ]);
        let name = |case, settings, side| {
            Run { case, settings, size: 4, worlds: 1, side, repeat: 0 }.name()
        };
        assert_eq!(name(&plain.cases[0], None, ""), "pendulum/4x1");
        assert_eq!(name(&plain.cases[0], None, "b"), "pendulum/4x1/b");
        assert_eq!(
            name(&swept.cases[0], Some(&settings), ""),
            "pendulum/4x1/dt1_240/integrator-RK4/substeps-4"
        );
    }
}
