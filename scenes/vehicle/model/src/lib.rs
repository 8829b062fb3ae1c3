//! The four-wheel vehicle: its configuration, the model made from it, what is driven, and what is measured.
//!
//! SI units. +x is forward, +y left, positive yaw counter-clockwise; positive steering turns left. The public
//! state is that of the rear axle's reference point.

pub mod agreement;
pub mod batch;
pub mod config;
pub mod convergence;
pub mod metrics;
pub mod mjcf;
pub mod motion;
mod plots;
pub mod scenario;
pub mod telemetry;

use crate::config::Config;
use crate::metrics::Run;
use crate::scenario::Scenario;
use crate::telemetry::Telemetry;
use sim_protocol::plots::Plot;
use sim_protocol::{Plant, Protocol, apart};
use std::collections::BTreeMap;

/// The vehicle as a protocol sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Vehicle(pub Config);

impl Plant for Vehicle {
    type Scenario = Scenario;
    type Ran = Telemetry;

    const NAME: &'static str = "vehicle";
    const METRICS: &'static [&'static str] = &metrics::NAMES;
    const QUANTITIES: &'static [&'static str] = &convergence::NAMES;
    const FILES: &'static [&'static str] = &["telemetry.bin"];
    const EXTRAS: &'static [&'static str] = &["scene.json", "capture.bin", "result.json"];
    const CAPTURES: bool = true;
    const MODELS: &'static [&'static str] = &["model.xml"];

    fn parse(config: &str) -> Result<Self, String> {
        Config::parse(config).map(Self)
    }

    fn models(&self) -> Result<Vec<String>, String> {
        Ok(vec![mjcf::mjcf(&self.0)])
    }

    fn model_of(_: &Scenario) -> &'static str {
        "model.xml"
    }

    fn read(files: &[Vec<u8>]) -> Result<Telemetry, String> {
        Telemetry::from_bytes(files.first().map_or(&[], Vec::as_slice))
    }

    fn metrics(&self, scenario: &Scenario, ran: &Telemetry) -> BTreeMap<&'static str, f64> {
        metrics::metrics(&Run { telemetry: ran, scenario, config: &self.0 })
    }

    fn difference(
        &self,
        quantity: &str,
        scenario: &Scenario,
        ran: &Telemetry,
        reference: &Telemetry,
    ) -> Option<f64> {
        let run = |telemetry| Run { telemetry, scenario, config: &self.0 };
        convergence::difference(quantity, &run(ran), &run(reference))
    }

    fn plots(
        &self,
        protocol: &Protocol<Scenario>,
        scenario: &Scenario,
        runs: &[(f64, &Telemetry)],
    ) -> Vec<Plot> {
        plots::plots(protocol, scenario, &self.0, runs)
    }

    fn apart(a: &Telemetry, b: &Telemetry) -> f64 {
        apart(&a.values, &b.values)
    }
}
