//! What is seen of a run: a bar with lines above it on a terminal, plain lines elsewhere, or JSON.

use crate::global::Global;
use crate::{env, text};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sim_exec::Observer;
use sim_model::event::{EVENT_VERSION, Event, Line};
use sim_store::{RunId, Store};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Without a bar, what has been running this long is mentioned, and again after as long.
const STILL_RUNNING: Duration = Duration::from_secs(15);

/// Shows events as they happen.
pub(crate) struct Progress {
    form: Form,
    quiet: bool,
    colour: bool,
    /// Where the journal of the run is, whose name is the run's id.
    store: Store,
    run: Option<String>,
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
            run: None,
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

    fn ended(&mut self, label: &str) {
        lock(&self.running).retain(|(l, _)| l != label);
        self.tick(true);
    }
}

/// The id of the run of this process: its journal is the newest that this process began. Without one,
/// in a store that cannot be written, an id of its own.
fn own_run(store: &Store) -> String {
    let fresh = RunId::new(sim_exec::unix_ms(), std::process::id());
    let process = fresh.as_str().split_once('-').map_or("", |(_, process)| process);
    let mut ids = store.journals().unwrap_or_default();
    ids.retain(|p| {
        p.file_stem()
            .and_then(|s| s.to_str())
            .and_then(|s| s.split_once('-'))
            .is_some_and(|(_, of)| of == process)
    });
    let newest = ids.last().and_then(|p| p.file_stem()).and_then(|s| s.to_str());
    newest.unwrap_or(fresh.as_str()).to_owned()
}

impl Observer for Progress {
    fn event(&mut self, _: Option<usize>, event: &Event) {
        if let Form::Json = self.form {
            if matches!(event, Event::RunStarted { .. }) {
                self.run = None;
            }
            let run = self.run.get_or_insert_with(|| own_run(&self.store)).clone();
            let line = Line {
                v: EVENT_VERSION,
                at_unix_ms: sim_exec::unix_ms(),
                run,
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
                if *status != sim_model::Status::Ok {
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
            Event::ActionFinished { label, key, status, reason, wall_ms, warnings, .. } => {
                self.ended(label);
                let time = text::duration(Duration::from_secs_f64(wall_ms / 1e3));
                if *status == sim_model::Status::Ok {
                    if !self.quiet {
                        self.line("ran", "1;32", &format!("{label}  {time}  {}", key.short()));
                    }
                } else {
                    let shown = format!("{label}  {time}  {}: {reason}", status.name());
                    self.line("failed", "1;31", &shown);
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
