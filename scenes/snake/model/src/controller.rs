//! The controller: gait, steering, detour, and the stop.
//!
//! It knows the joints and rays by their names and order, and nothing of a simulator. Each control step it
//! is given the time, the head's pose, the joints' angles and a reading of the rays; it gives targets of the
//! joints. Targets move by at most 85 % of the velocity limit in a control step, also at the start.
//!
//! States: `slither` along the route y = 0; `avoid_left` along a line left of it once a ray meets a surface;
//! `recover` back to the route once every pivot is past that surface; then `slither` again. Whatever is invalid or
//! stale leads to `safe_stop`: targets freeze at the measured angles, and stay until an explicit reset.

use crate::perception::{Fault, Reading, fault};
use crate::spec::Spec;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::f64::consts::TAU;

/// What the controller is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Along the route.
    Slither,
    /// Along the detour's line.
    AvoidLeft,
    /// Back to the route.
    Recover,
    /// Stopped until a reset.
    SafeStop,
}

impl State {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slither => "slither",
            Self::AvoidLeft => "avoid_left",
            Self::Recover => "recover",
            Self::SafeStop => "safe_stop",
        }
    }
}

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transition {
    /// Time of the control step, s.
    pub time_s: f64,
    /// The state before.
    pub from: State,
    /// The state after.
    pub to: State,
}

/// The head's frame on the floor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pose {
    /// m.
    pub x: f64,
    /// m.
    pub y: f64,
    /// Counter-clockwise from +x, rad.
    pub yaw: f64,
}

/// What is measured at a control step.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// Time, s.
    pub time_s: f64,
    /// The head.
    pub head: Pose,
    /// Angles of all joints, rad.
    pub joints: &'a [f64],
    /// The rays.
    pub reading: &'a Reading,
}

/// What the controller drives and reads, by name and in order, with limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// Joints in the order of their commands.
    pub joints: Vec<String>,
    /// +1 where a positive command turns a joint counter-clockwise about +z.
    pub signs: Vec<f64>,
    /// Largest command to either side, rad.
    pub command_limit_rad: f64,
    /// Largest speed of a joint, rad/s.
    pub velocity_limit_rad_s: f64,
    /// Rays' sensors in the order of a reading, with their directions, degrees.
    pub rays: Vec<(String, f64)>,
    /// Useful range of a ray, m.
    pub range_m: f64,
    /// Steps a second.
    pub rate_hz: u32,
}

impl Interface {
    /// The interface of a specification.
    pub fn new(spec: &Spec) -> Self {
        Self {
            joints: spec.joint_names(),
            signs: vec![1.0; spec.joints()],
            command_limit_rad: spec.joint.limit_rad,
            velocity_limit_rad_s: spec.joint.velocity_rad_s,
            rays: spec.rays.iter().map(|r| (r.name.clone(), r.angle_deg)).collect(),
            range_m: spec.perception.range_m,
            rate_hz: spec.simulation.control_hz,
        }
    }
}

/// The controller in a state.
#[derive(Clone, Debug)]
pub struct Controller {
    spec: Spec,
    interface: Interface,
    follows_route: bool,
    state: State,
    command: Vec<f64>,
    bias: f64,
    /// Biases of the last gait cycle, and the head's directions.
    cycle: VecDeque<(f64, [f64; 2])>,
    /// Where a ray met a surface when the detour began, m.
    surface: Option<[f64; 2]>,
    detours: u32,
    transitions: Vec<Transition>,
    stopped: Option<String>,
    last: Option<f64>,
}

impl Controller {
    /// A controller of a straight snake at rest. Without a route it does not steer.
    pub fn new(spec: &Spec, follows_route: bool) -> Self {
        Self {
            interface: Interface::new(spec),
            spec: spec.clone(),
            follows_route,
            state: State::Slither,
            command: vec![0.0; spec.joints()],
            bias: 0.0,
            cycle: VecDeque::new(),
            surface: None,
            detours: 0,
            transitions: Vec::new(),
            stopped: None,
            last: None,
        }
    }

    /// What it drives and reads.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// What it is doing.
    pub fn state(&self) -> State {
        self.state
    }

    /// Targets of all joints, rad.
    pub fn command(&self) -> &[f64] {
        &self.command
    }

    /// Bias of the first joint, rad; positive turns right.
    pub fn bias(&self) -> f64 {
        self.bias
    }

    /// Mean bias of the last gait cycle, rad: what it steers for, without the wave that swings the head.
    pub fn mean_bias(&self) -> f64 {
        // Before a whole cycle, the missing part counts as none.
        self.cycle.iter().map(|(bias, _)| bias).sum::<f64>() / self.cycle_steps() as f64
    }

    /// Mean direction of the head's x axis in the last gait cycle, a unit vector; none before the first step.
    pub fn mean_direction(&self) -> Option<[f64; 2]> {
        let sum = |i: usize| self.cycle.iter().map(|(_, axis)| axis[i]).sum::<f64>();
        let (x, y) = (sum(0), sum(1));
        let length = f64::hypot(x, y);
        (length > 0.0 && length.is_finite()).then(|| [x / length, y / length])
    }

    /// Control steps of a gait cycle.
    fn cycle_steps(&self) -> usize {
        let steps = f64::from(self.interface.rate_hz) / self.spec.gait.frequency_hz;
        (steps.round() as usize).max(1)
    }

    /// All changes of state.
    pub fn transitions(&self) -> &[Transition] {
        &self.transitions
    }

    /// Where a ray met the surface that led to the detour, m.
    pub fn surface(&self) -> Option<[f64; 2]> {
        self.surface
    }

    /// How many detours ended on the route again.
    pub fn detours(&self) -> u32 {
        self.detours
    }

