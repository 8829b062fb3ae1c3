//! What one string below `inputs.` takes: files of the project, or actions of a stage.

use crate::check::{Input, Stage};
use crate::diag::Diag;
use crate::doc::{Node, Val};
use crate::params;
use crate::paths;
use crate::reference::{self, Reference};
use crate::resolve::Resolver;
use crate::source::Span;
use crate::suggest::{did_you_mean, list, nearest, quote};
use crate::world::Bindings;
use globset::GlobMatcher;
use std::borrow::Cow;
use std::rc::Rc;

/// What a glob matched: its fixed folder and its files.
pub(crate) type Matched = Rc<(String, Vec<String>)>;

/// What one string takes.
pub(crate) enum Taken {
    Source(String),
    Glob(String, Matched),
    /// Actions; whether the string may take several; a part of the output.
    Actions {
        ids: Vec<u32>,
        wild: bool,
        subpath: Option<String>,
    },
}

impl<'t> Resolver<'_, 't, '_, '_> {
    /// What one string takes; `None` after a diagnostic, or when the stage it names has errors.
    pub(crate) fn take(
        &mut self,
        input: &Input<'t>,
        node: &Node<'t>,
        bindings: &Bindings,
        stage: &Stage<'t>,
    ) -> Option<Taken> {
        let text = self.world.string(node, bindings)?;
        let span = node.span;
        if let Some(path) = text.strip_prefix("./") {
            return self.path(path, span);
        }
        match reference::parse(&text) {
            Reference::Path(path) => self.path(path, span),
            Reference::Malformed(why) => {
                let message = format!("{}: {why}", quote(&text));
                let help = "a stage's output is written `STAGE`, `STAGE[CELL]`, `STAGE[*]`, \
                            `STAGE[CELL]/ACTION` or `STAGE[CELL]:PATH`";
                self.world.push(Diag::error("SP0301", span, message).help(help.to_owned()));
                None
            }
            Reference::Word(word) => self.word(word, input, span, stage),
            Reference::Stage { stage: name, cell, suffix, subpath } => {
                let Some(target) = self.pipeline.by_name.get(name).copied() else {
                    // A pattern of files may look like a stage's cell: `data[ab]/x.csv`.
                    if cell.is_some() && self.world.kind(name).is_some() {
                        return self.path(&text, span);
                    }
                    self.unknown_stage(name, node, input, stage);
                    return None;
                };
                let part = subpath.map(|s| self.subpath(s, node, &text));
                let subpath = match part {
                    Some(None) => return None,
                    Some(Some(subpath)) => Some(subpath),
                    None => None,
                };
                self.actions(target, cell, suffix, subpath, node, &text)
            }
        }
    }

    /// A word that may be a stage, or a file or folder at the root.
    fn word(
        &mut self,
        word: &str,
        input: &Input<'t>,
        span: Span,
        stage: &Stage<'t>,
    ) -> Option<Taken> {
        let target = self.pipeline.by_name.get(word).copied();
        let file = self.world.is_at_root(word);
        match target {
            Some(_) if file => {
                let text = format!("{} is a stage, and a file or folder too", quote(word));
                let help = format!("write `./{word}` for the file, `{word}[]` for the stage");
                self.world.push(Diag::error("SP0311", span, text).help(help));
                None
            }
            Some(target) => {
                let node = Node { span, val: Val::Str(Cow::Borrowed("")) };
                self.actions(target, None, None, None, &node, word)
            }
            None if file => self.path(word, span),
            None => {
                let node = Node { span, val: Val::Str(Cow::Owned(word.to_owned())) };
                self.unknown_stage(word, &node, input, stage);
                None
            }
        }
    }

    fn unknown_stage(&mut self, name: &str, node: &Node<'_>, input: &Input<'t>, stage: &Stage<'t>) {
        let near = nearest(name, self.pipeline.stages.iter().map(|s| s.name));
        let help = match near {
            Some(near) => format!("did you mean {}?", quote(near)),
            None => "inputs are stages of this file, or paths relative to the project's root; \
                     write `./NAME` for a path"
                .to_owned(),
        };
        let at = match &node.val {
            Val::Str(s) if s.starts_with(name) => self.world.inside(node.span, 0..name.len()),
            _ => node.span,
        };
        let who = if stage.name.is_empty() {
            "the stage".to_owned()
        } else {
            format!("stage `{}`", stage.name)
        };
        let text = format!("{who} needs {}, which is not defined", quote(name));
        let label = format!("no stage of this name, for the input `{}`", input.name);
        self.world.push(Diag::error("SP0104", at, text).label(label).help(help));
    }

    fn subpath(&mut self, subpath: &str, node: &Node<'_>, text: &str) -> Option<String> {
        match paths::normal(subpath) {
            Ok(path) if !path.is_empty() && !paths::is_glob(&path) => Some(path),
            bad => {
                let why = match bad {
                    Err(why) => why.text(),
                    Ok(_) => "is no plain path",
                };
                let message = format!("the part {} of {} {why}", quote(subpath), quote(text));
                let help = "behind the colon stands the path of one file or folder in the output";
                self.world.push(Diag::error("SP0301", node.span, message).help(help.to_owned()));
                None
            }
        }
    }

    fn path(&mut self, text: &str, span: Span) -> Option<Taken> {
        let path = match paths::normal(text) {
            Ok(path) => path,
            Err(why) => {
                params::outside(text, why, span, self.world);
                return None;
            }
        };
        if path.is_empty() {
            let message = "the whole project can't be an input".to_owned();
            let help = "name the folders and files that are needed".to_owned();
            self.world.push(Diag::error("SP0306", span, message).help(help));
            return None;
        }
        if self.world.kind(&path).is_some() {
            return Some(Taken::Source(path));
        }
        if !paths::is_glob(&path) {
            params::missing(&path, span, self.world);
            return None;
        }
        let found = match self.globs.get(&path) {
            Some(found) => found.clone(),
            None => {
                let found = self.glob(&path, span);
                self.globs.insert(path.clone(), found.clone());
                found
            }
        }?;
        self.spend(found.1.len(), span).then_some(Taken::Glob(path, found))
    }

    fn glob(&mut self, pattern: &str, span: Span) -> Option<Matched> {
        match paths::expand(pattern, self.world.files) {
            Ok((_, files)) if files.is_empty() => {
                let text = format!("the pattern {} matches no file", quote(pattern));
                let help =
                    "`*` stops at `/`, `**` does not; names that begin with a dot are left out";
                self.world.push(Diag::error("SP0304", span, text).help(help.to_owned()));
                None
            }
            Ok(found) => Some(Rc::new(found)),
            Err(why) => {
                let text = format!("the pattern {} can't be used: {why}", quote(pattern));
                self.world.push(Diag::error("SP0305", span, text));
                None
            }
        }
    }

    /// The actions of a stage that a reference selects.
    fn actions(
        &mut self,
        target: usize,
        cell: Option<&str>,
        suffix: Option<&str>,
        subpath: Option<String>,
        node: &Node<'_>,
        text: &str,
    ) -> Option<Taken> {
        let span = node.span;
        let range = self.stages.get(target).cloned().unwrap_or(0..0);
        let broken = self.incomplete.get(target).copied().unwrap_or(true);
        if range.is_empty() {
            return None;
        }
        let pattern = cell.filter(|c| !c.is_empty());
        let mut wild = pattern.is_some_and(reference::is_pattern);
        let name = self.pipeline.stages[target].name;
        let one: [usize; 1];
        let many: Vec<usize>;
        let cells: &[usize] = match pattern {
            None if range.len() == 1 => {
                one = [range.start];
                &one
            }
            None => {
                many = range.clone().collect();
                &many
            }
            Some(pattern) if wild => {
                if !self.spend(range.len(), span) {
                    return None;
                }
                let inner = |at: &usize| {
                    let label = &self.cells[*at].label;
                    let inside =
                        label.len().checked_sub(1).and_then(|end| label.get(name.len() + 1..end));
                    reference::matches(pattern, inside.unwrap_or_default())
                };
                many = range.clone().filter(inner).collect();
                &many
            }
            Some(pattern) => {
                let label = format!("{name}[{pattern}]");
                many = self.by_label.get(label.as_str()).copied().into_iter().collect();
                &many
            }
        };
        if cells.is_empty() {
            if !broken {
                self.no_cell(target, pattern.unwrap_or_default(), range, node);
            }
            return None;
        }
        let matcher = match suffix {
            None => None,
            Some(suffix) => {
                wild |= paths::is_glob(suffix);
                Some(self.matcher(suffix, span)?)
            }
        };
        let mut ids = Vec::new();
        for at in cells {
            for id in &self.locals[self.cells[*at].locals.clone()] {
                let (suffix, export) = &self.shown[*id as usize];
                if *export && matcher.as_ref().is_none_or(|m| m.is_match(&**suffix)) {
                    ids.push(*id);
                }
            }
        }
        if ids.is_empty() && !broken {
            let message = format!("{} selects no action", quote(text));
            let help = match suffix {
                Some(_) => self.suffixes(target),
                None => "the stage makes nothing that another can take".to_owned(),
            };
            self.world.push(Diag::error("SP0315", span, message).help(help));
        }
        if ids.is_empty() || !self.spend(ids.len(), span) {
            return None;
        }
        Some(Taken::Actions { ids, wild, subpath })
    }

    fn suffixes(&self, target: usize) -> String {
        let cells = self.stages[target].clone().take(1);
        let ids = cells.flat_map(|at| self.locals[self.cells[at].locals.clone()].iter());
        let names: Vec<_> =
            ids.map(|id| &*self.shown[*id as usize].0).filter(|s| !s.is_empty()).collect();
        match list(&names) {
            Some(names) => format!("a cell of this stage has {names}"),
            None => "a cell of this stage has one action, without a name of its own".to_owned(),
        }
    }

    fn matcher(&mut self, suffix: &str, span: Span) -> Option<GlobMatcher> {
        if let Some(known) = self.matchers.get(suffix) {
            return known.clone();
        }
        let made = match paths::matcher(suffix) {
            Ok(m) => Some(m),
            Err(why) => {
                let text = format!("the pattern {} can't be used: {why}", quote(suffix));
                self.world.push(Diag::error("SP0305", span, text));
                None
            }
        };
        self.matchers.insert(suffix.to_owned(), made.clone());
        made
    }

    fn no_cell(
        &mut self,
        target: usize,
        pattern: &str,
        range: std::ops::Range<usize>,
        node: &Node<'_>,
    ) {
        let stage = &self.pipeline.stages[target];
        let text = format!("the stage {} has no cell {}", quote(stage.name), quote(pattern));
        let labels: Vec<_> = range.take(10_000).map(|at| self.cells[at].label.as_str()).collect();
        let help = if stage.matrix.dimensions.is_empty() {
            Some(format!("it has no matrix: write `{}`", stage.name))
        } else {
            did_you_mean(&format!("{}[{pattern}]", stage.name), &labels)
        };
        self.world
            .push(Diag::error("SP0302", node.span, text).also(stage.span, "this stage").help(help));
    }
}
