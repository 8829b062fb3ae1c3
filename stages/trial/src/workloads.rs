//! What trials of an engine will ask of it: for whoever has to know before they run.

use crate::suite::{Suite, Variant};
use sim_model::kind::Problem;
use sim_model::value::Value;
use std::collections::BTreeMap;

/// One size of one case, at one timestep and with one engine's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Scenario.
    pub scenario: String,
    /// Its size.
    pub size: u64,
    /// s.
    pub timestep: f64,
    /// Steps of the longer of warm-up and rollout.
    pub steps: u64,
    /// What differs from the adapter's own settings.
    pub settings: BTreeMap<String, Value>,
    /// Where the case stands in the suite, in bytes.
    pub at: usize,
}

/// Every workload of a suite for one engine, each once.
pub fn workloads(path: &str, text: &str, engine: &str) -> Result<Vec<Workload>, Vec<Problem>> {
    let suite = Suite::parse(path, text)?;
    let mut list = Vec::new();
    for case in &suite.cases {
        let own = Variant::new();
        let named = case.variants.iter().filter(|v| **v == own || v.contains_key(engine));
        for settings in named.map(|v| v.get(engine).cloned().unwrap_or_default()) {
            for size in &case.sizes {
                let workload = Workload {
                    scenario: case.scenario.clone(),
                    size: *size,
                    timestep: case.timestep,
                    steps: case.steps.max(case.warmup),
                    settings: settings.clone(),
                    at: case.at,
                };
                if !list.contains(&workload) {
                    list.push(workload);
                }
            }
        }
    }
    Ok(list)
}

/// Whether a scenario is one of material points.
pub fn of_points(scenario: &str) -> bool {
    sim_scenes::find(scenario).is_some_and(|s| s.continuum.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_engines_settings_and_numbers_of_worlds_make_no_workload() {
        let text = "[suite]\nname = \"s\"\n[[case]]\nscenario = \"box_pile\"\nsizes = [10, 20]\n\
                    worlds = [1, 4]\nsteps = 5\nwarmup = 8\n\
                    variants = [{ nexus.substeps = 8 }, { rapier.substeps = 2 }]\n";
        let list = workloads("s.toml", text, "nexus").expect("parses");
        let found: Vec<_> =
            list.iter().map(|w| (w.size, w.steps, w.settings.get("substeps").cloned())).collect();
        assert!(of_points("elastic_cube") && !of_points("box_pile") && !of_points("none"));
        let eight = Some(Value::Int(8));
        assert_eq!(found, [(10, 8, None), (20, 8, None), (10, 8, eight.clone()), (20, 8, eight)]);
    }
}
