//! The kind `fetch`: files and crates from registries, each checked against a pinned digest.
//!
//! The only kind that reaches the network. What it fetches is fixed by the pin, so neither the
//! registry nor the client that was used is in the key.

mod crates;
mod file;
mod index;
mod wheels;

use sim_model::action::Class;
use sim_model::kind::{Cell, Draft, ExpandCtx, InputSpec, Kind, Param, ParamType, Place, Problem};
use sim_model::request::{Request, StatusFile};
use sim_model::value::Value;
use sim_stage_sdk::{Stage, StageError, arg, ok};
use std::path::Path;
use std::time::Duration;

pub use crates::draft as crates_draft;
pub use file::resolve_pypi;
pub use index::{bound_version, crate_that_binds};
pub use wheels::{Resolved, resolve as resolve_wheels};

/// The kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fetch;

const TYPES: &[&str] = &["pypi", "npm", "url"];
/// Downloads are bounded by the network, not by us.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);

const PARAMS: &[Param] = &[
    Param {
        name: "type",
        ty: ParamType::Enum(TYPES),
        required: true,
        doc: "Where from: `pypi`, `npm` or `url`.",
    },
    Param {
        name: "package",
        ty: ParamType::Str,
        required: false,
        doc: "Package name, for `pypi` and `npm`.",
    },
    Param {
        name: "version",
        ty: ParamType::Str,
        required: false,
        doc: "Exact version, for `pypi` and `npm`.",
    },
    Param { name: "url", ty: ParamType::Str, required: false, doc: "Address, for `url`." },
    Param { name: "file", ty: ParamType::Str, required: true, doc: "File name in the output." },
    Param {
        name: "sha256",
        ty: ParamType::Str,
        required: false,
        doc: "SHA-256 of the file, hexadecimal.",
    },
    Param {
        name: "integrity",
        ty: ParamType::Str,
        required: false,
        doc: "Subresource integrity of an npm package, `sha512-…`; instead of `sha256`.",
    },
];

/// A pinned file, as engine.toml and pipelines say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePin {
    /// `pypi`, `npm` or `url`.
    pub from: String,
    /// Package name; the address for `url`.
    pub package: String,
    /// Exact version; empty for `url`.
    pub version: String,
    /// File name.
    pub file: String,
    /// `sha256-HEX` or `sha512-BASE64`.
    pub integrity: String,
}

/// The draft of a file's fetch, shared by everything that wants the same file.
pub fn file_draft(pin: &FilePin) -> Draft {
    let mut draft = Draft::new("fetch", Class::Pure);
    for (name, value) in [
        ("type", &pin.from),
        ("package", &pin.package),
        ("version", &pin.version),
        ("file", &pin.file),
        ("integrity", &pin.integrity),
    ] {
        draft.args.insert(name.into(), value.as_str().into());
    }
    draft.outputs = vec![pin.file.clone()];
    draft.network = true;
    draft.timeout = Some(TIMEOUT);
    draft.shared = Some(format!("fetch/{}/{}", pin.from, pin.file));
    draft.export = false;
    draft
}

/// Checks the shape of a digest and gives it as `sha256-HEX` or `sha512-BASE64`.
pub fn integrity(sha256: Option<&str>, integrity: Option<&str>) -> Result<String, String> {
    match (sha256, integrity) {
        (Some(hex), None) => {
            let fine =
                hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            if fine {
                Ok(format!("sha256-{hex}"))
            } else {
                Err(format!("`{hex}` is no SHA-256: 64 lowercase hexadecimal digits"))
            }
        }
        (None, Some(text)) if text.starts_with("sha512-") => Ok(text.to_owned()),
        (None, Some(text)) => Err(format!("`{text}` is no integrity: it starts with `sha512-`")),
        (None, None) => {
            Err("a fetch needs `sha256` or `integrity`: what it fetches is pinned".into())
        }
        (Some(_), Some(_)) => Err("give `sha256` or `integrity`, not both".into()),
    }
}

impl Kind for Fetch {
    fn name(&self) -> &'static str {
        "fetch"
    }

    fn summary(&self) -> &'static str {
        "Fetches one pinned file from a registry or an address."
    }

    fn class(&self) -> Class {
        Class::Pure
    }

    /// Fixed: the output is pinned by its digest, so no change of this crate can change it, and none
    /// should fetch it again.
    fn fingerprint(&self) -> &'static str {
        "fetch: output pinned by digest, v1"
    }

    fn params(&self) -> &'static [Param] {
        PARAMS
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[]
    }

    fn expand(&self, cell: &Cell, _: &mut dyn ExpandCtx) -> Result<Vec<Draft>, Vec<Problem>> {
        let text = |name: &str| cell.params.get(name).and_then(Value::as_str);
        let mut problems = Vec::new();
        let mut problem = |param: &str, message: String| {
            problems.push(Problem {
                place: if cell.params.contains_key(param) {
                    Place::Param(param.to_owned())
                } else {
                    Place::Stage
                },
                message,
                hint: None,
            });
        };
        let from = text("type").unwrap_or_default();
        let needed: &[&str] = if from == "url" { &["url"] } else { &["package", "version"] };
        for name in needed {
            if text(name).is_none() {
                problem(name, format!("a fetch of type `{from}` needs `{name}`"));
            }
        }
        let file = text("file").unwrap_or_default();
        if file.is_empty() || file.contains('/') || file.starts_with('.') {
            problem("file", format!("`{file}` is no file name"));
        }
        let pinned = integrity(text("sha256"), text("integrity"));
        if let Err(message) = &pinned {
            let param = if text("sha256").is_some() { "sha256" } else { "integrity" };
            problem(param, message.clone());
        }
        let Ok(integrity) = pinned else { return Err(problems) };
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut draft = file_draft(&FilePin {
            from: from.to_owned(),
            package: text("package").or(text("url")).unwrap_or_default().to_owned(),
            version: text("version").unwrap_or_default().to_owned(),
            file: file.to_owned(),
            integrity,
        });
        draft.shared = None;
        draft.export = true;
        for (param, origin) in &cell.origins {
            draft.origins.insert(format!("args.{param}"), origin.clone());
        }
        Ok(vec![draft])
    }
}

impl Stage for Fetch {
    fn run(&self, request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
        match arg::<String>(request, "type")?.as_str() {
            "crates" => crates::run(request, dir)?,
            _ => file::run(request, dir)?,
        }
        Ok(ok())
    }
}
