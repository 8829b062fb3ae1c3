//! The machine's state around a measured action: what else ran, what the host took, whether the
//! CPU was throttled.

use fs_err as fs;
use sim_model::Conditions;
use std::sync::{Mutex, PoisonError};

/// Above this share of the machine's CPU time used by others, an observation is marked.
const OTHER_LOAD: f64 = 0.05;
/// Above this share of CPU time stolen by the hypervisor, an observation is marked.
const STOLEN: f64 = 0.01;

/// Counters at one instant, in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Ticks {
    busy: u64,
    stolen: u64,
    total: u64,
    own: u64,
}

/// Counters since a moment from which on nothing but measured actions ran, and what those used. An
/// action that is too short for the kernel's ticks is seen with the ones before it.
#[derive(Debug, Default)]
pub(crate) struct Quiet(Mutex<Option<Since>>);

#[derive(Clone, Copy, Debug)]
struct Since {
    ticks: Ticks,
    /// CPU time of the measured actions since, ms.
    cpu_ms: f64,
}

impl Quiet {
    /// Something else ran: what it used is not told from what others use.
    pub(crate) fn disturbed(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Shares of others and of the hypervisor up to now, where they can be told.
    fn shares(&self, before: &Ticks, now: &Ticks, action_cpu_ms: f64) -> Option<(f64, f64)> {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = since.unwrap_or(Since { ticks: *before, cpu_ms: 0.0 });
        let all = Since { cpu_ms: earlier.cpu_ms + action_cpu_ms, ..earlier };
        // A window of a second is short enough to be about this action.
        let long = now.since(&all.ticks).total as f64 >= ticks_per_second() * cpus();
        *since = Some(if long { Since { ticks: *now, cpu_ms: 0.0 } } else { all });
        let alone = now.since(before).shares(action_cpu_ms);
        alone.or_else(|| now.since(&all.ticks).shares(all.cpu_ms))
    }
}

impl Ticks {
    fn since(&self, before: &Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(before.busy),
            stolen: self.stolen.saturating_sub(before.stolen),
            total: self.total.saturating_sub(before.total),
            own: self.own.saturating_sub(before.own),
        }
    }

    /// Shares of others and of the hypervisor. Ticks are coarse: below 20 of them a ratio says nothing.
    fn shares(&self, actions_cpu_ms: f64) -> Option<(f64, f64)> {
        let total = self.total as f64;
        let mine = self.own as f64 + actions_cpu_ms / 1000.0 * ticks_per_second();
        let others = ((self.busy as f64 - mine) / total).clamp(0.0, 1.0);
        (total >= 20.0).then(|| (others, self.stolen as f64 / total))
    }
}

fn ticks_per_second() -> f64 {
    // SAFETY: sysconf takes no pointers.
    unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64
}

fn cpus() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64)
}

/// Taken before the action; [`Before::after`] makes the conditions.
#[derive(Debug)]
pub(crate) struct Before {
    ticks: Option<Ticks>,
    load: Option<f64>,
    mhz: Option<f64>,
    throttled: Option<u64>,
    governor: Option<String>,
}

impl Before {
    pub(crate) fn read() -> Self {
        Self {
            ticks: ticks(),
            load: load(),
            mhz: mhz(),
            throttled: throttled(),
            governor: fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
                .ok()
                .map(|s| s.trim().to_owned()),
        }
    }

