//! Computes the fingerprint of the report's source closure, its templates included, and collects
//! what the engines' folders say of their names and their order in tables.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    let dir = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let engines = Path::new(&dir).join("../../engines");
    println!("cargo:rerun-if-changed={}", engines.display());
    let mut list = Vec::new();
    let mut extra = vec!["../../templates".to_owned()];
    for entry in fs::read_dir(&engines).expect("the engines' folder is there") {
        let path = entry.expect("it can be listed").path().join("engine.toml");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let table: toml::Table = text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let field = |name: &str| table.get("engine").and_then(|e| e.get(name));
        let word = |name: &str| field(name).and_then(|v| v.as_str()).map(str::to_owned);
        let order = field("order").and_then(toml::Value::as_integer).unwrap_or(i64::MAX);
        if let Some(name) = word("name") {
            let title = word("title").unwrap_or_else(|| name.clone());
            list.push((order, name, title));
            let folder = path.parent().and_then(|p| p.file_name()).expect("it has a folder");
            extra.push(format!("../../engines/{}/engine.toml", folder.to_string_lossy()));
        }
    }
    list.sort();
    extra.sort();
    let mut out = String::from("&[\n");
    for (order, name, title) in list {
        writeln!(out, "    ({name:?}, {title:?}, {order}),").expect("a String takes it");
    }
    out.push_str("]\n");
    let target = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("engines.rs");
    fs::write(target, out).expect("the build folder can be written");
    let extra: Vec<&str> = extra.iter().map(String::as_str).collect();
    sim_fingerprint::emit(&extra);
}
