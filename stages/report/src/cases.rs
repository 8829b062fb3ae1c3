//! Groups trials into cases (rows) and engine columns, and computes what a table shows of each.

use crate::device::Device;
use crate::load::Input;
use crate::stats::Summary;
use crate::text::slug;
use crate::trial::Trial;
use sim_engine_protocol::Precision;
use std::collections::{BTreeMap, BTreeSet};

/// What runs the physics. Timings are compared within a group only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    Cpu,
    Gpu,
}

impl Group {
    fn of(backend: &str) -> Self {
        if backend.to_ascii_lowercase().starts_with("cpu") { Self::Cpu } else { Self::Gpu }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cpu => "CPU",
            Self::Gpu => "GPU",
        }
    }
}

/// One engine column: engine, backend and number of threads.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) group: Group,
    pub(crate) engine: String,
    pub(crate) backend: String,
    pub(crate) threads: u64,
    /// For headings.
    pub(crate) title: String,
    /// Second line of headings: backend, threads, precision.
    pub(crate) detail: String,
    /// Title alone where that is unambiguous, else with what tells it apart.
    pub(crate) name: String,
    /// Name for anchors and classes.
    pub(crate) id: String,
    /// Versions that its results name; more than one is a caveat.
    pub(crate) versions: BTreeSet<String>,
}

/// What a case was run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Tables, curves and the score.
    Performance,
    /// Error against cost.
    Precision,
    /// An engine against itself.
    Control,
}

impl Purpose {
    fn of(name: &str) -> Self {
        match name {
            "precision" => Self::Precision,
            "control" => Self::Control,
            _ => Self::Performance,
        }
    }
}

/// What makes one row: all its trials simulate the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CaseKey<'a> {
    pub(crate) scenario: &'a str,
    pub(crate) size: u64,
    pub(crate) worlds: u64,
    pub(crate) steps: u64,
    /// Bits of the timestep, so that keys have an order.
    pub(crate) timestep: u64,
    /// Settings that differ from the adapter's own, empty for these.
    pub(crate) variant: &'a str,
    /// What its suite is run for.
    pub(crate) purpose: &'a str,
    /// The stage that ran it.
    pub(crate) suite: &'a str,
    /// Side of a control, else empty.
    pub(crate) side: &'a str,
    /// Index of the machine.
    pub(crate) machine: usize,
}

/// One case and its cells, one a column.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) scenario: String,
    pub(crate) size: u64,
    pub(crate) worlds: u64,
    pub(crate) steps: u64,
    pub(crate) timestep: f64,
    pub(crate) variant: String,
    pub(crate) purpose: Purpose,
    pub(crate) suite: String,
    pub(crate) side: String,
    pub(crate) machine: usize,
    /// Stem of its page below `cases/`.
    pub(crate) page: String,
    /// Cells by column; `None` where nothing was asked.
    pub(crate) cells: Vec<Option<Cell>>,
    /// Columns whose cell is the fastest of its group.
    pub(crate) fastest: BTreeSet<usize>,
}

/// All trials of one case on one column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// Timed trials, by repeat.
    pub(crate) timed: Vec<usize>,
    /// Other trials by mode, by repeat.
    pub(crate) replays: BTreeMap<String, Vec<usize>>,
    /// How many timed trials passed.
    pub(crate) passed: usize,
    pub(crate) ms: Option<Summary>,
    /// The samples behind `ms`, by repeat.
    pub(crate) samples: Vec<f64>,
    pub(crate) rate: Option<Summary>,
    pub(crate) setup_s: Option<Summary>,
    pub(crate) warmup_s: Option<Summary>,
    /// Why trials did not pass: (outcome, reason) with the trials.
    pub(crate) failures: BTreeMap<(String, String), Vec<usize>>,
    /// Timed trials that passed whose observation is marked noisy.
    pub(crate) noisy: usize,
    /// Memory by metric.
    pub(crate) memory: BTreeMap<String, Memory>,
    /// Device time; absent where no profile replay was planned.
    pub(crate) device: Option<Device>,
}

