//! The parameters of one cell: placeholders filled in, then checked against the kind's types.

use crate::diag::Diag;
use crate::doc::{Node, Val};
use crate::paths;
use crate::source::Span;
use crate::suggest::{did_you_mean, quote};
use crate::template;
use crate::world::{Bindings, World};
use sim_model::Value;
use sim_model::kind::ParamType;

/// The value of a parameter in one cell; `None` after a diagnostic.
pub(crate) fn value(
    node: &Node<'_>,
    ty: ParamType,
    bindings: &Bindings,
    world: &mut World<'_>,
) -> Option<Value> {
    match ty {
        ParamType::StrList => list(node, ParamType::Str, bindings, world),
        ParamType::EnumList(words) => list(node, ParamType::Enum(words), bindings, world),
        ParamType::Table => match &node.val {
            Val::Table(_) => any(node, bindings, world),
            _ => {
                world.wrong_type(node, "a table");
                None
            }
        },
        _ => scalar(node, ty, bindings, world),
    }
}

/// Checks a matrix value that stands for a parameter.
pub(crate) fn bound(
    value: &Value,
    ty: ParamType,
    span: Span,
    world: &mut World<'_>,
) -> Option<Value> {
    typed(value.clone(), ty, span, world)
}

fn list(
    node: &Node<'_>,
    ty: ParamType,
    bindings: &Bindings,
    world: &mut World<'_>,
) -> Option<Value> {
    let Val::List(items) = &node.val else {
        world.wrong_type(node, "an array of strings");
        return None;
    };
    let mut out = Vec::with_capacity(items.len());
    let mut good = true;
    for item in items {
        match scalar(item, ty, bindings, world) {
            Some(v) => out.push(v),
            None => good = false,
        }
    }
    good.then_some(Value::List(out))
}

fn scalar(
    node: &Node<'_>,
    ty: ParamType,
    bindings: &Bindings,
    world: &mut World<'_>,
) -> Option<Value> {
    let value = match &node.val {
        // A string that is nothing but a placeholder keeps the type of the matrix value.
        Val::Str(s) => match template::sole(s).and_then(|name| bindings.get(name)) {
            Some(value) => value.clone(),
            None => Value::Str(world.string(node, bindings)?.into_owned()),
        },
        Val::Bool(b) => Value::Bool(*b),
        Val::Int(i) => Value::Int(*i),
        Val::Float(x) => Value::float(*x)?,
        _ => {
            world.wrong_type(node, wanted(ty));
            return None;
        }
    };
    typed(value, ty, node.span, world)
}

fn wanted(ty: ParamType) -> &'static str {
    match ty {
        ParamType::Bool => "a boolean",
        ParamType::Int { .. } => "an integer",
        ParamType::Float => "a number",
        ParamType::Str | ParamType::Enum(_) => "a string",
        ParamType::Path => "a path",
        ParamType::StrList | ParamType::EnumList(_) => "an array of strings",
        ParamType::Table => "a table",
    }
}

fn typed(value: Value, ty: ParamType, span: Span, world: &mut World<'_>) -> Option<Value> {
    match (ty, value) {
        (ParamType::Bool, v @ Value::Bool(_)) | (ParamType::Str, v @ Value::Str(_)) => Some(v),
        (ParamType::Float, Value::Int(i)) => Value::float(i as f64),
        (ParamType::Float, v @ Value::Float(_)) => Some(v),
        (ParamType::Int { min, max }, Value::Int(i)) => {
            if (min..=max).contains(&i) {
                return Some(Value::Int(i));
            }
            let text = match (min, max) {
                (min, i64::MAX) => format!("{i} is less than {min}, the least that makes sense"),
                (min, max) => format!("{i} is not between {min} and {max}"),
            };
            world.push(Diag::error("SP0109", span, text));
            None
        }
        (ParamType::Enum(words), Value::Str(s)) => {
            if words.contains(&&*s) {
                return Some(Value::Str(s));
            }
            let text = format!("{} is not one of the words allowed here", quote(&s));
            world.push(Diag::error("SP0110", span, text).help(did_you_mean(&s, words)));
            None
        }
        (ParamType::Path, Value::Str(s)) => path(&s, span, world).map(Value::Str),
        (_, value) => {
            let (wanted, found) = (wanted(ty), value.type_name());
            let text =
                format!("expected {wanted}, found the {found} {}", quote(&value.to_string()));
            world.push(Diag::error("SP0103", span, text));
            None
        }
    }
}

/// The normal form of a path that must exist.
pub(crate) fn path(text: &str, span: Span, world: &mut World<'_>) -> Option<String> {
    match paths::normal(text) {
        Ok(path) if world.kind(&path).is_some() => Some(path),
        Ok(path) => {
            missing(&path, span, world);
            None
        }
        Err(why) => {
            outside(text, why, span, world);
            None
        }
    }
}

/// Reports a path that leaves the project.
pub(crate) fn outside(text: &str, why: paths::BadPath, span: Span, world: &mut World<'_>) {
    let message = format!("the path {} {}", quote(text), why.text());
    let help = "paths are relative to the project's root and stay below it: copy the file into the \
                project, or fetch it in a stage";
    world.push(Diag::error("SP0306", span, message).help(help.to_owned()));
}

/// Reports a path at which nothing is, with the neighbour that was likely meant.
pub(crate) fn missing(path: &str, span: Span, world: &mut World<'_>) {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let names = world.files.names(folder);
    let near = crate::suggest::nearest(name, names.iter().map(String::as_str));
    let near = near.map(|near| format!("{}{near}", &path[..path.len() - name.len()]));
    let help = match near {
        Some(near) => format!("did you mean {}?", quote(&near)),
        None => "paths are relative to the project's root".to_owned(),
    };
    let text = format!("there is no file or folder {}", quote(path));
    world.push(Diag::error("SP0303", span, text).help(help));
}

/// A value of any shape.
fn any(node: &Node<'_>, bindings: &Bindings, world: &mut World<'_>) -> Option<Value> {
    Some(match &node.val {
        Val::List(items) => {
            Value::List(items.iter().map(|item| any(item, bindings, world)).collect::<Option<_>>()?)
        }
        Val::Table(table) => Value::Map(
            table
                .entries
                .iter()
                .map(|e| Some((e.key.clone().into_owned(), any(&e.node, bindings, world)?)))
                .collect::<Option<_>>()?,
        ),
        Val::Str(s) => match template::sole(s).and_then(|name| bindings.get(name)) {
            Some(value) => value.clone(),
            None => Value::Str(world.string(node, bindings)?.into_owned()),
        },
        Val::Bool(b) => Value::Bool(*b),
        Val::Int(i) => Value::Int(*i),
        Val::Float(x) => Value::float(*x)?,
        Val::Bad(..) => {
            world.wrong_type(node, "a string, a number, a boolean, an array or a table");
            return None;
        }
    })
}