    /// `action_cpu_ms` is the CPU time of the action's own processes.
    pub(crate) fn after(self, action_cpu_ms: f64, quiet: &Quiet) -> Conditions {
        let mut c = Conditions {
            governor: self.governor,
            load_before: self.load,
            load_after: load(),
            mhz_before: self.mhz,
            throttle_events: match (self.throttled, throttled()) {
                (Some(a), Some(b)) => Some(b.saturating_sub(a)),
                _ => None,
            },
            ..Conditions::default()
        };
        if let (Some(a), Some(b)) = (self.ticks, ticks())
            && let Some((others, stolen)) = quiet.shares(&a, &b, action_cpu_ms)
        {
            c.other_load = Some(others);
            c.stolen = Some(stolen);
        }
        // The first short ones: the load before it is what is known. One of it may be our own action
        // before this one.
        let cpus = cpus();
        if c.other_load.is_none()
            && let Some(x) = c.load_before.filter(|x| *x > 1.0 + 0.3 * cpus)
        {
            c.noisy.push(format!("too short to see other processes, and the load was {x:.1}"));
        }
        if let Some(x) = c.other_load.filter(|x| *x > OTHER_LOAD) {
            c.noisy.push(format!("other processes used {:.0} % of the CPU time", x * 100.0));
        }
        if let Some(x) = c.stolen.filter(|x| *x > STOLEN) {
            c.noisy.push(format!("the hypervisor took {:.1} % of the CPU time", x * 100.0));
        }
        if let Some(n) = c.throttle_events.filter(|n| *n > 0) {
            c.noisy.push(format!("the CPU was throttled {n} times"));
        }
        c.noisy.extend(from_the_caller());
        c
    }
}

/// What an action has from whoever called sim-pipe, and what makes an observation another one:
/// priority and the processors it may use.
fn from_the_caller() -> Vec<String> {
    let mut out = Vec::new();
    // SAFETY: takes numbers; -1 is a possible answer and no fault here.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    if nice > 0 {
        out.push(format!("it ran with nice {nice}"));
    }
    // SAFETY: a set of processors is plain old data, and the call gets its size.
    let allowed = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let got = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        (got == 0).then(|| i64::from(libc::CPU_COUNT(&set)))
    };
    // SAFETY: sysconf takes no pointers.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    if let Some(allowed) = allowed.filter(|n| *n < online) {
        out.push(format!("it might use {allowed} of {online} processors only"));
    }
    out
}

fn ticks() -> Option<Ticks> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    // user nice system idle iowait irq softirq steal guest guest_nice; guest is within user.
    let n: Vec<u64> =
        stat.lines().next()?.split_whitespace().skip(1).filter_map(|v| v.parse().ok()).collect();
    let get = |i: usize| n.get(i).copied().unwrap_or(0);
    let (idle, stolen) = (get(3) + get(4), get(7));
    let busy = get(0) + get(1) + get(2) + get(5) + get(6);
    let own = fs::read_to_string("/proc/self/stat").ok()?;
    let own: Vec<&str> = own.rsplit_once(')')?.1.split_whitespace().collect();
    let own = |i: usize| own.get(i).and_then(|v| v.parse::<u64>().ok()).unwrap_or(0);
    Some(Ticks { busy, stolen, total: busy + idle + stolen, own: own(11) + own(12) })
}

fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

fn mhz() -> Option<f64> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("cpu MHz"))?;
    line.split_once(':')?.1.trim().parse().ok()
}

fn throttled() -> Option<u64> {
    let path = "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count";
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(total: u64, busy: u64) -> Ticks {
        Ticks { busy, stolen: 0, total, own: 0 }
    }

    /// Ten actions of 20 ms, each too short by itself: the fifth is long enough with those before it.
    #[test]
    fn short_actions_are_seen_together() {
        let hz = ticks_per_second();
        let quiet = Quiet::default();
        // Two processors: 4 ticks of 10 ms pass in 20 ms; ours keeps one of them busy.
        let each = (0.02 * hz) as u64;
        let mut known = Vec::new();
        for i in 0..10 {
            let (before, after) =
                (at(2 * each * i, each * i), at(2 * each * (i + 1), each * (i + 1)));
            known.push(quiet.shares(&before, &after, 20.0).map(|(others, _)| others));
        }
        let first = 20_u64.div_ceil(2 * each) - 1;
        assert!(known[..first as usize].iter().all(Option::is_none), "{known:?}");
        assert!(known[first as usize..].iter().all(|k| *k == Some(0.0)), "{known:?}");
        // Another process that takes the other processor is seen; our own build in between is not blamed.
        let (before, after) = (at(1000, 500), at(1000 + 2 * each, 500 + 2 * each));
        quiet.disturbed();
        assert_eq!(quiet.shares(&before, &after, 20.0), None);
        let later = at(1000 + 40, 500 + 40);
        let (others, _) = quiet.shares(&after, &later, 1000.0 * 18.0 / hz).unwrap();
        assert!((others - 0.5).abs() < 0.06, "{others}");
    }
}
