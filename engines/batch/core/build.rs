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
    let (narrow, wide) = ("-march=x86-64-v3", ["-march=x86-64-v4", "-mprefer-vector-width=512"]);
    let mut widths = vec![("one", "1", None, vec![])];
    if x86 {
        widths[0].3.push(narrow);
        widths.push(("eight", "8", None, vec![narrow]));
        widths.push(("sixteen", "16", None, wide.to_vec()));
    }
    if x86 && std::env::var_os("CARGO_FEATURE_ROOFLINE").is_some() {
        // Kernels that count their operations, and those that read the clock at every phase.
        widths.push(("one_counted", "1", Some("1"), vec![narrow]));
        widths.push(("sixteen_counted", "16", Some("1"), wide.to_vec()));
        widths.push(("sixteen_timed", "16", Some("2"), wide.to_vec()));
    }
    // Side by side: each is one large source.
    std::thread::scope(|all| {
        for (tag, lanes, roofline, flags) in widths {
            all.spawn(move || kernels(tag, lanes, roofline, &flags));
        }
    });
}

fn kernels(tag: &str, lanes: &str, roofline: Option<&str>, flags: &[&str]) {
    let mut b = cc::Build::new();
    b.cpp(true).std("c++17").opt_level(3).file("kernels/cpu.cpp");
    b.define("TAG", tag).define("LANES", lanes);
    if let Some(what) = roofline {
        b.define("ROOFLINE", what);
    }
    // Only written fused multiply-adds are fused: the widths agree to the last bit.
    let strict = ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-exceptions"];
    for f in flags.iter().chain(&strict).chain(&["-fno-rtti", "-Wno-psabi"]) {
        b.flag(*f);
    }
    b.warnings(false).cpp_link_stdlib(None);
    // One object name for all of them: each has a folder of its own.
    let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join(tag);
    b.out_dir(out).compile(&format!("batch_{tag}"));
}
