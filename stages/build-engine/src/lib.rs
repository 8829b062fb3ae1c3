//! The kind `build-engine`: from an engine's pin and source to an adapter tree.
//!
//! ```text
//! engines/NAME/engine.toml ─▶ fetch crates (by Cargo.lock) ─┐
//!                         └─▶ fetch files  (by digest)  ────┼─▶ build, offline ─▶ bin/ADAPTER
//! engines/NAME, path dependencies ──────────────────────────┘                     bin/LIBRARIES
//!                                                                     engine.json describe.json
//! ```

mod build;
pub mod environment;
pub mod pin;
mod python;

pub use python::{Runtime, take_kernels};

use pin::{EngineFile, FetchPin};
use sim_model::action::Class;
use sim_model::kind::{
    Cell, Draft, DraftInput, ExpandCtx, InputSpec, Kind, Param, ParamType, Place, Problem,
};
use sim_model::request::{Request, StatusFile};
use sim_model::value::Value;
use sim_stage_fetch::FilePin;
use sim_stage_sdk::{Stage, StageError, optional_arg};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuildEngine;

const PARAMS: &[Param] = &[
    Param {
        name: "engine",
        ty: ParamType::Str,
        required: false,
        doc: "Engine name. Default: the matrix value `engine`.",
    },
    Param {
        name: "source",
        ty: ParamType::Path,
        required: false,
        doc: "Folder with engine.toml. Default: `engines/ENGINE`.",
    },
];

/// Compiling an engine takes minutes on two cores.
const TIMEOUT: Duration = Duration::from_secs(45 * 60);

/// The engine that a stage is about: its parameter, or the matrix value of that name.
pub fn engine_name(cell: &Cell) -> Result<String, Problem> {
    cell.params
        .get("engine")
        .or_else(|| cell.bindings.get("engine"))
        .and_then(Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| Problem {
            place: Place::Stage,
            message: "no engine is named".to_owned(),
            hint: Some("add `engine = \"mujoco\"` or `matrix.engine = [\"mujoco\", …]`".to_owned()),
        })
}

impl Kind for BuildEngine {
    fn name(&self) -> &'static str {
        "build-engine"
    }

    fn summary(&self) -> &'static str {
        "Builds an engine adapter from its pin and source, offline."
    }

    fn class(&self) -> Class {
        Class::Pure
    }

    fn fingerprint(&self) -> &'static str {
        env!("SIM_FINGERPRINT")
    }

    fn params(&self) -> &'static [Param] {
        PARAMS
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[]
    }

    fn expand(&self, cell: &Cell, ctx: &mut dyn ExpandCtx) -> Result<Vec<Draft>, Vec<Problem>> {
        let engine = engine_name(cell).map_err(|p| vec![p])?;
        let folder = cell
            .params
            .get("source")
            .and_then(Value::as_str)
            .map_or_else(|| format!("engines/{engine}"), str::to_owned);
        let path = format!("{}/engine.toml", folder.trim_end_matches('/'));
        let text = ctx.read(&path).map_err(|e| {
            let param = if cell.params.contains_key("source") { "source" } else { "engine" };
            let place = if cell.params.contains_key(param) {
                Place::Param(param.to_owned())
            } else {
                Place::Stage
            };
            vec![Problem {
                place,
                message: format!("there is no pin of engine `{engine}`: {e}"),
                hint: Some("each engine is a folder below engines/ with an engine.toml".to_owned()),
            }]
        })?;
        let file = EngineFile::parse(&text).map_err(|(message, span)| {
            vec![Problem { place: Place::File { path: path.clone(), span }, message, hint: None }]
        })?;
        if file.engine.name != engine {
            let at = text.find(&file.engine.name).unwrap_or(0);
            return Err(vec![Problem {
                place: Place::File { path, span: at..at + file.engine.name.len() },
                message: format!("this is the pin of `{}`, not of `{engine}`", file.engine.name),
                hint: None,
            }]);
        }
        if file.python.is_some() {
            return python::expand(&file, &folder, (&path, &text), cell, ctx);
        }
        let mut drafts = vec![sim_stage_fetch::crates_draft(
            &engine,
            &file.source.crate_dir,
            &file.source.paths,
        )];
        let mut build = Draft::new("build-engine", Class::Pure);
        build.inputs.insert(
            "vendor".into(),
            DraftInput::Draft { index: 0, subpath: Some("vendor".into()) },
        );
        for pin in &file.fetch {
            let integrity =
                sim_stage_fetch::integrity(pin.sha256.as_deref(), pin.integrity.as_deref())
                    .map_err(|message| {
                        let at = text.find(&pin.id).unwrap_or(0);
                        vec![Problem {
                            place: Place::File { path: path.clone(), span: at..at + pin.id.len() },
                            message,
                            hint: None,
                        }]
                    })?;
            build.inputs.insert(
                format!("fetch_{}", pin.id),
                DraftInput::Draft { index: drafts.len(), subpath: Some(pin.file.clone()) },
            );
            let mut draft = sim_stage_fetch::file_draft(&file_pin(pin, integrity));
            let at = text.find(&format!("\"{}\"", pin.id)).unwrap_or(0);
            place_args(&mut draft, &path, &text, at, ctx);
            drafts.push(draft);
        }
        build.inputs.insert("crate".into(), DraftInput::Source(file.source.crate_dir.clone()));
        for (i, dir) in file.source.paths.iter().enumerate() {
            build.inputs.insert(format!("path{i}"), DraftInput::Source(dir.clone()));
        }
        build.args = args(&file);
        place_args(&mut build, &path, &text, 0, ctx);
        build.tools = ["rustc", "cargo", "cc"].map(str::to_owned).to_vec();
        build.outputs = ["bin", "engine.json", "describe.json"].map(str::to_owned).to_vec();
        build.timeout = Some(cell.timeout.unwrap_or(TIMEOUT));
        drafts.push(build);
        Ok(drafts)
    }
}

