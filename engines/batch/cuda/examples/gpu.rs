//! For a machine with a CUDA GPU: are the worlds' bits those of the CPU, and how fast are they.
//!
//! `gpu MODEL.xml [ARCH, sm_90] [STEPS, 50]`. NVRTC must be in reach (`LD_LIBRARY_PATH`). Without a driver it
//! says so and ends with 1.

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use sim_batch::{BatchedEngine, Lanes, Model, Options};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

/// Worlds side by side: numbers of all worlds for the first value, then for the second.
fn columns(rows: &[f32], worlds: usize) -> Vec<f32> {
    let per = rows.len() / worlds;
    (0..per).flat_map(|i| (0..worlds).map(move |w| rows[w * per + i])).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: gpu MODEL.xml [ARCH] [STEPS]")?;
    let arch = args.next().unwrap_or_else(|| "sm_90".to_owned());
    let steps: i32 = args.next().map_or(Ok(50), |s| s.parse())?;
    // SAFETY: looks for the library by its names.
    if !unsafe { cudarc::driver::sys::is_culib_present() } {
        return Err("no CUDA driver on this machine: nothing was run".into());
    }
    let model = Arc::new(Model::from_file(path.as_ref())?);
    let compiled = sim_batch_cuda::compile(&arch)?;
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let module = context.load_module(Ptx::from_binary(compiled.code))?;
    let (step, scratch) =
        (module.load_function("batch_step")?, module.load_function("batch_scratch")?);
    println!("{} on {}, {steps} steps", path, context.name()?);
    println!("worlds | ms/step | worlds/s | worlds whose bits differ from the CPU's");
    for worlds in [64usize, 256, 1024, 4096, 16384] {
        // One lane's header: the capacities are those of a world alone.
        let one = Options { lanes: Some(Lanes::One), ..Options::default() };
        let alone = BatchedEngine::new(model.clone(), 1, &one)?;
        let (fields, ints, floats, table) = alone.raw_tables();
        let (fields, ints) = (stream.clone_htod(fields)?, stream.clone_htod(ints)?);
        let (floats, mut table) = (stream.clone_htod(floats)?, stream.clone_htod(table)?);
        let mut sizes = stream.alloc_zeros::<i64>(2)?;
        let single =
            LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
        let mut launch = stream.launch_builder(&scratch);
        launch.arg(&fields).arg(&ints).arg(&floats).arg(&mut sizes);
        // SAFETY: the kernel's own parameters.
        unsafe { launch.launch(single) }?;
        let sizes = stream.clone_dtoh(&sizes)?;
        let mut engine = BatchedEngine::new(model.clone(), worlds, &Options::default())?;
        let ctrl: Vec<f32> =
            (0..worlds * model.nu()).map(|i| ((i * 37 % 101) as f32 / 50.0 - 1.0) * 0.3).collect();
        let qvel = vec![0.0; worlds * model.nv()];
        engine.set_state(&model.qpos0().repeat(worlds), &qvel, &ctrl)?;
        let mut qpos = stream.clone_htod(&columns(&engine.qpos(), worlds))?;
        let mut velocity = stream.clone_htod(&columns(&qvel, worlds))?;
        let mut control = stream.clone_htod(&columns(&ctrl, worlds))?;
        let mut warm = stream.alloc_zeros::<f32>(worlds * model.nv())?;
        let mut qacc = stream.alloc_zeros::<f32>(worlds * model.nv())?;
        let mut info = stream.alloc_zeros::<f32>(worlds * sim_batch::INFO)?;
        let mut floats_of = stream.alloc_zeros::<f32>(worlds * sizes[0] as usize)?;
        let mut ints_of = stream.alloc_zeros::<i32>(worlds * sizes[1] as usize)?;
        let (own, n, one_step, per) = (0i32, worlds as i32, 1i32, sizes[1]);
        let grid = LaunchConfig {
            grid_dim: (worlds.div_ceil(64) as u32, 1, 1),
            block_dim: (64, 1, 1),
            shared_mem_bytes: 0,
        };
        stream.synchronize()?;
        let clock = Instant::now();
        for _ in 0..steps {
            let mut launch = stream.launch_builder(&step);
            launch.arg(&fields).arg(&ints).arg(&floats);
            launch.arg(&mut qpos).arg(&mut velocity).arg(&mut control).arg(&mut warm);
            launch.arg(&mut qacc).arg(&mut info).arg(&mut table).arg(&own);
            launch.arg(&mut floats_of).arg(&mut ints_of).arg(&per).arg(&n).arg(&one_step);
            // SAFETY: the kernel's own parameters; arrays of the sizes that it asked for.
            unsafe { launch.launch(grid) }?;
            stream.synchronize()?;
        }
        let ms = clock.elapsed().as_secs_f64() * 1e3 / f64::from(steps);
        engine.step_n(steps as usize);
        let (ours, theirs) = (columns(&engine.qpos(), worlds), stream.clone_dtoh(&qpos)?);
        let differ = |w: usize| {
            (0..model.nq())
                .any(|i| ours[i * worlds + w].to_bits() != theirs[i * worlds + w].to_bits())
        };
        let odd = (0..worlds).filter(|w| differ(*w)).count();
        println!("{worlds:6} | {ms:8.3} | {:9.0} | {odd}", worlds as f64 / ms * 1e3);
    }
    Ok(())
}
