//! Device timestamps of a `profile` replay: what a profiler gave, step by step, and what is made of it.
//!
//! An engine writes [`DeviceSamples`] as `device-samples.json` beside its result; the result holds
//! [`DeviceTime`], which anyone can compute again from the file. Methods differ in what they see, so the
//! method and its scope are part of the numbers: those of two methods are never compared (P090).

use crate::FieldError;
use crate::check::FieldErrors;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of [`DeviceSamples`].
pub const DEVICE_SAMPLES_FORMAT: u32 = 1;
/// Name of the file in the output folder.
pub const DEVICE_SAMPLES_FILE: &str = "device-samples.json";

/// What a profile replay found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "capability")]
pub enum ProfileReport {
    /// The backend has no device with a clock of its own. Nothing was simulated.
    None {
        /// Why, for people.
        reason: String,
    },
    /// There is a device, and its timestamps cannot be had here; never zero, never wall time (P091).
    Unavailable {
        /// Why: no right to profile, only host events, an adapter without timestamp queries.
        reason: String,
    },
    /// The device's own timestamps of the rollout.
    Timestamps(DeviceTime),
}

impl ProfileReport {
    /// `none`, `unavailable` or `timestamps`.
    pub fn capability(&self) -> &'static str {
        match self {
            Self::None { .. } => "none",
            Self::Unavailable { .. } => "unavailable",
            Self::Timestamps(_) => "timestamps",
        }
    }
}

/// How the durations of a rollout become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// All durations added; overlapping work counts as often as it overlaps.
    Sum,
    /// The time in which at least one activity ran; overlapping work counts once.
    Union,
}

/// What an activity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ActivityKind {
    /// A kernel.
    Kernel,
    /// A pass of a compute pipeline.
    Pass,
    /// Something built into the runtime.
    Builtin,
    /// A copy.
    Copy,
    /// Memory that is set.
    Memset,
}

/// What events of one name are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeviceLabel {
    /// Name, as the profiler gives it.
    pub name: String,
    /// What it is.
    pub kind: ActivityKind,
}

/// One activity of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeviceEvent {
    /// Index into [`DeviceSamples::labels`].
    pub label: u32,
    /// Stream or queue.
    pub stream: u32,
    /// Start on the device's clock, ns from any fixed moment; absent where only durations are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ns: Option<u64>,
    /// Duration, ns.
    pub duration_ns: u64,
}

/// The buffer that timestamps were queried into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QueryBuffer {
    /// Pairs of timestamps that it takes, as chosen for this device.
    pub capacity_pairs: u64,
    /// The most that were used between two readings.
    pub used_pairs: u64,
    /// Steps between two readings.
    pub steps_per_reading: u64,
}

/// Everything that a profiler gave of one rollout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeviceSamples {
    /// [`DEVICE_SAMPLES_FORMAT`].
    pub format: u32,
    /// The device, as its driver names it.
    pub device: String,
    /// How the timestamps were had, such as `CUDA events`.
    pub method: String,
    /// What they cover, such as `all kernels, copies and memsets of the process on device 0`.
    pub scope: String,
    /// How durations become one.
    pub combine: Combine,
    /// Names of events.
    pub labels: Vec<DeviceLabel>,
    /// Events of each step of the rollout, every step exactly once, in order.
    pub steps: Vec<Vec<DeviceEvent>>,
    /// The buffer of a method that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<QueryBuffer>,
}

/// Events of one name, over the rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LabelTotal {
    /// What they are.
    pub kind: ActivityKind,
    /// How many.
    pub events: u64,
    /// Their durations added, ns.
    pub total_ns: u64,
}

/// The device time of one rollout. It describes the instrumented replay: profiling changes how work is
/// scheduled, so it may exceed the wall time of the timed trial, and is never subtracted from it (P087).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeviceTime {
    /// File in the output folder with every event, [`DEVICE_SAMPLES_FILE`].
    pub file: String,
    /// As in the file.
    pub device: String,
    /// As in the file.
    pub method: String,
    /// As in the file.
    pub scope: String,
    /// As in the file.
    pub combine: Combine,
    /// Steps of the rollout.
    pub steps: u64,
    /// Events in all.
    pub events: u64,
    /// All durations added, ns.
    pub sum_ns: u64,
    /// Time in which at least one event ran, ns; absent where events have no start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub union_ns: Option<u64>,
    /// What overlaps: `sum_ns - union_ns`; absent with `union_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_ns: Option<u64>,
    /// Sum or union, as `combine` says, over steps: ms of device time a step, over all worlds.
    pub ms_per_step: f64,
    /// By name.
    pub labels: BTreeMap<String, LabelTotal>,
    /// As in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<QueryBuffer>,
}

