//! The journal: one append-only file a run, one JSON line an event. It tells what happened when; no
//! result depends on it.

use crate::{Result, Store, StoreError};
use fs_err as fs;
use sim_model::event::{EVENT_VERSION, Event, Line};
use std::io::{BufRead as _, Write};
use std::path::PathBuf;

/// A run's id: its start in milliseconds since 1970 and the process id, both in base 36, so that ids
/// sort by time and two runs never share one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId(String);

impl RunId {
    /// The id of a run that starts now in this process.
    pub fn new(unix_ms: u64, process: u32) -> Self {
        Self(format!("{}-{}", base36(unix_ms, 9), base36(u64::from(process), 1)))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn base36(mut n: u64, width: usize) -> String {
    let mut digits = Vec::new();
    while n > 0 || digits.len() < width {
        digits.push(b"0123456789abcdefghijklmnopqrstuvwxyz"[(n % 36) as usize]);
        n /= 36;
    }
    digits.reverse();
    String::from_utf8_lossy(&digits).into_owned()
}

/// Appends to one run's journal.
#[derive(Debug)]
pub struct JournalWriter {
    file: fs::File,
    run: RunId,
    /// Lines not written yet: a run that reuses ten thousand results says so in few writes.
    pending: Vec<u8>,
}

impl JournalWriter {
    /// Adds one event. Lines about reuse may wait; any other event writes all that waited, so that a
    /// crash loses nothing that happened.
    pub fn write(&mut self, at_unix_ms: u64, event: &Event) -> Result<Line> {
        let line =
            Line { v: EVENT_VERSION, at_unix_ms, run: self.run.0.clone(), event: event.clone() };
        serde_json::to_writer(&mut self.pending, &line).map_err(std::io::Error::other)?;
        self.pending.push(b'\n');
        if !matches!(event, Event::ActionReused { .. }) || self.pending.len() > 64 << 10 {
            self.flush()?;
        }
        Ok(line)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_all(&self.pending)?;
        self.pending.clear();
        Ok(())
    }
}

impl Drop for JournalWriter {
    fn drop(&mut self) {
        // The journal is an account, not a result: what cannot be told is not worth a failure.
        let _ = self.flush();
    }
}

impl Store {
    /// Starts the journal of a run.
    pub fn journal(&self, run: &RunId) -> Result<JournalWriter> {
        let path = self.root().join("journal").join(format!("{}.jsonl", run.0));
        let file = fs::OpenOptions::new().create_new(true).append(true).open(path)?;
        Ok(JournalWriter { file, run: run.clone(), pending: Vec::new() })
    }

    /// Journal files, oldest first.
    pub fn journals(&self) -> Result<Vec<PathBuf>> {
        let mut out: Vec<PathBuf> = fs::read_dir(self.root().join("journal"))?
            .filter_map(|e| e.ok().map(|e| e.path()))
            .filter(|p| p.extension().is_some_and(|e| e == "jsonl"))
            .collect();
        out.sort();
        Ok(out)
    }

    /// Blobs of the plans that journals name.
    pub(crate) fn kept_plans(&self) -> Result<Vec<sim_model::Digest>> {
        let mut out = Vec::new();
        for path in self.journals()? {
            let mut lines = std::io::BufReader::new(fs::File::open(path)?);
            let mut line = Vec::new();
            // What was reused may stand before it.
            while lines.read_until(b'\n', &mut line)? > 0 {
                let parsed = serde_json::from_slice::<Line>(&line).map(|l| l.event);
                if let Ok(Event::RunPlanned { plan, .. }) = parsed {
                    out.push(plan);
                    break;
                }
                line.clear();
            }
        }
        Ok(out)
    }

    /// The lines of one journal file. A cut last line (a crash) is left out; any other bad line is
    /// an error.
    pub fn journal_lines(&self, path: &std::path::Path) -> Result<Vec<Line>> {
        let bytes = fs::read(path)?;
        let mut out = Vec::new();
        for line in bytes.split_inclusive(|b| *b == b'\n') {
            match serde_json::from_slice(line) {
                Ok(line) => out.push(line),
                Err(_) if line.last() != Some(&b'\n') => break,
                Err(e) => {
                    return Err(StoreError::DamagedRecord {
                        path: path.to_path_buf(),
                        problem: e.to_string(),
                    });
                }
            }
        }
        Ok(out)
    }
}
