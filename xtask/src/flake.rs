//! `cargo xtask flake`: evaluates flake.nix and builds its package with a stand-in for nixpkgs.

use crate::shell;
use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::process::{Command, ExitCode};

const CONFIG: &str = "experimental-features = nix-command flakes
build-users-group =
sandbox = false
substituters =
flake-registry =
warn-dirty = false";

/// `cargo xtask flake`.
pub(crate) fn task() -> Result<ExitCode> {
    check()?;
    Ok(ExitCode::SUCCESS)
}

/// Evaluates and builds.
pub(crate) fn check() -> Result<()> {
    if shell::find("nix").is_none() {
        bail!("nix is not installed (Debian: nix-bin)");
    }
    let dir = shell::target_dir()?.join("flake");
    let source = dir.join("source");
    let stub = dir.join("nixpkgs");
    copy_sources(&source)?;
    std::fs::create_dir_all(&stub)?;
    std::fs::copy(shell::root().join("xtask/nix-stub/flake.nix"), stub.join("flake.nix"))?;
    let flake = format!("path:{}", source.display());
    let nixpkgs = format!("path:{}", stub.display());
    let home = std::env::var("HOME").context("HOME")?;
    let variable = |name: &str, below: &str| {
        std::env::var(name).unwrap_or_else(|_| Path::new(&home).join(below).display().to_string())
    };
    let nix = |args: &[&str]| {
        let mut nix = Command::new("nix");
        nix.args(args)
            .args(["--impure", "--no-write-lock-file", "--override-input", "nixpkgs", &nixpkgs])
            .env("NIX_CONFIG", CONFIG)
            .env("NIX_REMOTE", "local")
            .env("SIM_PIPE_STUB_PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("SIM_PIPE_STUB_CARGO_HOME", variable("CARGO_HOME", ".cargo"))
            .env("SIM_PIPE_STUB_RUSTUP_HOME", variable("RUSTUP_HOME", ".rustup"))
            .env("SIM_PIPE_STUB_TARGET", dir.join("target"));
        nix
    };
    shell::run(&mut nix(&["flake", "show", &flake]))?;
    let result = dir.join("result");
    let package = format!("{flake}#default");
    let link = result.display().to_string();
    shell::run(&mut nix(&["build", &package, "-L", "--out-link", &link]))?;
    let version = shell::output(Command::new(result.join("bin/sim-pipe")).arg("--version"))?;
    shell::say(&format!("flake: built {}", version.trim()));
    Ok(())
}

/// What git knows or would know: a flake by path takes all that lies in its folder.
fn copy_sources(to: &Path) -> Result<()> {
    let _ = std::fs::remove_dir_all(to);
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    for name in shell::output(git.current_dir(shell::root()))?.split_terminator('\0') {
        let from = shell::root().join(name);
        if from.is_file() {
            let to = to.join(name);
            std::fs::create_dir_all(to.parent().context("a file has a folder")?)?;
            std::fs::copy(&from, &to).with_context(|| from.display().to_string())?;
        }
    }
    Ok(())
}
