//! Which trials of a case are captured, where the stage asks for captures.
//!
//! ```toml
//! capture.sizes = [100]            # default: all; [] for none
//! capture.worlds = [1]             # default: all; a capture is of world 0 whatever their number
//! capture.timesteps = ["1/240"]    # default: all
//! capture.variants = true          # default: the adapters' own settings alone
//! ```
//!
//! Without `capture`, every trial of the case is.

use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;

/// A checked choice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Captures {
    chosen: Option<Chosen>,
}

#[derive(Clone, Debug)]
struct Chosen {
    sizes: Option<Vec<u64>>,
    worlds: Option<Vec<u64>>,
    /// Seconds.
    timesteps: Option<Vec<f64>>,
    variants: bool,
}

/// The table as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCaptures {
    sizes: Option<Vec<Spanned<u64>>>,
    worlds: Option<Vec<Spanned<u64>>>,
    timesteps: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    variants: bool,
}

impl Captures {
    /// Checks the table against the case's own sizes, world counts and timesteps (s); what a case does
    /// not have is reported.
    pub(crate) fn check(
        raw: Option<&RawCaptures>,
        sizes: &[u64],
        worlds: &[u32],
        timesteps: &[f64],
        problem: &mut dyn FnMut(Range<usize>, String, Option<String>),
    ) -> Self {
        let Some(raw) = raw else { return Self::default() };
        let worlds: Vec<u64> = worlds.iter().copied().map(u64::from).collect();
        let mut own = |values: &Option<Vec<Spanned<u64>>>, known: &[u64], one: &str, all: &str| {
            let values = values.as_ref()?;
            for value in values.iter().filter(|v| !known.contains(v.get_ref())) {
                let message = format!("{one} {}: the case does not run it", value.get_ref());
                problem(value.span(), message, Some(format!("its {all} are {known:?}")));
            }
            Some(values.iter().map(|v| *v.get_ref()).collect())
        };
        let wanted = own(&raw.sizes, sizes, "size", "sizes");
        let beside = own(&raw.worlds, &worlds, "worlds", "numbers of worlds");
        let mut steps = None;
        if let Some(list) = &raw.timesteps {
            let mut known = Vec::new();
            for text in list {
                match sim_stage_scene::parse_timestep(text.get_ref()) {
                    Ok(dt) if timesteps.contains(&dt) => known.push(dt),
                    Ok(dt) => {
                        let message = format!("timestep {dt} s: the case does not run it");
                        let hint = format!("its timesteps are {timesteps:?} s");
                        problem(text.span(), message, Some(hint));
                    }
                    Err(message) => problem(text.span(), message, None),
                }
            }
            steps = Some(known);
        }
        let chosen =
            Chosen { sizes: wanted, worlds: beside, timesteps: steps, variants: raw.variants };
        Self { chosen: Some(chosen) }
    }

    /// Whether the trial of this size, number of worlds and timestep (s), at settings of its own
    /// (`varied`) or the adapter's, is captured.
    pub(crate) fn takes(&self, size: u64, worlds: u32, timestep: f64, varied: bool) -> bool {
        let Some(chosen) = &self.chosen else { return true };
        chosen.sizes.as_ref().is_none_or(|list| list.contains(&size))
            && chosen.worlds.as_ref().is_none_or(|list| list.contains(&u64::from(worlds)))
            && chosen.timesteps.as_ref().is_none_or(|list| list.contains(&timestep))
            && (chosen.variants || !varied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> (Captures, Vec<String>) {
        let raw: RawCaptures = toml::from_str(text).expect("parses");
        let mut problems = Vec::new();
        let found = Captures::check(
            Some(&raw),
            &[30, 100],
            &[1, 4],
            &[1.0 / 60.0, 1.0 / 240.0],
            &mut |span, message, _| problems.push(format!("{}: {message}", &text[span])),
        );
        (found, problems)
    }

    #[test]
    fn a_choice_takes_what_it_names_and_nothing_else() {
        let all = Captures::default();
        assert!(all.takes(30, 1, 1.0 / 60.0, true));
        let (some, problems) = check("sizes = [100]\ntimesteps = [\"1/240\"]\n");
        assert_eq!(problems, [""; 0]);
        assert!(some.takes(100, 1, 1.0 / 240.0, false));
        assert!(!some.takes(30, 1, 1.0 / 240.0, false));
        assert!(!some.takes(100, 1, 1.0 / 60.0, false));
        assert!(!some.takes(100, 1, 1.0 / 240.0, true));
        assert!(check("variants = true\n").0.takes(30, 1, 1.0 / 60.0, true));
        let (one, _) = check("worlds = [1]\n");
        assert!(one.takes(30, 1, 1.0 / 60.0, false) && !one.takes(30, 4, 1.0 / 60.0, false));
        assert!(!check("sizes = []\n").0.takes(30, 1, 1.0 / 60.0, false));
    }

    #[test]
    fn what_the_case_does_not_run_is_named() {
        let (_, problems) = check("sizes = [7]\nworlds = [2]\ntimesteps = [\"1/120\", \"x\"]\n");
        assert_eq!(
            problems,
            [
                "7: size 7: the case does not run it",
                "2: worlds 2: the case does not run it",
                "\"1/120\": timestep 0.008333333333333333 s: the case does not run it",
                "\"x\": `x` is no timestep: give seconds in (0, 1], such as `1/240`",
            ]
        );
    }
}
