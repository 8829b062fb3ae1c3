//! Point masses under gravity: semi-implicit Euler, no rotation, no contacts.

use crate::room::{Crowd, PAIRS, Room};
use sim_engine_harness::{Engine, EngineError, Profiled, Simulation};
use sim_engine_protocol::{
    ActivityKind, Approximation, Capabilities, CapacitySamples, Combine, Counters,
    DEVICE_SAMPLES_FORMAT, Description, DeviceEvent, DeviceLabel, DeviceSamples, Job, Limits, Mode,
    PROTOCOL, Pose, Precision, QueryBuffer, Repeatability, Scene, SettingValue, Translation,
    Velocity,
};
use std::collections::BTreeMap;

/// The honest part of the fake, with the faults that lie inside an engine.
#[derive(Clone, Default)]
pub struct PointMass {
    /// Factor on gravity, minus one.
    pub extra_gravity: f64,
    /// Panics inside the first step.
    pub panics: bool,
    /// Refuses to build.
    pub refuses: Option<EngineError>,
    /// How the profiler of its device misbehaves.
    pub profiler: Profiler,
    /// Has a buffer of fixed size, and when it is crowded.
    pub room: Option<Crowd>,
    /// Settings to report beside its own.
    pub notes: BTreeMap<String, SettingValue>,
}

/// The backend that pretends to have a device with a clock. The physics is that of `cpu`; its
/// timestamps are made up and the same in every run, so that what is made of them can be checked.
pub const DEVICE: &str = "fake-device";

/// What the profiler of the device does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profiler {
    /// Gives every step.
    #[default]
    Sound,
    /// Sees events of the host only.
    HostOnly,
    /// Loses the last step.
    LosesAStep,
    /// Fills its buffer to the end.
    Overflows,
}

impl Engine for PointMass {
    fn describe(&self) -> Description {
        let mut modes = vec![Mode::Timed, Mode::Memory, Mode::Capture, Mode::Probe, Mode::Profile];
        modes.extend(self.room.map(|_| Mode::Calibrate));
        let calibrated = self.room.map(|_| PAIRS.to_owned()).into_iter().collect();
        Description {
            protocol: PROTOCOL,
            engine: "fake".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            backends: vec!["cpu".into(), DEVICE.into()],
            precision: Precision::Double,
            capabilities: Capabilities {
                modes,
                shapes: ["box", "sphere", "capsule"].map(String::from).to_vec(),
                hinges: false,
                robots: false,
                mpm: false,
                worlds: "serial".into(),
                threads: false,
                settings: vec![],
                device_timestamps: true,
                repeatability: Repeatability::Bitwise,
            },
            limits: Limits { calibrated, ..Limits::default() },
        }
    }

    fn build(&self, scene: &Scene, job: &Job) -> Result<Box<dyn Simulation>, EngineError> {
        if let Some(refusal) = &self.refuses {
            return Err(refusal.clone());
        }
        let count = scene.dynamic_count() * job.worlds as usize;
        let bodies = scene.dynamic_count() as u64;
        Ok(Box::new(Masses {
            room: self.room.map(|crowd| Room::new(crowd, bodies, job)).transpose()?,
            engine: self.clone(),
            scene: scene.clone(),
            worlds: job.worlds,
            state: Vec::with_capacity(count),
        }))
    }
}

struct Masses {
    engine: PointMass,
    scene: Scene,
    worlds: u32,
    room: Option<Room>,
    /// Position and velocity of every dynamic body of every world.
    state: Vec<([f64; 3], [f64; 3])>,
}

impl Simulation for Masses {
    fn reset(&mut self) -> Result<(), EngineError> {
        self.state.clear();
        if let Some(room) = &mut self.room {
            room.reset();
        }
        for _ in 0..self.worlds {
            let start = self.scene.dynamic_bodies().map(|(_, b)| (b.position, b.linear_velocity));
            self.state.extend(start);
        }
        Ok(())
    }

