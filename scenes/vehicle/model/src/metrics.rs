//! The metrics of one run, from its telemetry.
//!
//! *All rows* include the one before the first step. The *steady window* begins at the row nearest to the
//! scenario's `steady_from_s` and goes to the end. *Speed* is the planar speed of the rear axle's
//! reference point, *longitudinal velocity* its velocity along the body's x axis. P99 is the 99 %
//! quantile with linear interpolation.

use crate::config::Config;
use crate::scenario::Scenario;
use crate::telemetry::*;
use sim_protocol::stats::{max, mean, min, p99, rms};
use std::collections::BTreeMap;

/// Standard gravity as the model has it, m/s².
pub const GRAVITY: f64 = 9.81;
/// A velocity that rises by no more than this does not rise, m/s.
const RISES: f64 = 1e-6;

/// One run, as metrics see it.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Its telemetry.
    pub telemetry: &'a Telemetry,
    /// What was driven.
    pub scenario: &'a Scenario,
    /// The vehicle.
    pub config: &'a Config,
}

/// A metric: its name, and how it is computed. `None` where the scenario has no such window.
type Metric = (&'static str, fn(&Run<'_>) -> Option<f64>);

/// All metrics, by name. Source of all: the telemetry, whose columns [`crate::telemetry`] defines; the definitions
/// are those under which the values of `published.csv` came out.
pub const METRICS: [Metric; 44] = [
    // 1 where every value of every row is finite, else 0.
    ("finite", |r| Some(f64::from(u8::from(r.telemetry.values.iter().all(|x| x.is_finite()))))),
    // Largest number of warnings of the simulator since the start, over all rows.
    ("warning_count", |r| Some(max(r.all(WARNINGS)))),
    // Most contacts at once, in any physics step, that are not of a wheel with the ground.
    ("maximum_unexpected_contacts", |r| Some(max(r.all(UNEXPECTED)))),
    // Least, over wheels, of the mean over steady rows of the part of physics steps with contact.
    ("minimum_steady_wheel_contact_coverage", |r| Some(r.coverage())),
    // Longest time, over wheels and physics steps, since the wheel last touched the ground, s.
    ("maximum_contact_gap_s", |r| Some(max(r.all(GAP)))),
    // Largest −distance of any contact in any physics step, m.
    ("maximum_penetration_m", |r| Some(max(r.all(PENETRATION)))),
    // P99 over all rows of the interval's deepest penetration, m.
    ("penetration_p99_m", |r| Some(p99(r.all(PENETRATION)))),
    // The same over steady rows, m.
    ("steady_penetration_p99_m", |r| Some(p99(r.steady(PENETRATION)))),
    // Largest |roll| or |pitch| in any physics step, rad.
    ("maximum_abs_roll_pitch_rad", |r| Some(max(r.all(TILT)))),
    // P99 over steady rows of max(|roll|, |pitch|), rad.
    ("steady_abs_roll_pitch_p99_rad", |r| {
        let (roll, pitch) = (r.steady(ROLL), r.steady(PITCH));
        Some(p99(roll.zip(pitch).map(|(a, b)| a.abs().max(b.abs()))))
    }),
    // max(|roll|, |pitch|) of the last row, rad.
    ("final_abs_roll_pitch_rad", |r| Some(r.last(ROLL).abs().max(r.last(PITCH).abs()))),
    // Largest less least height of the reference point over steady rows, m.
    ("steady_chassis_z_peak_to_peak_m", |r| {
        Some(max(r.steady(POSITION + 2)) - min(r.steady(POSITION + 2)))
    }),
    // P99 over steady rows of the interval's largest |vertical speed|, m/s.
    ("steady_vertical_speed_p99_mps", |r| Some(p99(r.steady(VERTICAL_SPEED)))),
    // Least, over wheels, of the mean normal force over steady rows, in quarters of the weight m·g.
    ("minimum_steady_mean_wheel_load_ratio", |r| {
        let ratio = |i| mean(r.steady(LOAD + i)) / (r.weight() / 4.0);
        Some(min((0..4).map(ratio)))
    }),
    // |F − m·g| / (m·g), F the sum over wheels of the mean normal force over steady rows.
    ("steady_normal_force_relative_error", |r| {
        let total: f64 = (0..4).map(|i| mean(r.steady(LOAD + i))).sum();
        Some((total - r.weight()).abs() / r.weight())
    }),
    // Largest distance on the ground from the first steady row, m.
    ("steady_xy_drift_m", |r| {
        let first = r.steady_row();
        let from = |c: usize| r.telemetry.at(first, POSITION + c);
        let (x, y) = (r.steady(POSITION), r.steady(POSITION + 1));
        Some(max(x.zip(y).map(|(x, y)| (x - from(0)).hypot(y - from(1)))))
    }),
    // Largest |yaw − yaw of the first steady row|, rad.
    ("steady_yaw_drift_rad", |r| {
        let first = r.telemetry.at(r.steady_row(), YAW);
        Some(max(r.steady(YAW).map(|yaw| (yaw - first).abs())))
    }),
    // P99 over steady rows of the speed, m/s.
    ("steady_speed_p99_mps", |r| Some(p99(r.speeds(r.steady_row())))),
    // P99 over steady rows of |yaw rate|, rad/s.
    ("steady_yaw_rate_p99_rad_s", |r| Some(p99(r.steady(ANGULAR_VELOCITY + 2).map(f64::abs)))),
    // Largest speed of all rows, m/s.
    ("maximum_speed_mps", |r| Some(max(r.speeds(0)))),
    // Last less first x, m.
    ("forward_displacement_m", |r| Some(r.last(POSITION) - r.telemetry.at(0, POSITION))),
    // Last less first y, m.
    ("final_lateral_displacement_m", |r| {
        Some(r.last(POSITION + 1) - r.telemetry.at(0, POSITION + 1))
    }),
    // Its magnitude, m.
    ("final_abs_lateral_displacement_m", |r| {
        Some((r.last(POSITION + 1) - r.telemetry.at(0, POSITION + 1)).abs())
    }),
    // Yaw of the last row, rad.
    ("final_yaw_rad", |r| Some(r.last(YAW))),
    // Its magnitude, rad.
    ("final_abs_yaw_rad", |r| Some(r.last(YAW).abs())),
    // Longitudinal velocity of the last row, m/s.
    ("final_longitudinal_velocity_mps", |r| Some(r.last(VELOCITY))),
    // Its magnitude, m/s.
    ("final_abs_longitudinal_velocity_mps", |r| Some(r.last(VELOCITY).abs())),
    // Longitudinal velocity at the row nearest to the end of the acceleration window, m/s.
    ("speed_at_acceleration_end_mps", |r| {
        let [_, end] = r.scenario.acceleration_window_s?;
        Some(r.telemetry.at(r.telemetry.nearest(end), VELOCITY))
    }),
    // Mean of the measured steering over the rows of the command window, while a constant angle is commanded, rad.
    ("mean_commanded_steering_angle_rad", |r| {
        Some(mean(r.commanded()?.map(|row| r.at(row, STEERING))))
    }),
    // Largest |steering − what was applied| over the rows of the command window, rad.
    ("maximum_commanded_steering_error_rad", |r| {
        let error = |row| (r.at(row, STEERING) - r.at(row, APPLIED_STEERING)).abs();
        Some(max(r.commanded()?.map(error)))
    }),
    // Longitudinal velocity at the row nearest to the start of the braking window, m/s.
    ("speed_before_braking_mps", |r| {
        let [start, _] = r.scenario.braking_window_s?;
        Some(r.at(r.telemetry.nearest(start), VELOCITY))
    }),
    // Largest |longitudinal velocity| from the row nearest to the end of the braking window on, m/s.
    ("maximum_abs_post_braking_velocity_mps", |r| {
        let [_, end] = r.scenario.braking_window_s?;
        Some(max(r.telemetry.column(r.telemetry.nearest(end), VELOCITY).map(f64::abs)))
    }),
    // Least longitudinal velocity in the braking window, m/s.
    ("minimum_braking_velocity_mps", |r| Some(min(r.braking()?))),
    // Part of the pairs of rows in the braking window between which the velocity does not rise.
    ("braking_nonincrease_fraction", |r| {
        let v: Vec<f64> = r.braking()?.collect();
        Some(mean(v.windows(2).map(|w| f64::from(u8::from(w[1] - w[0] <= RISES)))))
    }),
    // Largest steering that was asked for after limits, rad.
    ("maximum_applied_steering_rad", |r| Some(max(r.all(APPLIED_STEERING)))),
    // Least of it, rad.
    ("minimum_applied_steering_rad", |r| Some(min(r.all(APPLIED_STEERING)))),
    // Largest acceleration that was asked for after limits, m/s².
    ("maximum_applied_acceleration_mps2", |r| Some(max(r.all(APPLIED_ACCELERATION)))),
    // Least of it, m/s².
    ("minimum_applied_acceleration_mps2", |r| Some(min(r.all(APPLIED_ACCELERATION)))),
    // Largest change of the steering target between two rows, rad.
    ("maximum_steering_target_step_rad", |r| {
        let step = |row| (r.at(row, STEERING_TARGET) - r.at(row - 1, STEERING_TARGET)).abs();
        Some(max((1..r.telemetry.rows()).map(step)))
    }),
    // Least number of clipped actions in a row, while something beyond the limits is asked for: until the end of
    // the last action.
    ("minimum_saturation_count", |r| {
        let end = r.scenario.actions.last()?.to_s;
        let rows = 1..=r.telemetry.nearest(end);
        Some(min(rows.map(|row| r.at(row, SATURATED))))
    }),
    // Mean speed from the start of the stress on, m/s.
    ("mean_stress_speed_mps", |r| Some(mean(r.speeds(r.stress_row()?)))),
    // Root of the mean square of the steering from the start of the stress on, rad.
    ("stress_steering_rms_rad", |r| Some(rms(r.telemetry.column(r.stress_row()?, STEERING)))),
    // Sum of the distances on the ground between successive rows of the whole run, m.
    ("stress_path_length_m", |r| {
        r.stress_row()?;
        let step = |row: usize| {
            let d = |c| r.at(row, POSITION + c) - r.at(row - 1, POSITION + c);
            d(0).hypot(d(1))
        };
        Some((1..r.telemetry.rows()).map(step).sum())
    }),
    // Mean height of the reference point over steady rows, m.
    ("mean_steady_z_m", |r| Some(mean(r.steady(POSITION + 2)))),
];

