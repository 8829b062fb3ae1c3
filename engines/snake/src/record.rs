//! What is noted of a run: extremes of every physics step, rows at 20 Hz, poses for a replay.

use sim_snake::controller::{Pose, State, pivots};
use sim_snake::spec::Spec;
use sim_snake::surrogate::Wrench;
use sim_snake::telemetry::{Observed, Row, Trajectory};
use std::fmt::Write as _;

/// After this time pads are expected to have settled, s.
const SETTLED_S: f64 = 1.0;

/// What a physics step left.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Simulated time after it, s.
    pub time_s: f64,
    /// The head.
    pub head: Pose,
    /// Angles of all joints, rad.
    pub q: &'a [f64],
    /// Their speeds, rad/s.
    pub dq: &'a [f64],
    /// Their commands, rad.
    pub command: &'a [f64],
    /// Torques of all actuators, N·m.
    pub torque: &'a [f64],
    /// Pads that touch the floor.
    pub pads: usize,
    /// Whether anything touches the obstacle.
    pub touches: bool,
    /// Deepest penetration, m.
    pub penetration: f64,
    /// The surrogate's wrench during it.
    pub wrench: Wrench,
    /// The joints' activity during it.
    pub activity: f64,
    /// What the controller does.
    pub state: State,
}

/// What was noted so far.
#[derive(Clone, Debug)]
pub struct Record {
    spec: Spec,
    has_obstacle: bool,
    /// Extremes and counts.
    pub observed: Observed,
    /// Rows at 20 Hz.
    pub trajectory: Trajectory,
    squares: f64,
    pad_fractions: (f64, u64),
    interval: Interval,
    diagnostics: String,
    /// Poses of all links, frame after frame: the centre x, y, z, m, and a quaternion, real part first.
    pub poses: Vec<f32>,
}

#[derive(Clone, Debug, Default)]
struct Interval {
    steps: f64,
    activity: f64,
    force: [f64; 2],
    moment: f64,
    pads: f64,
    penetration: f64,
    torque: f64,
    contact: u32,
}

fn largest(values: &[f64], least: f64) -> f64 {
    values.iter().fold(least, |m, v| m.max(v.abs()))
}

impl Record {
    /// Nothing yet, of a snake whose head is here.
    pub fn new(spec: &Spec, has_obstacle: bool, duration_s: f64, head: Pose) -> Self {
        let observed = Observed {
            format: 1,
            duration_requested_s: duration_s,
            duration_simulated_s: 0.0,
            physics_steps: 0,
            finite: true,
            warnings: 0,
            initial_head_xy_m: [head.x, head.y],
            final_head_xy_m: [head.x, head.y],
            final_body_xy_m: Vec::new(),
            max_abs_joint_position_rad: 0.0,
            max_abs_joint_velocity_rad_s: 0.0,
            max_abs_joint_command_rad: 0.0,
            max_abs_actuator_torque_nm: 0.0,
            joint_tracking_rmse_rad: 0.0,
            obstacle_contact_steps: 0,
            minimum_pivot_to_obstacle_surface_clearance_m: None,
            maximum_penetration_m: 0.0,
            mean_pad_contact_fraction: 0.0,
            surface_xy_m: None,
            detours: 0,
            transitions: Vec::new(),
            final_state: State::Slither,
            safe_stop_steps: 0,
            safe_stop_reason: None,
            max_surrogate_force_n: 0.0,
            max_surrogate_moment_nm: 0.0,
        };
        let diagnostics = "time_s,state,activity,surrogate_force_x_n,surrogate_force_y_n,surrogate_moment_nm,\
                           pad_contact_fraction,max_penetration_m,max_actuator_torque_nm,obstacle_contact_steps\n";
        Self {
            spec: spec.clone(),
            has_obstacle,
            observed,
            trajectory: Trajectory::default(),
            squares: 0.0,
            pad_fractions: (0.0, 0),
            interval: Interval::default(),
            diagnostics: diagnostics.to_owned(),
            poses: Vec::new(),
        }
    }

