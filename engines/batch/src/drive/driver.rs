//! Drives a batch and notes what comes of it.

use super::asked::Job;
use super::extremes::{Extremes, most};
use super::vehicle::{Layout, Told};
use sim_batch::BatchedEngine;
use sim_vehicle::telemetry::{self as t, COLUMNS};

/// What is noted of a world over the physics steps of a control step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interval {
    pub(crate) penetration: f64,
    pub(crate) touched: [u32; 4],
    load: [f64; 4],
    pub(crate) unexpected: u32,
    pub(crate) tilt: f64,
    pub(crate) vertical: f64,
    /// Physics steps.
    pub(crate) gap: u32,
}

/// A world's driver.
#[derive(Clone, Debug)]
struct World {
    told: Told,
    /// Target of both steering actuators, rad.
    target: f64,
    /// Consecutive physics steps without contact, by wheel.
    open: [u32; 4],
    /// Simulated time, s.
    time: f64,
    applied: [f64; 2],
    clipped: u32,
    interval: Interval,
}

pub(crate) struct Driver<'a> {
    pub(crate) engine: BatchedEngine,
    layout: &'a Layout,
    timestep: f64,
    worlds: Vec<World>,
    ctrl: Vec<f32>,
}

impl<'a> Driver<'a> {
    /// All worlds at the model's reference.
    pub(crate) fn new(mut engine: BatchedEngine, layout: &'a Layout, job: &Job) -> Self {
        engine.look();
        let (q, v) = engine.state();
        let (nq, nv) = (engine.model().nq(), engine.model().nv());
        let worlds = q.chunks_exact(nq).zip(v.chunks_exact(nv)).map(|(q, v)| World {
            told: layout.told(q, v),
            target: 0.0,
            open: [0; 4],
            time: 0.0,
            applied: [0.0; 2],
            clipped: 0,
            interval: Interval::default(),
        });
        let (worlds, ctrl) = (worlds.collect(), vec![0.0; engine.worlds() * engine.model().nu()]);
        Self { engine, layout, timestep: job.timestep, worlds, ctrl }
    }

    /// Control step, s.
    pub(crate) fn control_dt(&self) -> f64 {
        self.layout.config.simulation.control_dt_s
    }

    /// Physics step, s.
    pub(crate) fn dt(&self) -> f64 {
        self.timestep
    }

    /// Longitudinal velocity of each world at its rear axle, m/s.
    pub(crate) fn speeds(&self) -> Vec<f64> {
        self.worlds.iter().map(|w| w.told.state.velocity[0]).collect()
    }

    /// Puts marked worlds back to the start.
    pub(crate) fn reset(&mut self, mask: &[bool]) -> Result<(), String> {
        self.engine.reset_worlds(mask).map_err(|e| e.to_string())?;
        self.engine.look();
        let (q, v) = self.engine.state();
        let (nq, nv) = (self.engine.model().nq(), self.engine.model().nv());
        for (w, world) in self.worlds.iter_mut().enumerate().filter(|(w, _)| mask[*w]) {
            world.told = self.layout.told(&q[w * nq..(w + 1) * nq], &v[w * nv..(w + 1) * nv]);
            world.target = 0.0;
            world.open = [0; 4];
            world.time = -1.0;
        }
        Ok(())
    }

    /// One control step with an action a world: steering angle, rad, and acceleration, m/s².
    pub(crate) fn control_step(
        &mut self,
        actions: &[[f64; 2]],
        extremes: &mut Extremes,
    ) -> Result<(), String> {
        let limits = &self.layout.config.actuator;
        let angle = limits.max_steering_angle_rad;
        let turn = limits.max_steering_rate_rad_s * self.control_dt();
        for (world, action) in self.worlds.iter_mut().zip(actions) {
            let steering = action[0].clamp(-angle, angle);
            let acceleration =
                action[1].clamp(-limits.max_deceleration_mps2, limits.max_acceleration_mps2);
            world.applied = [steering, acceleration];
            let changed = |k: usize| u32::from(world.applied[k].to_bits() != action[k].to_bits());
            world.clipped = changed(0) + changed(1);
            world.target += (steering - world.target).clamp(-turn, turn);
            world.interval = Interval::default();
        }
        for _ in 0..self.layout.substeps {
            self.substep(extremes)?;
        }
        extremes.count(self.layout.substeps);
        for (w, world) in self.worlds.iter().enumerate() {
            extremes.add(w, &world.interval);
        }
        Ok(())
    }

