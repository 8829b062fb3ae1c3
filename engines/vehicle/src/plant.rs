//! The plant: what an action becomes, substep by substep, and what is noted of each.

use crate::check::{Layout, check, substeps};
use crate::replay::{poses, product};
use sim_mujoco_c::{Data, Model};
use sim_vehicle::config::Config;
use sim_vehicle::motion::{State, torque};
use sim_vehicle::telemetry::{self as t, COLUMNS};

/// Largest error of the simulated time of a substep, s.
const TIME: f64 = 1e-10;

/// The vehicle in a state.
pub struct Plant<'m> {
    data: Data<'m>,
    layout: Layout,
    config: Config,
    substeps: u32,
    dt: f64,
    /// Target of both steering actuators, rad.
    target: f64,
    warnings: i32,
    /// Consecutive substeps without contact, by wheel.
    open: [u32; 4],
}

/// What is noted over the substeps of a control step.
#[derive(Clone, Debug, Default)]
struct Interval {
    penetration: f64,
    touched: [u32; 4],
    load: [f64; 4],
    unexpected: u32,
    tilt: f64,
    vertical: f64,
    gap: u32,
}

impl<'m> Plant<'m> {
    /// The vehicle at the model's reference, lifted and rolled about x. The error names a mismatch of
    /// model and configuration.
    pub fn new(model: &'m Model, config: &Config, lift: f64, roll: f64) -> Result<Self, String> {
        Self::laid_out(model, config, check(model, config)?, lift, roll)
    }

    fn laid_out(
        model: &'m Model,
        config: &Config,
        layout: Layout,
        lift: f64,
        roll: f64,
    ) -> Result<Self, String> {
        let dt = model.timestep();
        let substeps = substeps(config.simulation.control_dt_s, dt)?;
        let mut data = Data::new(model)?;
        data.reset();
        let q = data.qpos_mut();
        q[2] += lift;
        let (s, c) = (0.5 * roll).sin_cos();
        let at = [q[3], q[4], q[5], q[6]];
        q[3..7].copy_from_slice(&product(at, [c, s, 0.0, 0.0]));
        data.forward();
        let warnings = data.warnings();
        let config = config.clone();
        Ok(Self { data, layout, config, substeps, dt, target: 0.0, warnings, open: [0; 4] })
    }

    /// Physics steps of a control step.
    pub fn substeps(&self) -> u32 {
        self.substeps
    }

    /// Simulated time, s.
    pub fn time(&self) -> f64 {
        self.data.time()
    }

    /// Longitudinal velocity at the rear axle, m/s.
    pub fn speed(&self) -> f64 {
        self.state().velocity[0]
    }

    /// The row before the first step.
    pub fn first_row(&self) -> [f64; COLUMNS] {
        let mut interval = Interval::default();
        self.look(&mut interval, None);
        self.row(&interval, 1, [0.0; 2], 0)
    }

    /// One control step with an action: steering angle, rad, and longitudinal acceleration, m/s². Gives
    /// the row after it. The error names what went wrong; the state is then of no use.
    pub fn control_step(&mut self, action: [f64; 2]) -> Result<[f64; COLUMNS], String> {
        if action.iter().any(|a| !a.is_finite()) {
            return Err(format!("the action {action:?} is not two finite numbers"));
        }
        let limits = &self.config.actuator;
        let angle = limits.max_steering_angle_rad;
        let steering = action[0].clamp(-angle, angle);
        let acceleration =
            action[1].clamp(-limits.max_deceleration_mps2, limits.max_acceleration_mps2);
        #[expect(clippy::float_cmp, reason = "clipped or not")]
        let clipped = u32::from(steering != action[0]) + u32::from(acceleration != action[1]);
        let most = limits.max_steering_rate_rad_s * self.config.simulation.control_dt_s;
        self.target += (steering - self.target).clamp(-most, most);
        let mut interval = Interval::default();
        for _ in 0..self.substeps {
            self.substep(acceleration)?;
            let mut open = self.open;
            self.look(&mut interval, Some(&mut open));
            self.open = open;
        }
        Ok(self.row(&interval, self.substeps, [steering, acceleration], clipped))
    }

