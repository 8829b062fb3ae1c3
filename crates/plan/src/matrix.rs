//! `matrix.X = [..]`, `matrix.exclude` and `matrix.include`: the cells of a stage.

use crate::check::Stage;
use crate::diag::Diag;
use crate::doc::{Entry, Node, Table, Val};
use crate::source::Span;
use crate::suggest::{did_you_mean, list, quote};
use crate::template::text_of;
use crate::world::{Bindings, World};
use sim_model::Value;
use std::collections::{HashMap, HashSet};

/// Most dimensions of a matrix.
const MAX_DIMENSIONS: usize = 16;
/// Most entries of `exclude`.
const MAX_EXCLUDES: usize = 1000;
/// Names that mean something else in a placeholder or in the matrix table.
const RESERVED: [&str; 5] = ["exclude", "include", "out", "threads", "inputs"];

/// One dimension.
#[derive(Clone, Debug)]
pub(crate) struct Dimension<'t> {
    pub(crate) name: &'t str,
    pub(crate) key_span: Span,
    /// Values of the product, then those that only `include` brings in.
    pub(crate) values: Vec<Value>,
    /// Where each value is written.
    pub(crate) spans: Vec<Span>,
    index: HashMap<String, u32>,
}

/// The cells of a stage; a stage without a matrix has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matrix<'t> {
    pub(crate) dimensions: Vec<Dimension<'t>>,
    /// For each cell, the index of its value in each dimension.
    pub(crate) cells: Vec<Box<[u32]>>,
}

impl<'t> Matrix<'t> {
    /// The matrix of a stage that has none.
    pub(crate) fn none() -> Self {
        Self { dimensions: Vec::new(), cells: vec![Box::default()] }
    }

    /// Bindings of a cell.
    pub(crate) fn bindings(&self, cell: &[u32]) -> Bindings {
        let pick =
            |(d, i): (&Dimension<'_>, &u32)| (d.name.to_owned(), d.values[*i as usize].clone());
        self.dimensions.iter().zip(cell).map(pick).collect()
    }

    /// What stands between the brackets of a cell's label.
    pub(crate) fn label(&self, cell: &[u32]) -> String {
        let mut out = String::new();
        for (d, i) in self.dimensions.iter().zip(cell) {
            if !out.is_empty() {
                out.push(',');
            }
            out.push_str(&text_of(&d.values[*i as usize]));
        }
        out
    }

    /// Where the value of a dimension in a cell is written.
    pub(crate) fn span(&self, cell: &[u32], name: &str) -> Option<Span> {
        let at = self.dimensions.iter().position(|d| d.name == name)?;
        self.dimensions[at].spans.get(cell[at] as usize).copied()
    }
}

/// Reads `matrix`; `None` after a diagnostic.
pub(crate) fn read<'t>(entry: &'t Entry<'t>, world: &mut World<'_>) -> Option<Matrix<'t>> {
    let Val::Table(table) = &entry.node.val else {
        world.wrong_type(&entry.node, "a table");
        return None;
    };
    let mut dimensions = Vec::new();
    let (mut exclude, mut include) = (None, None);
    let mut good = true;
    for e in &table.entries {
        match &*e.key {
            "exclude" => exclude = Some(e),
            "include" => include = Some(e),
            _ if dimensions.len() == MAX_DIMENSIONS => {
                let text = format!("a matrix has at most {MAX_DIMENSIONS} dimensions");
                world.push(Diag::error("SP0208", e.key_span, text));
                return None;
            }
            _ => match dimension(e, world) {
                Some(d) => dimensions.push(d),
                None => good = false,
            },
        }
    }
    if !good {
        return None;
    }
    let size =
        dimensions.iter().try_fold(1usize, |n, d: &Dimension<'_>| n.checked_mul(d.values.len()));
    let limit = world.max_actions;
    let Some(size) = size.filter(|n| *n <= limit) else {
        let text = format!("the matrix has more than {limit} cells");
        let help = "split the stage, or take values out".to_owned();
        world.push(Diag::error("SP0208", entry.key_span, text).help(help));
        return None;
    };
    let mut matrix = Matrix { dimensions, cells: Vec::new() };
    let excluded = match exclude {
        Some(e) => read_excludes(e, &matrix, world)?,
        None => Vec::new(),
    };
    let mut used = vec![false; excluded.len()];
    if !matrix.dimensions.is_empty() {
        product(&mut matrix, size, &excluded, &mut used);
    }
    for ((span, _), used) in excluded.iter().zip(&used) {
        if !used {
            let text = "this exclusion takes no cell away that an earlier one left";
            world.push(Diag::error("SP0209", *span, text));
            good = false;
        }
    }
    if let Some(e) = include {
        good &= add_includes(e, &mut matrix, world);
    }
    if matrix.cells.is_empty() && good {
        world.push(
            Diag::error("SP0207", entry.key_span, "the matrix leaves no cell")
                .help("give at least one `matrix.NAME = [...]`, and exclude less".to_owned()),
        );
        good = false;
    }
    good.then_some(matrix)
}

