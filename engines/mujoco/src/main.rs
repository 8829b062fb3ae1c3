//! `sim-adapter-mujoco describe` and `sim-adapter-mujoco run JOB.json OUT_DIR`.

fn main() -> std::process::ExitCode {
    sim_engine_harness::main_with(&sim_adapter_mujoco::Mujoco)
}
