//! Finds the scenarios: every folder here that holds a `scene.toml` and a `generate.rs`.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    println!("cargo:rerun-if-changed={root}");
    let mut names: Vec<String> = fs::read_dir(&root)
        .expect("the scenes folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| Path::new(&root).join(name).join("scene.toml").is_file())
        .collect();
    names.sort();
    let mut modules = String::new();
    let mut entries = String::new();
    for name in &names {
        let good = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        assert!(good, "scenario folder {name:?}: use a-z, 0-9 and _");
        let code = format!("{root}/{name}/generate.rs");
        let text = format!("{root}/{name}/scene.toml");
        writeln!(modules, "#[path = {code:?}]\nmod {name};").unwrap();
        writeln!(entries, "    ({name:?}, include_str!({text:?}), {name}::generate),").unwrap();
    }
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let source =
        format!("{modules}\nconst FOLDERS: &[(&str, &str, crate::Generate)] = &[\n{entries}];\n");
    fs::write(Path::new(&out).join("folders.rs"), source).expect("writing folders.rs");
}