    fn substep(&mut self, extremes: &mut Extremes) -> Result<(), String> {
        let nu = self.engine.model().nu();
        for (world, ctrl) in self.worlds.iter().zip(self.ctrl.chunks_exact_mut(nu)) {
            self.layout.controls(world.target, world.applied[1], &world.told, ctrl);
        }
        self.engine.set_ctrl(&self.ctrl).map_err(|e| e.to_string())?;
        self.engine.step();
        let (q, v) = self.engine.state();
        let (nq, nv) = (self.engine.model().nq(), self.engine.model().nv());
        for (w, world) in self.worlds.iter_mut().enumerate() {
            let (q, v) = (&q[w * nq..(w + 1) * nq], &v[w * nv..(w + 1) * nv]);
            let report = self.engine.report(w);
            // The kernels count the steps of each world.
            let time = report.steps as f64 * self.timestep;
            extremes.monotonic &= time > world.time;
            world.time = time;
            world.told = self.layout.told(q, v);
            extremes.see(q, v, &report);
            note(self.layout, &self.engine, w, world, true);
        }
        Ok(())
    }

    /// World 0 before its first step.
    pub(crate) fn first_row(&mut self) -> [f64; COLUMNS] {
        self.worlds[0].time = 0.0;
        self.worlds[0].interval = Interval::default();
        note(self.layout, &self.engine, 0, &mut self.worlds[0], false);
        self.telemetry(1)
    }

    /// World 0 after a control step.
    pub(crate) fn row(&self) -> [f64; COLUMNS] {
        self.telemetry(self.layout.substeps)
    }

    fn telemetry(&self, substeps: u32) -> [f64; COLUMNS] {
        let w = &self.worlds[0];
        let (s, seen) = (&w.told.state, &w.interval);
        let mut row = [0.0; COLUMNS];
        row[t::TIME] = w.time;
        row[t::POSITION..t::POSITION + 3].copy_from_slice(&s.position);
        row[t::ROLL..t::ROLL + 3].copy_from_slice(&s.angles);
        row[t::VELOCITY..t::VELOCITY + 3].copy_from_slice(&s.velocity);
        row[t::ANGULAR_VELOCITY..t::ANGULAR_VELOCITY + 3].copy_from_slice(&s.turning);
        row[t::STEERING] = w.told.steer;
        for i in 0..4 {
            row[t::WHEEL_SPEED + i] = w.told.spin[i];
            row[t::CONTACT + i] = f64::from(seen.touched[i]) / f64::from(substeps);
            row[t::LOAD + i] = seen.load[i] / f64::from(substeps);
        }
        row[t::PENETRATION] = seen.penetration;
        row[t::UNEXPECTED] = seen.unexpected.into();
        row[t::TILT] = seen.tilt;
        row[t::VERTICAL_SPEED] = seen.vertical;
        row[t::GAP] = f64::from(seen.gap) * self.timestep;
        row[t::APPLIED_STEERING] = w.applied[0];
        row[t::APPLIED_ACCELERATION] = w.applied[1];
        row[t::STEERING_TARGET] = w.target;
        row[t::SATURATED] = w.clipped.into();
        row
    }
}

/// Notes contacts and state of a world after a physics step.
fn note(layout: &Layout, engine: &BatchedEngine, w: usize, world: &mut World, gaps: bool) {
    let seen = &mut world.interval;
    let (mut touched, mut unexpected) = ([false; 4], 0);
    for contact in engine.touches(w) {
        seen.penetration = most(seen.penetration, -f64::from(contact.distance));
        let [a, b] = contact.geoms;
        let other = if a == layout.ground { b } else { a };
        let wheel = layout.wheels.iter().position(|g| *g == other);
        match wheel.filter(|_| a == layout.ground || b == layout.ground) {
            Some(wheel) => {
                touched[wheel] = true;
                seen.load[wheel] += f64::from(contact.normal);
            }
            None => unexpected += 1,
        }
    }
    seen.unexpected = seen.unexpected.max(unexpected);
    for (i, touched) in touched.into_iter().enumerate() {
        seen.touched[i] += u32::from(touched);
        if gaps {
            world.open[i] = if touched { 0 } else { world.open[i] + 1 };
            seen.gap = seen.gap.max(world.open[i]);
        }
    }
    let [roll, pitch, _] = world.told.state.angles;
    seen.tilt = most(most(seen.tilt, roll.abs()), pitch.abs());
    seen.vertical = most(seen.vertical, world.told.state.velocity[2].abs());
}
