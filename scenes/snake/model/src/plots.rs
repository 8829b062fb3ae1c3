//! Which curves of the snake's runs are shown.

use crate::controller::pivots;
use crate::mjcf::Scene;
use crate::scenario::Scenario;
use crate::spec::Spec;
use crate::telemetry::{Ran, Row};
use sim_protocol::plots::{Curve, MOST_POINTS, Plot, thin, thin_path};

/// The plots of a scenario; `runs` is the first repeat of each candidate by its step, s.
pub(crate) fn plots(scenario: &Scenario, spec: &Spec, runs: &[(f64, &Ran)]) -> Vec<Plot> {
    let course = scenario.scene == Scene::ObstacleCourse;
    let curves = |points: &dyn Fn(&Ran) -> Vec<[f64; 2]>| {
        runs.iter().map(|(dt, run)| Curve { timestep_s: *dt, points: points(run) }).collect()
    };
    let over_time = |title: &str, y: &str, limit, points: &dyn Fn(&Ran) -> Vec<[f64; 2]>| Plot {
        title: title.to_owned(),
        x: "time, s".to_owned(),
        y: y.to_owned(),
        equal: false,
        limit,
        circles: Vec::new(),
        curves: curves(&|run| thin(&points(run), MOST_POINTS)),
    };
    let of_rows = |value: &dyn Fn(&Row) -> f64, run: &Ran| -> Vec<[f64; 2]> {
        run.trajectory.rows.iter().map(|row| [row.time_s, value(row)]).collect()
    };
    let rows = |title: &str, y: &str, limit, value: &dyn Fn(&Row) -> f64| {
        over_time(title, y, limit, &|run| of_rows(value, run))
    };
    let diagnostic = |title: &str, y: &str, name: &str, scale: f64| {
        over_time(title, y, None, &|run| {
            let of = |at: &[f64; 2]| [at[0], at[1] * scale];
            run.diagnostics.column(name).iter().map(of).collect()
        })
    };
    let [x, y] = spec.obstacle.centre_m;
    let mut out = vec![Plot {
        title: "Path of the head".to_owned(),
        x: "x, m".to_owned(),
        y: "y, m".to_owned(),
        equal: true,
        limit: None,
        circles: if course { vec![[x, y, spec.obstacle.radius_m]] } else { Vec::new() },
        curves: curves(&|run| {
            let place = |row: &Row| [row.head.x, row.head.y];
            let path: Vec<_> = run.trajectory.rows.iter().map(place).collect();
            thin_path(&path, 2 * MOST_POINTS)
        }),
    }];
    out.push(rows("Heading of the head", "rad", None, &|row| row.head.yaw));
    if course {
        let nearest = |row: &Row| {
            // What meets nothing reads below zero.
            let met = row.ranges.iter().copied().filter(|r| *r >= 0.0);
            met.fold(spec.perception.range_m, f64::min)
        };
        out.push(rows("Nearest thing that a ray meets", "m", None, &nearest));
        out.push(rows("Nearest pivot to the obstacle's surface", "m", None, &|row| {
            let far = |p: &[f64; 2]| f64::hypot(p[0] - x, p[1] - y) - spec.obstacle.radius_m;
            pivots(spec, row.head, &row.q).iter().map(far).fold(f64::INFINITY, f64::min)
        }));
        out.push(rows(
            "State: 0 slither, 1 avoid_left, 2 recover, 3 safe_stop",
            "number",
            None,
            &|row| f64::from(row.state as u8),
        ));
    }
    let middle = spec.robot.links / 2 - 1;
    out.push(rows("Angle of the middle joint", "rad", None, &|row| row.q[middle]));
    out.push(rows(
        "Distance of the joints from their commands",
        "rad, root mean square",
        None,
        &|row| {
            let squares = row.q.iter().zip(&row.command).map(|(q, c)| (q - c) * (q - c));
            (squares.sum::<f64>() / row.q.len() as f64).sqrt()
        },
    ));
    out.push(rows("Fastest joint", "rad/s", Some(spec.joint.velocity_rad_s), &|row| {
        row.dq.iter().fold(0.0, |m, v| m.max(v.abs()))
    }));
    out.push(diagnostic("Pads on the floor", "part of the steps", "pad_contact_fraction", 1.0));
    out.push(diagnostic("Deepest penetration", "mm", "max_penetration_m", 1e3));
    out.push(diagnostic("Propulsion surrogate: force along x", "N", "surrogate_force_x_n", 1.0));
    out.push(diagnostic("Propulsion surrogate: moment", "N·m", "surrogate_moment_nm", 1.0));
    out.push(diagnostic("Largest actuator torque", "N·m", "max_actuator_torque_nm", 1.0));
    out
}