    fn substep(&mut self, acceleration: f64) -> Result<(), String> {
        let (speed, target) = (self.speed(), self.target);
        let spin = self.layout.spin.map(|dof| self.data.qvel()[dof]);
        let magnitude = self.config.wheel_torque(acceleration.abs());
        let torque = spin.map(|w| torque(acceleration, magnitude, w, speed));
        let (steering, drive) = (self.layout.steering, self.layout.drive);
        let ctrl = self.data.ctrl_mut();
        steering.iter().for_each(|i| ctrl[*i] = target);
        drive.iter().zip(torque).for_each(|(i, torque)| ctrl[*i] = torque);
        let before = self.data.time();
        self.data.step();
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
                let time = self.data.time();
                return Err(format!("{name}[{i}] is {} at {time} s", values[i]));
            }
        }
        let warnings = self.data.warnings();
        if warnings > self.warnings {
            return Err(format!("MuJoCo warned at {} s", self.data.time()));
        }
        Ok(())
    }

    /// Notes what a step, or the start, says of contacts and of the state. `open` counts substeps.
    fn look(&self, interval: &mut Interval, open: Option<&mut [u32; 4]>) {
        let (mut touched, mut load, mut unexpected) = ([false; 4], [0.0; 4], 0);
        for contact in self.data.contacts() {
            interval.penetration = interval.penetration.max(-contact.distance);
            let [a, b] = contact.geoms;
            let other = if a == self.layout.ground { b } else { a };
            let wheel = self.layout.wheels.iter().position(|w| *w == other);
            match wheel.filter(|_| a == self.layout.ground || b == self.layout.ground) {
                Some(wheel) => {
                    touched[wheel] = true;
                    load[wheel] += contact.normal;
                }
                None => unexpected += 1,
            }
        }
        interval.unexpected = interval.unexpected.max(unexpected);
        for i in 0..4 {
            interval.touched[i] += u32::from(touched[i]);
            interval.load[i] += load[i];
        }
        if let Some(open) = open {
            for i in 0..4 {
                open[i] = if touched[i] { 0 } else { open[i] + 1 };
                interval.gap = interval.gap.max(open[i]);
            }
        }
        let state = self.state();
        interval.tilt = interval.tilt.max(state.angles[0].abs()).max(state.angles[1].abs());
        interval.vertical = interval.vertical.max(state.velocity[2].abs());
    }

    fn row(
        &self,
        interval: &Interval,
        substeps: u32,
        applied: [f64; 2],
        clipped: u32,
    ) -> [f64; COLUMNS] {
        let state = self.state();
        let mut row = [0.0; COLUMNS];
        row[t::TIME] = self.data.time();
        row[t::POSITION..t::POSITION + 3].copy_from_slice(&state.position);
        row[t::ROLL..t::ROLL + 3].copy_from_slice(&state.angles);
        row[t::VELOCITY..t::VELOCITY + 3].copy_from_slice(&state.velocity);
        row[t::ANGULAR_VELOCITY..t::ANGULAR_VELOCITY + 3].copy_from_slice(&state.turning);
        let steer = self.layout.steer.map(|i| self.data.qpos()[i]);
        row[t::STEERING] = 0.5 * (steer[0] + steer[1]);
        for i in 0..4 {
            row[t::WHEEL_SPEED + i] = self.data.qvel()[self.layout.spin[i]];
            row[t::CONTACT + i] = f64::from(interval.touched[i]) / f64::from(substeps);
            row[t::LOAD + i] = interval.load[i] / f64::from(substeps);
        }
        row[t::PENETRATION] = interval.penetration;
        row[t::UNEXPECTED] = f64::from(interval.unexpected);
        row[t::WARNINGS] = f64::from(self.data.warnings());
        row[t::TILT] = interval.tilt;
        row[t::VERTICAL_SPEED] = interval.vertical;
        row[t::GAP] = f64::from(interval.gap) * self.dt;
        row[t::APPLIED_STEERING] = applied[0];
        row[t::APPLIED_ACCELERATION] = applied[1];
        row[t::STEERING_TARGET] = self.target;
        row[t::SATURATED] = f64::from(clipped);
        row
    }

    /// Poses of chassis and wheels, see [`poses`].
    pub fn poses(&self) -> [f32; 35] {
        let q = self.data.qpos();
        let free = std::array::from_fn(|i| q[i]);
        let spin = self.layout.spin_angle.map(|i| q[i]);
        poses(&self.config, free, self.layout.steer.map(|i| q[i]), spin)
    }

    /// From the free joint's own coordinates, which a step leaves up to date.
    fn state(&self) -> State {
        let (q, v) = (self.data.qpos(), self.data.qvel());
        State::of(
            std::array::from_fn(|i| q[i]),
            std::array::from_fn(|i| v[i]),
            self.layout.rear_axle,
        )
    }
}

