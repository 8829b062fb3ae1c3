//! The JSON schema of pipeline files, made from the registry, for editors.

use crate::check::STAGE_KEYS;
use crate::registry::Registry;
use serde_json::{Map, Value, json};
use sim_model::kind::{Kind, Param, ParamType};

/// JSON schema (draft 7) of the TOML files that the kinds of a registry make possible.
pub fn json_schema(kinds: &Registry) -> Value {
    let mut public: Vec<&dyn Kind> = kinds.iter().filter(|k| k.public()).collect();
    public.sort_by_key(|k| k.name());
    let stages: Vec<Value> = public.iter().map(|kind| stage(*kind)).collect();
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "sim-pipe pipeline",
        "type": "object",
        "required": ["pipeline", "stage"],
        "additionalProperties": false,
        "properties": {
            "pipeline": {
                "description": "What this pipeline is.",
                "type": "object",
                "required": ["name"],
                "additionalProperties": false,
                "properties": {
                    "name": name("Name of the results in the store and of the site's folder."),
                    "title": { "type": "string", "description": "Title, for people. Default: the name." },
                    "seed": seed("Seed of every stage that sets none. Default: 0."),
                    "root": {
                        "type": "string",
                        "description": "The project's root relative to this file, such as `..`. \
                                        Paths in the file are relative to the root. Default: `.`.",
                    },
                },
            },
            "defaults": {
                "description": "What holds for every stage that does not say otherwise.",
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "timeout": timeout(),
                    "memory": memory(),
                    "env": env(),
                },
            },
            "stage": {
                "description": "The stages, each a table `[[stage]]`.",
                "type": "array",
                "minItems": 1,
                "items": { "anyOf": stages },
            },
        },
    })
}

fn name(doc: &str) -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$", "description": doc })
}

fn seed(doc: &str) -> Value {
    json!({
        "description": doc,
        "anyOf": [{ "type": "integer", "minimum": 0 }, placeholder()],
    })
}

fn timeout() -> Value {
    json!({
        "type": "string",
        "description": "Wall-clock limit of one action: `250ms`, `120s`, `5min`, `2h`. Default: `120s`.",
        "pattern": "^([0-9.]+ ?(ms|s|min|h)|.*\\{.*)$",
    })
}

fn memory() -> Value {
    json!({
        "type": "string",
        "description": "Cap on the memory of one action with all its processes: bytes (`512MiB`, \
                        `4GiB`, `2GB`) or a share of the RAM. Default: `56.25%`.",
        "pattern": "^([0-9.]+ ?(%|KiB|MiB|GiB|MB|GB)|.*\\{.*)$",
    })
}

fn env() -> Value {
    json!({
        "type": "object",
        "description": "Variables given to the actions beyond the fixed environment.",
        "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
        "additionalProperties": { "type": "string" },
    })
}

fn placeholder() -> Value {
    json!({ "type": "string", "pattern": "\\{[^{}]+\\}" })
}

fn matrix() -> Value {
    let scalar = json!({ "type": ["string", "number", "boolean"] });
    let row = json!({ "type": "object", "additionalProperties": scalar });
    json!({
        "type": "object",
        "description": "Values that make the stage many: one cell for each combination. `{NAME}` \
                        stands for the value in the stage's strings.",
        "properties": {
            "exclude": {
                "type": "array", "items": row,
                "description": "Combinations to leave out; a row may name some dimensions only.",
            },
            "include": {
                "type": "array", "items": row,
                "description": "Combinations to add; a row names every dimension.",
            },
        },
        "additionalProperties": { "type": "array", "minItems": 1, "items": scalar },
    })
}

fn stage(kind: &dyn Kind) -> Value {
    let mut properties = Map::new();
    for key in STAGE_KEYS {
        let value = match key {
            "name" => name("Name of the stage; other stages take its outputs by it."),
            "kind" => json!({ "const": kind.name(), "description": kind.summary() }),
            "seed" => seed("Seed of the stage. Default: the pipeline's."),
            "timeout" => timeout(),
            "memory" => memory(),
            "env" => env(),
            "matrix" => matrix(),
            _ => inputs(kind),
        };
        properties.insert(key.to_owned(), value);
    }
    let mut required = vec!["name", "kind"];
    for param in kind.params() {
        properties.insert(param.name.to_owned(), property(param));
        // A matrix dimension may stand in for a parameter that has one value.
        if param.required && matches!(param.ty, ParamType::StrList | ParamType::EnumList(_)) {
            required.push(param.name);
        }
    }
    if kind.inputs().iter().any(|i| i.required && i.name != "*") {
        required.push("inputs");
    }
    json!({
        "title": kind.name(),
        "description": kind.summary(),
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    })
}

fn inputs(kind: &dyn Kind) -> Value {
    let one = json!({ "type": "string" });
    let any = json!({ "anyOf": [one, { "type": "array", "minItems": 1, "items": one }] });
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut open = false;
    for spec in kind.inputs() {
        if spec.name == "*" {
            open = true;
            continue;
        }
        let mut value = any.clone();
        value["description"] = spec.doc.into();
        properties.insert(spec.name.to_owned(), value);
        if spec.required {
            required.push(spec.name);
        }
    }
    json!({
        "type": "object",
        "description": "What the stage takes: `STAGE`, `STAGE[CELL]`, `STAGE[*]`, a path, a pattern, \
                        or an array of these.",
        "properties": properties,
        "required": required,
        "additionalProperties": if open { any } else { false.into() },
    })
}

fn property(param: &Param) -> Value {
    let mut value = match param.ty {
        ParamType::Bool => json!({ "anyOf": [{ "type": "boolean" }, placeholder()] }),
        ParamType::Int { min, max } => {
            let mut int = json!({ "type": "integer" });
            if min != i64::MIN {
                int["minimum"] = min.into();
            }
            if max != i64::MAX {
                int["maximum"] = max.into();
            }
            json!({ "anyOf": [int, placeholder()] })
        }
        ParamType::Float => json!({ "anyOf": [{ "type": "number" }, placeholder()] }),
        ParamType::Str | ParamType::Path => json!({ "type": "string" }),
        ParamType::Enum(words) => json!({ "anyOf": [{ "enum": words }, placeholder()] }),
        ParamType::StrList => json!({ "type": "array", "items": { "type": "string" } }),
        ParamType::EnumList(words) => json!({
            "type": "array",
            "items": { "anyOf": [{ "enum": words }, placeholder()] },
        }),
        ParamType::Table => json!({ "type": "object" }),
    };
    value["description"] = param.doc.into();
    value
}
