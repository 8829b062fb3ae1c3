//! What an adapter answers: one result for one job.

use crate::calibration::{BufferUse, CalibrationReport};
use crate::capture::CaptureReport;
use crate::check::{FieldError, FieldErrors, non_finite_fields};
use crate::device::{Combine, ProfileReport};
use crate::job::{Mode, SettingValue};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The outcome of a job and everything known about how it came about.
///
/// What an engine does not have is absent, never zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct JobResult {
    /// Protocol version, [`crate::PROTOCOL`].
    pub protocol: u32,
    /// Which engine ran.
    pub engine: EngineId,
    /// Which of its backends ran.
    pub backend: String,
    /// Floating-point precision of the state.
    pub precision: Precision,
    /// What the run was for.
    pub mode: Mode,
    /// How it ended.
    pub outcome: Outcome,
    /// What was simulated; absent where the scene could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scene: Option<SceneFacts>,
    /// Worlds that were stepped.
    pub worlds: u32,
    /// Steps of each world in the rollout that were completed.
    pub steps: u64,
    /// Steps of each world in the warm-up that were completed.
    pub warmup_steps: u64,
    /// Worker threads asked for.
    pub threads: u32,
    /// Seed of the scene.
    pub seed: u64,
    /// Where the time went.
    pub phases: Phases,
    /// Measured seconds × 1000 / steps, covering all worlds, ms. Timed runs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms_per_step: Option<f64>,
    /// Steps × worlds / measured seconds, 1/s; bodies do not count. Timed runs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world_steps_per_second: Option<f64>,
    /// The exact effective settings of the engine, read back from it where it lets us.
    pub settings: BTreeMap<String, SettingValue>,
    /// What became of the scene in the engine's own terms.
    pub translation: Translation,
    /// What the engine counted.
    pub counters: Counters,
    /// The physical checks, over all worlds.
    pub gates: Vec<GateResult>,
    /// How far the final state is from what is known without an engine; empty where the scene
    /// names no reference. No gate: a large error is a finding, not a failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accuracy: Vec<Accuracy>,
    /// BLAKE3 in hex over the final poses of all worlds: for each world, for each dynamic body in
    /// scene order, position x, y, z and orientation w, x, y, z as little-endian binary64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_state_digest: Option<String>,
    /// The same over the poses of world 0 alone, which is what a capture holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world0_state_digest: Option<String>,
    /// What the memory sampler saw. Memory runs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryReport>,
    /// Memory on a graphics device. Memory runs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_memory: Option<GpuMemory>,
    /// What was captured. Capture runs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<CaptureReport>,
    /// Device timestamps, or why there are none. Profile runs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileReport>,
    /// The buffer sizes that the scene asks for. Calibration runs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<CalibrationReport>,
}

/// Name and version of an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EngineId {
    /// Name, such as `mujoco`.
    pub name: String,
    /// Version the engine reports of itself.
    pub version: String,
}

/// Floating-point precision of an engine's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// binary32.
    Single,
    /// binary64.
    Double,
}

impl Precision {
    /// Distance from one to the next number, dimensionless.
    pub fn epsilon(self) -> f64 {
        match self {
            Precision::Single => f64::from(f32::EPSILON),
            Precision::Double => f64::EPSILON,
        }
    }
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// In one word.
    pub status: Status,
    /// Why; present for every status but `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How a job ended, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It ran and every gate passed.
    Ok,
    /// It ran and a gate failed.
    GateFailed,
    /// The engine or this build cannot do it.
    Unsupported,
    /// It could, but a limit or a missing calibration forbids it.
    Refused,
    /// The engine could not allocate what this size needs.
    OutOfMemory,
    /// Something broke.
    Error,
}

impl Status {
    /// As written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::GateFailed => "gate_failed",
            Status::Unsupported => "unsupported",
            Status::Refused => "refused",
            Status::OutOfMemory => "out_of_memory",
            Status::Error => "error",
        }
    }
}

/// What was simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SceneFacts {
    /// Name in the scene file.
    pub name: String,
    /// BLAKE3 in hex of the scene file's bytes.
    pub digest: String,
    /// Bodies that move.
    pub dynamic_bodies: u64,
    /// Bodies that do not.
    pub static_bodies: u64,
    /// Hinges.
    pub hinges: u64,
    /// Step length, s.
    pub timestep: f64,
}

