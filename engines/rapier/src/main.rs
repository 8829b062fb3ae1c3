//! `sim-adapter-rapier describe` and `sim-adapter-rapier run JOB.json OUT_DIR`.

fn main() -> std::process::ExitCode {
    sim_engine_harness::main_with(&sim_adapter_rapier::Rapier)
}
