//! Memory of this process on graphics devices, where a backend has a counter for it.
//!
//! CUDA: NVML's used memory of each compute process, that of this process summed over all devices. It is what
//! the driver gave the process, its context included; it is neither residency nor what the engine asked for.
//! Checked against a library that stands in for NVML; not run on a device.

use std::sync::Arc;

/// Reads the counter: bytes, or nothing where the device does not know this process yet. The error says why it
/// cannot be read.
pub(crate) type GpuReader = Arc<dyn Fn() -> Result<Option<u64>, String> + Send + Sync>;

/// What there is to read for a backend.
pub(crate) enum GpuCounter {
    /// The backend uses no such device.
    NotApplicable,
    /// There is none, and why.
    Unavailable(String),
    /// One, and its name.
    #[cfg_attr(not(any(feature = "nvml", test)), expect(dead_code, reason = "there is none"))]
    Counter(GpuReader, &'static str),
}

/// Name of the counter behind CUDA.
#[cfg(any(feature = "nvml", test))]
pub(crate) const NVML: &str = "NVML used memory of this compute process, all devices";

/// The counter of a backend.
pub(crate) fn counter(backend: &str) -> GpuCounter {
    match backend {
        "cpu" => GpuCounter::NotApplicable,
        #[cfg(any(feature = "nvml", test))]
        "cuda" => match nvml::Processes::open(None) {
            Ok(processes) => {
                GpuCounter::Counter(Arc::new(move || processes.used(std::process::id())), NVML)
            }
            Err(reason) => GpuCounter::Unavailable(reason),
        },
        #[cfg(not(any(feature = "nvml", test)))]
        "cuda" => GpuCounter::Unavailable("this adapter was built without NVML".into()),
        "webgpu" => GpuCounter::Unavailable("WebGPU has no counter of a process's memory".into()),
        other => GpuCounter::Unavailable(format!("no counter is implemented for backend {other}")),
    }
}

#[cfg(any(feature = "nvml", test))]
mod nvml {
    use nvml_wrapper::Nvml;
    use nvml_wrapper::enums::device::UsedGpuMemory;
    use nvml_wrapper::error::NvmlError;
    use std::ffi::OsStr;

    /// NVML, loaded and initialised.
    pub(super) struct Processes(Nvml);

    impl Processes {
        /// Loads the driver's library, or another. The error says that there is none, or what it answers.
        pub(super) fn open(library: Option<&OsStr>) -> Result<Self, String> {
            let opened = match library {
                Some(path) => Nvml::builder().lib_path(path).init(),
                None => Nvml::init(),
            };
            let nvml = opened.map_err(|e| match e {
                NvmlError::LibloadingError(e) => format!("no NVIDIA driver: {e}"),
                other => format!("NVML: {other}"),
            })?;
            let devices = nvml.device_count().map_err(|e| format!("NVML, devices: {e}"))?;
            if devices == 0 {
                return Err("NVML knows no device".into());
            }
            Ok(Self(nvml))
        }