/// Wall-clock time of each phase, monotonic, ns. A phase that was not reached is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Reading and checking the scene.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_ns: Option<u64>,
    /// Building (and compiling) the engine's worlds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_ns: Option<u64>,
    /// Warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_ns: Option<u64>,
    /// Back to the start state, solver buffers included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_ns: Option<u64>,
    /// The measured interval: the sample. Timed runs only; no other mode's time is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_ns: Option<u64>,
    /// Reading the final state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readback_ns: Option<u64>,
}

/// What became of a scene in an engine's own terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Translation {
    /// Taken exactly.
    pub exact: Vec<String>,
    /// Taken approximately.
    pub approximated: Vec<Approximation>,
    /// Left out.
    pub dropped: Vec<String>,
}

/// Something taken approximately.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Approximation {
    /// What.
    pub what: String,
    /// How.
    pub how: String,
}

/// What an engine counted, summed over all worlds. What it does not count is absent, not zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// Contact points in the final state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contacts: Option<u64>,
    /// Constraint rows in the final state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraints: Option<u64>,
    /// Solver iterations of the final step, the largest over islands and worlds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solver_iterations: Option<u64>,
    /// Contacts or constraints dropped for want of room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflow: Option<u64>,
    /// Buffers of fixed size, by name: what the final step asked of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub buffers: BTreeMap<String, BufferUse>,
    /// Times the engine reset its own state (after divergence).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets: Option<u64>,
    /// Warnings of the engine since the reset, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub warnings: BTreeMap<String, u64>,
    /// Dynamic bodies the engine says are awake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awake_bodies: Option<u64>,
    /// Dynamic bodies the engine simulates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_bodies: Option<u64>,
    /// Material points the engine has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub particles: Option<u64>,
    /// Material points the engine says are active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_particles: Option<u64>,
    /// Largest relative error of the mass that the engine has for a single material point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub particle_mass_error: Option<f64>,
}

/// One physical check: `value operator limit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GateResult {
    /// Name, such as `floor_penetration`.
    pub id: String,
    /// What was measured, in plain words.
    pub metric: String,
    /// How value and limit are compared.
    pub operator: GateOperator,
    /// The threshold.
    pub limit: f64,
    /// The worst value found.
    pub value: f64,
    /// Unit of value and limit.
    pub unit: String,
    /// Whether it holds.
    pub passed: bool,
}

/// The error of one quantity against a closed form or a conserved value, the largest over all
/// bodies of all worlds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Accuracy {
    /// Name, such as `pendulum_angle`.
    pub id: String,
    /// What was compared with what, in plain words.
    pub quantity: String,
    /// The error, not negative.
    pub error: f64,
    /// Its unit; `1` for a relative error.
    pub unit: String,
    /// Simulated time of the final state, s.
    pub time_s: f64,
}

/// How a gate compares its value with its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum GateOperator {
    /// value <= limit.
    #[serde(rename = "<=")]
    AtMost,
    /// value >= limit.
    #[serde(rename = ">=")]
    AtLeast,
    /// value == limit.
    #[serde(rename = "==")]
    Equal,
}

impl GateOperator {
    /// Whether `value operator limit` holds.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            GateOperator::AtMost => value <= limit,
            GateOperator::AtLeast => value >= limit,
            GateOperator::Equal => value == limit,
        }
    }
}

/// What the memory sampler saw. Absolute footprints of this process; children are not counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MemoryReport {
    /// One entry a metric.
    pub metrics: Vec<MemoryMetric>,
    /// The five synchronized snapshots, in order.
    pub snapshots: Vec<MemorySnapshot>,
    /// Samples the sampling thread took.
    pub sample_count: u64,
    /// Interval it aimed at, ms.
    pub target_interval_ms: u32,
    /// Whether host and device share one memory; then metrics overlap even more.
    pub unified_memory: bool,
    /// Steps of each world in the rollout when collection stopped.
    pub completed_steps: u64,
}