    /// Why it stopped, while it is stopped.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Leaves the stop. Nothing else does.
    pub fn reset(&mut self, time_s: f64) {
        if self.state == State::SafeStop {
            self.stopped = None;
            self.surface = None;
            self.go(time_s, State::Slither);
        }
    }

    /// One control step. Gives the targets of all joints, rad.
    pub fn step(&mut self, now: &Measured<'_>) -> &[f64] {
        if self.state == State::SafeStop {
            return &self.command;
        }
        if let Some(reason) = self.fault(now) {
            self.stop(now, reason);
            return &self.command;
        }
        self.last = Some(now.time_s);
        self.decide(now);
        self.bias = if self.follows_route { self.steer(now.head) } else { 0.0 };
        let (s, c) = now.head.yaw.sin_cos();
        self.cycle.push_back((self.bias, [c, s]));
        if self.cycle.len() > self.cycle_steps() {
            self.cycle.pop_front();
        }
        let (gait, slew) = (&self.spec.gait, self.spec.slew());
        let limit = self.interface.command_limit_rad;
        let phase = TAU * gait.frequency_hz * now.time_s;
        for (i, command) in self.command.iter_mut().enumerate() {
            let wave = gait.amplitude_rad * (phase + gait.lag_rad * i as f64).sin();
            let wanted = (wave + self.bias * self.spec.taper(i)).clamp(-limit, limit);
            *command += (wanted - *command).clamp(-slew, slew);
        }
        &self.command
    }

    /// What is wrong with a step's input.
    fn fault(&self, now: &Measured<'_>) -> Option<String> {
        if !now.time_s.is_finite() || self.last.is_some_and(|last| now.time_s <= last) {
            return Some(format!("the clock says {} s and does not advance", now.time_s));
        }
        if now.joints.len() != self.command.len() {
            return Some(format!("{} joints were measured", now.joints.len()));
        }
        if let Some(i) = now.joints.iter().position(|q| !q.is_finite()) {
            return Some(format!("{} is at {}", self.interface.joints[i], now.joints[i]));
        }
        if ![now.head.x, now.head.y, now.head.yaw].iter().all(|v| v.is_finite()) {
            return Some(format!("the head is at {:?}", now.head));
        }
        fault(&self.spec, now.time_s, now.reading).map(|f: Fault| f.to_string())
    }

    /// Targets freeze where the joints are, within their limits; where that is not known, where they were
    /// sent last.
    fn stop(&mut self, now: &Measured<'_>, reason: String) {
        let limit = self.interface.command_limit_rad;
        for (i, command) in self.command.iter_mut().enumerate() {
            if let Some(q) = now.joints.get(i).filter(|q| q.is_finite()) {
                *command = q.clamp(-limit, limit);
            }
        }
        self.bias = 0.0;
        self.cycle.clear();
        self.stopped = Some(reason);
        self.go(now.time_s, State::SafeStop);
    }

    fn go(&mut self, time_s: f64, to: State) {
        self.transitions.push(Transition { time_s, from: self.state, to });
        self.state = to;
    }

    fn decide(&mut self, now: &Measured<'_>) {
        if !self.follows_route {
            return;
        }
        let detour = &self.spec.detour;
        match (self.state, self.surface) {
            (State::Slither, _) => {
                let hits = self.spec.rays.iter().zip(&now.reading.ranges).filter_map(|(ray, r)| {
                    r.filter(|r| *r >= 0.0 && *r < detour.trigger_m).map(|r| (r, ray.angle_deg))
                });
                if let Some((range, angle)) = hits.min_by(|a, b| a.0.total_cmp(&b.0)) {
                    self.surface = Some(self.met(now.head, range, angle));
                    self.go(now.time_s, State::AvoidLeft);
                }
            }
            (State::AvoidLeft, Some([x, _])) => {
                let pivots = pivots(&self.spec, now.head, now.joints);
                if pivots.iter().all(|p| p[0] > x + detour.passed_m) {
                    self.go(now.time_s, State::Recover);
                }
            }
            (State::Recover, _) if now.head.y.abs() < detour.rejoin_m => {
                self.detours += 1;
                self.go(now.time_s, State::Slither);
            }
            _ => {}
        }
    }

    /// Where a ray ends in the world, m.
    fn met(&self, head: Pose, range: f64, angle_deg: f64) -> [f64; 2] {
        let (s, c) = head.yaw.sin_cos();
        let ahead = self.spec.perception.origin_m[0];
        let (rs, rc) = (head.yaw + angle_deg.to_radians()).sin_cos();
        [head.x + ahead * c + range * rc, head.y + ahead * s + range * rs]
    }

    /// The bias of the first joint, rad.
    fn steer(&self, head: Pose) -> f64 {
        let s = &self.spec.steering;
        let (line, ahead) = match self.state {
            State::AvoidLeft => (self.spec.detour.line_m, s.lookahead_avoid_m),
            _ => (0.0, s.lookahead_m),
        };
        // Line of sight: it should head for the point of the line that lies so far ahead.
        let error = head.yaw + (head.y - line).atan2(ahead);
        s.gain_rad * error.clamp(-s.error_limit_rad, s.error_limit_rad)
    }
}

/// Where the yaw pivots of all links are, the head's first, m.
pub fn pivots(spec: &Spec, head: Pose, joints: &[f64]) -> Vec<[f64; 2]> {
    let (mut at, mut yaw) = ([head.x, head.y], head.yaw);
    let mut out = vec![at];
    for q in joints {
        let (s, c) = yaw.sin_cos();
        let pitch = spec.robot.pivot_pitch_m;
        at = [at[0] - pitch * c, at[1] - pitch * s];
        out.push(at);
        yaw += q;
    }
    out
}

#[cfg(test)]
mod tests;
