//! What Nexus runs on: this process, or a device that is asked for by name and never another.

use khal::backend::GpuBackend;
use sim_engine_harness::EngineError;
use std::collections::BTreeMap;

/// A backend that was opened.
pub(crate) struct Device {
    pub(crate) backend: GpuBackend,
    /// The device, as its driver names it.
    pub(crate) name: String,
    /// What it is: `processor`, or wgpu's word for the type of an adapter.
    pub(crate) kind: String,
    /// The driver; empty for the processor.
    pub(crate) driver: String,
}

/// Backends of this build.
pub(crate) fn built() -> Vec<String> {
    let mut list = Vec::new();
    for (name, built) in [
        ("cpu", cfg!(feature = "cpu")),
        ("webgpu", cfg!(feature = "webgpu")),
        ("cuda", cfg!(feature = "cuda")),
        ("metal", cfg!(feature = "metal")),
    ] {
        if built {
            list.push(name.to_owned());
        }
    }
    list
}

/// Backends that Nexus has and this build lacks.
pub(crate) fn absent() -> BTreeMap<String, String> {
    let mut map = BTreeMap::new();
    let mut say = |built: bool, name: &str, why: &str| {
        if !built {
            map.insert(name.to_owned(), format!("not built in: {why}"));
        }
    };
    let feature = "the adapter was built without the feature";
    say(cfg!(feature = "cpu"), "cpu", feature);
    say(cfg!(feature = "webgpu"), "webgpu", feature);
    let cuda = "its shaders are PTX from rust-cuda or cargo-oxide with a CUDA toolkit, and no registry has \
                either; build with the feature `cuda` where they are";
    say(cfg!(feature = "cuda"), "cuda", cuda);
    let metal = "macOS alone has it; build with the feature `metal` there";
    say(cfg!(feature = "metal"), "metal", metal);
    map
}

/// Opens the backend of that name.
pub(crate) fn open(name: &str) -> Result<Device, EngineError> {
    match name {
        #[cfg(feature = "cpu")]
        "cpu" => Ok(Device {
            backend: GpuBackend::Cpu,
            name: "this process, one thread".to_owned(),
            kind: "processor".to_owned(),
            driver: String::new(),
        }),
        #[cfg(feature = "webgpu")]
        "webgpu" => webgpu(),
        #[cfg(feature = "cuda")]
        "cuda" => {
            let cuda = khal::backend::Cuda::new(0)
                .map_err(|e| EngineError::unsupported(format!("no CUDA device: {e}")))?;
            Ok(Device {
                backend: GpuBackend::Cuda(cuda),
                name: "CUDA device 0".to_owned(),
                kind: "gpu".to_owned(),
                driver: "CUDA".to_owned(),
            })
        }
        #[cfg(all(feature = "metal", target_os = "macos"))]
        "metal" => {
            let metal = khal::backend::Metal::new()
                .map_err(|e| EngineError::unsupported(format!("no Metal device: {e}")))?;
            Ok(Device {
                backend: GpuBackend::Metal(metal),
                name: "Metal's default device".to_owned(),
                kind: "gpu".to_owned(),
                driver: "Metal".to_owned(),
            })
        }
        other => Err(EngineError::unsupported(format!("backend {other}: not in this build"))),
    }
}

/// The adapter is chosen here, so that the result can say which it was. OpenGL is left out: there wgpu
/// has no compute shaders worth the name, and would still answer.
#[cfg(feature = "webgpu")]
fn webgpu() -> Result<Device, EngineError> {
    use khal::backend::WebGpu;
    let mut wanted = wgpu::InstanceDescriptor::new_without_display_handle();
    wanted.backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    let instance = wgpu::Instance::new(wanted);
    let options = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::HighPerformance,
        ..Default::default()
    };
    let adapter = pollster::block_on(instance.request_adapter(&options))
        .map_err(|e| EngineError::unsupported(format!("no device for WebGPU: {e}")))?;
    let info = adapter.get_info();
    // As khal asks for a device: timestamps where there are any, shaders as they are where the driver
    // takes them.
    let optional = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::PASSTHROUGH_SHADERS;
    let features = adapter.features() & optional;
    let passthrough = features.contains(wgpu::Features::PASSTHROUGH_SHADERS);
    let experimental_features = if passthrough {
        // SAFETY: the only shaders that are passed on are those of the engine's own wheel.
        unsafe { wgpu::ExperimentalFeatures::enabled() }
    } else {
        wgpu::ExperimentalFeatures::default()
    };
    let asked = wgpu::DeviceDescriptor {
        required_features: features,
        experimental_features,
        ..wgpu::DeviceDescriptor::default()
    };
    let opened = pollster::block_on(adapter.request_device(&asked));
    let (device, queue) = opened.map_err(|e| {
        EngineError::unsupported(format!("{} gives no device for WebGPU: {e}", info.name))
    })?;
    let backend = GpuBackend::WebGpu(WebGpu::from_device(instance, adapter, device, queue));
    Ok(Device {
        backend,
        name: info.name,
        kind: format!("{:?}", info.device_type).to_lowercase(),
        driver: format!("{:?}: {} {}", info.backend, info.driver, info.driver_info),
    })
}

/// Puts what Nexus did not understand into words.
pub(crate) fn broken(
    what: &str,
) -> impl FnOnce(khal::backend::GpuBackendError) -> EngineError + '_ {
    move |e| EngineError::failed(format!("{what}: {e}"))
}