    fn step(&mut self, steps: u64) -> Result<(), EngineError> {
        assert!(!self.engine.panics, "told to panic");
        let dt = self.scene.timestep;
        let gravity = self.scene.gravity.map(|g| g * (1.0 + self.engine.extra_gravity));
        for (position, velocity) in &mut self.state {
            for _ in 0..steps {
                for i in 0..3 {
                    velocity[i] += gravity[i] * dt;
                    position[i] += velocity[i] * dt;
                }
            }
        }
        if let Some(room) = &mut self.room {
            room.step(steps);
        }
        Ok(())
    }

    fn calibrate(&mut self, steps: u64) -> Result<BTreeMap<String, u64>, EngineError> {
        self.step(steps)?;
        Ok(self.room.as_ref().map(Room::peaks).unwrap_or_default())
    }

    fn capacity_samples(&mut self) -> Result<Option<CapacitySamples>, EngineError> {
        Ok(self.room.as_ref().map(Room::samples))
    }

    /// In each step: a kernel of 1 µs a body, and a copy of 1 µs on another stream that begins half a
    /// microsecond later. Steps are 1 ms apart.
    fn profile(&mut self, steps: u64) -> Result<Profiled, EngineError> {
        self.step(steps)?;
        let profiler = self.engine.profiler;
        if profiler == Profiler::HostOnly {
            return Ok(Profiled::Unavailable("the profiler gave events of the host only".into()));
        }
        let event = |label, start, duration_ns| DeviceEvent {
            label,
            stream: label,
            start_ns: Some(start),
            duration_ns,
        };
        let kernel = 1_000 * self.state.len() as u64;
        let collected = steps - u64::from(profiler == Profiler::LosesAStep);
        let label = |name: &str, kind| DeviceLabel { name: name.into(), kind };
        let steps_per_reading = 8;
        let used_pairs = if profiler == Profiler::Overflows { 64 } else { 2 * steps_per_reading };
        Ok(Profiled::Samples(Box::new(DeviceSamples {
            format: DEVICE_SAMPLES_FORMAT,
            device: "no device: made-up timestamps".into(),
            method: "made up".into(),
            scope: "every kernel and copy of the fake".into(),
            combine: Combine::Union,
            labels: vec![label("fall", ActivityKind::Kernel), label("copy", ActivityKind::Copy)],
            steps: (0..collected)
                .map(|i| {
                    vec![event(0, i * 1_000_000, kernel), event(1, i * 1_000_000 + 500, 1_000)]
                })
                .collect(),
            buffer: Some(QueryBuffer { capacity_pairs: 64, used_pairs, steps_per_reading }),
        })))
    }

    fn poses(&mut self, world: u32, out: &mut Vec<Pose>) -> Result<(), EngineError> {
        let count = self.scene.dynamic_count();
        let bodies = self.scene.dynamic_bodies().map(|(_, b)| b.orientation);
        let states = &self.state[world as usize * count..][..count];
        out.extend(bodies.zip(states).map(|(orientation, s)| Pose { position: s.0, orientation }));
        Ok(())
    }

    fn velocities(&mut self, world: u32, out: &mut Vec<Velocity>) -> Result<(), EngineError> {
        let count = self.scene.dynamic_count();
        let states = &self.state[world as usize * count..][..count];
        out.extend(states.iter().map(|s| Velocity { linear: s.1, angular: [0.0; 3] }));
        Ok(())
    }

    fn counters(&self) -> Counters {
        let simulated_bodies = Some(self.state.len() as u64);
        let mut counters = Counters { simulated_bodies, ..Counters::default() };
        if let Some(room) = &self.room {
            room.count(&mut counters);
        }
        counters
    }

    fn settings(&self) -> BTreeMap<String, SettingValue> {
        let mut all = self.engine.notes.clone();
        all.insert("integrator".into(), "semi-implicit Euler".into());
        all.insert("timestep".into(), self.scene.timestep.into());
        all
    }

    fn translation(&self) -> Translation {
        let rotation = Approximation { what: "rotation".into(), how: "bodies do not turn".into() };
        Translation {
            exact: vec!["positions and velocities".into(), "gravity and timestep".into()],
            approximated: vec![rotation],
            dropped: vec!["contacts".into(), "static bodies".into()],
        }
    }
}
