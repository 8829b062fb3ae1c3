//! What an adapter implements.

use sim_engine_protocol::{
    CapacitySamples, Counters, Description, DeviceSamples, Job, Pose, Scene, SettingValue, Status,
    Translation, Velocity,
};
use std::collections::BTreeMap;
use std::fmt;

/// An engine behind the protocol.
pub trait Engine {
    /// What it can do. Cheap; runs no physics.
    fn describe(&self) -> Description;

    /// The set-up phase: builds (and compiles) every world of the job, so that stepping needs
    /// nothing more. The harness has checked scene and job against each other's contract and
    /// against [`Engine::describe`]. The worlds need not be in their start state yet.
    fn build(&self, scene: &Scene, job: &Job) -> Result<Box<dyn Simulation>, EngineError>;
}

/// All worlds of one job.
pub trait Simulation {
    /// Puts every world into the canonical start state, solver buffers and warm-start caches
    /// included.
    fn reset(&mut self) -> Result<(), EngineError>;

    /// Advances every world by `steps` steps. This call is the measured interval: it holds
    /// the engine's stepping loop and nothing else.
    fn step(&mut self, steps: u64) -> Result<(), EngineError>;

    /// Waits until everything asked for is done. Engines that return only when they are done
    /// need not implement it.
    fn sync(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Advances as [`Simulation::step`] does, with the device's own timestamps of every step. Asked in
    /// `profile` replays of engines that say that they have them, on backends that have a device.
    fn profile(&mut self, steps: u64) -> Result<Profiled, EngineError> {
        Err(EngineError::failed(format!("no profiler for these {steps} steps")))
    }

    /// Advances as [`Simulation::step`] does, with buffers that grow, and gives the largest demand of any
    /// step in one world, by buffer. Asked in `calibrate` runs of engines that say that they can.
    fn calibrate(&mut self, steps: u64) -> Result<BTreeMap<String, u64>, EngineError> {
        Err(EngineError::failed(format!("no counters of buffers for these {steps} steps")))
    }

    /// What every step since the reset asked of buffers of fixed size, in a capture; none for engines
    /// without such.
    fn capacity_samples(&mut self) -> Result<Option<CapacitySamples>, EngineError> {
        Ok(None)
    }

    /// Appends the poses of a world's dynamic bodies in scene order.
    fn poses(&mut self, world: u32, out: &mut Vec<Pose>) -> Result<(), EngineError>;

    /// Appends the velocities of a world's dynamic bodies in scene order, those that belong to its
    /// poses. Asked for after everything else, and only where a scene's reference needs them.
    fn velocities(&mut self, world: u32, out: &mut Vec<Velocity>) -> Result<(), EngineError>;

    /// What the engine counted, over all worlds.
    fn counters(&self) -> Counters;

    /// The effective settings, read back from the engine where it lets us.
    fn settings(&self) -> BTreeMap<String, SettingValue>;

    /// What became of the scene.
    fn translation(&self) -> Translation;
}

/// What a profiler gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Profiled {
    /// Its timestamps.
    Samples(Box<DeviceSamples>),
    /// None can be had here, and why. The steps were taken all the same.
    Unavailable(String),
}

/// Why an engine did not do it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineError {
    /// The outcome this leads to.
    pub status: Status,
    /// Why.
    pub reason: String,
}

impl EngineError {
    /// The engine or this build cannot do it.
    pub fn unsupported(reason: impl Into<String>) -> Self {
        EngineError { status: Status::Unsupported, reason: reason.into() }
    }

    /// It could, but a limit forbids it.
    pub fn refused(reason: impl Into<String>) -> Self {
        EngineError { status: Status::Refused, reason: reason.into() }
    }

    /// It could not allocate what this size needs.
    pub fn out_of_memory(reason: impl Into<String>) -> Self {
        EngineError { status: Status::OutOfMemory, reason: reason.into() }
    }

    /// Something broke.
    pub fn failed(reason: impl Into<String>) -> Self {
        EngineError { status: Status::Error, reason: reason.into() }
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status.as_str(), self.reason)
    }
}

impl std::error::Error for EngineError {}
