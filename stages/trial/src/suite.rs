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

use serde::Deserialize;
use sim_model::kind::{Place, Problem};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// A checked suite.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) repeats: u32,
    pub(crate) cases: Vec<Case>,
}

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
    pub(crate) gates: BTreeMap<String, f64>,
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
    #[serde(rename = "name")]
    _name: String,
    #[serde(default, rename = "title")]
    _title: String,
    repeats: Option<Spanned<i64>>,
    warmup: Option<Spanned<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCase {
    scenario: Spanned<String>,
    sizes: Spanned<Vec<Spanned<i64>>>,
    worlds: Option<Spanned<Vec<Spanned<i64>>>>,
    steps: Option<Spanned<i64>>,
    warmup: Option<Spanned<i64>>,
    timestep: Option<Spanned<String>>,
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
                Ok(case) => cases.push(case),
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
                    if seen.insert((&case.scenario, *size, *worlds), ()).is_some() {
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
        if problems.is_empty() { Ok(Self { repeats, cases }) } else { Err(problems) }
    }
}

fn check(
    raw: &RawCase,
    sizes: Vec<u64>,
    worlds: Vec<u32>,
    steps: Option<u64>,
    warmup: u64,
    place: &dyn Fn(Range<usize>) -> Place,
) -> Result<Case, Vec<Problem>> {
    let mut problems = Vec::new();
    let name = raw.scenario.get_ref();
    let scenario = sim_stage_scene::find(name, place(raw.scenario.span())).map_err(|p| vec![p])?;
    let mut problem = |span: Range<usize>, message: String, hint: Option<String>| {
        problems.push(Problem { place: place(span), message, hint });
    };
    for (size, raw_size) in sizes.iter().zip(raw.sizes.get_ref()) {
        if !(scenario.min_size..=scenario.max_size).contains(size) {
            let (min, max) = (scenario.min_size, scenario.max_size);
            let message = format!("size {size}: {name} takes from {min} to {max} dynamic bodies");
            problem(raw_size.span(), message, None);
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
    let timestep = match &raw.timestep {
        None => scenario.default_timestep(),
        Some(text) => sim_stage_scene::parse_timestep(text.get_ref()).unwrap_or_else(|message| {
            problem(text.span(), message, None);
            1.0
        }),
    };
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
    Ok(Case {
        scenario: name.clone(),
        sizes,
        worlds,
        steps: steps.unwrap_or(scenario.steps),
        warmup,
        timestep,
        gates,
        at,
        sizes_at: raw.sizes.span().start,
        worlds_at: raw.worlds.as_ref().map_or(at, |w| w.span().start),
        steps_at: raw.steps.as_ref().map_or(at, |s| s.span().start),
        timestep_at: raw.timestep.as_ref().map_or(at, |t| t.span().start),
        gates_at,
    })
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
}
