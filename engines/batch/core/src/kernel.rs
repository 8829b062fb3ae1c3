//! The kernels' C functions, one set for each vector width.

use std::ffi::{c_char, c_long};

/// Where a model's tables are.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) fields: *const i32,
    pub(crate) ints: *const i32,
    pub(crate) floats: *const f32,
}

/// A block of worlds; arrays of so many values, each as wide as the block.
#[repr(C)]
pub(crate) struct Block {
    pub(crate) qpos: *mut f32,
    pub(crate) qvel: *mut f32,
    pub(crate) ctrl: *mut f32,
    pub(crate) warm: *mut f32,
    pub(crate) qacc: *mut f32,
    pub(crate) info: *mut f32,
    pub(crate) tab: *mut f32,
    pub(crate) touch: *mut f32,
    /// How many of its lanes are worlds.
    pub(crate) valid: i32,
    pub(crate) steps: i32,
}

/// Where a forward pass left what it found, in the scratch memory.
#[repr(C)]
pub(crate) struct Found {
    pub(crate) xpos: *const f32,
    pub(crate) xmat: *const f32,
    pub(crate) gpos: *const f32,
    pub(crate) bias: *const f32,
    pub(crate) passive: *const f32,
    pub(crate) actuator: *const f32,
    pub(crate) smooth: *const f32,
    pub(crate) qacc_smooth: *const f32,
    pub(crate) mass: *const f32,
    pub(crate) dist: *const f32,
    pub(crate) pos: *const f32,
    pub(crate) axes: *const f32,
    pub(crate) d: *const f32,
    pub(crate) mu: *const f32,
    pub(crate) aref: *const f32,
    pub(crate) jac: *const f32,
    pub(crate) lim_d: *const f32,
    pub(crate) lim_aref: *const f32,
    pub(crate) pt_pair: *const i32,
    pub(crate) pt_jac: *const i32,
    pub(crate) pt_mask: *mut i32,
    pub(crate) lim: *const i32,
    pub(crate) lim_mask: *mut i32,
    pub(crate) npoint: i32,
    pub(crate) nlim: i32,
}

type Scratch = unsafe extern "C" fn(*const Header) -> c_long;
type Step = unsafe extern "C" fn(*const Header, *const Block, *mut c_char);
type Forward = unsafe extern "C" fn(*const Header, *const Block, *mut c_char, *mut Found);

/// One width's functions.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    pub(crate) scratch: Scratch,
    pub(crate) step: Step,
    pub(crate) forward: Forward,
}

macro_rules! kernels {
    ($($name:literal, $scratch:ident, $step:ident, $forward:ident;)*) => {
        $(#[link(name = $name, kind = "static")]
        unsafe extern "C" {
            fn $scratch(h: *const Header) -> c_long;
            fn $step(h: *const Header, b: *const Block, scratch: *mut c_char);
            fn $forward(h: *const Header, b: *const Block, scratch: *mut c_char, f: *mut Found);
        })*
    };
}

kernels! {
    "batch_one", batch_scratch_one, batch_step_one, batch_forward_one;
}
#[cfg(target_arch = "x86_64")]
kernels! {
    "batch_eight", batch_scratch_eight, batch_step_eight, batch_forward_eight;
    "batch_sixteen", batch_scratch_sixteen, batch_step_sixteen, batch_forward_sixteen;
}

#[cfg(all(feature = "roofline", target_arch = "x86_64"))]
kernels! {
    "batch_one_counted", batch_scratch_one_counted, batch_step_one_counted, batch_forward_one_counted;
    "batch_sixteen_counted", batch_scratch_sixteen_counted, batch_step_sixteen_counted, batch_forward_sixteen_counted;
    "batch_sixteen_timed", batch_scratch_sixteen_timed, batch_step_sixteen_timed, batch_forward_sixteen_timed;
}

/// How many worlds are computed side by side. Results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lanes {
    /// One world at a time.
    One,
    /// Eight, in 256-bit vectors.
    Eight,
    /// Sixteen, in 512-bit vectors.
    Sixteen,
}

impl Lanes {
    /// All widths that this machine can run, the widest last.
    pub fn available() -> Vec<Self> {
        let mut found = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let narrow = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let wide = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512cd");
            if narrow {
                found.extend([Self::One, Self::Eight]);
            }
            if narrow && wide {
                found.push(Self::Sixteen);
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        found.push(Self::One);
        found
    }

    /// Number of worlds.
    pub fn width(self) -> usize {
        match self {
            Self::One => 1,
            Self::Eight => 8,
            Self::Sixteen => 16,
        }
    }

    pub(crate) fn kernel(self) -> Kernel {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Eight => Kernel {
                scratch: batch_scratch_eight,
                step: batch_step_eight,
                forward: batch_forward_eight,
            },
            #[cfg(target_arch = "x86_64")]
            Self::Sixteen => Kernel {
                scratch: batch_scratch_sixteen,
                step: batch_step_sixteen,
                forward: batch_forward_sixteen,
            },
            _ => Kernel {
                scratch: batch_scratch_one,
                step: batch_step_one,
                forward: batch_forward_one,
            },
        }
    }
}

/// Kernels that count or read the clock.
#[cfg(all(feature = "roofline", target_arch = "x86_64"))]
pub(crate) fn probe(probe: crate::roofline::Probe) -> Kernel {
    use crate::roofline::Probe;
    match probe {
        Probe::CountAlone => Kernel {
            scratch: batch_scratch_one_counted,
            step: batch_step_one_counted,
            forward: batch_forward_one_counted,
        },
        Probe::CountBlock => Kernel {
            scratch: batch_scratch_sixteen_counted,
            step: batch_step_sixteen_counted,
            forward: batch_forward_sixteen_counted,
        },
        Probe::Clock => Kernel {
            scratch: batch_scratch_sixteen_timed,
            step: batch_step_sixteen_timed,
            forward: batch_forward_sixteen_timed,
        },
    }
}