/// Says of each argument where in the pin its value stands: the first place after `at`, which for
/// texts is the line that sets it.
fn place_args(draft: &mut Draft, path: &str, text: &str, at: usize, ctx: &dyn ExpandCtx) {
    for (name, value) in &draft.args {
        let value = value.as_str().filter(|v| !v.is_empty());
        let found = value.and_then(|v| text[at..].find(&format!("\"{v}\"")));
        let origin = ctx.origin(path, at + found.unwrap_or(0));
        draft.origins.insert(format!("args.{name}"), origin);
    }
}

fn file_pin(pin: &FetchPin, integrity: String) -> FilePin {
    FilePin {
        from: pin.kind.clone(),
        package: pin.package.clone().or_else(|| pin.url.clone()).unwrap_or_default(),
        version: pin.version.clone().unwrap_or_default(),
        file: pin.file.clone(),
        integrity,
    }
}

/// What of the pin the build depends on, beside its inputs.
fn args(file: &EngineFile) -> BTreeMap<String, Value> {
    let texts =
        |list: &[String]| Value::List(list.iter().map(|s| Value::str(s.as_str())).collect());
    let map = |m: &BTreeMap<String, String>| {
        Value::Map(m.iter().map(|(k, v)| (k.clone(), Value::str(v.as_str()))).collect())
    };
    let libraries = file
        .build
        .library
        .iter()
        .map(|l| {
            Value::Map(BTreeMap::from([
                ("from".to_owned(), Value::str(l.from.as_str())),
                ("path".to_owned(), Value::str(l.path.as_str())),
                ("links".to_owned(), texts(&l.links)),
            ]))
        })
        .collect();
    let mut args = head_args(file);
    args.extend([
        ("crate".to_owned(), Value::str(file.source.crate_dir.as_str())),
        ("paths".to_owned(), texts(&file.source.paths)),
        ("env".to_owned(), map(&file.build.env)),
        ("rustflags".to_owned(), texts(&file.build.rustflags)),
        ("libraries".to_owned(), Value::List(libraries)),
    ]);
    // What is usual is no argument, so that engines without it keep their keys.
    let pairs = |list: Vec<[(&str, &str); 2]>| {
        let entry = |pair: [(&str, &str); 2]| {
            Value::Map(pair.map(|(k, v)| (k.to_owned(), Value::str(v))).into_iter().collect())
        };
        Value::List(list.into_iter().map(entry).collect())
    };
    let licences = file.fetch.iter().filter_map(|f| {
        let licence = f.licence.as_deref()?;
        Some([("file", f.file.as_str()), ("licence", licence)])
    });
    let tables = [
        (
            "files",
            file.build
                .file
                .iter()
                .map(|f| [("from", f.from.as_str()), ("path", &f.path)])
                .collect(),
        ),
        (
            "tools",
            file.build
                .tool
                .iter()
                .map(|t| [("crate", t.crate_dir.as_str()), ("bin", &t.bin)])
                .collect(),
        ),
        ("licences", licences.collect::<Vec<_>>()),
    ];
    for (name, list) in tables {
        if !list.is_empty() {
            args.insert(name.to_owned(), pairs(list));
        }
    }
    if !file.build.also.is_empty() {
        let also = file.build.also.iter().map(|a| {
            Value::Map(BTreeMap::from([
                ("bin".to_owned(), Value::str(a.bin.as_str())),
                ("features".to_owned(), texts(&a.features)),
            ]))
        });
        args.insert("also".to_owned(), Value::List(also.collect()));
    }
    args
}

/// What an engine says of itself, and its program.
fn head_args(file: &EngineFile) -> BTreeMap<String, Value> {
    let backends = file.engine.backends.iter().map(|b| Value::str(b.as_str())).collect();
    BTreeMap::from([
        ("engine".to_owned(), Value::str(file.engine.name.as_str())),
        ("title".to_owned(), Value::str(file.engine.title.as_str())),
        ("version".to_owned(), Value::str(file.engine.version.as_str())),
        ("order".to_owned(), Value::Int(file.engine.order)),
        ("backends".to_owned(), Value::List(backends)),
        ("bin".to_owned(), Value::str(file.source.bin.as_str())),
    ])
}

impl Stage for BuildEngine {
    fn run(&self, request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
        // What is usual is no argument: an adapter that is a program of its own.
        match optional_arg::<String>(request, "step")?.as_deref() {
            None => build::run(request, dir),
            Some(environment::STEP) => environment::run(request, dir),
            Some(python::LIBRARY) => python::library(request, dir),
            Some(python::ADAPTER) => python::adapter(request, dir),
            Some(python::KERNELS) => python::kernels(request, dir),
            Some(other) => Err(StageError::Argument {
                name: "step".into(),
                problem: format!("is `{other}`, which is no step of a build"),
            }),
        }
    }
}