impl DeviceSamples {
    /// The device time, or everything that keeps these samples from being one: a step that was not
    /// collected, one without events, a buffer that may have overflown, no time at all (P083, P084).
    pub fn time(&self, steps: u64) -> Result<DeviceTime, Vec<FieldError>> {
        let mut e = FieldErrors::default();
        if self.format != DEVICE_SAMPLES_FORMAT {
            e.add("format", self.format, format!("this knows format {DEVICE_SAMPLES_FORMAT}"));
        }
        for (name, text) in
            [("device", &self.device), ("method", &self.method), ("scope", &self.scope)]
        {
            if text.trim().is_empty() {
                e.add(name, text, "must say something");
            }
        }
        if self.steps.len() as u64 != steps {
            e.add("steps", self.steps.len(), format!("the rollout has {steps} steps"));
        }
        if let Some(b) = self.buffer.filter(|b| b.used_pairs >= b.capacity_pairs) {
            let problem = format!("a buffer of {} pairs may have overflown", b.capacity_pairs);
            e.add("buffer.used_pairs", b.used_pairs, problem);
        }
        let mut labels: BTreeMap<String, LabelTotal> = BTreeMap::new();
        let (mut sum, mut events, mut intervals) = (0_u64, 0_u64, Vec::new());
        let mut without_start = false;
        for (i, step) in self.steps.iter().enumerate() {
            if step.is_empty() {
                e.add(format!("steps[{i}]"), "empty", "no event was collected");
            }
            for (j, event) in step.iter().enumerate() {
                let at = format!("steps[{i}][{j}]");
                events += 1;
                without_start |= event.start_ns.is_none();
                let Some(label) = self.labels.get(event.label as usize) else {
                    e.add(format!("{at}.label"), event.label, "is no label");
                    continue;
                };
                let end = event.start_ns.unwrap_or(0).checked_add(event.duration_ns);
                let total = sum.checked_add(event.duration_ns);
                let (Some(end), Some(total)) = (end, total) else {
                    e.add(format!("{at}.duration_ns"), event.duration_ns, "is beyond all time");
                    continue;
                };
                sum = total;
                intervals.extend(event.start_ns.map(|start| (start, end)));
                let none = LabelTotal { kind: label.kind, events: 0, total_ns: 0 };
                let entry = labels.entry(label.name.clone()).or_insert(none);
                entry.events += 1;
                entry.total_ns += event.duration_ns;
            }
        }
        let union = (!without_start && events > 0).then(|| union(intervals));
        let total = match (self.combine, union) {
            (Combine::Sum, _) => sum,
            (Combine::Union, Some(union)) => union,
            (Combine::Union, None) => {
                e.add("combine", "union", "an event has no start");
                0
            }
        };
        if total == 0 {
            e.add("steps", "no time", "what took no time was not measured");
        }
        e.finish()?;
        Ok(DeviceTime {
            file: DEVICE_SAMPLES_FILE.to_owned(),
            device: self.device.clone(),
            method: self.method.clone(),
            scope: self.scope.clone(),
            combine: self.combine,
            steps,
            events,
            sum_ns: sum,
            union_ns: union,
            overlap_ns: union.map(|u| sum - u),
            // One division, so that round numbers stay round.
            ms_per_step: total as f64 / (1e6 * steps as f64),
            labels,
            buffer: self.buffer,
        })
    }
}

