//! The binary finds libmujoco beside itself. Tests and examples lie elsewhere: run them with
//! `LD_LIBRARY_PATH="$MUJOCO_DYNAMIC_LINK_DIR"`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bins=-Wl,-rpath,$ORIGIN");
}