fn dimension<'t>(entry: &'t Entry<'t>, world: &mut World<'_>) -> Option<Dimension<'t>> {
    let name = &*entry.key;
    if RESERVED.contains(&name) || !crate::check::is_slug(name) {
        let text = format!("{} can't be the name of a matrix dimension", quote(name));
        let help = "letters, digits, `-` and `_`; not `out`, `threads` or `inputs`, which are \
                    placeholders of their own";
        world.push(Diag::error("SP0210", entry.key_span, text).help(help.to_owned()));
        return None;
    }
    let Val::List(items) = &entry.node.val else {
        world.wrong_type(&entry.node, "an array of values");
        return None;
    };
    if items.is_empty() {
        let text = format!("the matrix dimension {} has no values", quote(name));
        world.push(Diag::error("SP0203", entry.node.span, text));
        return None;
    }
    let mut d = Dimension {
        name,
        key_span: entry.key_span,
        values: Vec::with_capacity(items.len()),
        spans: Vec::with_capacity(items.len()),
        index: HashMap::new(),
    };
    let mut good = true;
    for item in items {
        let Some(value) = cell_value(item, world) else {
            good = false;
            continue;
        };
        let text = text_of(&value).into_owned();
        if let Some(first) = d.index.get(&text) {
            let first = d.spans[*first as usize];
            let message = format!("the matrix value {} is given twice", quote(&text));
            world.push(Diag::error("SP0205", item.span, message).also(first, "first here"));
            good = false;
            continue;
        }
        d.index.insert(text, d.values.len() as u32);
        d.values.push(value);
        d.spans.push(item.span);
    }
    good.then_some(d)
}

/// A value that can stand in a label.
fn cell_value(node: &Node<'_>, world: &mut World<'_>) -> Option<Value> {
    let value = match &node.val {
        Val::Bool(b) => Value::Bool(*b),
        Val::Int(i) => Value::Int(*i),
        Val::Float(x) => Value::float(*x)?,
        Val::Str(s) => {
            let bad = |c: char| c.is_control() || "[]{},\"'\\*?".contains(c);
            let edge = s.trim() != &**s || s.is_empty() || s.len() > 200;
            if edge || s.contains(bad) {
                let text = format!("{} can't be a matrix value", quote(s));
                let help = "it becomes part of a label: 1 to 200 characters, no space at either \
                            end, none of [ ] { } , \" ' \\ * ?";
                world.push(Diag::error("SP0204", node.span, text).help(help.to_owned()));
                return None;
            }
            Value::Str(s.clone().into_owned())
        }
        _ => {
            world.wrong_type(node, "a string, a number or a boolean");
            return None;
        }
    };
    Some(value)
}

/// For each entry of `exclude`: where it is, and the value it names in each dimension.
type Excludes = Vec<(Span, Vec<Option<u32>>)>;

fn rows<'t>(entry: &'t Entry<'t>, world: &mut World<'_>) -> Option<Vec<(&'t Table<'t>, Span)>> {
    let Val::List(items) = &entry.node.val else {
        world.wrong_type(&entry.node, "an array of tables");
        return None;
    };
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        match &item.val {
            Val::Table(t) => out.push((t, item.span)),
            _ => {
                world.wrong_type(item, "a table such as { NAME = VALUE }");
                return None;
            }
        }
    }
    Some(out)
}

/// The dimension a key of a row names.
fn dimension_of(e: &Entry<'_>, matrix: &Matrix<'_>, world: &mut World<'_>) -> Option<usize> {
    let found = matrix.dimensions.iter().position(|d| d.name == e.key);
    if found.is_none() {
        let names: Vec<_> = matrix.dimensions.iter().map(|d| d.name).collect();
        let text = format!("the matrix has no dimension {}", quote(&e.key));
        world.push(Diag::error("SP0206", e.key_span, text).help(did_you_mean(&e.key, &names)));
    }
    found
}