#[cfg(test)]
mod faults_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use sim_mujoco_c::Kind;
    use sim_vehicle::mjcf::{WHEELS, mjcf};

    fn on<R>(test: impl FnOnce(&Model, Plant<'_>) -> R) -> R {
        let text = include_str!("../../../scenes/vehicle/vehicle.toml");
        let config = Config::parse(text).expect("a configuration");
        let model = Model::compile(&mjcf(&config)).expect("compiles");
        let plant = Plant::new(&model, &config, 0.0, 0.0).expect("fits");
        test(&model, plant)
    }

    /// V19: a place beyond what MuJoCo believes is finite, and it warns.
    #[test]
    fn a_warning_ends_the_run() {
        on(|_, mut plant| {
            plant.control_step([0.0; 2]).expect("stands");
            plant.data.qpos_mut()[0] = 2e10;
            let reason = plant.control_step([0.0; 2]).expect_err("warned");
            assert!(reason.starts_with("MuJoCo warned at 0.05"), "{reason}");
        });
    }

    /// V13: a quarter of the force, m·a, at the circumference of each wheel: 1200 · 2 · 0.34 / 4 N·m.
    #[test]
    fn torque_is_equal_at_all_wheels() {
        on(|_, mut plant| {
            plant.control_step([0.2, 2.0]).expect("drives");
            let torque = plant.layout.drive.map(|i| plant.data.ctrl()[i]);
            assert!(torque.iter().all(|t| (t - 204.0).abs() < 1e-9), "{torque:?}");
        });
    }

    /// V20: a step that does not take the time it should.
    #[test]
    fn a_wrong_increment_of_time_ends_the_run() {
        on(|_, mut plant| {
            plant.dt = 0.004;
            let reason = plant.control_step([0.0; 2]).expect_err("another time");
            assert_eq!(reason, "a step of 0.004 s took 0.005 s of simulated time");
        });
    }

    /// What a recording shows is where MuJoCo has the bodies.
    #[test]
    fn poses_are_those_of_the_simulator() {
        on(|model, mut plant| {
            for _ in 0..40 {
                plant.control_step([0.3, 2.0]).expect("drives");
            }
            plant.data.forward();
            let shown = plant.poses();
            let bodies = ["chassis".to_owned()].into_iter();
            let bodies = bodies.chain(WHEELS.map(|w| format!("{w}_wheel_body")));
            for (i, name) in bodies.enumerate() {
                let body = model.id(Kind::Body, &name).expect("a body");
                let place = plant.data.xpos(body);
                let turned = plant.data.xquat(body);
                // A wheel's cylinder lies on its side.
                let h = std::f64::consts::FRAC_1_SQRT_2;
                let turned = if i == 0 { turned } else { product(turned, [h, -h, 0.0, 0.0]) };
                let wanted: Vec<f64> = place.into_iter().chain(turned).collect();
                let found: Vec<f64> =
                    shown[7 * i..7 * i + 7].iter().map(|x| f64::from(*x)).collect();
                // A quaternion and its negative are one rotation.
                let same: f64 = found[3..].iter().zip(&wanted[3..]).map(|(a, b)| a * b).sum();
                let flip = same.signum();
                for (k, (a, b)) in found.iter().zip(&wanted).enumerate() {
                    let b = if k < 3 { *b } else { flip * b };
                    assert!((a - b).abs() < 1e-5, "{name} {k}: {found:?} {wanted:?}");
                }
            }
            assert!(shown[0] > 3.0, "it went somewhere: {shown:?}");
        });
    }
}
