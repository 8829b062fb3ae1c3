//! The versions of a crate, out of the sparse index of crates.io.

use crate::file::command;
use fs_err as fs;
use serde::Deserialize;
use sim_stage_sdk::{IoContext, StageError};

const INDEX: &str = "https://index.crates.io";

/// A line of the index.
#[derive(Debug, Deserialize)]
struct Release {
    vers: String,
    #[serde(default)]
    yanked: bool,
}

/// The newest release of a crate that says, in its build metadata, that it binds `version` of something
/// else: `7.0.0+mj-3.17.0` binds 3.17.0. Without the metadata. The error names what there is.
pub fn crate_that_binds(name: &str, version: &str) -> Result<String, StageError> {
    let work = std::env::temp_dir().join(format!("sim-pipe-index-{}", std::process::id()));
    fs::create_dir_all(&work).at(&work)?;
    let to = work.join("releases");
    let args = ["--fail", "--location", "--silent", "--show-error", "--max-time", "60", "--output"]
        .map(str::to_owned)
        .into_iter()
        .chain([to.display().to_string(), format!("{INDEX}/{}", place(name))])
        .collect::<Vec<_>>();
    let text = command("curl", &args).and_then(|()| fs::read_to_string(&to).at(&to));
    let _ = fs::remove_dir_all(&work);
    choose(name, version, &text?)
}

/// The path of a crate in an index.
fn place(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let part = |range: std::ops::Range<usize>| name.get(range).unwrap_or_default().to_owned();
    match name.len() {
        0..=2 => format!("{}/{name}", name.len()),
        3 => format!("3/{}/{name}", part(0..1)),
        _ => format!("{}/{}/{name}", part(0..2), part(2..4)),
    }
}

/// The version that build metadata names: `mj-3.17.0` names 3.17.0.
pub fn bound_version(version: &str) -> Option<&str> {
    let metadata = version.split_once('+')?.1;
    let named = metadata.rsplit('-').next()?;
    let numbers = named.split('.').filter(|n| n.parse::<u64>().is_ok()).count();
    (numbers >= 2).then_some(named)
}

/// Lines of an index are in the order of publication.
fn choose(name: &str, version: &str, index: &str) -> Result<String, StageError> {
    let failed = |message: String| StageError::Failed(message);
    let releases = index
        .lines()
        .map(serde_json::from_str::<Release>)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| failed(format!("the index of crate {name} cannot be read: {e}")))?;
    let there: Vec<&Release> = releases.iter().filter(|r| !r.yanked).collect();
    let binds = |r: &&&Release| bound_version(&r.vers) == Some(version);
    if let Some(release) = there.iter().rev().find(binds) {
        let number = release.vers.split('+').next().unwrap_or(&release.vers);
        return Ok(number.to_owned());
    }
    let mut bound: Vec<&str> = there.iter().rev().filter_map(|r| bound_version(&r.vers)).collect();
    bound.dedup();
    bound.truncate(12);
    Err(failed(match bound.as_slice() {
        [] => format!("no release of crate {name} says what it binds"),
        some => {
            format!("no release of crate {name} binds {version}; there are {}", some.join(", "))
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = r#"{"name":"mujoco-rs","vers":"5.0.0+mj-3.12.0","yanked":false}
{"name":"mujoco-rs","vers":"5.0.1+mj-3.12.0","yanked":false}
{"name":"mujoco-rs","vers":"5.0.2+mj-3.12.0","yanked":true}
{"name":"mujoco-rs","vers":"6.0.0+mj-3.13.0","yanked":false}
"#;

    #[test]
    fn the_newest_release_that_binds_a_version_is_chosen() {
        assert_eq!(choose("mujoco-rs", "3.12.0", INDEX).expect("chosen"), "5.0.1");
        assert_eq!(choose("mujoco-rs", "3.13.0", INDEX).expect("chosen"), "6.0.0");
        let error = choose("mujoco-rs", "3.1.0", INDEX).expect_err("none").to_string();
        assert!(error.contains("there are 3.13.0, 3.12.0"), "{error}");
        let plain = "{\"vers\":\"1.0.0\"}\n";
        let error = choose("x", "1", plain).expect_err("none").to_string();
        assert!(error.contains("says what it binds"), "{error}");
        assert!(choose("x", "1", "<html>").is_err());
    }

    #[test]
    fn what_build_metadata_names() {
        assert_eq!(bound_version("7.0.0+mj-3.17.0"), Some("3.17.0"));
        assert_eq!(bound_version("1.0.0+3.4"), Some("3.4"));
        assert_eq!(bound_version("1.0.0+deprecated"), None);
        assert_eq!(bound_version("7.0.0"), None);
    }

    #[test]
    fn places_are_those_of_the_index_format() {
        // https://doc.rust-lang.org/cargo/reference/registry-index.html#index-files
        assert_eq!(place("a"), "1/a");
        assert_eq!(place("ab"), "2/ab");
        assert_eq!(place("abc"), "3/a/abc");
        assert_eq!(place("Cargo"), "ca/rg/cargo");
    }
}
