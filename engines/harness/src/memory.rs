//! The memory sampler: a thread that reads the kernel's counters while the simulation runs.

use crate::gpu_memory::{GpuCounter, GpuReader};
use sim_engine_protocol::{GpuMemory, MemoryMetric, MemoryReport, MemorySnapshot, SnapshotPhase};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Current and peak resident memory of this process, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Resident now, shared pages included.
    pub current: u64,
    /// Most that was resident since the process was launched.
    pub peak: u64,
}

/// Reads VmRSS and VmHWM, KiB, as bytes. The only allocation is the text of an error.
#[cfg(target_os = "linux")]
pub fn read() -> Result<Reading, String> {
    use std::io::Read;
    let mut buffer = [0_u8; 8192];
    let mut file = std::fs::File::open("/proc/self/status").map_err(|e| e.to_string())?;
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]).map_err(|e| e.to_string())? {
            0 => break,
            n => filled += n,
        }
    }
    parse(&buffer[..filled])
}

/// No counter is known for this system yet.
#[cfg(not(target_os = "linux"))]
pub fn read() -> Result<Reading, String> {
    Err("no memory counter is implemented for this operating system".into())
}

#[cfg(any(target_os = "linux", test))]
fn parse(status: &[u8]) -> Result<Reading, String> {
    let text = std::str::from_utf8(status).map_err(|e| e.to_string())?;
    let field = |name: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
        let line = line.ok_or_else(|| format!("/proc/self/status has no {name}"))?;
        let number = line.trim().strip_suffix("kB").unwrap_or_default().trim();
        let kib: u64 = number.parse().map_err(|_| format!("{name} is {line:?}"))?;
        kib.checked_mul(1024).ok_or_else(|| format!("{name} is {line:?}"))
    };
    Ok(Reading { current: field("VmRSS")?, peak: field("VmHWM")? })
}

/// What the sampling thread collected.
#[derive(Default)]
struct Samples {
    taken: u64,
    readings: u64,
    largest: Option<u64>,
    /// The largest peak read. The kernel keeps its peak from counters that it adds up only
    /// roughly, so a later reading can be lower than an earlier one.
    peak: Option<u64>,
    error: Option<String>,
    gpu: GpuSamples,
}

/// What was collected of the counter of a graphics device.
#[derive(Default)]
struct GpuSamples {
    readings: u64,
    largest: Option<u64>,
    error: Option<String>,
}

impl GpuSamples {
    /// Before a process has a context on the device, the device does not know it, which is no failure; once
    /// it was known, it is.
    fn take(&mut self, read: Option<&GpuReader>) {
        match read.map(|read| read()) {
            None => {}
            Some(Ok(Some(bytes))) => {
                self.readings += 1;
                self.largest = self.largest.max(Some(bytes));
            }
            Some(Ok(None)) if self.largest.is_none() => {}
            Some(Ok(None)) => {
                self.error = Some("the device does not list this process any more".into());
            }
            Some(Err(e)) => self.error = Some(e),
        }
    }

    /// A lower bound on the peak, or why there is none.
    fn report(self, counter: GpuCounter) -> GpuMemory {
        let counter = match counter {
            GpuCounter::NotApplicable => return GpuMemory::NotApplicable,
            GpuCounter::Unavailable(reason) => return GpuMemory::Unavailable { reason },
            GpuCounter::Counter(_, name) => name.to_owned(),
        };
        match (self.error, self.largest) {
            (None, Some(peak_bytes)) => {
                GpuMemory::Sampled { peak_bytes, samples: self.readings, counter }
            }
            (Some(reason), _) => GpuMemory::Unavailable { reason },
            // Numbers of processes are those outside; in a namespace of its own a process has another.
            (None, None) => GpuMemory::Unavailable {
                reason: format!(
                    "no device lists process {}: it used none, or runs in a PID namespace, where it \
                     has another number than outside",
                    std::process::id()
                ),
            },
        }
    }
}

/// A running sampler.
pub(crate) struct Sampler {
    read: Reader,
    stop: Sender<()>,
    thread: JoinHandle<Samples>,
    interval_ms: u32,
    snapshots: Vec<MemorySnapshot>,
    peak: Option<u64>,
    error: Option<String>,
    gpu: GpuCounter,
}

/// What reads the counters; `read`, but where a test breaks it.
pub(crate) type Reader = fn() -> Result<Reading, String>;

impl Sampler {
    /// Starts the thread; it aims at one sample of `read`, and of a device's counter, every `interval_ms`.
    pub(crate) fn start(interval_ms: u32, read: Reader, gpu: GpuCounter) -> Result<Self, String> {
        let device = match &gpu {
            GpuCounter::Counter(read, _) => Some(read.clone()),
            GpuCounter::NotApplicable | GpuCounter::Unavailable(_) => None,
        };
        let (stop, stopped) = channel::<()>();
        let interval = Duration::from_millis(interval_ms.into());
        let sample = move || {
            let mut samples = Samples::default();
            let mut next = Instant::now();
            loop {
                samples.taken += 1;
                match read() {
                    Ok(r) => {
                        samples.readings += 1;
                        samples.largest = samples.largest.max(Some(r.current));
                        samples.peak = samples.peak.max(Some(r.peak));
                    }
                    Err(e) => samples.error = Some(e),
                }
                samples.gpu.take(device.as_ref());
                // A missed tick is skipped, not made up for.
                next += interval;
                let now = Instant::now();
                if next < now {
                    next = now;
                }
                if stopped.recv_timeout(next - now) != Err(TIMEOUT) {
                    return samples;
                }
            }
        };
        let thread = std::thread::Builder::new().name("memory".into()).spawn(sample);
        let thread = thread.map_err(|e| format!("no sampling thread: {e}"))?;
        let snapshots = Vec::with_capacity(5);
        Ok(Sampler { read, stop, thread, interval_ms, snapshots, peak: None, error: None, gpu })
    }