    /// Notes a physics step.
    pub fn step(&mut self, s: &Step<'_>) {
        let o = &mut self.observed;
        o.physics_steps += 1;
        o.duration_simulated_s = s.time_s;
        o.max_abs_joint_position_rad = largest(s.q, o.max_abs_joint_position_rad);
        o.max_abs_joint_velocity_rad_s = largest(s.dq, o.max_abs_joint_velocity_rad_s);
        o.max_abs_joint_command_rad = largest(s.command, o.max_abs_joint_command_rad);
        o.max_abs_actuator_torque_nm = largest(s.torque, o.max_abs_actuator_torque_nm);
        self.squares += s.q.iter().zip(s.command).map(|(q, c)| (q - c).powi(2)).sum::<f64>();
        o.obstacle_contact_steps += u64::from(s.touches);
        o.maximum_penetration_m = o.maximum_penetration_m.max(s.penetration);
        o.safe_stop_steps += u64::from(s.state == State::SafeStop);
        let force = f64::hypot(s.wrench.force[0], s.wrench.force[1]);
        o.max_surrogate_force_n = o.max_surrogate_force_n.max(force);
        o.max_surrogate_moment_nm = o.max_surrogate_moment_nm.max(s.wrench.moment.abs());
        let fraction = s.pads as f64 / self.spec.robot.links as f64;
        if s.time_s > SETTLED_S {
            self.pad_fractions.0 += fraction;
            self.pad_fractions.1 += 1;
        }
        if self.has_obstacle {
            let ob = &self.spec.obstacle;
            let far = |p: &[f64; 2]| {
                f64::hypot(p[0] - ob.centre_m[0], p[1] - ob.centre_m[1]) - ob.radius_m
            };
            let all = pivots(&self.spec, s.head, s.q);
            let least = all.iter().map(far).fold(f64::INFINITY, f64::min);
            let so_far = &mut o.minimum_pivot_to_obstacle_surface_clearance_m;
            *so_far = Some(so_far.map_or(least, |c| c.min(least)));
        }
        let i = &mut self.interval;
        i.steps += 1.0;
        i.activity += s.activity;
        i.force[0] += s.wrench.force[0];
        i.force[1] += s.wrench.force[1];
        i.moment += s.wrench.moment;
        i.pads += fraction;
        i.penetration = i.penetration.max(s.penetration);
        i.torque = largest(s.torque, i.torque);
        i.contact += u32::from(s.touches);
    }

    /// Notes a row, and means over the interval since the last one.
    pub fn row(&mut self, s: &Step<'_>, ranges: &[f64]) {
        self.trajectory.rows.push(Row {
            time_s: s.time_s,
            head: s.head,
            state: s.state,
            q: s.q.to_vec(),
            dq: s.dq.to_vec(),
            command: s.command.to_vec(),
            ranges: ranges.to_vec(),
        });
        let i = std::mem::take(&mut self.interval);
        let mean = |sum: f64| sum / i.steps.max(1.0);
        let _ = writeln!(
            self.diagnostics,
            "{:?},{},{:?},{:?},{:?},{:?},{:?},{:?},{:?},{}",
            s.time_s,
            s.state.name(),
            mean(i.activity),
            mean(i.force[0]),
            mean(i.force[1]),
            mean(i.moment),
            mean(i.pads),
            i.penetration,
            i.torque,
            i.contact
        );
    }

    /// Notes where the centres of all links are. `head` is the position of its frame and a quaternion.
    pub fn frame(&mut self, head: [f64; 7], q: &[f64]) {
        let [mut x, mut y, mut z, w, i, j, k] = head;
        let mut turned = [w, i, j, k];
        let centre = self.spec.link_centre()[0];
        for link in 0..=q.len() {
            let [w, i, j, k] = turned;
            // The x axis of a rotation.
            let [dx, dy, dz] =
                [1.0 - 2.0 * (j * j + k * k), 2.0 * (i * j + w * k), 2.0 * (i * k - w * j)];
            let at = [x + centre * dx, y + centre * dy, z + centre * dz];
            self.poses.extend([at[0], at[1], at[2], w, i, j, k].map(|v| v as f32));
            let pitch = self.spec.robot.pivot_pitch_m;
            x -= pitch * dx;
            y -= pitch * dy;
            z -= pitch * dz;
            if let Some(angle) = q.get(link) {
                let (s, c) = (0.5 * angle).sin_cos();
                turned = [w * c - k * s, i * c + j * s, j * c - i * s, k * c + w * s];
            }
        }
    }

    /// Closes the record with where everything ended.
    pub fn close(&mut self, head: Pose, q: &[f64]) {
        let o = &mut self.observed;
        o.final_head_xy_m = [head.x, head.y];
        o.final_body_xy_m = pivots(&self.spec, head, q);
        let yaw = head.yaw + q.iter().sum::<f64>();
        if let Some([x, y]) = o.final_body_xy_m.last().copied() {
            let length = self.spec.robot.link_box_m[0];
            o.final_body_xy_m.push([x - length * yaw.cos(), y - length * yaw.sin()]);
        }
        let samples = o.physics_steps as f64 * q.len() as f64;
        o.joint_tracking_rmse_rad =
            if samples > 0.0 { (self.squares / samples).sqrt() } else { 0.0 };
        let (sum, n) = self.pad_fractions;
        o.mean_pad_contact_fraction = if n > 0 { sum / n as f64 } else { 0.0 };
    }

    /// Means over the intervals between rows, as CSV.
    pub fn diagnostics(&self) -> &str {
        &self.diagnostics
    }
}