        /// Memory of a process on all devices, bytes; nothing where no device lists it.
        pub(super) fn used(&self, process: u32) -> Result<Option<u64>, String> {
            let devices = self.0.device_count().map_err(|e| format!("NVML, devices: {e}"))?;
            let mut sum = None;
            for i in 0..devices {
                let failed = |e: NvmlError| format!("NVML, device {i}: {e}");
                let device = self.0.device_by_index(i).map_err(failed)?;
                let listed = match device.running_compute_processes() {
                    // Drivers before 510 have the second version alone.
                    Err(NvmlError::FailedToLoadSymbol(_)) => device.running_compute_processes_v2(),
                    answer => answer,
                };
                for found in listed.map_err(failed)?.iter().filter(|p| p.pid == process) {
                    let UsedGpuMemory::Used(bytes) = found.used_gpu_memory else {
                        return Err(format!(
                            "NVML, device {i}: the driver does not tell what a process uses"
                        ));
                    };
                    sum = Some(sum.unwrap_or(0) + bytes);
                }
            }
            Ok(sum)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::nvml::Processes;
    use super::*;
    use std::path::PathBuf;
    use std::process::Command;

    /// NVML with two devices. Two processes are on the first, one of them on the second too; a third has
    /// memory that the driver does not tell; a file beside the library takes permissions away.
    const STAND_IN: &str = r#"
#include <stdio.h>
typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } info;
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
const char* nvmlErrorString(int e) { return "?"; }
int nvmlDeviceGetCount_v2(unsigned* n) { *n = DEVICES; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** d) { *d = (void*)(unsigned long)(i + 1); return 0; }
int LIST(void* d, unsigned* n, info* out) {
  FILE* f = fopen(DENIED, "r");
  if (f) { fclose(f); return 4; }
  info first[3] = {{11, 100, -1, -1}, {12, 7, -1, -1}, {13, -1, -1, -1}};
  info second[1] = {{11, 50, -1, -1}};
  unsigned all = (unsigned long)d == 1 ? 3 : 1;
  if (*n < all) { *n = all; return 7; }
  for (unsigned i = 0; i < all; i++) out[i] = all == 3 ? first[i] : second[i];
  *n = all;
  return 0;
}
"#;

    /// The library, and the file that denies.
    fn library(dir: &tempfile::TempDir, devices: u32, list: &str) -> (PathBuf, PathBuf) {
        let (source, denied) = (dir.path().join("nvml.c"), dir.path().join("denied"));
        let library = dir.path().join(format!("libnvidia-ml-{devices}-{list}.so"));
        std::fs::write(&source, STAND_IN).expect("written");
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .arg(format!("-DDEVICES={devices}"))
            .arg(format!("-DLIST={list}"))
            .arg(format!("-DDENIED=\"{}\"", denied.display()))
            .status();
        assert!(status.expect("a C compiler").success());
        (library, denied)
    }

    /// P107, P111: memory of one process over all devices; what cannot be told is no zero.
    #[test]
    fn memory_of_a_process_is_summed_over_devices_and_never_made_up() {
        let dir = tempfile::tempdir().expect("a folder");
        for list in
            ["nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"]
        {
            let (path, denied) = library(&dir, 2, list);
            let nvml = Processes::open(Some(path.as_os_str())).expect("opens");
            assert_eq!(nvml.used(11), Ok(Some(150)), "{list}");
            assert_eq!(nvml.used(12), Ok(Some(7)));
            assert_eq!(nvml.used(99), Ok(None), "a process that no device knows");
            assert!(nvml.used(13).expect_err("not told").contains("does not tell"));
            std::fs::write(&denied, "").expect("written");
            let reason = nvml.used(11).expect_err("denied");
            assert!(reason.starts_with("NVML, device 0: "), "{reason}");
            std::fs::remove_file(&denied).expect("removed");
        }
        let (none, _) = library(&dir, 0, "nvmlDeviceGetComputeRunningProcesses_v3");
        let reason = Processes::open(Some(none.as_os_str())).err();
        assert_eq!(reason.as_deref(), Some("NVML knows no device"));
        let missing = dir.path().join("libnone.so");
        let reason = Processes::open(Some(missing.as_os_str())).err().expect("no library");
        assert!(reason.starts_with("no NVIDIA driver: "), "{reason}");
    }

    /// P110: what has no counter says so, by backend.
    #[test]
    fn backends_without_a_counter_say_why() {
        assert!(matches!(counter("cpu"), GpuCounter::NotApplicable));
        for (backend, said) in [("webgpu", "WebGPU"), ("metal", "backend metal")] {
            let GpuCounter::Unavailable(reason) = counter(backend) else { panic!("{backend}") };
            assert!(reason.contains(said), "{reason}");
        }
    }
}