/// Memory of one cell in one metric.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// Peak bytes over the replays that count.
    pub(crate) peak: Option<Summary>,
    /// Counters behind the peaks; more than one forbids a median.
    pub(crate) counters: BTreeSet<String>,
    /// Replays that the case needs: one for every timed trial that passed.
    pub(crate) needed: usize,
    /// Why a replay gave no value.
    pub(crate) unavailable: BTreeSet<String>,
}

impl Memory {
    /// The summary, under the rules of complete coverage and of one counter.
    pub(crate) fn counts(&self) -> Option<&Summary> {
        self.peak.as_ref().filter(|p| p.n >= self.needed && self.counters.len() == 1)
    }
}

impl Cell {
    /// Whether every planned timed trial passed.
    pub(crate) fn complete(&self) -> bool {
        self.passed == self.timed.len() && self.passed > 0
    }
}

/// All cases, in order, and all columns, in their fixed order.
#[derive(Debug, Default)]
pub(crate) struct Cases {
    pub(crate) columns: Vec<Column>,
    pub(crate) cases: Vec<Case>,
    /// Scenario names in order, with titles.
    pub(crate) scenarios: BTreeMap<String, String>,
    /// Index of the case of each trial.
    pub(crate) case_of: Vec<usize>,
}

impl Cases {
    /// Groups the trials of `input`; `machine_of` numbers the machine of a trial.
    pub(crate) fn of(input: &Input, machine_of: &dyn Fn(&Trial) -> usize) -> Self {
        let (columns, column_of) = columns(&input.trials);
        let mut cases: BTreeMap<CaseKey<'_>, Vec<Option<Cell>>> = BTreeMap::new();
        let mut order: Vec<usize> = (0..input.trials.len()).collect();
        order.sort_by_key(|i| (input.trials[*i].repeat, input.trials[*i].label.as_str()));
        let mut scenarios = BTreeMap::new();
        for i in order {
            let t = &input.trials[i];
            let key = CaseKey {
                scenario: &t.scenario,
                size: t.size,
                worlds: t.worlds,
                steps: t.steps,
                timestep: t.timestep.to_bits(),
                variant: &t.variant,
                purpose: &t.purpose,
                suite: &t.suite,
                side: &t.side,
                machine: machine_of(t),
            };
            let cells = cases.entry(key).or_insert_with(|| vec![None; columns.len()]);
            let cell = cells[column_of[i]].get_or_insert_with(Cell::default);
            if t.mode == "timed" {
                cell.timed.push(i);
            } else {
                cell.replays.entry(t.mode.clone()).or_default().push(i);
            }
            scenarios.entry(t.scenario.clone()).or_insert_with(|| scenario_title(t));
        }
        let mut case_of = vec![0; input.trials.len()];
        let cases = cases
            .into_iter()
            .enumerate()
            .map(|(number, (key, mut cells))| {
                for cell in cells.iter().flatten() {
                    let all = cell.timed.iter().chain(cell.replays.values().flatten());
                    all.for_each(|i| case_of[*i] = number);
                }
                cells.iter_mut().flatten().for_each(|c| fill(c, input));
                let purpose = Purpose::of(key.purpose);
                let fastest = match purpose {
                    Purpose::Performance => fastest(&columns, &cells),
                    _ => BTreeSet::new(),
                };
                Case {
                    scenario: key.scenario.to_owned(),
                    size: key.size,
                    worlds: key.worlds,
                    steps: key.steps,
                    timestep: f64::from_bits(key.timestep),
                    variant: key.variant.to_owned(),
                    purpose,
                    suite: key.suite.to_owned(),
                    side: key.side.to_owned(),
                    machine: key.machine,
                    page: page(&key),
                    cells,
                    fastest,
                }
            })
            .collect();
        Self { columns, cases, scenarios, case_of }
    }

    /// The cases of one scenario.
    pub(crate) fn of_scenario<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Case> {
        self.cases.iter().filter(move |c| c.scenario == name)
    }

    /// The cases that were run for one purpose.
    pub(crate) fn run_for(&self, purpose: Purpose) -> impl Iterator<Item = &Case> + Clone {
        self.cases.iter().filter(move |c| c.purpose == purpose)
    }

