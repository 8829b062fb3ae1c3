//! Values from the command line that stand in for what the file says.

use crate::diag::Diag;
use crate::doc::{self, Entry, Node, Table, Val};
use crate::source::Span;
use crate::suggest::{did_you_mean, quote};
use crate::world::World;
use std::borrow::Cow;
use std::sync::Arc;

/// Makes each value a source of its own, so that diagnostics can point into it.
pub(crate) fn register(
    overrides: &[(String, String)],
    world: &mut World<'_>,
) -> Vec<(u32, Arc<str>)> {
    let add = |(key, value): &(String, String)| {
        let text: Arc<str> = value.as_str().into();
        (world.sources.add(&format!("<set {key}>"), text.clone()), text)
    };
    overrides.iter().map(add).collect()
}

/// Puts the values into the tree. `KEY` is `pipeline.X`, `defaults.X` or `stage.NAME.X`, where `X`
/// may have dots of its own.
pub(crate) fn apply<'t>(
    root: &mut Table<'t>,
    overrides: &'t [(String, String)],
    values: &'t [(u32, Arc<str>)],
    whole: Span,
    world: &mut World<'_>,
) {
    for ((key, _), (file, text)) in overrides.iter().zip(values) {
        let span = Span::new(*file, 0..text.len());
        let node = doc::parse_value(text, *file, &mut world.sink)
            .unwrap_or(Node { span, val: Val::Str(Cow::Borrowed(text)) });
        let mut parts = key.split('.');
        let target = match parts.next() {
            Some(part @ ("pipeline" | "defaults")) => table_at(root, part, whole),
            Some("stage") => {
                let name = parts.next().unwrap_or_default();
                stage_at(root, name)
            }
            _ => None,
        };
        let parts: Vec<&str> = parts.collect();
        let done = !parts.is_empty() && parts.iter().all(|p| !p.is_empty());
        match target {
            Some(table) if done => set(table, &parts, node, span),
            _ => {
                let text = format!("{} can't be set", quote(key));
                let help = unset(key, root);
                world.push(Diag::error("SP0501", span, text).help(help));
            }
        }
    }
}

fn unset(key: &str, root: &Table<'_>) -> String {
    let name = key.strip_prefix("stage.").and_then(|rest| rest.split('.').next());
    let near = name.and_then(|name| {
        let names = stages(root);
        did_you_mean(name, &names)
    });
    near.unwrap_or_else(|| "write `pipeline.KEY`, `defaults.KEY` or `stage.NAME.KEY`".to_owned())
}

fn stages<'r>(root: &'r Table<'_>) -> Vec<&'r str> {
    let Some(Val::List(items)) = root.get("stage").map(|e| &e.node.val) else { return Vec::new() };
    let name = |item: &'r Node<'_>| match &item.val {
        Val::Table(t) => match &t.get("name")?.node.val {
            Val::Str(s) => Some(&**s),
            _ => None,
        },
        _ => None,
    };
    items.iter().filter_map(name).collect()
}

fn table_at<'a, 't>(
    table: &'a mut Table<'t>,
    key: &'t str,
    span: Span,
) -> Option<&'a mut Table<'t>> {
    if table.get(key).is_none() {
        let node = Node { span, val: Val::Table(Table::default()) };
        table.entries.push(Entry { key: Cow::Borrowed(key), key_span: span, node });
    }
    match &mut table.get_mut(key)?.node.val {
        Val::Table(t) => Some(t),
        _ => None,
    }
}

fn stage_at<'a, 't>(root: &'a mut Table<'t>, name: &str) -> Option<&'a mut Table<'t>> {
    let Val::List(items) = &mut root.get_mut("stage")?.node.val else { return None };
    items.iter_mut().find_map(|item| match &mut item.val {
        Val::Table(t) => {
            let named =
                t.get("name").is_some_and(|e| matches!(&e.node.val, Val::Str(s) if s == name));
            named.then_some(t)
        }
        _ => None,
    })
}

fn set<'t>(table: &mut Table<'t>, path: &[&'t str], node: Node<'t>, span: Span) {
    match path {
        [key] => match table.get_mut(key) {
            Some(e) => e.node = node,
            None => {
                table.entries.push(Entry { key: Cow::Borrowed(key), key_span: span, node });
            }
        },
        [key, rest @ ..] => {
            if let Some(inner) = table_at(table, key, span) {
                set(inner, rest, node, span);
            }
        }
        [] => {}
    }
}
