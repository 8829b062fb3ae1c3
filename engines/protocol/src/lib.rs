//! What sim-pipe and an engine adapter say to each other: scene, job, result and description.
//!
//! Everything is JSON in SI units, Z up, quaternions as `[w, x, y, z]`. Unknown fields are
//! errors, absent is not zero, and no document holds `null`, NaN or infinity.

mod calibration;
pub mod capture;
mod check;
mod description;
mod device;
mod job;
mod mpm;
mod result;
mod robot;
mod scene;
#[cfg(feature = "schema")]
mod schema;

pub use calibration::{
    BufferUse, CAPACITY_SAMPLES_FILE, CAPACITY_SAMPLES_FORMAT, Calibrated, CalibratedSize,
    CalibrationReport, CapacityReport, CapacitySamples,
};
pub use capture::{CaptureReport, StateComparison};
pub use check::{FieldError, FieldErrors, non_finite_fields};
pub use description::{Capabilities, Description, Limits, Repeatability};
pub use device::{
    ActivityKind, Combine, DEVICE_SAMPLES_FILE, DEVICE_SAMPLES_FORMAT, DeviceEvent, DeviceLabel,
    DeviceSamples, DeviceTime, LabelTotal, ProfileReport, QueryBuffer,
};
pub use job::{Gates, Job, Mode, ROBOT_SECONDS, SettingValue};
pub use mpm::{COURANT_LIMIT, MASS_TOLERANCE, MPM_FORMAT, Material, Mpm, even_cube};
pub use result::{
    Accuracy, Approximation, Counters, EngineId, GateOperator, GateResult, GpuMemory, JobResult,
    MemoryMetric, MemoryReport, MemorySnapshot, Outcome, Phases, Precision, SceneFacts,
    SnapshotPhase, Status, Translation,
};
pub use robot::{Link, LinkShape, Robot, RobotSource};
pub use scene::{
    Body, BodyKind, Hinge, Mover, Pose, ROBOT_FORMAT, Reference, SCENE_FORMAT, Scene, Shape,
    Velocity,
};
#[cfg(feature = "schema")]
pub use schema::schemas;

/// Version of the job, result and description documents.
pub const PROTOCOL: u32 = 1;
