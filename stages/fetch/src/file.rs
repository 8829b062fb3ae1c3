//! One file: fetched by the registry's own client, checked, laid in `out/`.

use base64::Engine as _;
use fs_err as fs;
use sha2::{Digest as _, Sha256, Sha512};
use sim_model::request::Request;
use sim_stage_sdk::{IoContext, StageError, arg};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn run(request: &Request, dir: &Path) -> Result<(), StageError> {
    let from: String = arg(request, "type")?;
    let package: String = arg(request, "package")?;
    let version: String = arg(request, "version")?;
    let file: String = arg(request, "file")?;
    let expected: String = arg(request, "integrity")?;
    let work = dir.join("tmp/download");
    fs::create_dir_all(&work).at(&work)?;
    let fetched = match from.as_str() {
        "pypi" => pypi(&work, &package, &version, &file)?,
        "npm" => npm(&work, &package, &version)?,
        "url" => url(&work, &package, &file)?,
        other => {
            return Err(StageError::Argument {
                name: "type".into(),
                problem: format!("is `{other}`, which is none of pypi, npm, url, crates"),
            });
        }
    };
    let bytes = fs::read(&fetched).at(&fetched)?;
    check(&bytes, &expected).map_err(|found| {
        StageError::Failed(format!(
            "{file}: the pin says {expected}, what came has {found}; nothing was kept"
        ))
    })?;
    let to = dir.join("out").join(&file);
    fs::write(&to, bytes).at(&to)
}

/// `Err` is what the bytes really have.
fn check(bytes: &[u8], expected: &str) -> Result<(), String> {
    let found = if expected.starts_with("sha512-") {
        let digest = Sha512::digest(bytes);
        format!("sha512-{}", base64::engine::general_purpose::STANDARD.encode(digest))
    } else {
        let digest = Sha256::digest(bytes);
        format!("sha256-{}", digest.iter().map(|b| format!("{b:02x}")).collect::<String>())
    };
    if found == expected { Ok(()) } else { Err(found) }
}

pub(crate) fn command(program: &str, args: &[String]) -> Result<(), StageError> {
    let status = Command::new(program).args(args).status().map_err(|e| {
        StageError::Failed(format!("`{program}` could not be started: {e}; is it installed?"))
    })?;
    if status.success() {
        Ok(())
    } else {
        Err(StageError::Failed(format!("`{program} {}` ended with {status}", args.join(" "))))
    }
}

/// pip fetches the exact file: the tags in a wheel's name say for which Python and platform it is,
/// which need not be those of the Python that runs pip.
fn pypi(work: &Path, package: &str, version: &str, file: &str) -> Result<PathBuf, StageError> {
    let mut args: Vec<String> =
        ["-m", "pip", "download", "--no-deps", "--disable-pip-version-check"]
            .map(str::to_owned)
            .to_vec();
    args.extend(["--dest".into(), work.display().to_string()]);
    if let Some(stem) = file.strip_suffix(".whl") {
        let tags: Vec<&str> = stem.rsplitn(4, '-').collect();
        let [platforms, abis, pythons, _] = tags.as_slice() else {
            return Err(StageError::Failed(format!("`{file}` is not named as a wheel is")));
        };
        // A tag such as py3 stands for Python 3.0, which what is in the wheel may not run on; nothing
        // runs it here.
        args.extend(["--only-binary=:all:".into(), "--ignore-requires-python".into()]);
        for platform in platforms.split('.') {
            args.extend(["--platform".into(), platform.to_owned()]);
        }
        for abi in abis.split('.') {
            args.extend(["--abi".into(), abi.to_owned()]);
        }
        if let Some(python) = pythons.split('.').next() {
            let digits = python.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            args.extend(["--python-version".into(), digits.to_owned()]);
            args.extend(["--implementation".into(), python[..2].to_owned()]);
        }
    } else {
        args.push("--no-binary=:all:".into());
    }
    args.push(format!("{package}=={version}"));
    command("python3", &args)?;
    only_file(work, Some(file))
}

/// Fetches the file of another version that is named as `like` is, and gives its name and SHA-256.
pub fn resolve_pypi(
    package: &str,
    version: &str,
    like: &str,
) -> Result<(String, String), StageError> {
    let parts: Vec<&str> = like.splitn(3, '-').collect();
    let [name, _, rest] = parts.as_slice() else {
        return Err(StageError::Failed(format!("`{like}` is not named as a wheel is")));
    };
    let file = format!("{name}-{version}-{rest}");
    let work = std::env::temp_dir().join(format!("sim-pipe-pin-{}", std::process::id()));
    fs::create_dir_all(&work).at(&work)?;
    let result =
        pypi(&work, package, version, &file).or_else(|_| only_file(&work, None)).and_then(|path| {
            let bytes = fs::read(&path).at(&path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let digest: String =
                Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
            Ok((name, digest))
        });
    let _ = fs::remove_dir_all(&work);
    result
}

fn npm(work: &Path, package: &str, version: &str) -> Result<PathBuf, StageError> {
    let args = [
        "pack".to_owned(),
        format!("{package}@{version}"),
        "--ignore-scripts".into(),
        "--pack-destination".into(),
        work.display().to_string(),
    ];
    command("npm", &args)?;
    only_file(work, None)
}

fn url(work: &Path, address: &str, file: &str) -> Result<PathBuf, StageError> {
    let to = work.join(file);
    let args = ["--fail", "--location", "--silent", "--show-error", "--output"]
        .map(str::to_owned)
        .into_iter()
        .chain([to.display().to_string(), address.to_owned()])
        .collect::<Vec<_>>();
    command("curl", &args)?;
    Ok(to)
}

fn only_file(work: &Path, name: Option<&str>) -> Result<PathBuf, StageError> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(work).at(work)?.filter_map(|e| e.ok().map(|e| e.path())).collect();
    found.sort();
    if let Some(name) = name {
        let path = work.join(name);
        if path.is_file() {
            return Ok(path);
        }
    } else if let [one] = found.as_slice() {
        return Ok(one.clone());
    }
    let names: Vec<String> = found
        .iter()
        .filter_map(|p| p.file_name().map(|n| n.to_string_lossy().into_owned()))
        .collect();
    Err(StageError::Failed(format!(
        "the registry gave {} instead of {}",
        if names.is_empty() { "nothing".to_owned() } else { names.join(", ") },
        name.unwrap_or("one file")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_the_published_ones_and_a_wrong_one_is_named() {
        // FIPS 180-4 test value for "abc".
        let sha256 = "sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(check(b"abc", sha256), Ok(()));
        assert_eq!(check(b"abd", sha256).unwrap_err().len(), sha256.len());
        let sha512 = "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==";
        assert_eq!(check(b"abc", sha512), Ok(()));
    }
}
