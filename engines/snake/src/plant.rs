//! The plant: the model, the controller on it, the surrogate's wrench, and what is noted of each step.
//!
//! Control steps come every whole number of physics steps, counted, so that nothing drifts. A range reading
//! is of the last forward pass of the simulator, one physics step old, and is stamped so.

use crate::check::{Layout, check};
use crate::record::{Record, Step};
use sim_mujoco_c::{Data, Model};
use sim_snake::controller::{Controller, Measured, Pose, State};
use sim_snake::mjcf::Scene;
use sim_snake::perception::Reading;
use sim_snake::scenario::{FaultKind, Scenario};
use sim_snake::spec::Spec;
use sim_snake::surrogate::{Wrench, activity, wrench};

/// Largest error of the simulated time of a step, s.
const TIME: f64 = 1e-10;

/// The snake in a state.
pub struct Plant<'m> {
    data: Data<'m>,
    layout: Layout,
    spec: Spec,
    scenario: Scenario,
    controller: Controller,
    record: Record,
    dt: f64,
    control_every: u32,
    log_every: u32,
    steps: u64,
    stamp_s: f64,
    frozen_stamp_s: Option<f64>,
    ranges: Vec<f64>,
}

impl<'m> Plant<'m> {
    /// The snake, straight and at rest. The error names a mismatch of model and specification, or a step
    /// that does not fit the rates.
    pub fn new(model: &'m Model, spec: &Spec, scenario: &Scenario) -> Result<Self, String> {
        let layout = check(model, spec, scenario.scene)?;
        let dt = model.timestep();
        let control_every = spec.steps(1.0 / f64::from(spec.simulation.control_hz), dt)?;
        let log_every = spec.steps(1.0 / f64::from(spec.simulation.log_hz), dt)?;
        let mut data = Data::new(model)?;
        data.reset();
        data.forward();
        let head = pose(data.qpos());
        let follows_route = scenario.scene == Scene::ObstacleCourse;
        let mut plant = Self {
            record: Record::new(spec, layout.obstacle.is_some(), scenario.duration_s, head),
            controller: Controller::new(spec, follows_route),
            spec: spec.clone(),
            scenario: scenario.clone(),
            stamp_s: data.time(),
            frozen_stamp_s: None,
            ranges: vec![0.0; layout.rays.len()],
            data,
            layout,
            dt,
            control_every,
            log_every,
            steps: 0,
        };
        plant.frame();
        Ok(plant)
    }

    /// Physics steps of a control step.
    pub fn control_every(&self) -> u32 {
        self.control_every
    }

    /// Physics steps between two frames of the replay.
    pub fn log_every(&self) -> u32 {
        self.log_every
    }

    /// The controller.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// The head, as measured.
    pub fn head(&self) -> Pose {
        pose(self.data.qpos())
    }

    /// Angles of all joints, rad.
    pub fn joints(&self) -> Vec<f64> {
        self.layout.qpos.iter().map(|i| self.data.qpos()[*i]).collect()
    }

    /// The rays as last read, m.
    pub fn ranges(&self) -> &[f64] {
        &self.ranges
    }

    /// Runs the scenario to its end. Gives what was noted, and why it ended early, if it did.
    pub fn run(mut self) -> (Record, Option<String>) {
        let steps = match self.spec.steps(self.scenario.duration_s, self.dt) {
            Ok(steps) => u64::from(steps),
            Err(reason) => return (self.record, Some(reason)),
        };
        let mut error = None;
        while self.steps < steps && error.is_none() {
            error = self.step().err();
        }
        let (head, joints) = (self.head(), self.joints());
        let o = &mut self.record.observed;
        o.finite = error.is_none();
        o.warnings = u64::from(self.data.warnings().unsigned_abs());
        o.surface_xy_m = self.controller.surface();
        o.detours = self.controller.detours();
        o.transitions = self.controller.transitions().to_vec();
        o.final_state = self.controller.state();
        o.safe_stop_reason = self.controller.stopped().map(str::to_owned);
        if error.is_none() {
            self.record.close(head, &joints);
        }
        (self.record, error)
    }

    /// One physics step, after a control step where one is due. The error says what is not finite.
    pub fn step(&mut self) -> Result<(), String> {
        if self.steps.is_multiple_of(u64::from(self.control_every)) {
            self.control();
        }
        let (wrench, activity) = self.push();
        let before = self.data.time();
        self.data.step();
        self.steps += 1;
        // The forward pass of a step is of the state before it.
        self.stamp_s = before;
        let passed = self.data.time() - before;
        if (passed - self.dt).abs() > TIME {
            return Err(format!("a step of {} s took {passed} s of simulated time", self.dt));
        }
        for (name, values) in [
            ("qpos", self.data.qpos()),
            ("qvel", self.data.qvel()),
            ("qacc", self.data.qacc()),
            ("ctrl", self.data.ctrl()),
        ] {
            if let Some(i) = values.iter().position(|x| !x.is_finite()) {
                return Err(format!("{name}[{i}] is {} at {} s", values[i], self.data.time()));
            }
        }
        self.note(wrench, activity);
        Ok(())
    }

