//! The whole program from outside: one binary, one module a behaviour. Everything here runs the real
//! `sim-pipe`; see `harness.rs` for how.
#![expect(clippy::print_stderr, reason = "what is skipped must be seen")]

mod behaviour;
mod cache;
mod calibrate;
mod commands;
mod containment;
mod corpus;
mod cross_checks;
mod disk_full;
mod engines;
mod escapes;
mod explain;
mod fake;
mod harness;
mod hidden_inputs;
mod history;
mod kills;
mod limits;
mod material;
mod messages;
mod method;
mod misbehaviour;
mod naming;
mod pipeline_errors;
mod power_loss;
mod profile;
mod provenance;
mod python_engines;
mod random_kills;
mod render;
mod repeats;
mod resume;
mod robots;
mod sandbox;
mod scale;
mod settled;
mod snake;
mod sources;
mod store_faults;
mod tampering;
mod texts;
mod together;
mod trees;
mod vehicle;
mod vehicle_batch;

/// A file that no `mod` names is a test that never runs.
#[test]
fn no_file_is_forgotten() {
    let main = include_str!("main.rs");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    for entry in std::fs::read_dir(folder).expect("read tests/it") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|n| n.to_str()).expect("a name");
        assert!(
            name == "main" || main.contains(&format!("\nmod {name};")),
            "{} is not part of the tests: add `mod {name};` to main.rs",
            path.display()
        );
    }
}