/// Length of what at least one interval covers, ns.
fn union(mut intervals: Vec<(u64, u64)>) -> u64 {
    intervals.sort_unstable();
    let mut covered = 0;
    let mut until = 0;
    for (start, end) in intervals {
        covered += end.max(until) - start.max(until).min(end.max(until));
        until = end.max(until);
    }
    covered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(label: u32, stream: u32, start: u64, duration: u64) -> DeviceEvent {
        DeviceEvent { label, stream, start_ns: Some(start), duration_ns: duration }
    }

    /// Two steps: a kernel of 3 µs over which a copy of 1 µs lies, then both apart.
    fn samples(combine: Combine) -> DeviceSamples {
        let label = |name: &str, kind| DeviceLabel { name: name.into(), kind };
        DeviceSamples {
            format: 1,
            device: "test".into(),
            method: "events".into(),
            scope: "all kernels and copies".into(),
            combine,
            labels: vec![label("solve", ActivityKind::Kernel), label("copy", ActivityKind::Copy)],
            steps: vec![
                vec![event(0, 0, 0, 3000), event(1, 1, 500, 1000)],
                vec![event(0, 0, 10_000, 3000), event(1, 1, 12_500, 1000)],
            ],
            buffer: Some(QueryBuffer { capacity_pairs: 2048, used_pairs: 4, steps_per_reading: 8 }),
        }
    }

    /// P089: overlapping work counts once in a union and twice in a sum.
    #[test]
    fn overlaps_count_once_in_a_union() {
        let time = samples(Combine::Union).time(2).expect("sound");
        assert_eq!((time.sum_ns, time.union_ns, time.overlap_ns), (8000, Some(6500), Some(1500)));
        assert!((time.ms_per_step - 0.003_25).abs() < 1e-15, "{}", time.ms_per_step);
        let time = samples(Combine::Sum).time(2).expect("sound");
        assert!((time.ms_per_step - 0.004).abs() < 1e-15, "{}", time.ms_per_step);
        let solve = &time.labels["solve"];
        assert_eq!((solve.events, solve.total_ns), (2, 6000));
    }

    #[test]
    fn a_union_is_what_a_raster_of_nanoseconds_says() {
        // A small generator of fixed numbers, against counting every nanosecond.
        let mut x = 7_u64;
        for _ in 0..200 {
            let mut next = |most: u64| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (x >> 33) % most
            };
            let intervals: Vec<(u64, u64)> = (0..next(8) + 1)
                .map(|_| {
                    let start = next(60);
                    (start, start + next(20))
                })
                .collect();
            let covered = |ns: &u64| intervals.iter().any(|(a, b)| (*a..*b).contains(ns));
            let counted = (0..100).filter(covered).count() as u64;
            assert_eq!(union(intervals.clone()), counted, "{intervals:?}");
        }
    }

    /// P083, P084: what a profiler lost or may have lost is no sample.
    #[test]
    fn incomplete_samples_are_refused() {
        let problem = |change: &dyn Fn(&mut DeviceSamples)| {
            let mut s = samples(Combine::Union);
            change(&mut s);
            s.time(2).expect_err("refused").iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(problem(&|s| drop(s.steps.pop())), ["steps = 1: the rollout has 2 steps"]);
        assert_eq!(problem(&|s| s.steps[1].clear()), ["steps[1] = empty: no event was collected"]);
        assert_eq!(
            problem(&|s| s.buffer = s.buffer.map(|b| QueryBuffer { used_pairs: 2048, ..b })),
            ["buffer.used_pairs = 2048: a buffer of 2048 pairs may have overflown"]
        );
        assert_eq!(
            problem(&|s| s.steps[0][0].start_ns = None),
            [
                "combine = union: an event has no start",
                "steps = no time: what took no time was not measured"
            ]
        );
        assert_eq!(problem(&|s| s.steps[0][0].label = 9), ["steps[0][0].label = 9: is no label"]);
        let still = |s: &mut DeviceSamples| {
            s.steps.iter_mut().flatten().for_each(|e| e.duration_ns = 0);
        };
        assert_eq!(problem(&still), ["steps = no time: what took no time was not measured"]);
        let long = |s: &mut DeviceSamples| s.steps[0][0].duration_ns = u64::MAX;
        assert_eq!(problem(&long)[0], "steps[0][1].duration_ns = 1000: is beyond all time");
    }

    /// Durations alone make a sum, and say nothing of overlaps.
    #[test]
    fn a_sum_needs_no_starts() {
        let mut s = samples(Combine::Sum);
        s.steps.iter_mut().flatten().for_each(|e| e.start_ns = None);
        let time = s.time(2).expect("sound");
        assert_eq!((time.sum_ns, time.union_ns, time.overlap_ns), (8000, None, None));
    }

    #[test]
    fn absent_is_written_as_absent() {
        let none = ProfileReport::None { reason: "a processor".into() };
        let text = serde_json::to_string(&none).expect("JSON");
        assert_eq!(text, r#"{"capability":"none","reason":"a processor"}"#);
        let time = samples(Combine::Union).time(2).expect("sound");
        let report = ProfileReport::Timestamps(time);
        let text = serde_json::to_string(&report).expect("JSON");
        assert!(text.starts_with(r#"{"capability":"timestamps","file":"#), "{text}");
        assert_eq!(serde_json::from_str::<ProfileReport>(&text).expect("reads"), report);
    }
}