    fn control(&mut self) {
        let time_s = self.data.time();
        let range = self.spec.perception.range_m;
        for (value, address) in self.ranges.iter_mut().zip(&self.layout.rays) {
            *value = self.data.sensor_value(*address);
        }
        let mut reading = Reading {
            stamp_s: self.stamp_s,
            ranges: self.ranges.iter().map(|r| Some(*r)).collect(),
        };
        let due = |f: &&sim_snake::scenario::Fault| {
            let after = |moment: f64| time_s > moment - 0.5 * self.dt;
            after(f.from_s) && !f.to_s.is_some_and(after)
        };
        if let Some(fault) = self.scenario.fault.as_ref().filter(due) {
            let stamp = *self.frozen_stamp_s.get_or_insert(reading.stamp_s);
            let ray = fault.ray.min(reading.ranges.len() - 1);
            match fault.kind {
                FaultKind::NanRay => reading.ranges[ray] = Some(f64::NAN),
                FaultKind::MissingRay => reading.ranges[ray] = None,
                FaultKind::OutOfRange => reading.ranges[ray] = Some(2.0 * range),
                FaultKind::FrozenClock => reading.stamp_s = stamp,
            }
        }
        if self.scenario.reset_at_s.is_some_and(|at| (time_s - at).abs() < 0.5 * self.dt) {
            self.controller.reset(time_s);
        }
        let (head, joints) = (self.head(), self.joints());
        let now = Measured { time_s, head, joints: &joints, reading: &reading };
        let command = self.controller.step(&now);
        let ctrl = self.data.ctrl_mut();
        self.layout.actuators.iter().zip(command).for_each(|(i, c)| ctrl[*i] = *c);
    }

    /// Applies the surrogate's wrench, shared out over all links. Gives it, with the activity.
    fn push(&mut self) -> (Wrench, f64) {
        let speeds: Vec<f64> = self.layout.dof.iter().map(|i| self.data.qvel()[*i]).collect();
        let stopped = self.controller.state() == State::SafeStop;
        let activity = if stopped { 0.0 } else { activity(&self.spec, &speeds) };
        let (direction, bias) = (self.controller.mean_direction(), self.controller.mean_bias());
        let wrench = wrench(&self.spec, activity, direction, bias);
        let share = 1.0 / self.layout.links.len() as f64;
        let [x, y] = wrench.force.map(|f| f * share);
        for link in &self.layout.links {
            self.data.apply(*link, [x, y, 0.0], [0.0, 0.0, wrench.moment * share]);
        }
        (wrench, activity)
    }

    fn note(&mut self, wrench: Wrench, activity: f64) {
        let mut pads = vec![false; self.layout.pads.len()];
        let (mut touches, mut penetration) = (false, 0.0f64);
        for contact in self.data.contacts() {
            penetration = penetration.max(-contact.distance);
            let [a, b] = contact.geoms;
            touches |= self.layout.obstacle.is_some_and(|o| a == o || b == o);
            let other = if a == self.layout.floor { b } else { a };
            if let Some(i) = self.layout.pads.iter().position(|p| *p == other) {
                pads[i] = true;
            }
        }
        let q = self.joints();
        let dq: Vec<f64> = self.layout.dof.iter().map(|i| self.data.qvel()[*i]).collect();
        let torque: Vec<f64> =
            self.layout.actuators.iter().map(|i| self.data.actuator_force()[*i]).collect();
        let step = Step {
            time_s: self.data.time(),
            head: pose(self.data.qpos()),
            q: &q,
            dq: &dq,
            command: self.controller.command(),
            torque: &torque,
            pads: pads.iter().filter(|p| **p).count(),
            touches,
            penetration,
            wrench,
            activity,
            state: self.controller.state(),
        };
        self.record.step(&step);
        let frame = self.steps.is_multiple_of(u64::from(self.log_every));
        if self.steps == 1 || frame {
            let ranges: Vec<f64> =
                self.layout.rays.iter().map(|a| self.data.sensor_value(*a)).collect();
            self.record.row(&step, &ranges);
        }
        if frame {
            self.frame();
        }
    }

    fn frame(&mut self) {
        let q = self.data.qpos();
        let head = [q[0], q[1], q[2], q[3], q[4], q[5], q[6]];
        let joints = self.joints();
        self.record.frame(head, &joints);
    }
}

/// The head's frame on the floor, from the free joint's coordinates.
fn pose(q: &[f64]) -> Pose {
    let [w, x, y, z] = [q[3], q[4], q[5], q[6]];
    let yaw = (2.0 * (x * y + w * z)).atan2(1.0 - 2.0 * (y * y + z * z));
    Pose { x: q[0], y: q[1], yaw }
}
