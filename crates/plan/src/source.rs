//! Texts that diagnostics and origins point into, and the way from a byte offset to a line and a
//! column that stays fast on one enormous line.

use sim_model::plan::Origin;
use std::collections::HashMap;
use std::sync::Arc;

/// A range of bytes in one of the [`Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Span {
    pub(crate) file: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) fn new(file: u32, range: std::ops::Range<usize>) -> Self {
        let clip = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { file, start: clip(range.start), end: clip(range.end.max(range.start)) }
    }

    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Distance between two stored character counts of a text that is not ASCII.
const CHECKPOINT: usize = 512;

/// One text with what is needed to find lines and columns.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// Path relative to the project's root, or a name in angle brackets.
    pub path: Arc<str>,
    /// The text.
    pub text: Arc<str>,
    /// Offset of the first byte of each line.
    lines: Vec<u32>,
    /// Characters before each multiple of [`CHECKPOINT`] bytes; empty for ASCII.
    chars: Vec<u32>,
}

impl SourceText {
    fn new(path: &str, text: Arc<str>) -> Self {
        let mut lines = vec![0];
        lines.extend(
            text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1),
        );
        let mut chars = Vec::new();
        if !text.is_ascii() {
            let mut count = 0;
            for (i, b) in text.bytes().enumerate() {
                if i % CHECKPOINT == 0 {
                    chars.push(count);
                }
                count += u32::from(b & 0xC0 != 0x80);
            }
        }
        Self { path: path.into(), text, lines, chars }
    }

    fn chars_before(&self, offset: usize) -> usize {
        if self.chars.is_empty() {
            return offset;
        }
        let at = (offset / CHECKPOINT).min(self.chars.len() - 1);
        let tail = &self.text.as_bytes()[at * CHECKPOINT..offset];
        self.chars[at] as usize + tail.iter().filter(|b| **b & 0xC0 != 0x80).count()
    }

    /// 1-based line and column (in characters) of a byte offset.
    pub fn position(&self, offset: usize) -> (u32, u32) {
        let offset = offset.min(self.text.len());
        let line = self.lines.partition_point(|start| *start as usize <= offset);
        let start = self.lines[line - 1] as usize;
        let column = self.chars_before(offset) - self.chars_before(start) + 1;
        (line as u32, column as u32)
    }

    /// Byte range of the line that holds `offset`, without its end-of-line characters.
    pub fn line_range(&self, offset: usize) -> std::ops::Range<usize> {
        let offset = offset.min(self.text.len());
        let line = self.lines.partition_point(|start| *start as usize <= offset);
        let start = self.lines[line - 1] as usize;
        let end = self.lines.get(line).map_or(self.text.len(), |next| *next as usize - 1);
        let end = if end > start && self.text.as_bytes()[end - 1] == b'\r' { end - 1 } else { end };
        start..end
    }
}

/// Every text that was read while planning.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<SourceText>,
    by_path: HashMap<Arc<str>, u32>,
}

impl Sources {
    pub(crate) fn add(&mut self, path: &str, text: Arc<str>) -> u32 {
        if let Some(id) = self.by_path.get(path) {
            return *id;
        }
        let id = self.files.len() as u32;
        let source = SourceText::new(path, text);
        self.by_path.insert(source.path.clone(), id);
        self.files.push(source);
        id
    }

    pub(crate) fn id(&self, path: &str) -> Option<u32> {
        self.by_path.get(path).copied()
    }

    pub(crate) fn file(&self, id: u32) -> &SourceText {
        &self.files[id as usize]
    }

    /// The text of a path, if it was read.
    pub fn get(&self, path: &str) -> Option<&SourceText> {
        self.id(path).map(|id| self.file(id))
    }

    pub(crate) fn origin(&self, span: Span) -> Origin {
        let file = self.file(span.file);
        let (line, column) = file.position(span.start as usize);
        Origin::At { file: file.path.clone(), line, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text: Arc<str> = format!("a\r\nß{}x = 1\n", "é".repeat(2000)).into();
        let mut sources = Sources::default();
        let id = sources.add("f", text.clone());
        let file = sources.file(id);
        assert_eq!(file.position(0), (1, 1));
        assert_eq!(file.position(3), (2, 1));
        assert_eq!(file.position(text.find('x').unwrap()), (2, 2002));
        assert_eq!(file.position(text.len()), (3, 1));
        assert_eq!(file.position(usize::MAX), (3, 1));
        assert_eq!(file.line_range(0), 0..1);
        assert_eq!(sources.add("f", "other".into()), id);
    }
}