    /// Largest number of timed trials of any cell, controls left out: they say nothing of cases.
    pub(crate) fn most_repeats(&self) -> usize {
        self.cases
            .iter()
            .filter(|c| c.purpose != Purpose::Control)
            .flat_map(|c| c.cells.iter().flatten())
            .map(|c| c.timed.len())
            .max()
            .unwrap_or(0)
    }
}

fn scenario_title(t: &Trial) -> String {
    t.scenario_title
        .clone()
        .or_else(|| sim_scenes::find(&t.scenario).map(|s| s.title.clone()))
        .unwrap_or_else(|| t.scenario.clone())
}

fn page(key: &CaseKey<'_>) -> String {
    let dt = f64::from_bits(key.timestep);
    let name = format!("{}-{}x{}", slug(key.scenario), key.size, key.worlds);
    // Steps, timestep and machine rarely differ between cases; a digest keeps the name short.
    let CaseKey { steps, variant, purpose, suite, side, machine, .. } = key;
    let rest = format!("{steps} {dt:?} {variant:?} {purpose:?} {suite:?} {side:?} {machine}");
    format!("{name}-{}", &sim_model::Digest::of(rest.as_bytes()).short()[..6])
}

fn columns(trials: &[Trial]) -> (Vec<Column>, Vec<usize>) {
    type Place<'a> = (Group, i64, &'a str, &'a str, u64);
    fn place(t: &Trial) -> Place<'_> {
        let order = t.engine_order.unwrap_or_else(|| known_order(&t.engine));
        (Group::of(&t.backend), order, &t.engine, &t.backend, t.threads)
    }
    let mut places: BTreeMap<Place<'_>, Vec<usize>> = BTreeMap::new();
    for (i, t) in trials.iter().enumerate() {
        places.entry(place(t)).or_default().push(i);
    }
    let mut column_of = vec![0; trials.len()];
    let mut columns: Vec<Column> = Vec::new();
    for ((group, _, engine, backend, threads), members) in places {
        let mut versions = BTreeSet::new();
        let mut precision = None;
        let mut title = None;
        for i in members {
            column_of[i] = columns.len();
            title = title.or_else(|| trials[i].engine_title.clone());
            if let Some(r) = &trials[i].result {
                versions.insert(r.engine.version.clone());
                precision = precision.or(Some(r.precision));
            }
        }
        let title = title.unwrap_or_else(|| known_title(engine));
        let precision = match precision {
            Some(Precision::Single) => " \u{b7} single",
            Some(Precision::Double) => " \u{b7} double",
            None => "",
        };
        let s = if threads == 1 { "" } else { "s" };
        let backend_name = if backend == "cpu" { "CPU" } else { backend };
        columns.push(Column {
            group,
            engine: engine.to_owned(),
            backend: backend.to_owned(),
            threads,
            name: title.clone(),
            title,
            detail: format!("{backend_name} \u{b7} {threads} thread{s}{precision}"),
            id: slug(&format!("{engine}-{backend}-{threads}")),
            versions,
        });
    }
    for i in 0..columns.len() {
        let same = |f: &dyn Fn(&Column) -> bool| {
            columns.iter().enumerate().any(|(j, c)| j != i && c.engine == columns[i].engine && f(c))
        };
        let backend = same(&|c| c.backend != columns[i].backend);
        let threads = same(&|c| c.threads != columns[i].threads);
        let mut name = columns[i].title.clone();
        if backend {
            name += &format!(" {}", columns[i].backend);
        }
        if threads {
            name += &format!(" \u{d7}{}", columns[i].threads);
        }
        columns[i].name = name;
    }
    (columns, column_of)
}

/// Name, title and order of the engines whose folders were there at build time.
const ENGINES: &[(&str, &str, i64)] = include!(concat!(env!("OUT_DIR"), "/engines.rs"));

/// The title of an engine, for trials that say none.
fn known_title(engine: &str) -> String {
    let known = ENGINES.iter().find(|e| e.0 == engine);
    known.map_or(engine, |e| e.1).to_owned()
}

