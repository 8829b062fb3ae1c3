//! Which curves of the vehicle's telemetry are shown.

use crate::config::Config;
use crate::metrics::GRAVITY;
use crate::scenario::Scenario;
use crate::telemetry::{self as t, Telemetry};
use sim_protocol::plots::{Curve, MOST_POINTS, Plot, thin, thin_path};
use sim_protocol::{Op, Protocol};

/// The plots of a scenario; `runs` is the first repeat of each candidate by its step, s.
pub(crate) fn plots(
    protocol: &Protocol<Scenario>,
    scenario: &Scenario,
    config: &Config,
    runs: &[(f64, &Telemetry)],
) -> Vec<Plot> {
    let steered = scenario.actions.iter().any(|a| a.steering != 0.0 || a.steering_sine.is_some());
    let limit = |metric: &str| {
        let mut gates = protocol.gates_of(scenario).filter(|g| g.op == Op::AtMost);
        gates.find(|g| g.metric == metric).map(|g| g.limit)
    };
    let over_time = |title: &str, y: &str, limit, value: &dyn Fn(&Telemetry, usize) -> f64| Plot {
        title: title.to_owned(),
        x: "time, s".to_owned(),
        y: y.to_owned(),
        equal: false,
        limit,
        circles: Vec::new(),
        curves: curves(runs, |run| {
            let points: Vec<[f64; 2]> =
                (0..run.rows()).map(|row| [run.at(row, t::TIME), value(run, row)]).collect();
            thin(&points, MOST_POINTS)
        }),
    };
    let mean = |run: &Telemetry, row: usize, column: usize| {
        (0..4).map(|wheel| run.at(row, column + wheel)).sum::<f64>() / 4.0
    };
    let weight = config.vehicle.mass_kg * GRAVITY;
    let mut out = Vec::new();
    if steered {
        out.push(Plot {
            title: "Path of the rear axle".to_owned(),
            x: "x, m".to_owned(),
            y: "y, m".to_owned(),
            equal: true,
            limit: None,
            circles: Vec::new(),
            curves: curves(runs, |run| {
                let place = |row| [run.at(row, t::POSITION), run.at(row, t::POSITION + 1)];
                thin_path(&(0..run.rows()).map(place).collect::<Vec<_>>(), MOST_POINTS)
            }),
        });
        out.push(over_time("Steering angle", "rad", None, &|r, i| r.at(i, t::STEERING)));
    }
    out.push(over_time("Longitudinal speed", "m/s", None, &|r, i| r.at(i, t::VELOCITY)));
    out.push(over_time(
        "Wheels on the ground",
        "part of the substeps, mean of four",
        None,
        &|r, i| mean(r, i, t::CONTACT),
    ));
    out.push(over_time(
        "Deepest penetration",
        "mm",
        limit("maximum_penetration_m").map(|m| m * 1e3),
        &|r, i| r.at(i, t::PENETRATION) * 1e3,
    ));
    out.push(over_time("Load on the ground", "part of the weight", None, &|r, i| {
        mean(r, i, t::LOAD) * 4.0 / weight
    }));
    out.push(over_time("Largest vertical speed of the chassis", "m/s", None, &|r, i| {
        r.at(i, t::VERTICAL_SPEED)
    }));
    out.push(over_time(
        "Largest roll or pitch",
        "rad",
        limit("maximum_abs_roll_pitch_rad"),
        &|r, i| r.at(i, t::TILT),
    ));
    out
}

fn curves(runs: &[(f64, &Telemetry)], points: impl Fn(&Telemetry) -> Vec<[f64; 2]>) -> Vec<Curve> {
    runs.iter().map(|(dt, run)| Curve { timestep_s: *dt, points: points(run) }).collect()
}
