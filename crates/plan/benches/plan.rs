//! The first hot path: parse, check and expand a pipeline. `cargo bench -p sim-plan --bench plan`.

mod graphs;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use graphs::{layered, matrix};
use sim_plan::{Command, MachineFacts, MemFiles, Options, Registry, plan};
use std::hint::black_box;

fn planning(c: &mut Criterion) {
    let kinds = Registry::new(vec![Box::new(Command)]);
    let machine = MachineFacts { cpus: 2, ram: 8 << 30 };
    let mut group = c.benchmark_group("plan");
    group.sample_size(20);
    for (name, make) in [("stages", layered as fn(usize) -> String), ("cells", matrix)] {
        for count in [1_000, 10_000] {
            let files = MemFiles::new().with("p.toml", make(count)).with("source.txt", "x");
            group.throughput(Throughput::Elements(count as u64));
            group.bench_function(BenchmarkId::new(name, count), |b| {
                b.iter_with_large_drop(|| {
                    let outcome =
                        plan(black_box(&files), "p.toml", &kinds, machine, &Options::default());
                    assert_eq!(outcome.plan.as_ref().map(|p| p.actions.len()), Some(count));
                    outcome
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, planning);
criterion_main!(benches);
