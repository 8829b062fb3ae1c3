//! Which curves of the snake's runs are shown.

use crate::plots::{Curve, MOST_POINTS, Plot, Plotted, thin, thin_path};
use sim_protocol::Protocol;
use sim_snake::Snake;
use sim_snake::controller::pivots;
use sim_snake::mjcf::Scene;
use sim_snake::scenario::Scenario;
use sim_snake::telemetry::{Ran, Row};

/// A joint in the middle of the body, whose wave is shown.
const JOINT: usize = 4;

impl Plotted for Snake {
    fn plots(
        &self,
        protocol: &Protocol<Scenario>,
        scenario: &Scenario,
        runs: &[(f64, &Ran)],
    ) -> Vec<Plot> {
        let limit = |metric: &str| {
            protocol.gates_of(scenario).find(|g| g.metric == metric).map(|g| g.limit)
        };
        let over_time = |title: &str, y: &str, limit, value: &dyn Fn(&Row) -> f64| Plot {
            title: title.to_owned(),
            x: "time, s".to_owned(),
            y: y.to_owned(),
            equal: false,
            limit,
            curves: curves(runs, |ran| {
                let rows = ran.trajectory.rows.iter();
                thin(&rows.map(|r| [r.time_s, value(r)]).collect::<Vec<_>>(), MOST_POINTS)
            }),
        };
        let largest = |values: &[f64]| values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let mut out = vec![
            Plot {
                title: "Path of the head".to_owned(),
                x: "x, m".to_owned(),
                y: "y, m".to_owned(),
                equal: true,
                limit: None,
                curves: curves(runs, |ran| {
                    let rows = ran.trajectory.rows.iter();
                    let way: Vec<[f64; 2]> = rows.map(|r| [r.head.x, r.head.y]).collect();
                    thin_path(&way, 4 * MOST_POINTS)
                }),
            },
            over_time("Yaw of the head", "rad", None, &|r| r.head.yaw),
            over_time("Angle of joint_05", "rad", None, &|r| r.q[JOINT.min(r.q.len() - 1)]),
            over_time("Largest joint angle", "rad", limit("max_abs_joint_position_rad"), &|r| {
                largest(&r.q)
            }),
            over_time(
                "Largest joint speed, sampled",
                "rad/s",
                limit("max_abs_joint_velocity_rad_s"),
                &|r| largest(&r.dq),
            ),
            over_time("Largest difference of angle and command", "rad", None, &|r| {
                r.q.iter().zip(&r.command).map(|(q, c)| (q - c).abs()).fold(0.0, f64::max)
            }),
        ];
        if scenario.scene == Scene::ObstacleCourse {
            let range = self.0.perception.range_m;
            out.push(over_time("Nearest ray", "m", Some(self.0.detour.trigger_m), &|r| {
                r.ranges.iter().filter(|v| **v >= 0.0).fold(range, |m, v| m.min(*v))
            }));
            let o = &self.0.obstacle;
            out.push(over_time(
                "Distance of the nearest pivot from the obstacle",
                "m",
                None,
                &|r| {
                    let all = pivots(&self.0, r.head, &r.q);
                    let far = |p: &[f64; 2]| {
                        f64::hypot(p[0] - o.centre_m[0], p[1] - o.centre_m[1]) - o.radius_m
                    };
                    all.iter().map(far).fold(f64::INFINITY, f64::min)
                },
            ));
        }
        out
    }
}

fn curves(runs: &[(f64, &Ran)], points: impl Fn(&Ran) -> Vec<[f64; 2]>) -> Vec<Curve> {
    runs.iter().map(|(dt, ran)| Curve { timestep_s: *dt, points: points(ran) }).collect()
}
