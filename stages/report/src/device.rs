//! Device time of a cell: what the profile replays of its passed trials gave.

use crate::cases::Cell;
use crate::stats::Summary;
use crate::trial::Trial;
use sim_engine_protocol::ProfileReport;
use std::collections::BTreeSet;

/// Device time of one cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Device {
    /// Ms of device time a step, over the replays that gave one.
    pub(crate) ms: Option<Summary>,
    /// Method and scope of each; more than one forbids a median (P094).
    pub(crate) methods: BTreeSet<String>,
    /// Replays that the case needs: one for every timed trial that passed.
    pub(crate) needed: usize,
    /// Why a replay gave no value, as `capability: reason`.
    pub(crate) absent: BTreeSet<String>,
}

impl Device {
    /// The summary, under the rules of complete coverage and of one method and scope.
    pub(crate) fn counts(&self) -> Option<&Summary> {
        self.ms.as_ref().filter(|ms| ms.n >= self.needed && self.methods.len() == 1)
    }

    /// Whether there is more to say than that the backend has no device.
    pub(crate) fn says_something(&self) -> bool {
        self.ms.is_some() || !self.absent.iter().all(|why| why.starts_with("none: "))
    }

    /// Why nothing counts, in a word and in full.
    pub(crate) fn why_not(&self) -> (&'static str, String) {
        let list = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join("; ");
        let n = self.ms.as_ref().map_or(0, |ms| ms.n);
        let none = |reason: &String| reason.starts_with("none: ");
        match (n, self.methods.len()) {
            (0, _) if !self.absent.is_empty() && self.absent.iter().all(none) => {
                ("none", list(&self.absent))
            }
            (0, _) => ("unavailable", list(&self.absent)),
            (_, 2..) => ("incomplete", format!("several methods: {}", list(&self.methods))),
            _ => {
                let mut why = format!("{n} of {} replays gave a device time", self.needed);
                if !self.absent.is_empty() {
                    why += &format!("; {}", list(&self.absent));
                }
                ("incomplete", why)
            }
        }
    }
}

/// The device time of a cell; `None` where no profile replay was planned: not collected (P095).
pub(crate) fn of(cell: &Cell, trials: &[Trial]) -> Option<Device> {
    let replays = cell.replays.get("profile")?;
    let mut device = Device { needed: cell.passed.max(1), ..Device::default() };
    let mut values = Vec::new();
    for t in replays.iter().map(|i| &trials[*i]) {
        // A replay whose physics failed gives no sample (P093).
        if !t.passed() {
            device.absent.insert(format!("{}: {}", t.outcome.replace('_', " "), t.reason));
            continue;
        }
        match t.result.as_ref().and_then(|r| r.profile.as_ref()) {
            Some(ProfileReport::Timestamps(time)) => {
                device.methods.insert(format!("{} ({})", time.method, time.scope));
                values.push(time.ms_per_step);
            }
            Some(
                report @ (ProfileReport::None { reason } | ProfileReport::Unavailable { reason }),
            ) => {
                device.absent.insert(format!("{}: {reason}", report.capability()));
            }
            None => drop(device.absent.insert("unavailable: the replay says nothing".to_owned())),
        }
    }
    device.ms = Summary::of(values);
    Some(device)
}
