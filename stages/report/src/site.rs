//! The site's files: templates compiled in (or replaced by the `templates` input), rendered and
//! written below `out/`.

use crate::error::{At, ReportError};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Names of built-in files and their texts.
const BUILT_IN: &[(&str, &str)] = &[
    ("base.html", include_str!("../../../templates/base.html")),
    ("parts.html", include_str!("../../../templates/parts.html")),
    ("index.html", include_str!("../../../templates/index.html")),
    ("scene.html", include_str!("../../../templates/scene.html")),
    ("case.html", include_str!("../../../templates/case.html")),
    ("protocol.html", include_str!("../../../templates/protocol.html")),
    ("batch.html", include_str!("../../../templates/batch.html")),
    ("scenario.html", include_str!("../../../templates/scenario.html")),
    ("methods.html", include_str!("../../../templates/methods.html")),
    ("machine.html", include_str!("../../../templates/machine.html")),
    ("actions.html", include_str!("../../../templates/actions.html")),
    ("provenance.html", include_str!("../../../templates/provenance.html")),
    ("style.css", include_str!("../../../templates/style.css")),
    ("site.js", include_str!("../../../templates/site.js")),
    ("replay.js", include_str!("../../../templates/replay.js")),
    ("vendor/three.js", include_str!("../../../templates/vendor/three.js")),
    ("vendor/three.LICENSE", include_str!("../../../templates/vendor/three.LICENSE")),
];
/// Those that only a site with an interactive replay has.
const FOR_REPLAYS: [&str; 3] = ["replay.js", "vendor/three.js", "vendor/three.LICENSE"];

/// Largest replacement of a template that is read.
const MOST_TEMPLATE_BYTES: u64 = 4 << 20;

/// Writes a site.
pub(crate) struct Site {
    env: Environment<'static>,
    out: PathBuf,
    folders: Mutex<BTreeSet<PathBuf>>,
}

impl Site {
    /// A site in `out`, with files of the folder `replacements` in place of the built-in ones.
    /// `replays` says whether it has interactive replays, which need scripts of their own.
    pub(crate) fn new(
        out: &Path,
        replacements: Option<&Path>,
        replays: bool,
    ) -> Result<Self, ReportError> {
        let mut env = Environment::new();
        env.set_undefined_behavior(UndefinedBehavior::Strict);
        env.set_auto_escape_callback(|name| {
            if name.ends_with(".html") { AutoEscape::Html } else { AutoEscape::None }
        });
        env.set_formatter(|out, state, value| {
            // As the default, but a slash stays a slash: it is inert, and every link has some.
            match value.as_str() {
                Some(text) if *state.auto_escape() == AutoEscape::Html && !value.is_safe() => {
                    Ok(out.write_str(&crate::svg::escape(text))?)
                }
                _ => minijinja::escape_formatter(out, state, value),
            }
        });
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        env.set_syntax(syntax.map_err(|e| problem("syntax", &e))?);
        let mut assets = Vec::new();
        for (name, text) in BUILT_IN {
            let text = match replacements {
                Some(folder) => replacement(folder, name)?.unwrap_or_else(|| (*text).to_owned()),
                None => (*text).to_owned(),
            };
            if name.ends_with(".html") {
                env.add_template_owned(*name, text).map_err(|e| problem(name, &e))?;
            } else if replays || !FOR_REPLAYS.contains(name) {
                assets.push((*name, text));
            }
        }
        let site = Self { env, out: out.to_path_buf(), folders: Mutex::default() };
        for (name, text) in assets {
            site.write(&format!("assets/{name}"), text.as_bytes())?;
        }
        Ok(site)
    }

    /// Renders a page from a template.
    pub(crate) fn render(
        &self,
        template: &str,
        context: &impl Serialize,
    ) -> Result<String, ReportError> {
        self.env
            .get_template(template)
            .and_then(|t| t.render(Serde(context)))
            .map_err(|e| problem(template, &e))
    }

    /// Writes one file.
    pub(crate) fn write(&self, path: &str, bytes: &[u8]) -> Result<(), ReportError> {
        let path = self.place(path)?;
        fs::write(&path, bytes).at(&path)
    }

    /// Copies one file.
    pub(crate) fn copy(&self, path: &str, from: &Path) -> Result<(), ReportError> {
        let path = self.place(path)?;
        let mut source = fs::File::open(from).at(from)?;
        let mut target = fs::File::create(&path).at(&path)?;
        std::io::copy(&mut source, &mut target).map(|_| ()).at(&path)
    }

    fn place(&self, path: &str) -> Result<PathBuf, ReportError> {
        let path = self.out.join(path);
        if let Some(folder) = path.parent() {
            // Held while the folder is made, so that nobody writes into one that is not there yet.
            let mut made = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
            if !made.contains(folder) {
                fs::create_dir_all(folder).at(folder)?;
                made.insert(folder.to_path_buf());
            }
        }
        Ok(path)
    }
}

fn replacement(folder: &Path, name: &str) -> Result<Option<String>, ReportError> {
    let path = folder.join(name);
    let Ok(meta) = fs::metadata(&path) else { return Ok(None) };
    if meta.len() > MOST_TEMPLATE_BYTES {
        let problem = format!("is larger than {MOST_TEMPLATE_BYTES} bytes");
        return Err(ReportError::Input { what: format!("template {name}"), problem });
    }
    fs::read_to_string(&path).map(Some).at(&path)
}

fn problem(name: &str, e: &minijinja::Error) -> ReportError {
    let mut text = e.to_string();
    let mut source = std::error::Error::source(e);
    while let Some(inner) = source {
        text += &format!(": {inner}");
        source = inner.source();
    }
    ReportError::Template { name: name.to_owned(), problem: text }
}
