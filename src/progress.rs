//! What is seen of a run: a bar with lines above it on a terminal, plain lines elsewhere, or JSON.

use crate::cli::Global;
use crate::{env, text};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sim_exec::Observer;
use sim_model::event::{EVENT_VERSION, Event, Line};
use std::time::Duration;

/// Shows events as they happen.
pub(crate) struct Progress {
    form: Form,
    quiet: bool,
    colour: bool,
    run: String,
    running: Vec<String>,
    reused: u64,
    failures: Vec<(String, String)>,
}

enum Form {
    Json,
    Plain,
    Bar(ProgressBar),
}

impl Progress {
    pub(crate) fn new(global: &Global, run: &str) -> Self {
        let form = if global.json {
            Form::Json
        } else if global.no_progress || global.quiet || !env::interactive() {
            Form::Plain
        } else {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("[{bar:28}] {pos}/{len} · {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=>-"));
            Form::Bar(bar)
        };
        Self {
            form,
            quiet: global.quiet,
            colour: env::colour(global.color),
            run: run.to_owned(),
            running: Vec::new(),
            reused: 0,
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
        bar.set_message(match self.running.as_slice() {
            [] => String::new(),
            [one] => one.clone(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        });
    }

    fn ended(&mut self, label: &str) {
        self.running.retain(|l| l != label);
        self.tick(true);
    }
}

impl Observer for Progress {
    fn event(&mut self, _: Option<usize>, event: &Event) {
        if let Form::Json = self.form {
            let line = Line {
                v: EVENT_VERSION,
                at_unix_ms: sim_exec::unix_ms(),
                run: self.run.clone(),
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
            Event::ActionStarted { label, .. } => {
                self.running.push(label.clone());
                self.tick(false);
            }
            Event::ActionReused { label, status, .. } => {
                self.reused += 1;
                if *status != sim_model::Status::Ok {
                    self.failures.push((label.clone(), format!("{} (recorded)", status.name())));
                }
                self.tick(true);
            }
            Event::ActionWaited { label, .. } => self.ended(label),
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
            Event::ActionSkipped { label, because } => {
                self.ended(label);
                if !self.quiet {
                    self.line("skipped", "1;33", &format!("{label}: needs {because}"));
                }
            }
            Event::RunFinished { .. } => {
                if let Form::Bar(bar) = &self.form {
                    bar.finish_and_clear();
                }
            }
        }
    }
}
