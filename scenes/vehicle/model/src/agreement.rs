//! How far two runs of one schedule are apart: a batched engine beside the plant.

use crate::telemetry::{self as t, Telemetry};
use std::collections::BTreeMap;

/// Quantities of [`differences`].
pub const QUANTITIES: [&str; 16] = [
    "position_xy_rmse_m",
    "position_xy_max_m",
    "position_z_max_m",
    "attitude_rmse_rad",
    "attitude_max_rad",
    "yaw_max_rad",
    "velocity_rmse_mps",
    "velocity_max_mps",
    "angular_velocity_rmse_rad_s",
    "angular_velocity_max_rad_s",
    "steering_max_rad",
    "wheel_speed_max_rad_s",
    "contact_fraction_rmse",
    "contact_fraction_max",
    "gap_max_s",
    "penetration_max_m",
];

/// How far two runs of one schedule differ, row by row. The error says why they cannot be compared.
///
/// With d the difference of a row: `position_xy` is hypot(dx, dy), m; `position_z` |dz|, m; `attitude` hypot(droll,
/// dpitch), rad; `yaw` |dyaw| on the circle, rad; `velocity`, m/s, and `angular_velocity`, rad/s, the norm of d in
/// the body's axes; `steering` |d|, rad; `wheel_speed` |d| of the worst wheel, rad/s; `contact_fraction` |d| of each
/// wheel; `gap` |d|, s; `penetration` |d|, m. `max` is the largest of all rows (and wheels), `rmse` the root of
/// the mean square over them.
pub fn differences(a: &Telemetry, b: &Telemetry) -> Result<BTreeMap<&'static str, f64>, String> {
    let d = Apart::new(a, b)?;
    let row = |quantity: &str| d.of(quantity);
    let touched = (0..a.rows()).flat_map(|r| (0..4).map(move |w| (r, t::CONTACT + w)));
    let touched: Vec<f64> = touched.map(|(r, c)| d.at(r, c).abs()).collect();
    let mut found: BTreeMap<&'static str, f64> =
        APART.iter().map(|(name, _)| (*name, largest(&row(name)))).collect();
    found.extend([
        ("position_xy_rmse_m", rmse(&row("position_xy_max_m"))),
        ("attitude_rmse_rad", rmse(&row("attitude_max_rad"))),
        ("velocity_rmse_mps", rmse(&row("velocity_max_mps"))),
        ("angular_velocity_rmse_rad_s", rmse(&row("angular_velocity_max_rad_s"))),
        ("contact_fraction_rmse", rmse(&touched)),
    ]);
    Ok(found)
}

