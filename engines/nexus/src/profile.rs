//! Device timestamps: every step once, in batches of eight query managers (P083).

use crate::device::{Device, broken};
use khal::backend::{Backend, GpuTimestamp, GpuTimestamps};
use nexus3d::prelude::{NexusPipeline, NexusState};
use sim_engine_harness::{EngineError, Profiled};
use sim_engine_protocol::{
    ActivityKind, Combine, DEVICE_SAMPLES_FORMAT, DeviceEvent, DeviceLabel, DeviceSamples,
    QueryBuffer,
};
use std::time::{Duration, Instant};

/// Managers of a batch.
const BATCH: u64 = 8;
/// Passes that a manager has room for. A step has some thirty, and more with many colours; what finds no
/// room is dropped without a word, so one that is full is rejected.
const PASSES: u32 = 1024;
/// How long a batch may take to arrive once the device is done.
const PATIENCE: Duration = Duration::from_secs(10);

/// Steps with timestamps.
pub(crate) fn profile(
    device: &Device,
    pipeline: &mut NexusPipeline,
    state: &mut NexusState,
    steps: u64,
) -> Result<Profiled, EngineError> {
    let backend = &device.backend;
    let mut managers: Vec<GpuTimestamps> =
        (0..BATCH).map(|_| GpuTimestamps::new(backend, PASSES)).collect();
    if managers.iter().any(|m| !m.is_enabled()) {
        for _ in 0..steps {
            pollster::block_on(pipeline.simulate(backend, state, None))
                .map_err(broken("a step"))?;
        }
        return Ok(Profiled::Unavailable(format!("{} has no timestamp queries", device.name)));
    }
    let mut samples = Samples::default();
    let mut left = steps;
    while left > 0 {
        let batch = &mut managers[..left.min(BATCH) as usize];
        for manager in batch.iter_mut() {
            manager.reset();
            pollster::block_on(pipeline.simulate(backend, state, Some(manager)))
                .map_err(broken("a step with timestamps"))?;
        }
        backend.synchronize().map_err(broken("waiting for the device"))?;
        for manager in batch.iter_mut() {
            samples.step(&take(device, manager)?)?;
        }
        left -= batch.len() as u64;
    }
    Ok(Profiled::Samples(Box::new(DeviceSamples {
        format: DEVICE_SAMPLES_FORMAT,
        device: device.name.clone(),
        method: format!("Khal timestamp queries ({})", device.driver),
        scope: "every compute pass of a step; no copies, nothing of the host".into(),
        combine: Combine::Sum,
        labels: samples.labels,
        steps: samples.steps,
        buffer: Some(QueryBuffer {
            capacity_pairs: PASSES.into(),
            used_pairs: samples.most,
            steps_per_reading: 1,
        }),
    })))
}

/// The passes of one step.
fn take(device: &Device, manager: &mut GpuTimestamps) -> Result<Vec<GpuTimestamp>, EngineError> {
    let clock = Instant::now();
    loop {
        if let Some(passes) = manager.try_take(&device.backend) {
            return Ok(passes);
        }
        if clock.elapsed() > PATIENCE {
            return Err(EngineError::failed("timestamps of a step that is done never arrived"));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[derive(Default)]
struct Samples {
    labels: Vec<DeviceLabel>,
    steps: Vec<Vec<DeviceEvent>>,
    /// Largest number of passes of a step.
    most: u64,
}

impl Samples {
    fn step(&mut self, passes: &[GpuTimestamp]) -> Result<(), EngineError> {
        let mut events = Vec::with_capacity(passes.len());
        for pass in passes {
            let duration = pass.duration_ms * 1.0e6;
            if !(duration.is_finite() && duration >= 0.0) {
                let reason = format!("pass {} took {} ms", pass.label, pass.duration_ms);
                return Err(EngineError::failed(reason));
            }
            let known = self.labels.iter().position(|l| l.name == pass.label);
            let label = known.unwrap_or_else(|| {
                let name = pass.label.clone();
                self.labels.push(DeviceLabel { name, kind: ActivityKind::Pass });
                self.labels.len() - 1
            });
            events.push(DeviceEvent {
                label: label as u32,
                // Nexus has one queue, and gives durations alone.
                stream: 0,
                start_ns: None,
                duration_ns: duration.round() as u64,
            });
        }
        self.most = self.most.max(passes.len() as u64);
        self.steps.push(events);
        Ok(())
    }
}
