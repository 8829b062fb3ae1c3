//! Computes the fingerprint of this kind's sources, and collects the order of the engines, from
//! which their colours follow.

use std::path::Path;
use std::{env, fs};

fn main() {
    let dir = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let engines = Path::new(&dir).join("../../engines");
    println!("cargo:rerun-if-changed={}", engines.display());
    let mut list = Vec::new();
    for entry in fs::read_dir(&engines).expect("the engines' folder is there") {
        let path = entry.expect("it can be listed").path().join("engine.toml");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let table: toml::Table = text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let field = |name: &str| table.get("engine").and_then(|e| e.get(name));
        let order = field("order").and_then(toml::Value::as_integer).unwrap_or(i64::MAX);
        let Some(name) = field("name").and_then(|v| v.as_str()).map(str::to_owned) else {
            continue;
        };
        list.push((order, name));
    }
    list.sort();
    let names: Vec<String> = list.into_iter().map(|(_, name)| name).collect();
    let target = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("engines.rs");
    fs::write(&target, format!("&{names:?}\n")).expect("the build folder can be written");
    // The order alone: another version of an engine changes no colour.
    sim_fingerprint::emit(&[target.to_str().expect("the build folder's name is text")]);
}
