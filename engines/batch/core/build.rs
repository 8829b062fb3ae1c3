//! Compiles the kernels, once for each vector width, and the C part that reads MuJoCo's structures.
//!
//! `MUJOCO_INCLUDE` is the folder that holds `mujoco/`, `MUJOCO_LIB` the one with `libmujoco.so`.

fn main() {
    println!("cargo:rerun-if-changed=kernels");
    println!("cargo:rerun-if-changed=src/shim.c");
    let folder = |name: &str| {
        println!("cargo:rerun-if-env-changed={name}");
        std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
    };
    cc::Build::new()
        .file("src/shim.c")
        .include(folder("MUJOCO_INCLUDE"))
        .std("c11")
        .compile("batch_shim");
    println!("cargo:rustc-link-search=native={}", folder("MUJOCO_LIB"));
    println!("cargo:rustc-link-lib=dylib=mujoco");

    let x86 = std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|a| a == "x86_64");
    // No -march=native: the objects are the same on every machine and one is picked when the program runs.
    let mut widths = vec![("one", "1", vec![])];
    if x86 {
        widths[0].2.push("-march=x86-64-v3");
        widths.push(("eight", "8", vec!["-march=x86-64-v3"]));
        widths.push(("sixteen", "16", vec!["-march=x86-64-v4", "-mprefer-vector-width=512"]));
    }
    for (tag, lanes, flags) in widths {
        let mut b = cc::Build::new();
        b.cpp(true).std("c++17").opt_level(3).file("kernels/cpu.cpp");
        b.define("TAG", tag).define("LANES", lanes);
        // Only written fused multiply-adds are fused: the widths agree to the last bit.
        let strict =
            ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-exceptions"];
        for f in flags.into_iter().chain(strict).chain(["-fno-rtti", "-Wno-psabi"]) {
            b.flag(f);
        }
        b.warnings(false).cpp_link_stdlib(None);
        b.compile(&format!("batch_{tag}"));
    }
}
