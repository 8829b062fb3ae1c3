//! Suite files: which scenarios, at which sizes and world counts, for how many steps.
//!
//! ```toml
//! [suite]
//! name = "rigid"
//! repeats = 3
//!
//! [[case]]
//! scenario = "box_pile"
//! sizes = [100, 300]
//! worlds = [1]                     # default
//! steps = 480                      # default: the scenario's
//! timestep = "1/240"               # default: the scenario's
//! gates.floor_penetration_m = 0.1  # default: the scenario's
//! ```
//!
//! A case may sweep timesteps over one simulated time, and settings of single engines beside the
//! adapters' own:
//!
//! ```toml
//! [[case]]
//! scenario = "pendulum"
//! sizes = [16]
//! timesteps = ["1/60", "1/120", "1/240"]
//! duration = 2.0                   # s; steps follow from it
//! variants = [{ mujoco.integrator = "RK4" }, { rapier.substeps = 1 }]
//! ```

use crate::captures::{Captures, RawCaptures};
use serde::Deserialize;
use sim_model::kind::{Place, Problem};
use sim_model::value::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// A checked suite.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) repeats: u32,
    pub(crate) purpose: Purpose,
    pub(crate) name: String,
    pub(crate) title: String,
    /// Whether larger cases are left out once a smaller one met a limit (P147).
    pub(crate) ends_at_limit: bool,
    /// Engine that the score is made against; the report's where absent (P206).
    pub(crate) baseline: Option<String>,
    pub(crate) cases: Vec<Case>,
    /// Every engine that the file names, and where.
    pub(crate) named: Vec<(String, Range<usize>)>,
}

/// What a suite is run for; it decides where a report shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Purpose {
    /// Time per step of one workload; the score is made of these.
    #[default]
    Performance,
    /// Error against cost over timesteps and settings.
    Precision,
    /// Every engine against itself: each repeat runs twice, as side `a` and side `b`.
    Control,
}

impl Purpose {
    /// As written in suites and arguments.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Performance => "performance",
            Self::Precision => "precision",
            Self::Control => "control",
        }
    }

    /// The sides that each repeat runs as.
    pub(crate) fn sides(self) -> &'static [&'static str] {
        match self {
            Self::Control => &["a", "b"],
            _ => &[""],
        }
    }
}

/// Settings that differ from an adapter's own, by engine; empty for the adapters' own.
pub(crate) type Variant = BTreeMap<String, BTreeMap<String, Value>>;

/// A checked case. `*_at` are byte offsets in the file.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) scenario: String,
    pub(crate) sizes: Vec<u64>,
    pub(crate) worlds: Vec<u32>,
    pub(crate) steps: u64,
    pub(crate) warmup: u64,
    /// Seconds.
    pub(crate) timestep: f64,
    /// The timestep as written, where the suite sweeps it.
    pub(crate) swept: Option<String>,
    /// The adapters' own settings first, then what differs.
    pub(crate) variants: Vec<Variant>,
    pub(crate) gates: BTreeMap<String, f64>,
    pub(crate) captures: Captures,
    pub(crate) at: usize,
    pub(crate) sizes_at: usize,
    pub(crate) worlds_at: usize,
    pub(crate) steps_at: usize,
    pub(crate) timestep_at: usize,
    /// Where each gate was set; `None` for the scenario's own.
    pub(crate) gates_at: BTreeMap<String, Option<usize>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    suite: Head,
    #[serde(default)]
    case: Vec<RawCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    name: String,
    #[serde(default)]
    title: String,
    repeats: Option<Spanned<i64>>,
    warmup: Option<Spanned<i64>>,
    #[serde(default)]
    purpose: Purpose,
    #[serde(default)]
    skip_after_resource_limit: bool,
    baseline: Option<Spanned<String>>,
}

type RawVariant = BTreeMap<Spanned<String>, BTreeMap<String, toml::Value>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCase {
    scenario: Spanned<String>,
    sizes: Spanned<Vec<Spanned<i64>>>,
    worlds: Option<Spanned<Vec<Spanned<i64>>>>,
    steps: Option<Spanned<i64>>,
    warmup: Option<Spanned<i64>>,
    timestep: Option<Spanned<String>>,
    timesteps: Option<Spanned<Vec<Spanned<String>>>>,
    duration: Option<Spanned<f64>>,
    #[serde(default)]
    variants: Vec<Spanned<RawVariant>>,
    capture: Option<RawCaptures>,
    #[serde(default)]
    gates: BTreeMap<Spanned<String>, Spanned<f64>>,
}