/// Names of all metrics.
pub const NAMES: [&str; METRICS.len()] = {
    let mut names = [""; METRICS.len()];
    let mut i = 0;
    while i < METRICS.len() {
        names[i] = METRICS[i].0;
        i += 1;
    }
    names
};

/// All metrics that a run has.
pub fn metrics(run: &Run<'_>) -> BTreeMap<&'static str, f64> {
    METRICS.iter().filter_map(|(name, compute)| Some((*name, compute(run)?))).collect()
}

/// One of them, by name; `None` where the run does not have it.
pub fn metric(run: &Run<'_>, name: &str) -> Option<f64> {
    METRICS.iter().find(|(n, _)| *n == name).and_then(|(_, compute)| compute(run))
}

impl<'a> Run<'a> {
    fn at(&self, row: usize, column: usize) -> f64 {
        self.telemetry.at(row, column)
    }

    fn last(&self, column: usize) -> f64 {
        self.at(self.telemetry.rows() - 1, column)
    }

    fn all(&self, column: usize) -> impl Iterator<Item = f64> + use<'a> {
        self.telemetry.column(0, column)
    }

    fn steady_row(&self) -> usize {
        self.telemetry.nearest(self.scenario.steady_from_s)
    }

    fn steady(&self, column: usize) -> impl Iterator<Item = f64> + use<'a> {
        self.telemetry.column(self.steady_row(), column)
    }

    fn stress_row(&self) -> Option<usize> {
        Some(self.telemetry.nearest(self.scenario.stress_from_s?))
    }

    fn speeds(&self, from: usize) -> impl Iterator<Item = f64> + use<'a> {
        let (x, y) =
            (self.telemetry.column(from, VELOCITY), self.telemetry.column(from, VELOCITY + 1));
        x.zip(y).map(|(x, y)| x.hypot(y))
    }

    fn commanded(&self) -> Option<impl Iterator<Item = usize> + use<>> {
        let [from, to] = self.scenario.command_window_s?;
        Some(self.telemetry.nearest(from)..self.telemetry.nearest(to))
    }

    fn braking(&self) -> Option<impl Iterator<Item = f64> + use<'a>> {
        let [from, to] = self.scenario.braking_window_s?;
        let (from, to) = (self.telemetry.nearest(from), self.telemetry.nearest(to));
        let telemetry = self.telemetry;
        Some((from..=to).map(move |row| telemetry.at(row, VELOCITY)))
    }

    fn coverage(&self) -> f64 {
        min((0..4).map(|i| mean(self.steady(CONTACT + i))))
    }

    fn weight(&self) -> f64 {
        self.config.vehicle.mass_kg * GRAVITY
    }
}
