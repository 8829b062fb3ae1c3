//! `sim-adapter-rapier-serial`: the same adapter, built without Rapier's feature `parallel`. It runs
//! robots, for `sim-adapter-rapier`, which hands them over.

fn main() -> std::process::ExitCode {
    sim_engine_harness::main_with(&sim_adapter_rapier::Rapier)
}
