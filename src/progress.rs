//! What is seen of a run: a bar with lines above it on a terminal, plain lines elsewhere, or JSON.

use crate::global::Global;
use crate::{env, text};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sim_exec::Observer;
use sim_model::event::{EVENT_VERSION, Event, Line};
use sim_model::{Digest, Status};
use sim_store::Store;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Without a bar, what has been running this long is mentioned, and again after as long.
const STILL_RUNNING: Duration = Duration::from_secs(15);

/// Shows events as they happen.
pub(crate) struct Progress {
    form: Form,
    quiet: bool,
    colour: bool,
    /// Where logs are.
    store: Store,
    running: Running,
    teller: Option<Teller>,
    failures: Vec<(String, String)>,
}

/// Labels of what runs, with when it started.
type Running = Arc<Mutex<Vec<(String, Instant)>>>;

fn lock(running: &Running) -> std::sync::MutexGuard<'_, Vec<(String, Instant)>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread that mentions what takes long, until it is dropped.
struct Teller {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Teller {
    fn start(running: Running) -> Self {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let shared = stop.clone();
        let thread = std::thread::spawn(move || {
            let (stopped, wake) = &*shared;
            let mut guard = stopped.lock().unwrap_or_else(PoisonError::into_inner);
            while !*guard {
                let waited = wake.wait_timeout(guard, STILL_RUNNING);
                guard = waited.unwrap_or_else(PoisonError::into_inner).0;
                if *guard {
                    return;
                }
                for (label, since) in lock(&running).iter() {
                    let for_long = since.elapsed();
                    if for_long >= STILL_RUNNING {
                        text::say(&format!("  running  {label}  {}", text::duration(for_long)));
                    }
                }
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

enum Form {
    Json,
    Plain,
    Bar(ProgressBar),
}

impl Progress {
    pub(crate) fn new(global: &Global, store: &Store) -> Self {
        let form = if global.json {
            Form::Json
        } else if global.no_progress || global.quiet || !env::interactive() {
            Form::Plain
        } else {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("[{bar:28}] {pos}/{len} · {elapsed} · {msg}");
            bar.set_style(
                style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=>-"),
            );
            bar.enable_steady_tick(Duration::from_millis(200));
            Form::Bar(bar)
        };
        let running = Running::default();
        let teller = matches!(form, Form::Plain).then(|| Teller::start(running.clone()));
        Self {
            form,
            quiet: global.quiet,
            colour: env::colour(global.color),
            store: store.clone(),
            running,
            teller,
            failures: Vec::new(),
        }
    }

    /// Failures seen, as label and reason.
    pub(crate) fn failures(&self) -> &[(String, String)] {
        &self.failures
    }

    fn line(&self, verb: &str, code: &str, rest: &str) {
        let verb = if self.colour {
            format!("\x1b[{code}m{verb:>9}\x1b[0m")
        } else {
            format!("{verb:>9}")
        };
        match &self.form {
            Form::Bar(bar) => bar.println(format!("{verb}  {rest}")),
            _ => text::say(&format!("{verb}  {rest}")),
        }
    }

    fn tick(&self, done: bool) {
        let Form::Bar(bar) = &self.form else { return };
        if done {
            bar.inc(1);
        }
        bar.set_message(match lock(&self.running).as_slice() {
            [] => String::new(),
            [(one, since)] => format!("{one} {}", text::duration(since.elapsed())),
            [(first, since), rest @ ..] => {
                format!("{first} {} and {} more", text::duration(since.elapsed()), rest.len())
            }
        });
    }

    /// What a failed action said last: often all that is needed to mend it.
    fn show_tail(&self, key: &Digest, generation: u32, status: Status) {
        let said_more = matches!(status, Status::Failed | Status::TimedOut | Status::OutOfMemory);
        if self.quiet || !said_more || self.failures.len() >= TAILS {
            return;
        }
        let record = self.store.stored_generation(key, generation).ok().flatten();
        let Some(log) = record.and_then(|r| r.record.log) else { return };
        let Ok(log) = self.store.blob(&log) else { return };
        for line in tail(&log) {
            self.line("", "0", &format!("| {line}"));
        }
    }

    fn ended(&mut self, label: &str) {
        lock(&self.running).retain(|(l, _)| l != label);
        self.tick(true);
    }
}

/// Lines of a log shown at a failure, and characters of each.
const TAIL_LINES: usize = 8;
const TAIL_WIDTH: usize = 300;
/// Failures whose logs are shown; of the others, `log` prints them.
const TAILS: usize = 3;

/// The last lines of a log, without what would move the cursor or change colours.
fn tail(log: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(log);
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let shown = lines.iter().skip(lines.len().saturating_sub(TAIL_LINES));
    shown.map(|line| plain(line).chars().take(TAIL_WIDTH).collect()).collect()
}

/// A line without escape sequences and other control characters.
fn plain(line: &str) -> String {
    // What is before a return was overwritten.
    let line = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\x1b' {
            // A control sequence ends at its first letter or so; others are two characters long.
            if chars.next_if_eq(&'[').is_some() {
                while chars.next_if(|c| !matches!(c, '@'..='~')).is_some() {}
            }
            chars.next();
        } else if c == '\t' {
            out.push(' ');
        } else if !c.is_control() {
            out.push(c);
        }
    }
    out
}

impl Observer for Progress {
    fn event(&mut self, run: &str, _: Option<usize>, event: &Event) {
        if let Form::Json = self.form {
            let line = Line {
                v: EVENT_VERSION,
                at_unix_ms: sim_exec::unix_ms(),
                run: run.to_owned(),
                event: event.clone(),
            };
            if let Ok(json) = serde_json::to_string(&line) {
                text::out(&json);
            }
            return;
        }
        match event {
            Event::RunStarted { actions, .. } => {
                if let Form::Bar(bar) = &self.form {
                    bar.set_length(*actions);
                }
            }
            Event::SandboxStarted { .. } | Event::RunPlanned { .. } => {}
            Event::StoreChecked { trees, set_aside } => {
                let found = match set_aside {
                    0 => "all of it holds".to_owned(),
                    n => {
                        format!("{} set aside, to be made again", text::count(*n as usize, "thing"))
                    }
                };
                let shown = format!(
                    "the machine went down during an earlier run: {} hashed again, {found}",
                    text::count(*trees as usize, "tree")
                );
                self.line("warning", "1;33", &shown);
            }
            Event::ActionStarted { label, .. } => {
                lock(&self.running).push((label.clone(), Instant::now()));
                self.tick(false);
            }
            Event::ActionReused { label, status, .. } => {
                if *status != Status::Ok {
                    self.failures.push((label.clone(), format!("{} (recorded)", status.name())));
                }
                self.tick(true);
            }
            Event::ActionWaited { label, .. } => self.ended(label),
            Event::ActionHeld { label, by, .. } => {
                if !self.quiet {
                    self.line("waiting", "1;33", &format!("{label}: {by}"));
                }
            }
            Event::ActionFinished { label, key, status, reason, wall_ms, warnings, generation } => {
                self.ended(label);
                let time = text::duration(Duration::from_secs_f64(wall_ms / 1e3));
                if *status == Status::Ok {
                    if !self.quiet {
                        self.line("ran", "1;32", &format!("{label}  {time}  {}", key.short()));
                    }
                } else {
                    let shown = format!("{label}  {time}  {}: {reason}", status.name());
                    self.line("failed", "1;31", &shown);
                    self.show_tail(key, *generation, *status);
                    self.failures.push((label.clone(), format!("{}: {reason}", status.name())));
                }
                if !self.quiet {
                    for warning in warnings {
                        self.line("warning", "1;33", &format!("{label}: {warning}"));
                    }
                }
            }
            Event::ActionSkipped { label, reason, .. } if !reason.is_empty() => {
                self.ended(label);
                if !self.quiet {
                    self.line("left out", "1;33", &format!("{label}: {reason}"));
                }
            }
            Event::ActionSkipped { label, because, .. } => {
                self.ended(label);
                if !self.quiet {
                    // Because of another action, by its label, or for a reason of its own.
                    let own = because.strip_prefix(&format!("action {label} "));
                    let shown = own.map_or_else(
                        || format!("{label}: needs {because}"),
                        |own| format!("{label}: it {own}"),
                    );
                    self.line("skipped", "1;33", &shown);
                }
            }
            Event::RunFinished { .. } => {
                self.teller = None;
                if let Form::Bar(bar) = &self.form {
                    bar.finish_and_clear();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_is_the_last_lines_as_a_terminal_would_leave_them() {
        let log = b"zero\n\x1b[1;31merror\x1b[0m: no\x07\n\n 10%\r 90%\r100%\r\ntab\there \xff\n";
        assert_eq!(tail(log), ["zero", "error: no", "100%", "tab here \u{fffd}"]);
        let long: String = (0..100).map(|i| format!("{i}\n")).collect();
        assert_eq!(tail(long.as_bytes()), ["92", "93", "94", "95", "96", "97", "98", "99"]);
        assert_eq!(tail("x".repeat(1000).as_bytes())[0].len(), TAIL_WIDTH);
        assert!(tail(b"").is_empty());
    }
}
