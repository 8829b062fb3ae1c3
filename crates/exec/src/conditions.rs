//! The machine's state around a measured action: what else ran, what the host took, whether the
//! CPU was throttled.

use fs_err as fs;
use sim_model::Conditions;

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
    pub(crate) fn after(self, action_cpu_ms: f64) -> Conditions {
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
        if let (Some(a), Some(b)) = (self.ticks, ticks()) {
            let total = b.total.saturating_sub(a.total) as f64;
            // SAFETY: sysconf takes no pointers.
            let hz = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64;
            let mine = (b.own.saturating_sub(a.own)) as f64 + action_cpu_ms / 1000.0 * hz;
            let others = (b.busy.saturating_sub(a.busy)) as f64 - mine;
            // Ticks are coarse: below 20 of them the ratio says nothing.
            if total >= 20.0 {
                c.other_load = Some((others / total).clamp(0.0, 1.0));
                c.stolen = Some((b.stolen.saturating_sub(a.stolen)) as f64 / total);
            }
        }
        // Too short to count ticks: the load before it is what is known. One of it may be our own
        // action before this one.
        let cpus = std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64);
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
