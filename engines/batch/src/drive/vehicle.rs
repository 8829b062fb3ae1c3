//! Where everything is in the vehicle's model, its public state, and what an action becomes.

use sim_batch::mujoco::{Compiled, Kind};
use sim_vehicle::config::Config;
use sim_vehicle::mjcf::WHEELS;
use sim_vehicle::motion::{State, torque};

/// Numbers of elements, and limits.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) ground: usize,
    /// Wheel geoms, in the order of [`WHEELS`].
    pub(crate) wheels: [usize; 4],
    /// Velocity of each wheel's spin.
    pub(crate) spin: [usize; 4],
    /// Position of each steering joint, left first.
    pub(crate) steer: [usize; 2],
    /// Steering actuators.
    pub(crate) steering: [usize; 2],
    /// Motors.
    pub(crate) drive: [usize; 4],
    /// The rear axle's reference point in the chassis' frame, m.
    rear_axle: [f64; 3],
    pub(crate) substeps: u32,
    pub(crate) config: Config,
}

/// What is told of a world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    /// The public state.
    pub(crate) state: State,
    /// Of each wheel, rad/s.
    pub(crate) spin: [f64; 4],
    /// Mean of both steering joints, rad.
    pub(crate) steer: f64,
}

impl Layout {
    /// The error names what the model lacks.
    pub(crate) fn new(m: &Compiled, config: &Config, timestep: f64) -> Result<Self, String> {
        let find = |kind: Kind, name: String| {
            m.id(kind, &name).ok_or_else(|| format!("the model has no {name}"))
        };
        let wheels = |suffix: &str, kind: Kind| -> Result<[usize; 4], String> {
            let ids: Result<Vec<usize>, String> =
                WHEELS.iter().map(|w| find(kind, format!("{w}{suffix}"))).collect();
            ids?.try_into().map_err(|_| "there are four wheels".to_owned())
        };
        let front = |suffix: &str, kind: Kind| -> Result<[usize; 2], String> {
            let id = |w: usize| find(kind, format!("{}{suffix}", WHEELS[w]));
            Ok([id(0)?, id(1)?])
        };
        let joint = find(Kind::Joint, "chassis".to_owned())?;
        let (kinds, qpos, dof) = (m.ints("jnt_type"), m.ints("jnt_qposadr"), m.ints("jnt_dofadr"));
        if (kinds[joint], qpos[joint], dof[joint]) != (0, 0, 0) {
            return Err("the chassis' joint is not a free one that comes first".to_owned());
        }
        let site = find(Kind::Site, "rear_axle_reference".to_owned())?;
        let places = m.f64s("site_pos");
        let control = config.simulation.control_dt_s;
        let ratio = control / timestep;
        let substeps = ratio.round();
        if !((ratio - substeps).abs() <= 1e-9 && (1.0..=1e6).contains(&substeps)) {
            return Err(format!(
                "a control step of {control} s is no whole number of {timestep} s"
            ));
        }
        Ok(Self {
            ground: find(Kind::Geom, "ground".to_owned())?,
            wheels: wheels("_wheel_geom", Kind::Geom)?,
            spin: wheels("_wheel", Kind::Joint)?.map(|j| dof[j] as usize),
            steer: front("_steer", Kind::Joint)?.map(|j| qpos[j] as usize),
            steering: front("_steer_position", Kind::Actuator)?,
            drive: wheels("_drive", Kind::Actuator)?,
            rear_axle: std::array::from_fn(|k| places[3 * site + k]),
            substeps: substeps as u32,
            config: config.clone(),
        })
    }

    /// From coordinates and velocities.
    pub(crate) fn told(&self, qpos: &[f32], qvel: &[f32]) -> Told {
        let q = |i: usize| f64::from(qpos[i]);
        let v = |i: usize| f64::from(qvel[i]);
        Told {
            state: State::of(std::array::from_fn(q), std::array::from_fn(v), self.rear_axle),
            spin: self.spin.map(v),
            steer: 0.5 * (q(self.steer[0]) + q(self.steer[1])),
        }
    }

    /// Controls of a world that steers to `target`, rad, and accelerates, m/s².
    pub(crate) fn controls(&self, target: f64, acceleration: f64, told: &Told, out: &mut [f32]) {
        for i in self.steering {
            out[i] = target as f32;
        }
        let most = self.config.wheel_torque(acceleration.abs());
        for (i, spin) in self.drive.iter().zip(told.spin) {
            out[*i] = torque(acceleration, most, spin, told.state.velocity[0]) as f32;
        }
    }
}
