//! Curves of a verdict, `plots.json`: how far engine and plant are apart over time, and the extremes of each
//! scale.

use crate::run::BatchRun;
use serde::{Deserialize, Serialize};
use sim_protocol::plots::{MOST_POINTS, thin};
use sim_vehicle::agreement::apart;
use sim_vehicle::batch::{BatchProtocol, Chunk};
use sim_vehicle::telemetry::Telemetry;

/// Format of the file.
pub const FORMAT: u32 = 1;

/// The file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plots {
    /// [`FORMAT`].
    pub format: u32,
    /// Distances of the engine from the plant over time; none where they cannot be compared.
    pub agreement: Vec<Series>,
    /// Extremes over all worlds and physics steps of each chunk.
    pub scales: Vec<Series>,
}

/// One curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name of the quantity or metric.
    pub quantity: String,
    /// What is shown.
    pub title: String,
    /// Name of the vertical axis, with its unit.
    pub y: String,
    /// Worlds.
    pub worlds: u32,
    /// The limit on it, where there is one.
    pub limit: Option<f64>,
    /// Simulated time, s, and value. Those of a chunk stand at its end.
    pub points: Vec<[f64; 2]>,
}

/// Quantity, title and unit.
const APART: [[&str; 3]; 11] = [
    ["position_xy_max_m", "Position on the ground", "m"],
    ["position_z_max_m", "Height", "m"],
    ["attitude_max_rad", "Roll and pitch", "rad"],
    ["yaw_max_rad", "Yaw", "rad"],
    ["velocity_max_mps", "Velocity", "m/s"],
    ["angular_velocity_max_rad_s", "Angular velocity", "rad/s"],
    ["steering_max_rad", "Steering", "rad"],
    ["wheel_speed_max_rad_s", "Spin of the worst wheel", "rad/s"],
    ["contact_fraction_max", "Contact of the worst wheel", "part of the steps"],
    ["gap_max_s", "Longest time without contact", "s"],
    ["penetration_max_m", "Penetration", "m"],
];

/// What a chunk has of a metric.
type OfChunk = fn(&Chunk) -> Option<f64>;

/// Metric, title, unit, and where a chunk has it.
const EXTREMES: [(&str, &str, &str, OfChunk); 4] = [
    ("coverage_least", "Least contact of the wheels", "part of the steps", |c| c.coverage_least),
    ("gap_s", "Longest time without contact", "s", |c| c.gap_s),
    ("penetration_m", "Deepest penetration", "m", |c| c.penetration_m),
    ("vertical_speed_mps", "Largest vertical speed", "m/s", |c| c.vertical_speed_mps),
];

/// The curves of a verdict. `compared` are the rows of plant and engine; `scales` are in the order of the
/// protocol; `control_dt` is the control step, s.
pub(crate) fn plots(
    protocol: &BatchProtocol,
    compared: Option<(&Telemetry, &Telemetry)>,
    scales: &[BatchRun],
    control_dt: f64,
) -> Plots {
    let found = compared.and_then(|(plant, driven)| apart(plant, driven).ok()).unwrap_or_default();
    let of = |[quantity, title, y]: [&str; 3]| {
        let (_, points) = found.iter().find(|(name, _)| *name == quantity)?;
        let limit = protocol.agreement.limits.get(quantity).copied();
        Some(series(quantity, title, y, 1, limit, points))
    };
    let chunk = f64::from(protocol.protocol.chunk_steps) * control_dt;
    let extremes = scales.iter().flat_map(|run| {
        let whole = run.steps as f64 * control_dt;
        EXTREMES.iter().filter_map(move |(metric, title, y, of)| {
            let end = |i: usize| ((i + 1) as f64 * chunk).min(whole);
            let each = run.chunks.iter().enumerate();
            let points: Vec<[f64; 2]> = each.filter_map(|(i, c)| Some([end(i), of(c)?])).collect();
            let mut gates = protocol.gates.iter().filter(|g| run.worlds >= g.from_worlds);
            let limit = gates.find(|g| g.metric == *metric).map(|g| g.limit);
            (!points.is_empty()).then(|| series(metric, title, y, run.worlds, limit, &points))
        })
    });
    Plots {
        format: FORMAT,
        agreement: APART.into_iter().filter_map(of).collect(),
        scales: extremes.collect(),
    }
}

fn series(
    quantity: &str,
    title: &str,
    y: &str,
    worlds: u32,
    limit: Option<f64>,
    points: &[[f64; 2]],
) -> Series {
    let finite: Vec<[f64; 2]> = points.iter().filter(|p| p[1].is_finite()).copied().collect();
    Series {
        quantity: quantity.to_owned(),
        title: title.to_owned(),
        y: y.to_owned(),
        worlds,
        limit,
        points: thin(&finite, MOST_POINTS),
    }
}