    /// Reads the counters at a boundary between two phases.
    pub(crate) fn snapshot(&mut self, phase: SnapshotPhase) {
        let reading = (self.read)();
        let value = reading.as_ref().ok();
        self.snapshots.push(MemorySnapshot {
            phase,
            ram_bytes: value.map(|r| r.current),
            ram_peak_bytes: value.map(|r| r.peak),
        });
        match reading {
            Ok(r) => self.peak = self.peak.max(Some(r.peak)),
            Err(e) => self.error = Some(e),
        }
    }

    /// Stops the thread and reports. A counter that once could not be read makes its metric
    /// unavailable; nothing is made up.
    pub(crate) fn finish(self, completed_steps: u64) -> (MemoryReport, GpuMemory) {
        drop(self.stop);
        let samples = self.thread.join().unwrap_or_else(|_| Samples {
            error: Some("the sampling thread failed".into()),
            ..Samples::default()
        });
        let unavailable = self.error.or(samples.error);
        let known = unavailable.is_none();
        let peak = self.peak.max(samples.peak);
        let ram = MemoryMetric {
            name: "ram".into(),
            current_counter: "VmRSS".into(),
            peak_counter: "VmHWM".into(),
            method: "/proc/self/status, KiB to bytes".into(),
            scope: "resident memory of this process from its launch, shared pages included, child \
                    processes not"
                .into(),
            unit: "bytes".into(),
            peak_bytes: peak.filter(|_| known),
            sampled_peak_bytes: samples.largest.filter(|_| known),
            samples: samples.readings,
            unavailable,
        };
        let report = MemoryReport {
            metrics: vec![ram],
            snapshots: self.snapshots,
            sample_count: samples.taken,
            target_interval_ms: self.interval_ms,
            unified_memory: false,
            completed_steps,
        };
        (report, samples.gpu.report(self.gpu))
    }
}

const TIMEOUT: std::sync::mpsc::RecvTimeoutError = std::sync::mpsc::RecvTimeoutError::Timeout;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kibibytes_become_bytes() {
        let text = b"Name:\tx\nVmPeak:\t 99 kB\nVmHWM:\t    2048 kB\nVmRSS:\t1024 kB\n";
        assert_eq!(parse(text), Ok(Reading { current: 1 << 20, peak: 2 << 20 }));
        assert!(parse(b"VmHWM:\t1 kB\n").unwrap_err().contains("VmRSS"));
        assert!(parse(b"VmHWM:\t1 MB\nVmRSS:\t1 kB\n").unwrap_err().contains("VmHWM"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_sampler_sees_an_allocation() {
        let mut sampler = Sampler::start(1, read, GpuCounter::NotApplicable).unwrap();
        sampler.snapshot(SnapshotPhase::BeforeSetup);
        let block = vec![1_u8; 64 << 20];
        std::thread::sleep(Duration::from_millis(50));
        sampler.snapshot(SnapshotPhase::AfterSetup);
        assert_eq!(block[1 << 20], 1);
        let (report, gpu) = sampler.finish(5);
        assert_eq!(gpu, GpuMemory::NotApplicable);
        let [before, after] = report.snapshots[..] else { panic!("two snapshots") };
        let grown = after.ram_bytes.unwrap().saturating_sub(before.ram_bytes.unwrap());
        assert!(grown >= 60 << 20, "{grown}");
        assert!(report.sample_count >= 5, "{}", report.sample_count);
        let ram = &report.metrics[0];
        assert!(ram.peak_bytes >= after.ram_bytes && ram.unavailable.is_none());
        assert!(ram.sampled_peak_bytes <= ram.peak_bytes);
        assert_eq!(report.completed_steps, 5);
    }

    /// P111, P114: the largest sample of a device; a process that it never knew, forgot, or refuses to tell of
    /// is no zero.
    #[cfg(target_os = "linux")]
    #[test]
    fn samples_of_a_device_are_a_lower_bound_or_a_reason() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let ends = |answers: &'static [Result<Option<u64>, &'static str>]| {
            let at = AtomicUsize::new(0);
            let read: GpuReader = std::sync::Arc::new(move || {
                let i = at.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1);
                answers[i].map_err(str::to_owned)
            });
            let sampler = Sampler::start(1, super::read, GpuCounter::Counter(read, "c")).unwrap();
            std::thread::sleep(Duration::from_millis(30));
            sampler.finish(1).1
        };
        let sampled = ends(&[Ok(None), Ok(Some(5)), Ok(Some(9)), Ok(Some(3))]);
        let GpuMemory::Sampled { peak_bytes: 9, samples: 3.., counter } = sampled else {
            panic!("{sampled:?}")
        };
        assert_eq!(counter, "c");
        let reason = |found| match found {
            GpuMemory::Unavailable { reason } => reason,
            other => panic!("{other:?}"),
        };
        assert!(reason(ends(&[Ok(None)])).contains("no device lists process"));
        assert!(reason(ends(&[Ok(Some(5)), Ok(None)])).contains("any more"));
        assert_eq!(
            reason(ends(&[Ok(Some(5)), Err("no permission"), Ok(Some(5))])),
            "no permission"
        );
    }
}
