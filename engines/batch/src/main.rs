//! `sim-adapter-batch describe` and `sim-adapter-batch run JOB.json OUT_DIR`.

fn main() -> std::process::ExitCode {
    sim_engine_harness::main_with(&sim_adapter_batch::BatchAdapter)
}
