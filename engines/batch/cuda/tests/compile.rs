//! The kernels compile for CUDA on a machine without a GPU (M01 on Metal; here PTX and a cubin
//! for sm_90), with their registers and spills printed. Where NVRTC is not at hand, the test says so, or fails where
//! `SIM_BATCH_NVRTC` says that it should be, as in `cargo xtask test engines`.

use sim_batch_cuda::{CudaError, compile, nvrtc_is_here, nvrtc_version, source};

#[test]
fn the_source_is_one_text_with_both_kernels() {
    let text = source();
    assert!(!text.contains("#include \""), "an include is left");
    for name in ["batch_step", "batch_scratch"] {
        assert!(text.contains(&format!("__global__ void {name}(")));
    }
}

#[test]
fn ptx_and_a_cubin_come_out_of_nvrtc() {
    if !nvrtc_is_here() {
        assert!(std::env::var_os("SIM_BATCH_NVRTC").is_none(), "NVRTC is not at hand");
        println!("NVRTC is not at hand: the CUDA kernels are not compiled here");
        assert_eq!(compile("sm_90").expect_err("no library"), CudaError::NoNvrtc);
        return;
    }
    println!("NVRTC {:?}", nvrtc_version());
    let ptx = compile("compute_90").unwrap_or_else(|e| panic!("{e}"));
    let text = String::from_utf8_lossy(&ptx.code);
    assert!(text.contains(".target sm_90") && text.contains(".entry batch_step"));
    let cubin = compile("sm_90").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(&cubin.code[..4], b"\x7fELF");
    // EM_CUDA.
    assert_eq!(u16::from_le_bytes([cubin.code[18], cubin.code[19]]), 190);
    assert!(cubin.log.contains("registers"), "{}", cubin.log);
    println!("PTX {} bytes, cubin {} bytes", ptx.code.len(), cubin.code.len());
    // The kernels' own lines, and any function that spills.
    for line in cubin.log.lines() {
        let spills =
            line.contains("spill") && !line.contains(" 0 bytes spill stores, 0 bytes spill loads");
        if line.contains("Used") || line.contains("entry function") || spills {
            println!("{}", line.trim());
        }
    }
}
