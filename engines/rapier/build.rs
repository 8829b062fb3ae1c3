//! Hands the locked version of rapier3d to the adapter: the crate itself does not say it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=Cargo.lock");
    let lock = std::fs::read_to_string("Cargo.lock").expect("Cargo.lock");
    let at = lock.find("name = \"rapier3d\"\n").expect("rapier3d is in Cargo.lock");
    let version = lock[at..].split('"').nth(3).expect("a version");
    println!("cargo:rustc-env=RAPIER3D_VERSION={version}");
}
