//! What a run leaves: its trajectory, 20 rows a second, and what was observed at every physics step.

use crate::controller::{Pose, State, Transition};
use crate::spec::Spec;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// The trajectory: a row after the first physics step, then one at each multiple of 1/20 s.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// Rows by time.
    pub rows: Vec<Row>,
}

/// A moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Simulated time, s.
    pub time_s: f64,
    /// The head.
    pub head: Pose,
    /// What the controller does.
    pub state: State,
    /// Angle of each joint, rad.
    pub q: Vec<f64>,
    /// Speed of each joint, rad/s.
    pub dq: Vec<f64>,
    /// Command of each joint, rad.
    pub command: Vec<f64>,
    /// Each ray, m; −range where it met nothing.
    pub ranges: Vec<f64>,
}

/// Column names of a trajectory.
pub fn columns(spec: &Spec) -> Vec<String> {
    let joints = spec.joint_names();
    let mut names: Vec<String> =
        ["time_s", "head_x_m", "head_y_m", "head_yaw_rad", "state"].map(str::to_owned).into();
    names.extend(joints.iter().map(|j| format!("q_{j}_rad")));
    names.extend(joints.iter().map(|j| format!("dq_{j}_rad_s")));
    names.extend(joints.iter().map(|j| format!("cmd_{j}_rad")));
    names.extend(spec.ray_names().map(|r| format!("range_{r}_m")));
    names
}

impl Trajectory {
    /// As CSV with a header. Numbers read back to the same double.
    pub fn to_csv(&self, spec: &Spec) -> String {
        let mut out = columns(spec).join(",");
        out.push('\n');
        for row in &self.rows {
            let head = row.head;
            let _ = write!(
                out,
                "{:?},{:?},{:?},{:?},{}",
                row.time_s,
                head.x,
                head.y,
                head.yaw,
                row.state.name()
            );
            for value in row.q.iter().chain(&row.dq).chain(&row.command).chain(&row.ranges) {
                let _ = write!(out, ",{value:?}");
            }
            out.push('\n');
        }
        out
    }

    /// From CSV. The error names the line.
    pub fn from_csv(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let count = |prefix: &str| header.iter().filter(|name| name.starts_with(prefix)).count();
        let (joints, rays) = (count("q_"), count("range_"));
        if header.first() != Some(&"time_s") || header.len() != 5 + 3 * joints + rays {
            return Err("line 1 is not the header of a trajectory".to_owned());
        }
        let mut rows = Vec::new();
        for (i, line) in lines.enumerate() {
            rows.push(row(line, joints, header.len()).map_err(|e| format!("line {}: {e}", i + 2))?);
        }
        if rows.is_empty() {
            return Err("the trajectory has no row".to_owned());
        }
        Ok(Self { rows })
    }
}

fn row(line: &str, joints: usize, columns: usize) -> Result<Row, String> {
    let fields: Vec<&str> = line.split(',').collect();
    if fields.len() != columns {
        return Err(format!("{} values instead of {columns}", fields.len()));
    }
    let number = |i: usize| -> Result<f64, String> {
        fields[i].parse().map_err(|_| format!("`{}` is no number", fields[i]))
    };
    let numbers = |from: usize, n: usize| -> Result<Vec<f64>, String> {
        (from..from + n).map(number).collect()
    };
    let all = [State::Slither, State::AvoidLeft, State::Recover, State::SafeStop];
    let state = all.into_iter().find(|s| s.name() == fields[4]);
    Ok(Row {
        time_s: number(0)?,
        head: Pose { x: number(1)?, y: number(2)?, yaw: number(3)? },
        state: state.ok_or_else(|| format!("`{}` is no state", fields[4]))?,
        q: numbers(5, joints)?,
        dq: numbers(5 + joints, joints)?,
        command: numbers(5 + 2 * joints, joints)?,
        ranges: numbers(5 + 3 * joints, columns - 5 - 3 * joints)?,
    })
}

