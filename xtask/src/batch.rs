//! What the batch engine's tests take beside a compiler: NVRTC, which compiles its CUDA kernels without a GPU,
//! and a Python of its own, in which its package is built and tested.

use crate::adapters::Adapter;
use crate::{fetch, shell};
use anyhow::{Context as _, Result};
use std::path::PathBuf;
use std::process::Command;

const NVRTC: &str = "nvidia-cuda-nvrtc";
const NVRTC_VERSION: &str = "13.5.37";
const NVRTC_WHEEL: &str =
    "nvidia_cuda_nvrtc-13.5.37-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl";
const NVRTC_SHA256: &str = "86b4d68058807988b7d9af5b44917a0601e9c337f35ccd657bfb3c759ff8d8bc";
const NVRTC_FOLDER: &str = "nvidia/cu13/lib";
/// The only Python for which `requirements.txt` has wheels.
const PYTHON: (u32, u32) = (3, 11);

/// The folder with NVRTC, fetched by its hash.
fn nvrtc() -> Result<PathBuf> {
    let folder = shell::target_dir()?.join("adapters/nvrtc").join(&NVRTC_SHA256[..16]);
    if !folder.is_dir() {
        let parent = folder.parent().context("a folder below the target folder")?;
        std::fs::create_dir_all(parent)?;
        let scratch = fetch::Scratch::new(parent)?;
        let wheel = fetch::unpacked(&scratch.0, [NVRTC, NVRTC_VERSION, NVRTC_WHEEL], NVRTC_SHA256)?;
        std::fs::rename(wheel.join(NVRTC_FOLDER), &folder)
            .with_context(|| format!("{NVRTC_FOLDER} of {NVRTC_WHEEL}"))?;
    }
    Ok(folder)
}

/// The tests that `cargo test` in its workspace leaves out: counted steps, CUDA with NVRTC, and Python.
pub(crate) fn test(adapter: &Adapter) -> Result<()> {
    let some = |package: &str, name: &str, more: &[&str]| {
        let head = ["test", "--locked", "-p", package, "--test", name];
        adapter.cargo(&[&head[..], more].concat())
    };
    shell::run(&mut some("sim-batch", "roofline", &["--features", "roofline"])?)?;
    let mut cuda = some("sim-batch-cuda", "compile", &["--", "--nocapture"])?;
    let library = adapter.library()?.context("the engine's pin has a library")?;
    let paths = std::env::join_paths([nvrtc()?, library])?;
    // With this the test does not content itself with saying that there is no NVRTC.
    shell::run(cuda.env("LD_LIBRARY_PATH", paths).env("SIM_BATCH_NVRTC", "1"))?;
    python(adapter)
}

fn python(adapter: &Adapter) -> Result<()> {
    let version = shell::output(Command::new("python3").arg("--version"))?;
    let due = format!("Python {}.{}.", PYTHON.0, PYTHON.1);
    if !version.starts_with(&due) {
        let found = version.trim();
        shell::say(&format!(
            "note: {found}: the Python package is built and tested with {due}x only"
        ));
        return Ok(());
    }
    let dir = adapter.dir.join("python");
    let wanted = std::fs::read_to_string(dir.join("requirements.txt"))?;
    let home = shell::target_dir()?.join("adapters/batch-python");
    let stamp = home.join("requirements.txt");
    let program = |name: &str| Command::new(home.join("bin").join(name));
    if std::fs::read_to_string(&stamp).ok().as_ref() != Some(&wanted) {
        let _ = std::fs::remove_dir_all(&home);
        shell::run(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
        let mut pip = program("python");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"])
            .args(["--only-binary=:all:", "--require-hashes", "-r"])
            .arg(dir.join("requirements.txt"));
        shell::run(&mut pip)?;
        std::fs::write(&stamp, &wanted)?;
    }
    let wheels = home.join("wheels");
    let _ = std::fs::remove_dir_all(&wheels);
    let mut maturin = program("maturin");
    maturin.args(["build", "--quiet", "--release", "--locked", "--out"]).arg(&wheels);
    // Cargo's settings for the adapter: MuJoCo's folders.
    for (name, value) in adapter.cargo(&["build"])?.get_envs() {
        if let Some(value) = value {
            maturin.env(name, value);
        }
    }
    let target = adapter.target()?.join("python");
    shell::run(maturin.current_dir(&dir).env("CARGO_TARGET_DIR", target))?;
    let wheel = std::fs::read_dir(&wheels)?.next().context("maturin made no wheel")??.path();
    let mut pip = program("python");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"])
        .args(["--force-reinstall", "--no-index"])
        .arg(&wheel);
    shell::run(&mut pip)?;
    let mut pytest = program("python");
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(dir.join("tests"));
    shell::run(pytest.current_dir(&home))
}
