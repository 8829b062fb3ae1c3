//! Computes the fingerprint of this kind's sources.

fn main() {
    sim_fingerprint::emit(&[]);
}
