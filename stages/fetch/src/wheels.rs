//! What a list of requirements resolves to: exact wheels, by pip's own resolver, with nothing installed.

use crate::file::command;
use fs_err as fs;
use serde::Deserialize;
use sim_stage_sdk::{IoContext, StageError};
use std::collections::BTreeMap;

/// A wheel that the registry has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resolved {
    /// Package.
    pub package: String,
    /// Version.
    pub version: String,
    /// File name.
    pub file: String,
    /// SHA-256, hexadecimal.
    pub sha256: String,
}

/// pip's report: https://pip.pypa.io/en/stable/reference/installation-report/
#[derive(Deserialize)]
struct Report {
    install: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
    download_info: Download,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct Download {
    url: String,
    archive_info: Option<Archive>,
}

#[derive(Deserialize)]
struct Archive {
    #[serde(default)]
    hashes: BTreeMap<String, String>,
}

/// The files that satisfy `requires` for the `python3` on PATH and this machine, by package name. Only
/// wheels, but for the packages in `sources`, whose source archives are taken; pip runs their own code to
/// learn what they need.
pub fn resolve(requires: &[String], sources: &[String]) -> Result<Vec<Resolved>, StageError> {
    let work = std::env::temp_dir().join(format!("sim-pipe-resolve-{}", std::process::id()));
    fs::create_dir_all(&work).at(&work)?;
    let report = work.join("report.json");
    let mut args: Vec<String> =
        ["-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
            .map(str::to_owned)
            .to_vec();
    args.extend(["--disable-pip-version-check", "--only-binary=:all:"].map(str::to_owned));
    args.extend(sources.iter().map(|package| format!("--no-binary={package}")));
    args.extend(["--report".to_owned(), report.display().to_string()]);
    args.extend(requires.iter().cloned());
    let text = command("python3", &args).and_then(|()| fs::read_to_string(&report).at(&report));
    let _ = fs::remove_dir_all(&work);
    read(&text?, sources)
}

fn read(report: &str, sources: &[String]) -> Result<Vec<Resolved>, StageError> {
    let failed = |message: String| StageError::Failed(message);
    let report: Report =
        serde_json::from_str(report).map_err(|e| failed(format!("pip's report: {e}")))?;
    let mut found = Vec::with_capacity(report.install.len());
    for Item { metadata: Metadata { name, version }, download_info } in report.install {
        let hashes = download_info.archive_info.map(|a| a.hashes).unwrap_or_default();
        let sha256 = hashes
            .get("sha256")
            .ok_or_else(|| failed(format!("pip names no SHA-256 of {name} {version}")))?;
        let url = download_info.url.split(['#', '?']).next().unwrap_or_default();
        let file = url.rsplit('/').next().unwrap_or_default().replace("%2B", "+");
        // The name that registries know it by: https://packaging.python.org/en/latest/specifications/name-normalization/
        let package = name.to_lowercase().replace(['_', '.'], "-");
        let source = sources.contains(&package) && file.ends_with(".tar.gz");
        if !source && !file.ends_with(".whl") {
            return Err(failed(format!("{name} {version} comes as `{file}`, which is no wheel")));
        }
        found.push(Resolved { package, version, file, sha256: sha256.clone() });
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &str, file: &str, hash: &str) -> String {
        format!(
            r#"{{"metadata":{{"name":"{name}","version":"1.0"}},"download_info":{{"url":"https://x/{file}",
            "archive_info":{{"hashes":{{{hash}}}}}}}}}"#
        )
    }

    #[test]
    fn a_report_becomes_wheels_by_name_and_what_is_no_wheel_is_refused() {
        let report =
            |items: &[String]| format!(r#"{{"version":"1","install":[{}]}}"#, items.join(","));
        let hash = r#""sha256":"ab""#;
        let two =
            [item("Zipp", "zipp-1.0-py3-none-any.whl", hash), item("a_b", "a_b-1.0-c.whl", hash)];
        let found = read(&report(&two), &[]).expect("reads");
        let names: Vec<&str> = found.iter().map(|w| w.package.as_str()).collect();
        assert_eq!(names, ["a-b", "zipp"]);
        assert_eq!(
            (found[1].file.as_str(), &*found[1].sha256),
            ("zipp-1.0-py3-none-any.whl", "ab")
        );
        let source = report(&[item("s", "s-1.0.tar.gz", hash)]);
        let error = read(&source, &[]).expect_err("no wheel");
        assert!(error.to_string().contains("s-1.0.tar.gz"), "{error}");
        let found = read(&source, &["s".to_owned()]).expect("a source that is expected");
        assert_eq!(found[0].file, "s-1.0.tar.gz");
        let error = read(&report(&[item("n", "n-1.0.whl", "")]), &[]).expect_err("no hash");
        assert!(error.to_string().contains("no SHA-256 of n 1.0"), "{error}");
        assert!(read("{}", &[]).is_err());
    }
}
