//! Compiles the C part against the headers of the library it is linked with. `MUJOCO_INCLUDE` is the
//! folder that holds `mujoco/`, `MUJOCO_LIB` the one with `libmujoco.so`.

fn main() {
    println!("cargo:rerun-if-changed=src/shim.c");
    let folder = |name: &str| {
        println!("cargo:rerun-if-env-changed={name}");
        std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
    };
    cc::Build::new().file("src/shim.c").include(folder("MUJOCO_INCLUDE")).compile("shim");
    println!("cargo:rustc-link-search=native={}", folder("MUJOCO_LIB"));
    println!("cargo:rustc-link-lib=dylib=mujoco");
}
