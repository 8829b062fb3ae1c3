//! Stands in for `cargo gpu build`: writes the compute shaders that a library of Nexus carries, as the
//! files that the engine's own build scripts expect.
//!
//! `NEXUS_SHADER_LIBRARY` names the library; `--output-dir` is where the shaders go. What other arguments
//! ask of the compiler, such as features, was decided when the library was built.

mod spirv;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Names the library.
const LIBRARY: &str = "NEXUS_SHADER_LIBRARY";
/// Modules in the library of the pin. Another number means another library, or one that was misread.
const MODULES: usize = 188;

fn main() -> ExitCode {
    match run(std::env::args_os().skip(1).collect()) {
        Ok(written) => {
            eprintln!("{written} shaders");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<OsString>) -> Result<usize, String> {
    let at = arguments.iter().position(|a| a == "--output-dir");
    let out = at.and_then(|at| arguments.get(at + 1));
    let out = PathBuf::from(out.ok_or("no --output-dir: this only hands out shaders")?);
    let library = std::env::var_os(LIBRARY).ok_or(format!("{LIBRARY} is not set"))?;
    let library = Path::new(&library);
    let bytes = std::fs::read(library).map_err(|e| format!("{}: {e}", library.display()))?;
    let modules = spirv::modules(&bytes);
    if modules.len() != MODULES {
        let (found, shown) = (modules.len(), library.display());
        return Err(format!("{shown} has {found} shaders instead of {MODULES}"));
    }
    std::fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    for module in &modules {
        let path = out.join(module.file_name());
        if path.exists() && std::fs::read(&path).ok().as_deref() != Some(module.bytes) {
            return Err(format!("{} is there with another content", path.display()));
        }
        std::fs::write(&path, module.bytes).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(modules.len())
}
