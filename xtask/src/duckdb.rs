//! The DuckDB library, which `sim-pipe query` opens when it is asked something.
//!
//! Where it is taken from, in order: the folder in `DUCKDB_LIB_DIR`, what pkg-config or the system's
//! linker knows, and the pinned npm package of DuckDB's own Node bindings, which holds the plain
//! library. The last one is linked beside each program that is built here, since that is where
//! sim-pipe looks (`crates/catalog/src/duck/api.rs`).

use crate::{fetch, shell};
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = "1.5.6-r.1";
const FILE: &str = "libduckdb.so";

/// Architecture, package, and its integrity as the registry states it.
const PACKAGES: [(&str, &str, &str); 2] = [
    (
        "x86_64",
        "@duckdb/node-bindings-linux-x64",
        "sha512-IXcrZJE6kEqM0Z4wwdVnGBHX/frOS33VPNAwDXQ/Q+Fs84b058Qe94chrCCIcNJlG8Y3UHIUU4eBeCQxW5mN1Q==",
    ),
    (
        "aarch64",
        "@duckdb/node-bindings-linux-arm64",
        "sha512-3jnUaDil1BrF/6vAZwVaInJ1xoBaWGHB4PDiUnzJWKCo8a8TLx9j7/gPyPl/UGRBftrYIuTihRZSfF4mWMgtWA==",
    ),
];

/// Finds or fetches the library and links it beside the programs, where that is needed.
pub(crate) fn bootstrap() -> Result<()> {
    if let Some(dir) = std::env::var_os("DUCKDB_LIB_DIR") {
        let file = Path::new(&dir).join(FILE);
        if !file.is_file() {
            bail!("DUCKDB_LIB_DIR is set, but there is no {}", file.display());
        }
        return Ok(());
    }
    let target = shell::target_dir()?;
    let fetched = target.join("duckdb").join(VERSION).join(FILE);
    let library = match pkg_config() {
        Some(file) => Some(file),
        None if fetched.is_file() => None,
        None if known_to_the_loader() => return Ok(()),
        None => {
            download(&target.join("duckdb"), &fetched)?;
            None
        }
    };
    for place in ["release", "debug", "debug/deps"] {
        let up = "../".repeat(1 + place.matches('/').count());
        let to = PathBuf::from(format!("{up}duckdb/{VERSION}/{FILE}"));
        shell::link(library.as_deref().unwrap_or(&to), &target.join(place).join(FILE))?;
    }
    Ok(())
}

/// The library that pkg-config names.
fn pkg_config() -> Option<PathBuf> {
    let mut command = Command::new("pkg-config");
    let output = command.args(["--variable=libdir", "duckdb"]).output().ok()?;
    let file = Path::new(String::from_utf8_lossy(&output.stdout).trim()).join(FILE);
    (output.status.success() && file.is_file()).then_some(file)
}

/// Whether the dynamic loader finds one by itself.
fn known_to_the_loader() -> bool {
    ["ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"]
        .iter()
        .find_map(|p| Command::new(p).arg("-p").output().ok())
        .is_some_and(|o| {
            let text = String::from_utf8_lossy(&o.stdout);
            text.lines().any(|l| l.trim_start().starts_with("libduckdb.so "))
        })
}

fn download(cache: &Path, library: &Path) -> Result<()> {
    let arch = std::env::consts::ARCH;
    let Some((_, package, integrity)) = PACKAGES.iter().find(|(a, ..)| *a == arch) else {
        bail!("there is no pinned libduckdb for {arch}");
    };
    if shell::find("npm").is_none() {
        bail!("npm, which fetches libduckdb, is not installed");
    }
    std::fs::create_dir_all(cache).with_context(|| cache.display().to_string())?;
    let scratch = fetch::Scratch::new(cache)?;
    let archive = fetch::npm(&scratch.0, package, VERSION)?;
    fetch::check(&archive, integrity)?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(&archive).arg("-C").arg(&scratch.0);
    shell::output(tar.args(["package/libduckdb.so", "package/LICENSE"]))?;
    let folder = library.parent().context("a file has a folder")?;
    std::fs::create_dir_all(folder)?;
    for file in ["LICENSE", "libduckdb.so"] {
        std::fs::rename(scratch.0.join("package").join(file), folder.join(file))?;
    }
    Ok(())
}

/// As [`bootstrap`]; a failure is one line, since only `query` needs the library.
pub(crate) fn bootstrap_or_say() {
    if let Err(e) = bootstrap() {
        let why = format!("{e:#}").replace('\n', " ");
        shell::say(&format!(
            "note: no libduckdb ({why}); all but `sim-pipe query` works without it. \
             DUCKDB_LIB_DIR names a folder that has one."
        ));
    }
}
