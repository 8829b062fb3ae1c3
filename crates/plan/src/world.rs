//! What planning carries along: the files, the texts read so far, and the diagnostics.

use crate::diag::{Diag, Sink};
use crate::doc::{self, Node, Val};
use crate::files::{FileKind, Files};
use crate::source::{Sources, Span};
use crate::suggest::{list, nearest, quote};
use crate::template::{self, Unfilled};
use sim_model::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// Matrix bindings of one cell.
pub(crate) type Bindings = BTreeMap<String, Value>;

/// The state of one planning.
pub(crate) struct World<'f> {
    pub(crate) files: &'f dyn Files,
    pub(crate) sources: Sources,
    pub(crate) sink: Sink,
    pub(crate) cpus: u32,
    pub(crate) max_actions: usize,
    kinds: HashMap<String, Option<FileKind>>,
    at_root: Option<HashSet<String>>,
}

impl<'f> World<'f> {
    pub(crate) fn new(files: &'f dyn Files, cpus: u32, max_actions: usize) -> Self {
        let (sources, sink) = (Sources::default(), Sink::default());
        Self { files, sources, sink, cpus, max_actions, kinds: HashMap::new(), at_root: None }
    }

    pub(crate) fn push(&mut self, diag: Diag) {
        self.sink.push(diag);
    }

    /// What is at a path, asked once.
    pub(crate) fn kind(&mut self, path: &str) -> Option<FileKind> {
        if let Some(kind) = self.kinds.get(path) {
            return *kind;
        }
        let kind = self.files.kind(path);
        self.kinds.insert(path.to_owned(), kind);
        kind
    }

    /// Whether a file or folder of this name is in the root. All names are asked for at once, since
    /// there may be as many such questions as references to stages.
    pub(crate) fn is_at_root(&mut self, name: &str) -> bool {
        let files = self.files;
        self.at_root.get_or_insert_with(|| files.names("").into_iter().collect()).contains(name)
    }

    /// Reads a text once and keeps it; its number among the sources. The error is a sentence
    /// fragment.
    pub(crate) fn read(&mut self, path: &str) -> Result<u32, ReadError> {
        if let Some(id) = self.sources.id(path) {
            return Ok(id);
        }
        let bytes = self.files.read(path).map_err(ReadError::Io)?;
        let text = String::from_utf8(bytes).map_err(|e| ReadError::NotUtf8 {
            valid: e.utf8_error().valid_up_to(),
            text: String::from_utf8_lossy(e.as_bytes()).into_owned(),
        })?;
        Ok(self.sources.add(path, text.into()))
    }

    /// The text of a source.
    pub(crate) fn text(&self, file: u32) -> Arc<str> {
        self.sources.file(file).text.clone()
    }

    /// The span of a part of the string that is written at `span`.
    pub(crate) fn inside(&self, span: Span, part: Range<usize>) -> Span {
        let text = &self.sources.file(span.file).text;
        text.get(span.range()).map_or(span, |raw| doc::inside(span, raw, part))
    }

    /// The string of a node with its placeholders filled in; `None` after a diagnostic.
    pub(crate) fn string<'n>(
        &mut self,
        node: &'n Node<'_>,
        bindings: &Bindings,
    ) -> Option<Cow<'n, str>> {
        let Val::Str(text) = &node.val else {
            self.wrong_type(node, "a string");
            return None;
        };
        if text.contains('\0') {
            self.nul(node.span);
            return None;
        }
        let lookup = |name: &str| bindings.get(name).map(template::text_of);
        match template::fill(text, lookup) {
            Ok(text) => Some(text),
            Err(why) => {
                let names: Vec<_> = bindings.keys().map(String::as_str).collect();
                self.unfilled(node.span, why, &names);
                None
            }
        }
    }

    pub(crate) fn nul(&mut self, span: Span) {
        self.push(
            Diag::error("SP0116", span, "a string holds the character NUL")
                .help("no path, argument or variable can hold it: take it out".to_owned()),
        );
    }

    /// Reports a string whose placeholders can't be filled in.
    pub(crate) fn unfilled(&mut self, span: Span, why: Unfilled, names: &[&str]) {
        match why {
            Unfilled::Malformed(m) => {
                let at = self.inside(span, m.range);
                self.push(
                    Diag::error("SP0202", at, format!("a brace {}", m.why)).help(
                        "write `{{` and `}}` for braces that are meant as they are".to_owned(),
                    ),
                );
            }
            Unfilled::Unknown(name, range) => {
                let at = self.inside(span, range);
                let help = match nearest(&name, names.iter().copied()) {
                    Some(near) => format!("did you mean `{{{near}}}`?"),
                    None => match list(names) {
                        Some(known) => {
                            format!("known here: {known}; write `{{{{` and `}}}}` for plain braces")
                        }
                        None => "this stage has no matrix; write `{{` and `}}` for plain braces"
                            .to_owned(),
                    },
                };
                let text = format!("the placeholder {} means nothing here", quote(&name));
                self.push(Diag::error("SP0201", at, text).help(help));
            }
        }
    }

    /// Reports a value of the wrong type, unless the value was reported already.
    pub(crate) fn wrong_type(&mut self, node: &Node<'_>, wanted: &str) {
        if !node.reported() {
            let found = node.type_name();
            let article = if matches!(found, "integer" | "array") { "an" } else { "a" };
            let text = format!("expected {wanted}, found {article} {found}");
            self.push(Diag::error("SP0103", node.span, text));
        }
    }
}

/// Why a text could not be read.
#[derive(Clone, Debug)]
pub(crate) enum ReadError {
    Io(String),
    /// The text with replacement characters, and how many bytes of it are as they were.
    NotUtf8 {
        text: String,
        valid: usize,
    },
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(why) => f.write_str(why),
            Self::NotUtf8 { valid, .. } => write!(f, "not UTF-8 from byte {valid} on"),
        }
    }
}
