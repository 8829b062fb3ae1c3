//! Computes the fingerprint of the report's source closure, its templates included.

fn main() {
    sim_fingerprint::emit(&["../../templates"]);
}