/// One memory metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MemoryMetric {
    /// `ram`, `gpu` or `footprint`.
    pub name: String,
    /// Counter behind current values.
    pub current_counter: String,
    /// Counter behind the peak.
    pub peak_counter: String,
    /// How it is read.
    pub method: String,
    /// What it covers.
    pub scope: String,
    /// Always `bytes`.
    pub unit: String,
    /// Peak, bytes; absent where the counter could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// Largest of the sampled current values, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled_peak_bytes: Option<u64>,
    /// Successful readings of the current value.
    pub samples: u64,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// Memory at the boundary of two phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MemorySnapshot {
    /// Which boundary.
    pub phase: SnapshotPhase,
    /// Current resident memory, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram_bytes: Option<u64>,
    /// Peak resident memory so far, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram_peak_bytes: Option<u64>,
}

/// The five boundaries at which memory is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SnapshotPhase {
    /// The scene is read, no engine world exists.
    BeforeSetup,
    /// All worlds exist.
    AfterSetup,
    /// The warm-up is done.
    AfterWarmup,
    /// Back at the start state.
    AfterReset,
    /// The rollout is done, nothing was read back.
    AfterRollout,
}

/// Memory on a graphics device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "status", deny_unknown_fields)]
pub enum GpuMemory {
    /// The backend uses no such device.
    NotApplicable,
    /// It could not be read.
    Unavailable {
        /// Why.
        reason: String,
    },
    /// A lower bound on the true peak: the largest sample.
    Sampled {
        /// Largest sample, bytes.
        peak_bytes: u64,
        /// Number of samples.
        samples: u64,
        /// The counter.
        counter: String,
    },
}

impl JobResult {
    /// Pretty JSON with a final newline, or the fields that are not finite.
    pub fn to_json(&self) -> Result<String, Vec<FieldError>> {
        non_finite_fields(self)?;
        let text = serde_json::to_string_pretty(self).map_err(|e| {
            vec![FieldError { path: String::new(), value: String::new(), problem: e.to_string() }]
        })?;
        Ok(text + "\n")
    }

    /// What contradicts itself in a result, for readers that trust no adapter: derived numbers
    /// that do not follow from the sample, a sample outside a timed run, an `ok` with a failed
    /// gate, a failure without a reason.
    pub fn contradictions(&self) -> Result<(), Vec<FieldError>> {
        FieldErrors::of(|e| {
            if let Err(list) = non_finite_fields(self) {
                list.into_iter().for_each(|p| e.add(p.path, p.value, p.problem));
            }
            if self.protocol != crate::PROTOCOL {
                e.add("protocol", self.protocol, "unknown version");
            }
            for (i, a) in self.accuracy.iter().enumerate().filter(|(_, a)| a.error < 0.0) {
                e.add(format!("accuracy[{i}].error"), a.error, "an error is not negative");
            }
            let ok = self.outcome.status == Status::Ok;
            let timed = self.mode == Mode::Timed;
            if !timed && self.phases.measured_ns.is_some() {
                e.add("phases.measured_ns", self.mode.as_str(), "only a timed run has a sample");
            }
            if timed && ok && self.phases.measured_ns.is_none() {
                e.add("phases.measured_ns", "absent", "a timed run that is ok has a sample");
            }
            self.profile_contradictions(e);
            self.buffer_contradictions(e);
            if ok && self.simulated() && self.final_state_digest.is_none() {
                e.add("final_state_digest", "absent", "a run that is ok has a final state");
            }
            if let (1, Some(all), Some(first)) =
                (self.worlds, &self.final_state_digest, &self.world0_state_digest)
                && all != first
            {
                e.add("world0_state_digest", first, "is not that of the only world");
            }
            let seconds = self.phases.measured_ns.map(|ns| ns as f64 * 1.0e-9);
            let derived = |value: Option<f64>, expected: Option<f64>| match (value, expected) {
                (Some(v), Some(x)) => (v - x).abs() <= 1.0e-9 * x.abs(),
                (v, x) => v.is_none() && x.is_none(),
            };
            let (steps, worlds) = (self.steps as f64, f64::from(self.worlds));
            if !derived(self.ms_per_step, seconds.map(|s| s * 1000.0 / steps)) {
                let value = format!("{:?}", self.ms_per_step);
                e.add("ms_per_step", value, "is not measured_ns / 1e6 / steps");
            }
            if !derived(self.world_steps_per_second, seconds.map(|s| steps * worlds / s)) {
                let value = format!("{:?}", self.world_steps_per_second);
                e.add("world_steps_per_second", value, "is not steps × worlds / measured time");
            }
            for (i, g) in self.gates.iter().enumerate() {
                if g.passed != g.operator.holds(g.value, g.limit) {
                    e.add(format!("gates[{i}].passed"), g.passed, "contradicts value and limit");
                }
                if ok && !g.passed {
                    e.add(format!("gates[{i}].passed"), g.passed, "the outcome says ok");
                }
            }
            if self.outcome.status == Status::GateFailed && self.gates.iter().all(|g| g.passed) {
                e.add("outcome.status", "gate_failed", "no gate failed");
            }
            if ok == self.outcome.reason.is_some() {
                e.add("outcome.reason", format!("{:?}", self.outcome.reason), "ok has no reason");
            }
            let warmup = matches!(self.mode, Mode::Timed | Mode::Memory | Mode::Profile);
            if ok && warmup && self.simulated() && self.warmup_steps < self.steps {
                e.add("warmup_steps", self.warmup_steps, "the warm-up is shorter than the rollout");
            }
        })
    }