/// What was observed over a run, `observed.json`. Extremes are over every physics step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observed {
    /// Format, 1.
    pub format: u32,
    /// What was asked for, s.
    pub duration_requested_s: f64,
    /// Simulated time at the end, s.
    pub duration_simulated_s: f64,
    /// Physics steps that were made.
    pub physics_steps: u64,
    /// Whether every state was finite.
    pub finite: bool,
    /// Warnings of the simulator.
    pub warnings: u64,
    /// Where the head began, m.
    pub initial_head_xy_m: [f64; 2],
    /// Where it ended, m.
    pub final_head_xy_m: [f64; 2],
    /// Where the pivots of all links ended, and after them the tail's end, m.
    pub final_body_xy_m: Vec<[f64; 2]>,
    /// Largest angle of any joint, rad.
    pub max_abs_joint_position_rad: f64,
    /// Largest speed of any joint, rad/s.
    pub max_abs_joint_velocity_rad_s: f64,
    /// Largest command of any joint, rad.
    pub max_abs_joint_command_rad: f64,
    /// Largest torque of any actuator, N·m.
    pub max_abs_actuator_torque_nm: f64,
    /// Root of the mean of (angle − command)² over all joints and physics steps, rad.
    pub joint_tracking_rmse_rad: f64,
    /// Physics steps in which anything touched the obstacle.
    pub obstacle_contact_steps: u64,
    /// Least distance of any pivot from the obstacle's surface, m; none without an obstacle.
    pub minimum_pivot_to_obstacle_surface_clearance_m: Option<f64>,
    /// Deepest penetration of any contact, m.
    pub maximum_penetration_m: f64,
    /// Mean part of the links whose pad touches the floor, after the first second.
    pub mean_pad_contact_fraction: f64,
    /// Where a ray met the surface that led to a detour, m.
    pub surface_xy_m: Option<[f64; 2]>,
    /// Detours that ended on the route.
    pub detours: u32,
    /// All changes of state.
    pub transitions: Vec<Transition>,
    /// State at the end.
    pub final_state: State,
    /// Physics steps in a stop.
    pub safe_stop_steps: u64,
    /// Why it stopped.
    pub safe_stop_reason: Option<String>,
    /// Largest net force of the propulsion surrogate, N.
    pub max_surrogate_force_n: f64,
    /// Largest steering moment of the propulsion surrogate, N·m.
    pub max_surrogate_moment_nm: f64,
}

/// Numbers that no check reads, over time: `diagnostics.csv`, a column a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnostics {
    names: Vec<String>,
    /// Rows; what is no number, such as a state's name, is NaN.
    rows: Vec<Vec<f64>>,
}

impl Diagnostics {
    /// From the file's text. The error names the line.
    pub fn from_csv(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let names: Vec<String> =
            lines.next().unwrap_or_default().split(',').map(str::to_owned).collect();
        let mut rows = Vec::new();
        for (i, line) in lines.enumerate() {
            let row: Vec<f64> = line.split(',').map(|v| v.parse().unwrap_or(f64::NAN)).collect();
            if row.len() != names.len() {
                return Err(format!("line {} has {} of {} values", i + 2, row.len(), names.len()));
            }
            rows.push(row);
        }
        Ok(Self { names, rows })
    }

    /// A column over the first, which is time, s; empty where there is no such column.
    pub fn column(&self, name: &str) -> Vec<[f64; 2]> {
        let Some(at) = self.names.iter().position(|n| n == name) else { return Vec::new() };
        self.rows.iter().map(|row| [row[0], row[at]]).collect()
    }

    /// The same bits everywhere.
    fn same(&self, other: &Self) -> bool {
        let bits = |d: &Self| d.rows.iter().flatten().map(|v| v.to_bits()).collect::<Vec<_>>();
        self.names == other.names && bits(self) == bits(other)
    }
}

/// What a run left.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// 20 rows a second.
    pub trajectory: Trajectory,
    /// Over every physics step.
    pub observed: Observed,
    /// What is shown beside.
    pub diagnostics: Diagnostics,
}

impl Ran {
    /// The largest difference of any number that was left; infinite where the texts or the shapes differ.
    pub fn apart(&self, other: &Self) -> f64 {
        let numbers = |ran: &Self| {
            let mut values = Vec::new();
            for row in &ran.trajectory.rows {
                values.extend([row.time_s, row.head.x, row.head.y, row.head.yaw]);
                values.extend(row.q.iter().chain(&row.dq).chain(&row.command).chain(&row.ranges));
            }
            values
        };
        let rows = sim_protocol::apart(&numbers(self), &numbers(other));
        // States, counts, reasons and extremes: equal or not comparable.
        let states = |ran: &Self| ran.trajectory.rows.iter().map(|r| r.state).collect::<Vec<_>>();
        let same = self.observed == other.observed
            && states(self) == states(other)
            && self.diagnostics.same(&other.diagnostics);
        if same || rows > 0.0 { rows } else { f64::INFINITY }
    }
}
