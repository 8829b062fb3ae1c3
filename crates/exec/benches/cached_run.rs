//! The second hot path: a run that finds everything recorded. `cargo bench -p sim-exec`.
//!
//! Layered graphs of tiny commands with fan-in 3. Their stores lie below the target folder and are
//! filled once, by running everything: some minutes the first time, and again after a change that
//! gives other keys. Sources are known by stat and outputs are not read, as in daily use; `verified`
//! hashes every output again.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use sim_exec::{Cancel, Level, Observer, Options, SandboxPolicy};
use sim_model::event::Event;
use sim_plan::{Command, MachineFacts, OsFiles, Registry};
use sim_store::Store;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

struct Nobody;

impl Observer for Nobody {
    fn event(&mut self, _run: &str, _index: Option<usize>, _event: &Event) {}
}

const WIDTH: usize = 50;

fn pipeline(count: usize) -> String {
    let mut text = String::from("[pipeline]\nname = \"bench\"\n");
    for i in 0..count {
        let (layer, place) = (i / WIDTH, i % WIDTH);
        let (words, lines) = if layer == 0 {
            ("in/a".to_owned(), "inputs.a = \"source.txt\"\n".to_owned())
        } else {
            let (mut words, mut lines) = (String::new(), String::new());
            for (d, name) in ["a", "b", "c"].iter().enumerate() {
                let from = (layer - 1) * WIDTH + (place + d) % WIDTH;
                let _ = write!(words, " in/{name}/o");
                let _ = writeln!(lines, "inputs.{name} = \"s{from}\"");
            }
            (words, lines)
        };
        let _ = write!(
            text,
            "\n[[stage]]\nname = \"s{i}\"\nkind = \"command\"\noutputs = [\"o\"]\n\
             run = [\"sh\", \"-c\", \"(echo {i}; cat {words}) | cksum > out/o\"]\n{lines}"
        );
    }
    text
}

/// A project below the target folder, which keeps its store from one benchmark to the next.
fn project(count: usize) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cached_run-{count}"));
    std::fs::create_dir_all(&root).expect("a folder");
    for (name, text) in [("source.txt", "x\n".to_owned()), ("p.toml", pipeline(count))] {
        let path = root.join(name);
        // A file that is written anew is hashed anew.
        if std::fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            std::fs::write(path, text).expect("written");
        }
    }
    root
}

fn options(root: &Path) -> Options {
    Options {
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        sandbox: SandboxPolicy::Exactly(Level::None),
        remeasure: false,
        retry_failed: false,
        keep_going: true,
        verify: false,
        exe: std::env::current_exe().expect("this program"),
        path_var: "/usr/local/bin:/usr/bin:/bin".to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        pipeline_file: "p.toml".to_owned(),
        lock_folder: root.to_path_buf(),
        only: None,
        retry_known: false,
        resume: None,
        ahead: None,
        question: None,
    }
}

fn cached(c: &mut Criterion) {
    let machine = sim_exec::detect_machine();
    let facts = MachineFacts { cpus: machine.cpus, ram: machine.ram_bytes };
    let kinds = Registry::new(vec![Box::new(Command)]);
    let mut group = c.benchmark_group("cached_run");
    group.sample_size(10).measurement_time(Duration::from_secs(8));
    for count in [1_000, 10_000] {
        let root = project(count);
        let files = OsFiles::new(&root);
        let outcome =
            sim_plan::plan(&files, "p.toml", &kinds, facts, &sim_plan::Options::default());
        let plan = outcome.plan.expect("a pipeline without mistakes");
        let store = Store::open(&root.join(".sim-pipe")).expect("a store");
        let cancel = Cancel::new().expect("an eventfd");
        let run = |verify: bool| {
            let options = Options { verify, ..options(&root) };
            let machine = machine.clone();
            sim_exec::run(&store, &plan, &root, machine, &options, &cancel, &mut Nobody)
                .expect("a run")
        };
        // Fills the store, or finds it full; a source is trusted by stat once it has been left alone.
        run(false);
        std::thread::sleep(Duration::from_millis(2_100));
        let full = run(false);
        assert_eq!((full.ran, full.reused), (0, count as u64));

        group.throughput(Throughput::Elements(count as u64));
        for (name, verify) in [("nothing_to_do", false), ("verified", true)] {
            group.bench_function(BenchmarkId::new(name, count), |b| b.iter(|| run(verify)));
        }
    }
    group.finish();
}

criterion_group!(benches, cached);
/// As `sim-pipe` does, this program starts itself to start processes.
fn main() {
    if std::env::args().nth(1).as_deref() == Some("starter") {
        return sim_exec::serve_starter().expect("requests");
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