    /// Whether physics ran: a profile replay of a backend without a device clock says so and ends.
    fn simulated(&self) -> bool {
        let profiled = matches!(self.profile, Some(ProfileReport::Timestamps(_)));
        self.mode != Mode::Calibrate && (self.mode != Mode::Profile || profiled)
    }

    /// Peaks stand in a calibration alone; what found no room is counted as overflow, and a run in which
    /// anything did is not ok (P043).
    fn buffer_contradictions(&self, e: &mut FieldErrors) {
        let ok = self.outcome.status == Status::Ok;
        let calibrate = self.mode == Mode::Calibrate;
        match &self.calibration {
            Some(_) if !calibrate => {
                e.add("calibration", self.mode.as_str(), "only a calibration has peaks");
            }
            None if calibrate && ok => {
                e.add("calibration", "absent", "a calibration that is ok has peaks");
            }
            Some(found) if ok && (found.peaks.is_empty() || found.steps != self.steps) => {
                let steps = self.steps;
                e.add("calibration.steps", found.steps, format!("{steps} steps of some buffer"));
            }
            _ => {}
        }
        let lost: u64 = self.counters.buffers.values().map(|b| b.overflow()).sum();
        let said = self.counters.overflow.unwrap_or(0);
        if said < lost {
            e.add("counters.overflow", said, format!("buffers lack room for {lost}"));
        }
        let full = self.capture.as_ref().and_then(|c| c.capacities.as_ref()?.overflow());
        if ok && (lost > 0 || full.is_some()) {
            let value = full.unwrap_or_else(|| format!("{lost} entries without room"));
            e.add("counters.buffers", value, "the outcome says ok");
        }
    }

    /// A device time stands in a profile replay alone, and follows from its own sums.
    fn profile_contradictions(&self, e: &mut FieldErrors) {
        let ok = self.outcome.status == Status::Ok;
        let profile = self.mode == Mode::Profile;
        match &self.profile {
            Some(report) if !profile => {
                e.add("profile", report.capability(), "only a profile run has device timestamps");
            }
            None if profile && ok => {
                e.add("profile", "absent", "a profile run that is ok says what it found");
            }
            Some(ProfileReport::Timestamps(time)) => {
                let total = match (time.combine, time.union_ns) {
                    (Combine::Union, Some(union)) => Some(union),
                    (Combine::Union, None) => None,
                    (Combine::Sum, _) => Some(time.sum_ns),
                };
                let expected = total.map(|ns| ns as f64 * 1e-6 / time.steps as f64);
                let follows =
                    expected.is_some_and(|x| x > 0.0 && (time.ms_per_step - x).abs() <= 1.0e-9 * x);
                if !follows {
                    let problem = "is not the device time over the steps";
                    e.add("profile.ms_per_step", time.ms_per_step, problem);
                }
                if time.steps != self.steps {
                    e.add("profile.steps", time.steps, format!("{} were run", self.steps));
                }
                if self.backend == "cpu" {
                    e.add("profile.capability", "timestamps", "a processor has no device clock");
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "result_tests.rs"]
mod tests;