/// A quantity and, row by row, time, s, and the distance whose largest value it is.
pub type Series = (&'static str, Vec<[f64; 2]>);

/// How far two runs are apart at each row. The error is that of [`differences`].
pub fn apart(a: &Telemetry, b: &Telemetry) -> Result<Vec<Series>, String> {
    let d = Apart::new(a, b)?;
    let timed = |values: Vec<f64>| {
        values.into_iter().enumerate().map(|(row, v)| [a.at(row, t::TIME), v]).collect()
    };
    Ok(APART.iter().map(|(name, _)| (*name, timed(d.of(name)))).collect())
}

/// A distance of two rows.
type Distance = fn(&Apart<'_>, usize) -> f64;

/// Distances of two rows, by the name of the largest one.
const APART: [(&str, Distance); 11] = [
    ("position_xy_max_m", |d, r| d.norm(r, t::POSITION, 2)),
    ("position_z_max_m", |d, r| d.at(r, t::POSITION + 2).abs()),
    ("attitude_max_rad", |d, r| d.norm(r, t::ROLL, 2)),
    ("yaw_max_rad", |d, r| d.at(r, t::YAW).sin().atan2(d.at(r, t::YAW).cos()).abs()),
    ("velocity_max_mps", |d, r| d.norm(r, t::VELOCITY, 3)),
    ("angular_velocity_max_rad_s", |d, r| d.norm(r, t::ANGULAR_VELOCITY, 3)),
    ("steering_max_rad", |d, r| d.at(r, t::STEERING).abs()),
    ("wheel_speed_max_rad_s", |d, r| d.worst(r, t::WHEEL_SPEED, 4)),
    ("contact_fraction_max", |d, r| d.worst(r, t::CONTACT, 4)),
    ("gap_max_s", |d, r| d.at(r, t::GAP).abs()),
    ("penetration_max_m", |d, r| d.at(r, t::PENETRATION).abs()),
];

/// Two runs with rows of the same times.
struct Apart<'a> {
    a: &'a Telemetry,
    b: &'a Telemetry,
}

impl<'a> Apart<'a> {
    fn new(a: &'a Telemetry, b: &'a Telemetry) -> Result<Self, String> {
        if a.rows() != b.rows() {
            return Err(format!("{} rows beside {}", b.rows(), a.rows()));
        }
        let off = |r: &usize| (a.at(*r, t::TIME) - b.at(*r, t::TIME)).abs() > 1e-4;
        if let Some(row) = (0..a.rows()).find(off) {
            let (x, y) = (a.at(row, t::TIME), b.at(row, t::TIME));
            return Err(format!("row {row} is of {y} s in one and of {x} s in the other"));
        }
        Ok(Self { a, b })
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.b.at(row, column) - self.a.at(row, column)
    }

    fn norm(&self, row: usize, first: usize, columns: usize) -> f64 {
        (first..first + columns).map(|c| self.at(row, c).powi(2)).sum::<f64>().sqrt()
    }

    fn worst(&self, row: usize, first: usize, columns: usize) -> f64 {
        let all: Vec<f64> = (first..first + columns).map(|c| self.at(row, c).abs()).collect();
        largest(&all)
    }

    /// The distance of each row by a name of [`APART`]; none where it is no such name.
    fn of(&self, quantity: &str) -> Vec<f64> {
        let known = APART.iter().find(|(name, _)| *name == quantity);
        known.map_or_else(Vec::new, |(_, f)| (0..self.a.rows()).map(|r| f(self, r)).collect())
    }
}

/// The largest value; not a number where one is none.
fn largest(values: &[f64]) -> f64 {
    let worse = |m: f64, x: &f64| if x.is_nan() || m.is_nan() { f64::NAN } else { m.max(*x) };
    values.iter().fold(0.0, worse)
}

fn rmse(v: &[f64]) -> f64 {
    (v.iter().map(|x| x * x).sum::<f64>() / v.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn telemetry(rows: usize) -> Telemetry {
        let mut values = vec![0.0; rows * t::COLUMNS];
        for row in 0..rows {
            values[row * t::COLUMNS + t::TIME] = row as f64 * 0.05;
        }
        Telemetry { values }
    }

    #[test]
    fn differences_are_what_they_say() {
        let (a, mut b) = (telemetry(4), telemetry(4));
        let mut set =
            |row: usize, column: usize, value: f64| b.values[row * t::COLUMNS + column] = value;
        set(1, t::POSITION, 3.0);
        set(1, t::POSITION + 1, 4.0);
        set(2, t::YAW, std::f64::consts::TAU - 0.5);
        set(3, t::WHEEL_SPEED + 2, -2.0);
        set(3, t::CONTACT + 1, 0.4);
        let d = differences(&a, &b).expect("comparable");
        assert_eq!(d.keys().copied().collect::<Vec<_>>().len(), QUANTITIES.len());
        assert_eq!((d["position_xy_max_m"], d["position_xy_rmse_m"]), (5.0, 2.5), "√(25/4)");
        assert!((d["yaw_max_rad"] - 0.5).abs() < 1e-12, "on the circle");
        assert_eq!(d["wheel_speed_max_rad_s"], 2.0);
        assert!((d["contact_fraction_rmse"] - 0.1).abs() < 1e-15, "√(0.16/16)");
        b.values[t::COLUMNS * 3 + t::GAP] = f64::NAN;
        assert!(differences(&a, &b).expect("comparable")["gap_max_s"].is_nan());
        assert!(differences(&a, &telemetry(3)).expect_err("rows").contains("3 rows beside 4"));
        b.values[t::COLUMNS + t::TIME] = 0.06;
        assert!(differences(&a, &b).expect_err("times").contains("row 1"));
    }

    #[test]
    fn each_row_has_its_distance() {
        let (a, mut b) = (telemetry(4), telemetry(4));
        b.values[2 * t::COLUMNS + t::CONTACT + 3] = 0.25;
        let found = apart(&a, &b).expect("comparable");
        assert_eq!(found.len(), 11);
        assert!(found.iter().all(|(name, _)| QUANTITIES.contains(name)));
        let (_, touched) = found.iter().find(|(n, _)| *n == "contact_fraction_max").expect("there");
        let values: Vec<f64> = touched.iter().map(|p| p[1]).collect();
        assert_eq!(values, [0.0, 0.0, 0.25, 0.0]);
        assert_eq!(touched[2][0], a.at(2, t::TIME));
    }
}
