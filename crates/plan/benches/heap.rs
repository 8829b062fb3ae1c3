//! What planning keeps on the heap, and how it grows up to 100,000 actions.
//!
//! `cargo bench -p sim-plan --bench heap` prints one line a size: milliseconds (best of several),
//! the growth against the size before, and bytes of heap in the plan and at the peak.

mod graphs;

use graphs::{layered, matrix};
use sim_plan::{Command, MachineFacts, MemFiles, Options, Registry, plan};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::Relaxed};
use std::time::Instant;

struct Counting;
/// Counting costs time, so a run is either timed or counted.
static COUNT: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; only numbers are kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNT.load(Relaxed) {
            let size = layout.size().cast_signed();
            PEAK.fetch_max(LIVE.fetch_add(size, Relaxed) + size, Relaxed);
        }
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if COUNT.load(Relaxed) {
            LIVE.fetch_sub(layout.size().cast_signed(), Relaxed);
        }
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    let kinds = Registry::new(vec![Box::new(Command)]);
    let machine = MachineFacts { cpus: 2, ram: 8 << 30 };
    for (name, make) in [("stages", layered as fn(usize) -> String), ("cells", matrix)] {
        let mut before = None;
        for count in [1_000, 10_000, 100_000] {
            let text = make(count);
            let bytes = text.len();
            let files = MemFiles::new().with("p.toml", text).with("source.txt", "x");
            let mut best = f64::MAX;
            let (mut kept, mut peak) = (0, 0);
            for run in 0..if count > 50_000 { 4 } else { 11 } {
                COUNT.store(run == 0, Relaxed);
                let base = LIVE.load(Relaxed);
                PEAK.store(base, Relaxed);
                let start = Instant::now();
                let outcome = plan(&files, "p.toml", &kinds, machine, &Options::default());
                let seconds = start.elapsed().as_secs_f64();
                let plan = outcome.plan.unwrap();
                drop((outcome.sources, outcome.diagnostics));
                assert_eq!(plan.actions.len(), count);
                if run == 0 {
                    (kept, peak) = (LIVE.load(Relaxed) - base, PEAK.load(Relaxed) - base);
                } else {
                    best = best.min(seconds);
                }
            }
            let growth = before.map_or(String::new(), |b: f64| format!(", {:.1} times", best / b));
            before = Some(best);
            #[expect(clippy::print_stdout, reason = "a benchmark's result")]
            {
                println!(
                    "{count:>7} {name:<6} {:>8.1} kB: {:>8.2} ms{growth}; plan {:.1} MB, peak {:.1} MB",
                    bytes as f64 / 1e3,
                    best * 1e3,
                    kept as f64 / 1e6,
                    peak as f64 / 1e6
                );
            }
        }
    }
}
