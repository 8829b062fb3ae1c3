//! Hands the locked version of nexus3d to the adapter: the crate itself does not say it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=Cargo.lock");
    let lock = std::fs::read_to_string("Cargo.lock").expect("Cargo.lock");
    let at = lock.find("name = \"nexus3d\"\n").expect("nexus3d is in Cargo.lock");
    let version = lock[at..].split('"').nth(3).expect("a version");
    println!("cargo:rustc-env=NEXUS3D_VERSION={version}");
}
