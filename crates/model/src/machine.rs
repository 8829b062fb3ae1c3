//! What a machine is, as far as a result or a timing can depend on it.

use crate::digest::{Canonical, Digest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The machine as read once at the start of a run. Detection is elsewhere; this is only the data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// CPU model name, as the kernel gives it.
    pub cpu_model: String,
    /// CPU family, model and stepping, which distinguish parts of one name.
    pub cpu_signature: String,
    /// Vector extensions that change generated code or rounding (sse4_2, avx2, fma, avx512f …), sorted.
    pub cpu_features: Vec<String>,
    /// Logical processors this process may use.
    pub cpus: u32,
    /// RAM in bytes.
    pub ram_bytes: u64,
    /// Operating system name and version.
    pub os: String,
    /// Kernel release.
    pub kernel: String,
    /// Target architecture and operating system, such as `x86_64-linux`.
    pub platform: String,
    /// GPUs with their driver, one text each; empty where none is visible.
    pub gpus: Vec<String>,
    /// A digest of what names this one installation (never the name itself).
    pub installation: Digest,
}

impl Machine {
    /// The class: machines of one class give the same bytes for a `machine` action.
    pub fn class(&self) -> Digest {
        let mut c = Canonical::new("sim-pipe machine class v1");
        c.str(&self.platform).str(&self.cpu_model).str(&self.cpu_signature);
        c.u64(self.cpu_features.len() as u64);
        self.cpu_features.iter().for_each(|f| {
            c.str(f);
        });
        c.u64(self.gpus.len() as u64);
        self.gpus.iter().for_each(|g| {
            c.str(g);
        });
        c.finish()
    }

    /// The identity: an observation is bound to it. Kernel and OS are in it, since a timing depends
    /// on them.
    pub fn identity(&self) -> Digest {
        let mut c = Canonical::new("sim-pipe machine identity v1");
        c.bytes(self.class().as_bytes()).u64(u64::from(self.cpus)).u64(self.ram_bytes);
        c.str(&self.os).str(&self.kernel).bytes(self.installation.as_bytes());
        c.finish()
    }

    /// The identity's parts as named texts, for `explain` and reports.
    pub fn parts(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("cpu_model".into(), self.cpu_model.clone()),
            ("cpu_signature".into(), self.cpu_signature.clone()),
            ("cpu_features".into(), self.cpu_features.join(" ")),
            ("cpus".into(), self.cpus.to_string()),
            ("ram_bytes".into(), self.ram_bytes.to_string()),
            ("os".into(), self.os.clone()),
            ("kernel".into(), self.kernel.clone()),
            ("platform".into(), self.platform.clone()),
            ("gpus".into(), self.gpus.join("; ")),
        ])
    }
}

/// The state of the machine around a measured action. A value that could not be read is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// Frequency governor of the first CPU.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub governor: Option<String>,
    /// One-minute load average before the action.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub load_before: Option<f64>,
    /// One-minute load average after the action.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub load_after: Option<f64>,
    /// CPU time that processes other than the action used while it ran, as a fraction of the
    /// machine's CPU time in that interval.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub other_load: Option<f64>,
    /// Thermal throttling events counted by the kernel during the action.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub throttle_events: Option<u64>,
    /// Time stolen by the hypervisor during the action, as a fraction of the machine's CPU time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stolen: Option<f64>,
    /// CPU frequency in MHz before the action, from the first CPU.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mhz_before: Option<f64>,
    /// Why this observation is marked as noisy; empty when it is not.
    #[serde(default)]
    pub noisy: Vec<String>,
}
