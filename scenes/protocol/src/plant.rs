//! What a protocol asks of a plant.

use crate::plots::Plot;
use crate::protocol::{Protocol, Scenario};
use std::collections::BTreeMap;

/// A plant: its configuration, what is made of it, what a run leaves, and what is measured of that.
pub trait Plant: Sized {
    /// What is driven.
    type Scenario: Scenario;
    /// What a run leaves behind, read.
    type Ran;

    /// Name of the plant.
    const NAME: &'static str;
    /// Names of all metrics.
    const METRICS: &'static [&'static str];
    /// Names of all quantities that may be compared with a reference.
    const QUANTITIES: &'static [&'static str] = &[];
    /// Files that a run writes beside `run.json`. The first is its telemetry.
    const FILES: &'static [&'static str];
    /// Files that a run writes and no verdict reads.
    const EXTRAS: &'static [&'static str] = &[];
    /// Whether a run leaves a capture, for the kind `render`.
    const CAPTURES: bool = false;
    /// Files that are made of the configuration.
    const MODELS: &'static [&'static str];
    /// Whether [`Plant::receipt`] gives one.
    const RECEIPT: bool = false;

    /// Reads the configuration. The error names the place.
    fn parse(config: &str) -> Result<Self, String>;

    /// The contents of [`Plant::MODELS`], in that order. The error says what of them disagrees.
    fn models(&self) -> Result<Vec<String>, String>;

    /// Which of [`Plant::MODELS`] a scenario is run with.
    fn model_of(scenario: &Self::Scenario) -> &'static str;

    /// Reads [`Plant::FILES`], given in that order. The error says what is wrong with one.
    fn read(files: &[Vec<u8>]) -> Result<Self::Ran, String>;

    /// All metrics that a run has, by name.
    fn metrics(&self, scenario: &Self::Scenario, ran: &Self::Ran) -> BTreeMap<&'static str, f64>;

    /// How far a run is from the same run with the reference step, by a quantity. `None` where the runs
    /// do not have it.
    fn difference(
        &self,
        quantity: &str,
        scenario: &Self::Scenario,
        ran: &Self::Ran,
        reference: &Self::Ran,
    ) -> Option<f64>;

    /// The largest difference of any value of two runs; infinite where they are not made of the same
    /// values, not a number where one is none. Zero only where everything that was left is equal.
    fn apart(a: &Self::Ran, b: &Self::Ran) -> f64;

    /// What a page shows of a scenario beside its checks; `runs` is the first repeat of each candidate, by
    /// its step, s.
    fn plots(
        &self,
        protocol: &Protocol<Self::Scenario>,
        scenario: &Self::Scenario,
        runs: &[(f64, &Self::Ran)],
    ) -> Vec<Plot>;

    /// What the model assumes, and what must not be concluded from it.
    fn assumptions(&self) -> Vec<String> {
        Vec::new()
    }

    /// A scenario's receipt in the form in which it was published.
    fn receipt(&self, outcome: &Outcome<'_, Self>) -> Option<serde_json::Value> {
        let _ = outcome;
        None
    }
}

/// What a receipt is written of.
pub struct Outcome<'a, P: Plant> {
    /// What was driven.
    pub scenario: &'a P::Scenario,
    /// What it left.
    pub ran: &'a P::Ran,
    /// Version of the simulator.
    pub version: &'a str,
    /// Physics step, s.
    pub timestep_s: f64,
    /// Checks by the name that the protocol gives them, and whether each holds.
    pub checks: &'a [(String, bool)],
}

/// The largest difference of two values at one place; infinite where there are not as many.
pub fn apart(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return f64::INFINITY;
    }
    let pairs = a.iter().zip(b).filter(|(x, y)| x.to_bits() != y.to_bits());
    pairs.map(|(x, y)| (x - y).abs()).fold(0.0, |m, d| if d > m || d.is_nan() { d } else { m })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_number_of_values_is_infinitely_far() {
        assert_eq!(apart(&[1.0], &[1.0, 2.0]), f64::INFINITY);
        assert!(apart(&[1.0], &[f64::NAN]).is_nan());
        assert_eq!(apart(&[1.0, 2.0], &[1.0, 2.5]), 0.5);
        assert_eq!(apart(&[f64::NAN], &[f64::NAN]), 0.0, "the same bits");
    }
}