const MAX_STEPS: i64 = 100_000_000;
/// P270.
const MAX_WORLDS: i64 = 8192;

impl Suite {
    /// Parses and checks a suite; every problem of its values is reported at once.
    pub(crate) fn parse(path: &str, text: &str) -> Result<Self, Vec<Problem>> {
        let place = |span: Range<usize>| Place::File { path: path.to_owned(), span };
        let file: File = toml::from_str(text).map_err(|e| {
            let span = e.span().unwrap_or(0..0);
            vec![Problem { place: place(span), message: e.message().to_owned(), hint: None }]
        })?;
        let mut problems = Vec::new();
        let mut int = |value: &Spanned<i64>, what: &str, min: i64, max: i64| {
            let n = *value.get_ref();
            if !(min..=max).contains(&n) {
                problems.push(Problem {
                    place: place(value.span()),
                    message: format!("{what} = {n} is outside {min} to {max}"),
                    hint: None,
                });
            }
            n.max(min).cast_unsigned()
        };
        let repeats = file.suite.repeats.as_ref().map_or(1, |r| int(r, "repeats", 1, 1000)) as u32;
        let warmup = file.suite.warmup.as_ref().map_or(0, |w| int(w, "warmup", 0, MAX_STEPS));
        let mut drafts = Vec::new();
        for raw in &file.case {
            let sizes: Vec<u64> =
                raw.sizes.get_ref().iter().map(|s| int(s, "size", 1, 10_000_000)).collect();
            let worlds: Vec<u32> = raw.worlds.as_ref().map_or_else(
                || vec![1],
                |w| w.get_ref().iter().map(|n| int(n, "worlds", 1, MAX_WORLDS) as u32).collect(),
            );
            let steps = raw.steps.as_ref().map(|s| int(s, "steps", 1, MAX_STEPS));
            let warmup = raw.warmup.as_ref().map_or(warmup, |w| int(w, "warmup", 0, MAX_STEPS));
            drafts.push((raw, sizes, worlds, steps, warmup));
        }
        let mut cases = Vec::new();
        for (raw, sizes, worlds, steps, warmup) in drafts {
            match check(raw, sizes, worlds, steps, warmup, &place) {
                Ok(list) => cases.extend(list),
                Err(more) => problems.extend(more),
            }
        }
        if file.case.is_empty() {
            problems.push(Problem {
                place: place(0..text.len().min(7)),
                message: "the suite has no [[case]]".to_owned(),
                hint: Some("add `[[case]]` with `scenario` and `sizes`".to_owned()),
            });
        }
        let mut seen = BTreeMap::new();
        for case in &cases {
            for size in &case.sizes {
                for worlds in &case.worlds {
                    let key = (&case.scenario, *size, *worlds, case.timestep.to_bits());
                    if seen.insert(key, ()).is_some() {
                        problems.push(Problem {
                            place: place(case.sizes_at..case.sizes_at + 1),
                            message: format!(
                                "{} with size {size} and {worlds} worlds is in the suite twice",
                                case.scenario
                            ),
                            hint: Some("repeats are set by `repeats`".to_owned()),
                        });
                    }
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let variants = file.case.iter().flat_map(|c| &c.variants);
        let engines = variants.flat_map(|v| v.get_ref().keys()).chain(&file.suite.baseline);
        let named = engines.map(|e| (e.get_ref().clone(), e.span())).collect();
        let Head { name, title, purpose, skip_after_resource_limit, baseline, .. } = file.suite;
        Ok(Self {
            repeats,
            purpose,
            name,
            title,
            ends_at_limit: skip_after_resource_limit,
            baseline: baseline.map(Spanned::into_inner),
            cases,
            named,
        })
    }
}

fn check(
    raw: &RawCase,
    sizes: Vec<u64>,
    worlds: Vec<u32>,
    steps: Option<u64>,
    warmup: u64,
    place: &dyn Fn(Range<usize>) -> Place,
) -> Result<Vec<Case>, Vec<Problem>> {
    let mut problems = Vec::new();
    let name = raw.scenario.get_ref();
    let scenario = sim_stage_scene::find(name, place(raw.scenario.span())).map_err(|p| vec![p])?;
    let mut problem = |span: Range<usize>, message: String, hint: Option<String>| {
        problems.push(Problem { place: place(span), message, hint });
    };
    for (size, raw_size) in sizes.iter().zip(raw.sizes.get_ref()) {
        if !(scenario.min_size..=scenario.max_size).contains(size) {
            let (min, max) = (scenario.min_size, scenario.max_size);
            let what = scenario.counts();
            let message = format!("size {size}: {name} takes from {min} to {max} {what}");
            problem(raw_size.span(), message, None);
        }
    }
    if scenario.continuum.is_some() {
        let several = raw.worlds.iter().flat_map(|w| w.get_ref()).find(|n| *n.get_ref() != 1);
        if let Some(several) = several {
            let message = format!("worlds = {}: {name} is run in one world", several.get_ref());
            problem(several.span(), message, None);
        }
    }
    if sizes.is_empty() {
        problem(raw.sizes.span(), "no sizes are given".to_owned(), None);
    }
    if worlds.is_empty()
        && let Some(raw) = &raw.worlds
    {
        problem(raw.span(), "no world counts are given".to_owned(), None);
    }
    let timesteps = timesteps(raw, scenario, &mut problem);
    points(raw, scenario, &sizes, &timesteps, &mut problem);
    let lengths = lengths(raw, steps.unwrap_or(scenario.steps), &timesteps, &mut problem);
    let variants = variants(raw, &mut problem);
    let seconds: Vec<f64> = timesteps.iter().map(|t| t.seconds).collect();
    let captures = Captures::check(raw.capture.as_ref(), &sizes, &worlds, &seconds, &mut problem);
    // The scenario's own gates, as the names and numbers that a job has.
    let own = serde_json::to_value(scenario.gates).unwrap_or_default();
    let mut gates: BTreeMap<String, f64> = own
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(k, v)| Some((k.clone(), v.as_f64()?)))
        .collect();
    let mut gates_at: BTreeMap<String, Option<usize>> =
        gates.keys().map(|k| (k.clone(), None)).collect();
    for (gate, limit) in &raw.gates {
        let (key, value) = (gate.get_ref(), *limit.get_ref());
        if !gates.contains_key(key) {
            let names: Vec<&str> = gates.keys().map(String::as_str).collect();
            let hint = format!("the gates are {}", names.join(", "));
            problem(gate.span(), format!("there is no gate `{key}`"), Some(hint));
        } else if !(value.is_finite() && value > 0.0) {
            problem(limit.span(), format!("{key} = {value} must be positive and finite"), None);
        } else {
            gates.insert(key.clone(), value);
            gates_at.insert(key.clone(), Some(limit.span().start));
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let at = raw.scenario.span().start;
    let case = |(step, steps): (&Step, u64)| Case {
        scenario: name.clone(),
        sizes: sizes.clone(),
        worlds: worlds.clone(),
        steps,
        warmup,
        timestep: step.seconds,
        swept: step.swept.clone(),
        variants: variants.clone(),
        gates: gates.clone(),
        captures: captures.clone(),
        at,
        sizes_at: raw.sizes.span().start,
        worlds_at: raw.worlds.as_ref().map_or(at, |w| w.span().start),
        steps_at: match (&raw.steps, &raw.duration) {
            (Some(s), _) => s.span().start,
            (None, Some(d)) => d.span().start,
            (None, None) => at,
        },
        timestep_at: step.at.unwrap_or(at),
        gates_at: gates_at.clone(),
    };
    Ok(timesteps.iter().zip(lengths).map(case).collect())
}

type Report<'a> = dyn FnMut(Range<usize>, String, Option<String>) + 'a;

/// One timestep of a case.
struct Step {
    seconds: f64,
    swept: Option<String>,
    at: Option<usize>,
}

/// The timesteps of a case: those it sweeps, its only one, or the scenario's.
fn timesteps(
    raw: &RawCase,
    scenario: &sim_scenes::Scenario,
    problem: &mut Report<'_>,
) -> Vec<Step> {
    let mut read = |text: &Spanned<String>, swept: bool| {
        let seconds = sim_stage_scene::parse_timestep(text.get_ref()).unwrap_or_else(|message| {
            problem(text.span(), message, None);
            1.0
        });
        let swept = swept.then(|| text.get_ref().trim().to_owned());
        Step { seconds, swept, at: Some(text.span().start) }
    };
    match (&raw.timesteps, &raw.timestep) {
        (Some(list), None) => {
            let steps: Vec<Step> = list.get_ref().iter().map(|t| read(t, true)).collect();
            if steps.is_empty() {
                problem(list.span(), "no timesteps are given".to_owned(), None);
            }
            steps
        }
        (None, Some(text)) => vec![read(text, false)],
        (None, None) => {
            vec![Step { seconds: scenario.default_timestep(), swept: None, at: None }]
        }
        (Some(list), Some(_)) => {
            let message = "`timestep` and `timesteps` are both given".to_owned();
            problem(list.span(), message, Some("keep one of them".to_owned()));
            Vec::new()
        }
    }
}

/// P216, P223: whether the sizes of a scenario of material points form cubes, and whether its substeps are
/// short enough for their cells.
fn points(
    raw: &RawCase,
    scenario: &sim_scenes::Scenario,
    sizes: &[u64],
    timesteps: &[Step],
    problem: &mut Report<'_>,
) {
    for (size, at) in sizes.iter().zip(raw.sizes.get_ref()) {
        // Sizes out of range are a problem of their own.
        if (scenario.min_size..=scenario.max_size).contains(size) {
            let wrong = timesteps.iter().find_map(|t| scenario.check(*size, t.seconds).err());
            if let Some(message) = wrong {
                problem(at.span(), format!("{}: {message}", scenario.name), None);
            }
        }
    }
}

/// Steps of each timestep: `steps` for all, or as many as fill `duration` exactly.
fn lengths(raw: &RawCase, steps: u64, timesteps: &[Step], problem: &mut Report<'_>) -> Vec<u64> {
    let Some(duration) = &raw.duration else { return vec![steps; timesteps.len()] };
    let (seconds, span) = (*duration.get_ref(), duration.span());
    if raw.steps.is_some() {
        problem(span.clone(), "`steps` and `duration` are both given".to_owned(), None);
    }
    let mut count = |step: &Step| {
        let exact = seconds / step.seconds;
        // Fractions such as 1/240 are not exact in binary; a millionth of a step is rounding.
        let whole = exact.round();
        let fits = exact.is_finite() && (exact - whole).abs() < 1e-6;
        if !fits || !(1.0..=MAX_STEPS as f64).contains(&whole) {
            let dt = step.seconds;
            let message = format!("duration = {seconds} s is no whole number of steps of {dt} s");
            problem(span.clone(), message, None);
            return 1;
        }
        whole as u64
    };
    timesteps.iter().map(&mut count).collect()
}

/// The adapters' own settings, then each variant that the case names.
fn variants(raw: &RawCase, problem: &mut Report<'_>) -> Vec<Variant> {
    let mut list = vec![Variant::new()];
    for raw in &raw.variants {
        let mut variant = Variant::new();
        for (engine, settings) in raw.get_ref() {
            let engine = engine.get_ref();
            let of_engine = variant.entry(engine.clone()).or_default();
            for (name, value) in settings {
                let value = match value {
                    toml::Value::String(s) => Some(Value::str(s.as_str())),
                    toml::Value::Integer(n) => Some(Value::Int(*n)),
                    toml::Value::Float(x) => Value::float(*x),
                    toml::Value::Boolean(b) => Some(Value::Bool(*b)),
                    _ => None,
                };
                match value {
                    Some(value) => drop(of_engine.insert(name.clone(), value)),
                    None => {
                        let message = format!("{engine}.{name} is no text, number or switch");
                        problem(raw.span(), message, None);
                    }
                }
            }
        }
        if variant.values().all(BTreeMap::is_empty) {
            let hint = "such as `{ mujoco.integrator = \"RK4\" }`".to_owned();
            problem(raw.span(), "a variant that changes nothing".to_owned(), Some(hint));
        } else if list.contains(&variant) {
            problem(raw.span(), "the same variant twice".to_owned(), None);
        }
        list.push(variant);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        match Suite::parse("s.toml", text) {
            Ok(_) => Vec::new(),
            Err(list) => list
                .iter()
                .map(|p| match &p.place {
                    Place::File { span, .. } => format!("{}: {}", &text[span.clone()], p.message),
                    other => format!("{other:?}"),
                })
                .collect(),
        }
    }

    #[test]
    fn every_wrong_value_is_named_at_once() {
        let text = "[suite]\nname = \"s\"\nrepeats = 0\n\
                    [[case]]\nscenario = \"box_pil\"\nsizes = [1]\n\
                    [[case]]\nscenario = \"box_pile\"\nsizes = [0]\ntimestep = \"5\"\n\
                    gates.flor = 0.1\ngates.anchor_drift_m = -1.0\nworlds = [9000]\n";
        assert_eq!(
            problems(text),
            [
                "0: repeats = 0 is outside 1 to 1000",
                "0: size = 0 is outside 1 to 10000000",
                "9000: worlds = 9000 is outside 1 to 8192",
                "\"box_pil\": there is no scenario `box_pil`",
                "\"5\": `5` is no timestep: give seconds in (0, 1], such as `1/240`",
                "-1.0: anchor_drift_m = -1 must be positive and finite",
                "flor: there is no gate `flor`",
            ]
        );
    }

    #[test]
    fn defaults_are_the_scenarios() {
        let text = "[suite]\nname = \"s\"\n[[case]]\nscenario = \"box_pile\"\nsizes = [10]\n";
        let suite = Suite::parse("s.toml", text).expect("parses");
        let case = &suite.cases[0];
        assert_eq!(
            (case.worlds.as_slice(), case.timestep, suite.repeats),
            (&[1][..], 1.0 / 240.0, 1)
        );
        assert_eq!(case.gates["floor_penetration_m"], 0.15);
        assert_eq!(case.gates["anchor_drift_m"], 0.08);
    }

    /// P205, P216, P223.
    #[test]
    fn material_points_that_do_not_fit_are_named_at_the_plan() {
        let head =
            "[suite]\nname = \"s\"\nbaseline = \"genesis\"\n[[case]]\nscenario = \"sand_column\"\n";
        let with = |more: &str| problems(&format!("{head}{more}"));
        assert_eq!(with("sizes = [512, 195112]\n"), [""; 0]);
        assert_eq!(
            with("sizes = [343, 1000, 1001]\nworlds = [1, 4]\n"),
            [
                "343: size 343: sand_column takes from 512 to 195112 points",
                "4: worlds = 4: sand_column is run in one world",
                "1001: sand_column: size 1001 is not the cube of an even number, such as 1000",
            ]
        );
        let long = with("sizes = [512, 195112]\ntimesteps = [\"1/240\", \"1/60\"]\n");
        assert_eq!(long.len(), 1);
        assert!(long[0].starts_with("195112: sand_column: a substep"), "{long:?}");
        let suite = Suite::parse("s.toml", &format!("{head}sizes = [512]\n")).expect("parses");
        assert_eq!(suite.baseline.as_deref(), Some("genesis"));
    }

    #[test]
    fn a_sweep_has_as_many_steps_as_fill_its_duration() {
        let text = "[suite]\nname = \"s\"\npurpose = \"precision\"\n[[case]]\n\
                    scenario = \"pendulum\"\nsizes = [4]\ntimesteps = [\"1/60\", \"1/240\", \"0.002\"]\n\
                    duration = 2.0\nvariants = [{ mujoco.integrator = \"RK4\" }, { rapier.substeps = 1 }]\n";
        let suite = Suite::parse("s.toml", text).expect("parses");
        let steps: Vec<u64> = suite.cases.iter().map(|c| c.steps).collect();
        assert_eq!((steps, suite.purpose), (vec![120, 480, 1000], Purpose::Precision));
        let swept: Vec<_> = suite.cases.iter().filter_map(|c| c.swept.as_deref()).collect();
        assert_eq!(swept, ["1/60", "1/240", "0.002"]);
        let variants = &suite.cases[2].variants;
        assert_eq!((variants.len(), variants[0].len()), (3, 0));
        assert_eq!(variants[1]["mujoco"]["integrator"], Value::str("RK4"));
        assert_eq!(variants[2]["rapier"]["substeps"], Value::Int(1));
    }

    #[test]
    fn sweeps_that_make_no_sense_are_named() {
        let case = "[suite]\nname = \"s\"\n[[case]]\nscenario = \"pendulum\"\nsizes = [4]\n";
        let with = |more: &str| problems(&format!("{case}{more}"));
        assert_eq!(
            with("timesteps = [\"1/7\"]\nduration = 1.5\n"),
            ["1.5: duration = 1.5 s is no whole number of steps of 0.14285714285714285 s"]
        );
        assert_eq!(
            with("steps = 3\nduration = 2.0\n"),
            ["2.0: `steps` and `duration` are both given"]
        );
        assert_eq!(with("timesteps = []\n"), ["[]: no timesteps are given"]);
        assert_eq!(with("timestep = \"1\"\ntimesteps = [\"1\"]\n").len(), 1);
        assert_eq!(with("variants = [{}]\n"), ["{}: a variant that changes nothing"]);
        let list = with("variants = [{ rapier.substeps = [1] }]\n");
        assert!(list[0].ends_with("rapier.substeps is no text, number or switch"), "{list:?}");
        let twice = "variants = [{ rapier.substeps = 1 }, { rapier.substeps = 1 }]\n";
        assert_eq!(with(twice), ["{ rapier.substeps = 1 }: the same variant twice"]);
        assert!(with("purpose = 1\n")[0].contains("unknown field"));
    }
}