fn read_excludes(e: &Entry<'_>, matrix: &Matrix<'_>, world: &mut World<'_>) -> Option<Excludes> {
    let rows = rows(e, world)?;
    if rows.len() > MAX_EXCLUDES {
        let text = format!("a matrix has at most {MAX_EXCLUDES} exclusions");
        world.push(Diag::error("SP0208", e.key_span, text));
        return None;
    }
    let mut out = Vec::new();
    let mut good = true;
    for (table, span) in rows {
        let mut row = vec![None; matrix.dimensions.len()];
        for e in &table.entries {
            let at = dimension_of(e, matrix, world);
            let value = cell_value(&e.node, world);
            let (Some(at), Some(value)) = (at, value) else {
                good = false;
                continue;
            };
            let d = &matrix.dimensions[at];
            let text = text_of(&value);
            row[at] = d.index.get(&*text).copied();
            if row[at].is_none() {
                let known: Vec<_> = d.values.iter().take(100).map(text_of).collect();
                let known: Vec<_> = known.iter().map(|c| &**c).collect();
                let message = format!("{} is no value of {}", quote(&text), quote(d.name));
                let help = did_you_mean(&text, &known);
                world.push(Diag::error("SP0206", e.node.span, message).help(help));
                good = false;
            }
        }
        out.push((span, row));
    }
    good.then_some(out)
}

fn product(matrix: &mut Matrix<'_>, size: usize, excluded: &Excludes, used: &mut [bool]) {
    let sizes: Vec<u32> = matrix.dimensions.iter().map(|d| d.values.len() as u32).collect();
    let mut cell = vec![0u32; sizes.len()];
    for _ in 0..size {
        let hit = excluded.iter().position(|(_, row)| {
            row.iter().zip(&cell).all(|(want, have)| want.is_none_or(|w| w == *have))
        });
        match hit {
            Some(at) => used[at] = true,
            None => matrix.cells.push(cell.as_slice().into()),
        }
        for at in (0..cell.len()).rev() {
            cell[at] += 1;
            if cell[at] < sizes[at] {
                break;
            }
            cell[at] = 0;
        }
    }
}

fn add_includes(e: &Entry<'_>, matrix: &mut Matrix<'_>, world: &mut World<'_>) -> bool {
    let Some(rows) = rows(e, world) else { return false };
    let mut seen: HashSet<Box<[u32]>> = matrix.cells.iter().cloned().collect();
    let mut good = true;
    for (table, span) in rows {
        let mut cell = vec![u32::MAX; matrix.dimensions.len()];
        let mut whole = true;
        for e in &table.entries {
            let at = dimension_of(e, matrix, world);
            let value = cell_value(&e.node, world);
            let (Some(at), Some(value)) = (at, value) else {
                whole = false;
                continue;
            };
            let d = &mut matrix.dimensions[at];
            let text = text_of(&value).into_owned();
            cell[at] = *d.index.entry(text).or_insert_with(|| {
                d.values.push(value);
                d.spans.push(e.node.span);
                d.values.len() as u32 - 1
            });
        }
        let lacks = matrix.dimensions.iter().zip(&cell).filter(|(_, i)| **i == u32::MAX);
        let lacks: Vec<_> = lacks.map(|(d, _)| d.name).collect();
        if let (true, Some(names)) = (whole, list(&lacks)) {
            let text = format!("this row says nothing of {names}");
            let help = "a row of `include` gives every dimension a value".to_owned();
            world.push(Diag::error("SP0206", span, text).help(help));
            whole = false;
        }
        if whole && !seen.insert(cell.as_slice().into()) {
            world.push(Diag::error("SP0209", span, "the matrix has this cell already"));
            whole = false;
        }
        if whole {
            matrix.cells.push(cell.into());
        }
        good &= whole;
    }
    good
}

/// Warns of dimensions that nothing in the stage depends on: all their cells ask the same question.
/// Only for kinds that run a command line; another may use the bindings as it likes.
pub(crate) fn unused(stage: &Stage<'_>, world: &mut World<'_>) {
    if !stage.params.iter().any(|(p, _)| p.name == "run") {
        return;
    }
    let params = stage.params.iter().map(|(_, node)| *node);
    let inputs = stage.inputs.iter().flat_map(|i| i.items.iter());
    let env = stage.env.iter().map(|e| &e.node);
    let own = [stage.seed, stage.timeout, stage.memory].into_iter().flatten();
    let nodes: Vec<&Node<'_>> = params.chain(inputs).chain(env).chain(own).collect();
    for d in &stage.matrix.dimensions {
        let sets =
            |name: &str| stage.kind.is_some_and(|k| k.params().iter().any(|p| p.name == name));
        let placeholder = format!("{{{}}}", d.name);
        if d.name == "seed" || sets(d.name) || nodes.iter().any(|n| n.mentions(&placeholder)) {
            continue;
        }
        let text = format!("the matrix dimension {} changes nothing", quote(d.name));
        let help = format!("write `{placeholder}` where its value belongs, or take it out");
        world.push(Diag::warning("SP0211", d.key_span, text).help(help));
    }
}
