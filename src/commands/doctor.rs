//! `sim-pipe doctor`: what this machine can do, and whether it is fit to measure.

use crate::env;
use crate::error::{CliResult, exit};
use crate::global::Global;
use crate::text;
use sim_exec::{Level, SandboxPolicy, Tools, probe_sandbox};

pub(crate) fn run(global: &Global) -> CliResult {
    let machine = sim_exec::detect_machine();
    let mut rows: Vec<(&str, String, bool)> = Vec::new();
    for (name, value) in machine.parts() {
        let name = match name.as_str() {
            "cpu_model" => "CPU",
            "cpu_features" => "vector extensions",
            "cpus" => "processors",
            "os" => "system",
            "kernel" => "kernel",
            "gpus" => "GPUs",
            _ => continue,
        };
        let value = if value.is_empty() { "none visible".to_owned() } else { value };
        rows.push((name, value, true));
    }
    rows.push(("memory", text::bytes(machine.ram_bytes), true));
    let exe = env::own_exe()?;
    // The first that works is the one that a run takes.
    let mut in_force = None;
    for level in [Level::Namespaces, Level::Bubblewrap, Level::Landlock] {
        let (value, works) = match probe_sandbox(SandboxPolicy::Exactly(level), &exe) {
            Ok(_) => ("works".to_owned(), true),
            Err(e) => (format!("not here: {e}"), false),
        };
        if works {
            in_force = in_force.or(Some(level.name()));
        }
        rows.push((
            match level {
                Level::Bubblewrap => "sandbox bubblewrap",
                Level::Namespaces => "sandbox namespaces",
                _ => "sandbox landlock",
            },
            value,
            true,
        ));
    }
    rows.push(("sandbox in force", in_force.unwrap_or("none").to_owned(), in_force.is_some()));
    let tools = Tools::new(env::path_var(), std::env::temp_dir().join("sim-pipe-doctor-tools"));
    for tool in ["cargo", "rustc", "cc", "python3", "npm"] {
        let found = tools.find(tool, None);
        let value = found.as_ref().map_or("missing".to_owned(), |p| p.display().to_string());
        rows.push((tool, value, found.is_some()));
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Option<f64> = load.split(' ').next().and_then(|v| v.parse().ok());
    if let Some(load) = load {
        let quiet = load < 0.3 * f64::from(machine.cpus);
        let remark = if quiet { "quiet" } else { "busy: timings will be marked as noisy" };
        rows.push(("load", format!("{load:.2} ({remark})"), quiet));
    }
    let governor = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let governor = governor.map_or("not readable".to_owned(), |g| g.trim().to_owned());
    let steady = governor == "performance" || governor == "not readable";
    rows.push(("frequency governor", governor, steady));

    let width = rows.iter().map(|r| r.0.len()).max().unwrap_or(0);
    for (name, value, fine) in &rows {
        if global.json {
            let line = serde_json::json!({"v": 1, "what": name, "value": value, "fine": fine});
            text::out(&line.to_string());
        } else {
            let mark = if *fine { " " } else { "!" };
            text::out(&format!("{mark} {name:width$}  {value}"));
        }
    }
    let missing = rows.iter().any(|r| r.1 == "missing");
    Ok(if missing { exit::MISSING } else { exit::OK })
}
