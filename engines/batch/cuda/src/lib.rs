//! The engine's kernels on CUDA: one thread a world, from the headers that the CPU build compiles too.
//!
//! NVRTC compiles them when the program runs. Nothing of CUDA is needed to build this crate, and no GPU to
//! compile the kernels.

use cudarc::nvrtc::{result, sys};
use std::ffi::CString;
use std::fmt;

/// Why there is no kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CudaError {
    /// The library NVRTC is not on this machine.
    NoNvrtc,
    /// NVRTC's messages.
    Compile(String),
    /// What else NVRTC said.
    Nvrtc(String),
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNvrtc => f.write_str("the library NVRTC is not on this machine"),
            Self::Compile(log) => write!(f, "the kernels do not compile:\n{log}"),
            Self::Nvrtc(e) => write!(f, "NVRTC: {e}"),
        }
    }
}

impl std::error::Error for CudaError {}

/// Compiled kernels.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Code for one architecture, or PTX text.
    pub code: Vec<u8>,
    /// NVRTC's messages; of a cubin, with registers and spills of each kernel.
    pub log: String,
}

/// Headers by the names under which they are included.
const HEADERS: [(&str, &str); 16] = [
    ("lane.h", include_str!("../../core/kernels/lane.h")),
    ("spatial.h", include_str!("../../core/kernels/spatial.h")),
    ("fields.h", include_str!("../../core/kernels/fields.h")),
    ("model.h", include_str!("../../core/kernels/model.h")),
    ("kinematics.h", include_str!("../../core/kernels/kinematics.h")),
    ("dynamics.h", include_str!("../../core/kernels/dynamics.h")),
    ("factor.h", include_str!("../../core/kernels/factor.h")),
    ("contact.h", include_str!("../../core/kernels/contact.h")),
    ("cone.h", include_str!("../../core/kernels/cone.h")),
    ("collide_round.h", include_str!("../../core/kernels/collide_round.h")),
    ("collide_mesh.h", include_str!("../../core/kernels/collide_mesh.h")),
    ("collide_box.h", include_str!("../../core/kernels/collide_box.h")),
    ("collide_flat.h", include_str!("../../core/kernels/collide_flat.h")),
    ("collide.h", include_str!("../../core/kernels/collide.h")),
    ("rows.h", include_str!("../../core/kernels/rows.h")),
    ("solve.h", include_str!("../../core/kernels/solve.h")),
];

/// All of the kernels as one text without includes.
pub fn source() -> String {
    let mut done = Vec::new();
    let mut out = String::new();
    let top = include_str!("../../core/kernels/cuda.cu");
    let step = ("step.h", include_str!("../../core/kernels/step.h"));
    inline(top, &step, &mut done, &mut out);
    out
}

fn inline(
    text: &str,
    step: &(&'static str, &'static str),
    done: &mut Vec<&'static str>,
    out: &mut String,
) {
    for line in text.lines() {
        let name = line.trim().strip_prefix("#include \"").and_then(|l| l.strip_suffix('"'));
        let header = name.and_then(|n| HEADERS.iter().chain([step]).find(|h| h.0 == n));
        match header {
            // A list that is read wherever it is asked for.
            Some(("fields.h", list)) => out.push_str(list),
            Some((name, text)) if !done.contains(name) => {
                done.push(name);
                inline(text, step, done, out);
            }
            Some(_) => {}
            None if line.trim() == "#pragma once" => {}
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
}

/// Whether NVRTC is on this machine.
pub fn nvrtc_is_here() -> bool {
    // SAFETY: looks for the library by its names.
    unsafe { sys::is_culib_present() }
}

/// NVRTC's version.
pub fn nvrtc_version() -> Result<(i32, i32), CudaError> {
    if !nvrtc_is_here() {
        return Err(CudaError::NoNvrtc);
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: two numbers to write to.
    let said = unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) };
    said.result().map_err(|e| CudaError::Nvrtc(format!("{e:?}")))?;
    Ok((major, minor))
}

/// Compiles the kernels: `sm_90` and the like give a cubin, `compute_90` PTX.
pub fn compile(arch: &str) -> Result<Compiled, CudaError> {
    if !nvrtc_is_here() {
        return Err(CudaError::NoNvrtc);
    }
    let failed = |e: result::NvrtcError| CudaError::Nvrtc(format!("{e:?}"));
    let text = CString::new(source()).map_err(|e| CudaError::Nvrtc(e.to_string()))?;
    let program = result::create_program(&text, None).map_err(failed)?;
    let arch_option = format!("--gpu-architecture={arch}");
    // As on the CPU: only written fused multiply-adds are fused, division and roots are IEEE's.
    let mut options = vec![arch_option.as_str(), "--std=c++17", "--fmad=false"];
    if arch.starts_with("sm_") {
        options.push("--ptxas-options=-v");
    }
    // SAFETY: a live program, destroyed below.
    let compiled = unsafe { result::compile_program(program, &options) };
    // SAFETY: as above.
    let log = unsafe { result::get_program_log(program) }.map_err(failed)?;
    let log: String = log.iter().map(|c| char::from(*c as u8)).filter(|c| *c != '\0').collect();
    let code = match compiled {
        Err(_) => Err(CudaError::Compile(log.clone())),
        Ok(()) if arch.starts_with("sm_") => cubin(program).map_err(failed),
        // SAFETY: a compiled program.
        Ok(()) => unsafe { result::get_ptx(program) }
            .map(|ptx| ptx.iter().map(|c| *c as u8).collect())
            .map_err(failed),
    };
    // SAFETY: made above, not used after this.
    unsafe { result::destroy_program(program) }.map_err(failed)?;
    Ok(Compiled { code: code?, log })
}

fn cubin(program: sys::nvrtcProgram) -> Result<Vec<u8>, result::NvrtcError> {
    let mut size = 0;
    // SAFETY: a compiled program; a buffer of the size that it says.
    unsafe {
        sys::nvrtcGetCUBINSize(program, &raw mut size).result()?;
        let mut code = vec![0u8; size];
        sys::nvrtcGetCUBIN(program, code.as_mut_ptr().cast()).result()?;
        Ok(code)
    }
}
