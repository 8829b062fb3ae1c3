//! The ten-link snake: its specification, what is made of it, its controller, and what is measured.
//!
//! SI units, angles in radians. Right-handed world: +x forward, +y left, +z up. `link_00` is the head and the
//! root. Each link's frame is at its leading yaw pivot, its geometry extends towards −x; joints turn about +z.
//! Nothing here knows a simulator.

pub mod controller;
pub mod description;
pub mod interface;
pub mod metrics;
pub mod mjcf;
pub mod perception;
mod plots;
mod receipt;
pub mod scenario;
pub mod spec;
pub mod surrogate;
pub mod telemetry;

use crate::metrics::Run;
use crate::mjcf::Scene;
use crate::scenario::Scenario;
use crate::spec::Spec;
use crate::telemetry::{Diagnostics, Observed, Ran, Trajectory};
use sim_protocol::plots::Plot;
use sim_protocol::{Outcome, Plant, Protocol};
use std::collections::BTreeMap;

/// The snake as a protocol sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Snake(pub Spec);

impl Plant for Snake {
    type Scenario = Scenario;
    type Ran = Ran;

    const NAME: &'static str = "snake";
    const METRICS: &'static [&'static str] = &metrics::NAMES;
    const FILES: &'static [&'static str] = &["trajectory.csv", "observed.json", "diagnostics.csv"];
    const EXTRAS: &'static [&'static str] = &["capture.bin", "scene.json", "result.json"];
    const CAPTURES: bool = true;
    const MODELS: &'static [&'static str] = &[
        Scene::Locomotion.file(),
        Scene::ObstacleCourse.file(),
        "robot_snake.urdf",
        "robot_snake.srdf",
        "interfaces.csv",
    ];
    const RECEIPT: bool = true;

    fn parse(config: &str) -> Result<Self, String> {
        Spec::parse(config).map(Self)
    }

    fn models(&self) -> Result<Vec<String>, String> {
        let made = interface::Made::new(&self.0);
        let checks = interface::check(&self.0, &made)?;
        if let Some(first) = checks.iter().find(|c| !c.holds()) {
            return Err(first.to_string());
        }
        let csv = interface::csv(&checks);
        Ok(vec![made.locomotion, made.obstacle_course, made.urdf, made.srdf, csv])
    }

    fn model_of(scenario: &Scenario) -> &'static str {
        scenario.scene.file()
    }

    fn read(files: &[Vec<u8>]) -> Result<Ran, String> {
        let [trajectory, observed, diagnostics] = files else {
            return Err(format!("{} files instead of three", files.len()));
        };
        let text = std::str::from_utf8(trajectory).map_err(|e| format!("trajectory.csv: {e}"))?;
        let trajectory = Trajectory::from_csv(text).map_err(|e| format!("trajectory.csv: {e}"))?;
        let text = std::str::from_utf8(diagnostics).map_err(|e| format!("diagnostics.csv: {e}"))?;
        let diagnostics =
            Diagnostics::from_csv(text).map_err(|e| format!("diagnostics.csv: {e}"))?;
        let observed: Observed =
            serde_json::from_slice(observed).map_err(|e| format!("observed.json: {e}"))?;
        if observed.format != 1 {
            return Err(format!("observed.json has format {}, not 1", observed.format));
        }
        Ok(Ran { trajectory, observed, diagnostics })
    }

    fn metrics(&self, scenario: &Scenario, ran: &Ran) -> BTreeMap<&'static str, f64> {
        metrics::metrics(&Run { ran, scenario, spec: &self.0 })
    }

    fn difference(&self, _: &str, _: &Scenario, _: &Ran, _: &Ran) -> Option<f64> {
        None
    }

    fn plots(
        &self,
        _: &Protocol<Scenario>,
        scenario: &Scenario,
        runs: &[(f64, &Ran)],
    ) -> Vec<Plot> {
        plots::plots(scenario, &self.0, runs)
    }

    fn apart(a: &Ran, b: &Ran) -> f64 {
        a.apart(b)
    }

    fn assumptions(&self) -> Vec<String> {
        surrogate::ASSUMPTIONS.map(str::to_owned).into()
    }

    fn receipt(&self, outcome: &Outcome<'_, Self>) -> Option<serde_json::Value> {
        Some(receipt::receipt(self, outcome))
    }
}
