//! Which crate may depend on which. The same table stands in ARCHITECTURE.md in words.

use super::Findings;
use serde_json::Value;

/// A crate and the crates of this workspace that it may use. A crate that is not here is a finding:
/// whoever adds one decides where it belongs.
const MAY_USE: [(&str, &[&str]); 26] = [
    ("sim-model", &[]),
    ("sim-plan", &["sim-model"]),
    ("sim-store", &["sim-model"]),
    ("sim-exec", &["sim-model", "sim-store"]),
    ("sim-catalog", &["sim-model", "sim-engine-protocol"]),
    ("sim-provenance", &["sim-model"]),
    ("sim-fingerprint", &[]),
    ("sim-stage-sdk", &["sim-model", "sim-fingerprint"]),
    ("sim-stage-fetch", STAGE),
    (
        "sim-stage-build-engine",
        &["sim-model", "sim-stage-sdk", "sim-fingerprint", "sim-stage-fetch"],
    ),
    (
        "sim-stage-scene",
        &[
            "sim-model",
            "sim-stage-sdk",
            "sim-fingerprint",
            "sim-engine-protocol",
            "sim-scenes",
            "sim-stage-fetch",
        ],
    ),
    (
        "sim-stage-trial",
        &[
            "sim-model",
            "sim-stage-sdk",
            "sim-fingerprint",
            "sim-engine-protocol",
            "sim-scenes",
            "sim-stage-scene",
            "sim-stage-build-engine",
        ],
    ),
    ("sim-stage-render", STAGE),
    (
        "sim-stage-report",
        &[
            "sim-model",
            "sim-stage-sdk",
            "sim-fingerprint",
            "sim-engine-protocol",
            "sim-scenes",
            "sim-stage-batch-protocol",
            "sim-stage-protocol",
            "sim-stage-render",
        ],
    ),
    (
        "sim-stage-protocol",
        &[
            "sim-model",
            "sim-stage-sdk",
            "sim-fingerprint",
            "sim-protocol",
            "sim-snake",
            "sim-vehicle",
        ],
    ),
    (
        "sim-stage-batch-protocol",
        &[
            "sim-model",
            "sim-stage-sdk",
            "sim-fingerprint",
            "sim-stage-build-engine",
            "sim-protocol",
            "sim-vehicle",
        ],
    ),
    (
        "sim-stage-calibrate",
        &[
            "sim-model",
            "sim-stage-sdk",
            "sim-fingerprint",
            "sim-engine-protocol",
            "sim-stage-build-engine",
            "sim-stage-scene",
            "sim-stage-trial",
        ],
    ),
    ("sim-protocol", &[]),
    ("sim-snake", &["sim-protocol"]),
    ("sim-vehicle", &["sim-protocol"]),
    ("sim-engine-protocol", &[]),
    ("sim-engine-harness", &["sim-engine-protocol"]),
    ("sim-engine-fake", &["sim-engine-protocol", "sim-engine-harness"]),
    ("sim-scenes", &["sim-engine-protocol"]),
    ("xtask", &[]),
    ("sim-pipe", &["*"]),
];

/// What any stage may use.
const STAGE: &[&str] =
    &["sim-model", "sim-stage-sdk", "sim-fingerprint", "sim-engine-protocol", "sim-scenes"];

/// Outside crates that one crate alone may use, and why.
const ONE_USER: [(&str, &str, &str); 7] = [
    ("libloading", "sim-catalog", "only the catalog opens DuckDB"),
    ("landlock", "sim-exec", "only the executor confines"),
    ("minijinja", "sim-stage-report", "only the report renders pages"),
    ("webp-animation", "sim-stage-render", "only the renderer makes pictures"),
    ("clap", "sim-pipe", "only the program has a command line"),
    ("petgraph", "sim-plan", "only the plan is a graph"),
    ("tiny_http", "sim-pipe", "only `report --serve` listens"),
];

/// Outside crates that nothing may use.
const NEVER: [(&str, &str); 3] = [
    ("duckdb", "libduckdb is opened at run time"),
    ("libduckdb-sys", "libduckdb is opened at run time"),
    ("tokio", "actions are supervised by threads"),
];

pub(super) fn check(metadata: &Value, found: &mut Findings) {
    let list = |v: &Value| v.as_array().cloned().unwrap_or_default();
    let packages = list(&metadata["packages"]);
    let name_of = |v: &Value| v["name"].as_str().unwrap_or_default().to_owned();
    let ours: Vec<String> = packages.iter().map(name_of).collect();
    for package in &packages {
        let name = name_of(package);
        let Some((_, may)) = MAY_USE.iter().find(|(n, _)| *n == name) else {
            found.push(format!("crate {name} has no place in xtask/src/tidy/arrows.rs"));
            continue;
        };
        for dependency in list(&package["dependencies"]) {
            // What only tests use does not shape the program.
            if dependency["kind"] == "dev" {
                continue;
            }
            let used = name_of(&dependency);
            if ours.contains(&used) && !may.contains(&"*") && !may.contains(&used.as_str()) {
                found.push(format!("{name} must not depend on {used}"));
            }
            for (outside, user, why) in ONE_USER {
                if used == outside && name != user {
                    found.push(format!("{name} must not depend on {outside}: {why}"));
                }
            }
            for (outside, why) in NEVER {
                if used == outside {
                    found.push(format!("{name} must not depend on {outside}: {why}"));
                }
            }
        }
    }
    for (name, _) in MAY_USE {
        if !ours.iter().any(|o| o == name) {
            found.push(format!("xtask/src/tidy/arrows.rs speaks of {name}, which is gone"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_against_the_table_is_found() {
        let metadata = serde_json::json!({"packages": [
            {"name": "sim-plan", "dependencies": [
                {"name": "sim-store", "kind": null}, {"name": "sim-exec", "kind": "dev"},
                {"name": "clap", "kind": null}, {"name": "tokio", "kind": null}]},
            {"name": "sim-store", "dependencies": []},
            {"name": "sim-exec", "dependencies": []},
            {"name": "sim-new", "dependencies": []},
        ]});
        let mut found = Findings::new();
        check(&metadata, &mut found);
        let found: Vec<&str> =
            found.iter().map(String::as_str).filter(|f| !f.ends_with("is gone")).collect();
        assert_eq!(
            found,
            [
                "sim-plan must not depend on sim-store",
                "sim-plan must not depend on clap: only the program has a command line",
                "sim-plan must not depend on tokio: actions are supervised by threads",
                "crate sim-new has no place in xtask/src/tidy/arrows.rs",
            ]
        );
    }
}
