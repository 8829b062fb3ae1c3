//! `sim-pipe pin` of an adapter in Python: rewrites the pin's requirements and the lock that pip resolves
//! them to.

use crate::commands::pin::PinArgs;
use crate::error::{CliError, CliResult, exit};
use crate::text;
use fs_err as fs;
use sim_model::Digest;
use sim_stage_build_engine::environment::{Lock, Wheel};
use sim_stage_build_engine::pin::{EngineFile, Python};
use std::collections::BTreeMap;
use std::path::Path;
use toml_edit::{Array, DocumentMut, value};

pub(crate) fn run(
    root: &Path,
    pin_path: &Path,
    pin_text: &str,
    (pin, python): (&EngineFile, &Python),
    version: &str,
    args: &PinArgs,
) -> CliResult {
    let chosen: BTreeMap<&str, &str> =
        args.packages.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let requires = requirements(&python.requires, &pin.engine.version, version, &chosen)
        .map_err(|message| CliError::new(exit::USAGE, message))?;
    if requires == python.requires && !args.lock {
        text::say(&format!("{} is at {version} already", args.engine));
        return Ok(exit::OK);
    }
    let found = sim_stage_fetch::resolve_wheels(&requires, &python.sources).map_err(|e| {
        CliError::new(exit::PIPELINE, e.to_string())
            .hint("nothing was changed; pip's own message stands above")
    })?;
    let wheels = found.into_iter().map(|w| Wheel {
        package: w.package,
        version: w.version,
        file: w.file,
        sha256: w.sha256,
    });
    let lock = Lock { format: 1, requires: requires.clone(), wheels: wheels.collect() };
    let wrong = |message: String| CliError::new(exit::PIPELINE, message);
    let lock_text = lock.text().map_err(|e| wrong(format!("the lock: {e}")))?;

    let mut doc: DocumentMut = pin_text.parse().map_err(|e| wrong(format!("engine.toml: {e}")))?;
    doc["engine"]["version"] = value(version);
    if requires != python.requires {
        doc["python"]["requires"] = value(requires.iter().map(String::as_str).collect::<Array>());
    }
    let lock_path = root.join(&python.lock);
    let before = fs::read(&lock_path).unwrap_or_default();
    let new_pin = doc.to_string();
    let files = [(lock_path.as_path(), &lock_text), (pin_path, &new_pin)];
    for (path, text) in files.into_iter().filter(|_| !args.dry_run) {
        let tmp = path.with_extension("tmp");
        fs::write(&tmp, text)?;
        fs::rename(&tmp, path)?;
    }
    for required in &requires {
        text::say(required);
    }
    text::say(&format!(
        "{}{} {} → {version}; lock of {} wheels {} → {}",
        if args.dry_run { "would change " } else { "" },
        args.engine,
        pin.engine.version,
        lock.wheels.len(),
        Digest::of(&before).short(),
        Digest::of(lock_text.as_bytes()).short()
    ));
    Ok(exit::OK)
}

/// Refuses what is no one version, such as `3.*`, and what follows one, such as a marker.
fn exact(version: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || ".+!-".contains(c);
    if version.starts_with(|c: char| c.is_ascii_digit()) && version.chars().all(fits) {
        return Ok(());
    }
    Err(format!("`{version}` is not one version, such as 3.17.0"))
}

/// The requirements at the new version: those at the engine's version follow it, others stay unless their
/// version is chosen.
fn requirements(
    old: &[String],
    from: &str,
    to: &str,
    chosen: &BTreeMap<&str, &str>,
) -> Result<Vec<String>, String> {
    let split = |required: &str| {
        let (name, version) = required.split_once("==").ok_or_else(|| {
            format!("`{required}` is no exact requirement: write NAME==VERSION in the pin")
        })?;
        let name_fits = |c: char| c.is_ascii_alphanumeric() || "._-[],".contains(c);
        if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(name_fits) {
            return Err(format!("`{required}` names no package"));
        }
        exact(version)?;
        Ok::<_, String>((name.to_owned(), version.to_owned()))
    };
    exact(to)?;
    chosen.values().try_for_each(|version| exact(version))?;
    let old = old.iter().map(|r| split(r)).collect::<Result<Vec<_>, _>>()?;
    // A name may have extras in brackets; `--package` is told the name alone.
    let plain = |name: &str| name.split('[').next().unwrap_or_default().to_owned();
    if let Some(other) = chosen.keys().find(|name| !old.iter().any(|(o, _)| plain(o) == **name)) {
        let names: Vec<String> = old.iter().map(|(name, _)| plain(name)).collect();
        return Err(format!("--package {other}: the pin requires {}", names.join(", ")));
    }
    let new = old.iter().map(|(name, version)| match chosen.get(plain(name).as_str()) {
        Some(version) => format!("{name}=={version}"),
        None if version == from => format!("{name}=={to}"),
        None => format!("{name}=={version}"),
    });
    Ok(new.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_carries_the_engines_version_follows_it() {
        let old = ["mujoco==3.17.0", "mujoco-warp==3.17.0", "warp-lang==1.19.0"].map(str::to_owned);
        let to = |chosen: &[(&'static str, &'static str)]| {
            requirements(&old, "3.17.0", "3.18.0", &chosen.iter().copied().collect())
        };
        let plain = ["mujoco==3.18.0", "mujoco-warp==3.18.0", "warp-lang==1.19.0"];
        assert_eq!(to(&[]).expect("known"), plain);
        let moved = ["mujoco==3.18.0", "mujoco-warp==3.18.0", "warp-lang==1.20.0"];
        assert_eq!(to(&[("warp-lang", "1.20.0")]).expect("known"), moved);
        let error = to(&[("jax", "1")]).expect_err("unknown");
        assert!(error.contains("the pin requires mujoco, mujoco-warp, warp-lang"), "{error}");
        let loose = requirements(&["jax>=1".to_owned()], "1", "2", &BTreeMap::new());
        assert!(loose.expect_err("loose").contains("no exact requirement"));
        for odd in ["3.*", "3.17.0; rm -rf x", "", "3.17.0 ; python_version<'3'"] {
            assert!(requirements(&old, "3.17.0", odd, &BTreeMap::new()).is_err(), "{odd}");
            assert!(to(&[("warp-lang", Box::leak(odd.to_owned().into_boxed_str()))]).is_err());
        }
        let option = requirements(&["--log=x==1".to_owned()], "1", "2", &BTreeMap::new());
        assert!(option.expect_err("an option").contains("names no package"));
    }
}