/// The place of an engine within its group, for trials that say none.
fn known_order(engine: &str) -> i64 {
    ENGINES.iter().find(|e| e.0 == engine).map_or(i64::MAX, |e| e.2)
}

fn fill(cell: &mut Cell, input: &Input) {
    let trials = &input.trials;
    let passed: Vec<&Trial> =
        cell.timed.iter().map(|i| &trials[*i]).filter(|t| t.passed()).collect();
    cell.passed = passed.len();
    cell.samples = passed.iter().filter_map(|t| t.ms_per_step()).collect();
    cell.ms = Summary::of(cell.samples.iter().copied());
    cell.rate = Summary::of(passed.iter().filter_map(|t| t.world_steps_per_second()));
    let phase = |pick: fn(&sim_engine_protocol::Phases) -> Option<u64>| {
        Summary::of(
            passed
                .iter()
                .filter_map(|t| pick(&t.result.as_ref()?.phases))
                .map(|ns| ns as f64 * 1e-9),
        )
    };
    cell.setup_s = phase(|p| p.setup_ns);
    cell.warmup_s = phase(|p| p.warmup_ns);
    let noisy = |t: &&Trial| {
        let conditions = t.record.and_then(|r| input.records[r].conditions.as_ref());
        conditions.is_some_and(|c| !c.noisy.is_empty())
    };
    cell.noisy = passed.iter().copied().filter(noisy).count();
    for i in cell.timed.iter().chain(cell.replays.values().flatten()) {
        let t = &trials[*i];
        if !t.passed() {
            let why = (t.outcome.clone(), t.reason.clone());
            cell.failures.entry(why).or_default().push(*i);
        }
    }
    cell.memory = memory(cell, trials);
    cell.device = crate::device::of(cell, trials);
}

fn memory(cell: &Cell, trials: &[Trial]) -> BTreeMap<String, Memory> {
    let mut peaks: BTreeMap<String, (Memory, Vec<f64>)> = BTreeMap::new();
    let replays = cell.replays.get("memory").into_iter().flatten().map(|i| &trials[*i]);
    for t in replays.filter(|t| t.passed()) {
        let report = t.result.as_ref().and_then(|r| r.memory.as_ref());
        for metric in report.iter().flat_map(|m| &m.metrics) {
            let (entry, values) = peaks.entry(metric.name.clone()).or_insert_with(|| {
                let needed = cell.passed.max(1);
                let (counters, unavailable) = (BTreeSet::new(), BTreeSet::new());
                (Memory { peak: None, counters, needed, unavailable }, Vec::new())
            });
            match metric.peak_bytes {
                Some(bytes) => {
                    entry.counters.insert(metric.peak_counter.clone());
                    values.push(bytes as f64);
                }
                None => {
                    let why = metric.unavailable.clone();
                    entry.unavailable.insert(why.unwrap_or_else(|| "no reason given".to_owned()));
                }
            }
        }
    }
    peaks
        .into_iter()
        .map(|(name, (mut memory, values))| {
            memory.peak = Summary::of(values);
            (name, memory)
        })
        .collect()
}

/// The column of each group that took less time than every other: only among cells in which every
/// planned trial passed, only where two such cells can be compared, and only where the interval of
/// its ratio to each of them lies below 1.
fn fastest(columns: &[Column], cells: &[Option<Cell>]) -> BTreeSet<usize> {
    let complete: Vec<(usize, &Cell)> = cells
        .iter()
        .enumerate()
        .filter_map(|(i, c)| Some((i, c.as_ref().filter(|c| c.complete())?)))
        .collect();
    let rivals = |i: usize| {
        complete.iter().filter(move |(j, _)| *j != i && columns[*j].group == columns[i].group)
    };
    let wins = |(i, cell): &&(usize, &Cell)| {
        let less = |(_, other): &(usize, &Cell)| {
            crate::bootstrap::ratio(&cell.samples, &other.samples).is_some_and(|r| r.high < 1.0)
        };
        rivals(*i).next().is_some() && rivals(*i).all(less)
    };
    complete.iter().filter(wins).map(|(i, _)| *i).collect()
}
