//! MuJoCo's compiler, and MuJoCo itself to be compared with, through the functions of `shim.c`.

use std::ffi::{CStr, CString, c_char, c_double, c_int, c_long, c_void};
use std::path::Path;

#[repr(C)]
struct RawModel {
    private: [u8; 0],
}
#[repr(C)]
struct RawData {
    private: [u8; 0],
}
#[repr(C)]
struct RawBatch {
    private: [u8; 0],
}

#[link(name = "batch_shim", kind = "static")]
unsafe extern "C" {
    fn batch_mujoco_version() -> *const c_char;
    fn batch_compile(
        source: *const c_char,
        length: c_int,
        error: *mut c_char,
        size: c_int,
    ) -> *mut RawModel;
    fn batch_load_binary(buffer: *const c_void, size: c_int) -> *mut RawModel;
    fn batch_delete_model(m: *mut RawModel);
    fn batch_model_array(
        m: *const RawModel,
        name: *const c_char,
        count: *mut c_long,
        kind: *mut c_int,
    ) -> *const c_void;
    fn batch_model_size(m: *const RawModel, name: *const c_char) -> c_long;
    fn batch_option(m: *const RawModel, name: *const c_char, out: *mut c_double) -> c_int;
    fn batch_set_option(m: *mut RawModel, name: *const c_char, value: c_double);
    fn batch_name(m: *const RawModel, kind: c_int, id: c_int) -> *const c_char;
    fn batch_id(m: *const RawModel, kind: c_int, name: *const c_char) -> c_int;
    fn batch_data(m: *const RawModel) -> *mut RawData;
    fn batch_delete_data(d: *mut RawData);
    fn batch_reset(m: *const RawModel, d: *mut RawData);
    fn batch_forward(m: *const RawModel, d: *mut RawData);
    fn batch_mj_step(m: *const RawModel, d: *mut RawData);
    fn batch_cpu_seconds() -> c_double;
    fn batch_motion(m: *const RawModel, d: *mut RawData);
    fn batch_body_velocity(m: *const RawModel, d: *const RawData, body: c_int, out: *mut c_double);
    fn batch_rows(d: *const RawData) -> c_int;
    fn batch_energy(m: *const RawModel, d: *mut RawData) -> c_double;
    fn batch_data_array(
        m: *const RawModel,
        d: *mut RawData,
        name: *const c_char,
        count: *mut c_long,
        kind: *mut c_int,
    ) -> *mut c_void;
    fn batch_contacts(d: *const RawData) -> c_int;
    fn batch_contact(d: *const RawData, i: c_int, of: *mut c_int, at: *mut c_double);
    fn batch_full_mass(m: *const RawModel, d: *const RawData, out: *mut c_double);
    fn batch_dense_jacobian(m: *const RawModel, d: *const RawData, out: *mut c_double);
    fn batch_mjb(
        m: *const RawModel,
        worlds: c_int,
        threads: c_int,
        error: *mut c_char,
        size: c_int,
    ) -> *mut RawBatch;
    fn batch_mjb_delete(b: *mut RawBatch);
    fn batch_mjb_step(b: *mut RawBatch, worlds: c_int, steps: c_int) -> c_int;
    fn batch_mjb_reset(b: *mut RawBatch, worlds: c_int) -> c_int;
    fn batch_mjb_component(
        b: *mut RawBatch,
        which: c_int,
        size: *mut c_int,
        stride: *mut c_int,
    ) -> *mut c_double;
}

/// The version that the library says it has.
pub fn version() -> String {
    // SAFETY: a static string.
    unsafe { CStr::from_ptr(batch_mujoco_version()).to_string_lossy().into_owned() }
}

/// Seconds that all threads of this process have computed so far.
pub fn cpu_seconds() -> f64 {
    // SAFETY: no arguments.
    unsafe { batch_cpu_seconds() }
}

/// What a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Body.
    Body,
    /// Joint.
    Joint,
    /// Geom.
    Geom,
    /// Actuator.
    Actuator,
    /// Tendon.
    Tendon,
    /// Equality constraint.
    Equality,
    /// Keyframe.
    Key,
    /// Site.
    Site,
}

/// An array of one of MuJoCo's structures.
enum Array<'a> {
    F64(&'a [f64]),
    F32(&'a [f32]),
    I32(&'a [i32]),
    U8(&'a [u8]),
}

impl<'a> Array<'a> {
    /// # Safety
    /// `p` points to `count` values of this kind, which live for `'a`.
    unsafe fn new(p: *const c_void, count: c_long, kind: c_int, name: &str) -> Self {
        let n = count as usize;
        if n == 0 {
            return match kind {
                0 => Self::F64(&[]),
                1 => Self::F32(&[]),
                2 => Self::I32(&[]),
                _ => Self::U8(&[]),
            };
        }
        assert!(!p.is_null(), "MuJoCo has no array `{name}`");
        // SAFETY: the caller's promise.
        unsafe {
            match kind {
                0 => Self::F64(std::slice::from_raw_parts(p.cast(), n)),
                1 => Self::F32(std::slice::from_raw_parts(p.cast(), n)),
                2 => Self::I32(std::slice::from_raw_parts(p.cast(), n)),
                3 => Self::U8(std::slice::from_raw_parts(p.cast(), n)),
                _ => panic!("MuJoCo's array `{name}` is of a kind that is not read here"),
            }
        }
    }

    fn f64s(&self) -> Vec<f64> {
        match self {
            Self::F64(v) => v.to_vec(),
            Self::F32(v) => v.iter().map(|x| f64::from(*x)).collect(),
            Self::I32(v) => v.iter().map(|x| f64::from(*x)).collect(),
            Self::U8(v) => v.iter().map(|x| f64::from(*x)).collect(),
        }
    }

    fn ints(&self) -> Vec<i32> {
        match self {
            Self::I32(v) => v.to_vec(),
            Self::U8(v) => v.iter().map(|x| i32::from(*x)).collect(),
            _ => panic!("not an array of whole numbers"),
        }
    }
}

fn text(name: &str) -> CString {
    CString::new(name).unwrap_or_default()
}

/// A model that MuJoCo compiled.
pub struct Compiled(*mut RawModel);

// SAFETY: the structure is only read after it is made; the one setter borrows it alone.
unsafe impl Send for Compiled {}
// SAFETY: as above.
unsafe impl Sync for Compiled {}

impl Compiled {
    /// Compiles MJCF text. The error is MuJoCo's.
    pub fn from_text(xml: &str) -> Result<Self, String> {
        let length = c_int::try_from(xml.len()).map_err(|_| "the model is too long".to_owned())?;
        Self::compile(xml.as_ptr().cast(), length)
    }

    /// A model in the binary format of the MuJoCo that is linked.
    pub fn from_binary(bytes: &[u8]) -> Result<Self, String> {
        let size = c_int::try_from(bytes.len()).map_err(|_| "the model is too long".to_owned())?;
        // SAFETY: a live buffer of that size; MuJoCo checks what is in it.
        let m = unsafe { batch_load_binary(bytes.as_ptr().cast(), size) };
        if m.is_null() {
            return Err(format!("no model in MuJoCo {}'s binary format", version()));
        }
        Ok(Self(m))
    }

    /// Compiles an MJCF file with what it refers to. The error is MuJoCo's.
    pub fn from_file(path: &Path) -> Result<Self, String> {
        let name = CString::new(path.to_string_lossy().as_bytes()).map_err(|e| e.to_string())?;
        Self::compile(name.as_ptr(), -1)
    }

    fn compile(source: *const c_char, length: c_int) -> Result<Self, String> {
        let mut error = vec![0u8; 1024];
        // SAFETY: live buffers with their sizes.
        let m = unsafe { batch_compile(source, length, error.as_mut_ptr().cast(), 1024) };
        if m.is_null() {
            let text = CStr::from_bytes_until_nul(&error).map(CStr::to_string_lossy);
            return Err(text.unwrap_or_default().into_owned());
        }
        Ok(Self(m))
    }

    fn array(&self, name: &str) -> Array<'_> {
        let (mut count, mut kind) = (0, 0);
        // SAFETY: a live model; the array lives as long as it does.
        unsafe {
            let p = batch_model_array(self.0, text(name).as_ptr(), &raw mut count, &raw mut kind);
            Array::new(p, if p.is_null() { 1.max(count) } else { count }, kind, name)
        }
    }

    /// Numbers of a field.
    pub fn f64s(&self, name: &str) -> Vec<f64> {
        if self.len_of(name) == Some(0) { Vec::new() } else { self.array(name).f64s() }
    }

    /// Whole numbers or flags of a field.
    pub fn ints(&self, name: &str) -> Vec<i32> {
        if self.len_of(name) == Some(0) { Vec::new() } else { self.array(name).ints() }
    }

    fn len_of(&self, name: &str) -> Option<usize> {
        let (mut count, mut kind) = (-1, 0);
        // SAFETY: a live model.
        unsafe { batch_model_array(self.0, text(name).as_ptr(), &raw mut count, &raw mut kind) };
        usize::try_from(count).ok()
    }

    /// A size such as `nq`.
    pub fn size(&self, name: &str) -> usize {
        // SAFETY: a live model.
        let n = unsafe { batch_model_size(self.0, text(name).as_ptr()) };
        usize::try_from(n).unwrap_or_else(|_| panic!("MuJoCo has no size `{name}`"))
    }

    /// A number of the options, or `meaninertia`.
    pub fn option(&self, name: &str) -> f64 {
        self.option_vec(name)[0]
    }

    /// A vector of the options.
    pub fn option_vec(&self, name: &str) -> Vec<f64> {
        let mut out = vec![0.0; 8];
        // SAFETY: a live model; no field has more than 6 numbers.
        let n = unsafe { batch_option(self.0, text(name).as_ptr(), out.as_mut_ptr()) };
        assert!(n > 0, "MuJoCo has no option `{name}`");
        out.truncate(n as usize);
        out
    }

    /// Sets a number of the options.
    pub fn set_option(&mut self, name: &str, value: f64) {
        // SAFETY: a live model, borrowed alone.
        unsafe { batch_set_option(self.0, text(name).as_ptr(), value) }
    }

    /// An element's name, or its number where it has none.
    pub fn name(&self, kind: Kind, id: usize) -> String {
        // SAFETY: a live model; the string belongs to it.
        let p = unsafe { batch_name(self.0, kind as c_int, id as c_int) };
        // SAFETY: as above.
        let name =
            if p.is_null() { "".into() } else { unsafe { CStr::from_ptr(p) }.to_string_lossy() };
        if name.is_empty() { format!("number {id}") } else { format!("`{name}`") }
    }

    /// The number of a named element.
    pub fn id(&self, kind: Kind, name: &str) -> Option<usize> {
        // SAFETY: a live model.
        usize::try_from(unsafe { batch_id(self.0, kind as c_int, text(name).as_ptr()) }).ok()
    }

    /// A state for MuJoCo's own computation.
    pub fn data(&self) -> Data<'_> {
        // SAFETY: a live model.
        let raw = unsafe { batch_data(self.0) };
        assert!(!raw.is_null(), "MuJoCo could not allocate a state");
        Data { model: self, raw }
    }

    /// A batch of MuJoCo's own, stepped by `mjb_step`.
    pub fn batch(&self, worlds: usize, threads: usize) -> Result<Batch, String> {
        let mut error = vec![0u8; 1024];
        // SAFETY: a live model and buffer.
        let raw = unsafe {
            batch_mjb(self.0, worlds as c_int, threads as c_int, error.as_mut_ptr().cast(), 1024)
        };
        if raw.is_null() {
            let text = CStr::from_bytes_until_nul(&error).map(CStr::to_string_lossy);
            return Err(text.unwrap_or_default().into_owned());
        }
        Ok(Batch { raw, worlds })
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        // SAFETY: made by this library, dropped once.
        unsafe { batch_delete_model(self.0) }
    }
}

/// A contact that MuJoCo found.
#[derive(Clone, Debug)]
pub struct Contact {
    /// Its geoms.
    pub geoms: [usize; 2],
    /// Dimension of its force.
    pub dim: i32,
    /// Its first row, or -1.
    pub row: i32,
    /// 0 where it takes part.
    pub exclude: i32,
    /// Negative where they penetrate, m.
    pub distance: f64,
    /// Midway between the surfaces, m.
    pub position: [f64; 3],
    /// Normal from the first geom to the second, and two tangents.
    pub frame: [f64; 9],
}

/// One world of MuJoCo's.
pub struct Data<'m> {
    model: &'m Compiled,
    raw: *mut RawData,
}

impl Data<'_> {
    /// Back to the reference.
    pub fn reset(&mut self) {
        // SAFETY: live model and state.
        unsafe { batch_reset(self.model.0, self.raw) }
    }

    /// Everything that follows from the state.
    pub fn forward(&mut self) {
        // SAFETY: live model and state.
        unsafe { batch_forward(self.model.0, self.raw) }
    }

    /// One step.
    pub fn step(&mut self) {
        // SAFETY: live model and state.
        unsafe { batch_mj_step(self.model.0, self.raw) }
    }

    /// Poses and velocities of the bodies, from positions and velocities.
    pub fn motion(&mut self) {
        // SAFETY: live model and state.
        unsafe { batch_motion(self.model.0, self.raw) }
    }

    /// Angular and linear velocity of a body's frame, in the world's axes, after [`Data::motion`].
    pub fn body_velocity(&self, body: usize) -> [f64; 6] {
        let mut out = [0.0; 6];
        // SAFETY: live model and state; six numbers.
        unsafe { batch_body_velocity(self.model.0, self.raw, body as c_int, out.as_mut_ptr()) };
        out
    }

    /// Potential and kinetic energy, J.
    pub fn energy(&mut self) -> f64 {
        // SAFETY: live model and state.
        unsafe { batch_energy(self.model.0, self.raw) }
    }

    /// A field's numbers.
    pub fn get(&self, name: &str) -> Vec<f64> {
        let (mut count, mut kind) = (0, 0);
        // SAFETY: live model and state; copied before anything changes.
        unsafe {
            let name_c = text(name);
            let p = batch_data_array(
                self.model.0,
                self.raw,
                name_c.as_ptr(),
                &raw mut count,
                &raw mut kind,
            );
            Array::new(p, count, kind, name).f64s()
        }
    }

    /// Sets a field of numbers.
    pub fn set(&mut self, name: &str, values: &[f64]) {
        let (mut count, mut kind) = (0, 0);
        // SAFETY: live model and state, borrowed alone; the length is checked.
        unsafe {
            let p = batch_data_array(
                self.model.0,
                self.raw,
                text(name).as_ptr(),
                &raw mut count,
                &raw mut kind,
            );
            assert!(kind == 0 && count as usize == values.len(), "`{name}` has {count} numbers");
            if count > 0 {
                std::slice::from_raw_parts_mut(p.cast(), values.len()).copy_from_slice(values);
            }
        }
    }

    /// Number of constraint rows.
    pub fn rows(&self) -> usize {
        // SAFETY: a live state.
        unsafe { batch_rows(self.raw) as usize }
    }

    /// The contacts found last.
    pub fn contacts(&self) -> Vec<Contact> {
        // SAFETY: a live state.
        let n = unsafe { batch_contacts(self.raw) };
        (0..n)
            .map(|i| {
                let (mut of, mut at) = ([0; 5], [0.0; 13]);
                // SAFETY: a contact that is there.
                unsafe { batch_contact(self.raw, i, of.as_mut_ptr(), at.as_mut_ptr()) };
                Contact {
                    geoms: [of[0] as usize, of[1] as usize],
                    dim: of[2],
                    row: of[3],
                    exclude: of[4],
                    distance: at[0],
                    position: [at[1], at[2], at[3]],
                    frame: std::array::from_fn(|k| at[4 + k]),
                }
            })
            .collect()
    }

    /// The mass matrix, row by row.
    pub fn mass_matrix(&self) -> Vec<f64> {
        let nv = self.model.size("nv");
        let mut out = vec![0.0; nv * nv];
        // SAFETY: as large as it writes.
        unsafe { batch_full_mass(self.model.0, self.raw, out.as_mut_ptr()) };
        out
    }

    /// The constraint Jacobian, row by row.
    pub fn jacobian(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.model.size("nv") * self.rows()];
        // SAFETY: as large as it writes.
        unsafe { batch_dense_jacobian(self.model.0, self.raw, out.as_mut_ptr()) };
        out
    }
}

impl Drop for Data<'_> {
    fn drop(&mut self) {
        // SAFETY: made by this library, dropped once.
        unsafe { batch_delete_data(self.raw) }
    }
}

/// Part of a world's state.
#[derive(Clone, Copy, Debug)]
pub enum Component {
    /// Positions.
    Positions,
    /// Velocities.
    Velocities,
    /// Controls.
    Controls,
}

/// MuJoCo's own batch of worlds.
pub struct Batch {
    raw: *mut RawBatch,
    worlds: usize,
}

impl Batch {
    /// Every world back to the reference.
    pub fn reset(&mut self) {
        // SAFETY: a live batch.
        unsafe { batch_mjb_reset(self.raw, self.worlds as c_int) };
    }

    /// Steps of every world; returns how many failed.
    pub fn step(&mut self, steps: usize) -> usize {
        // SAFETY: a live batch.
        unsafe { batch_mjb_step(self.raw, self.worlds as c_int, steps as c_int) as usize }
    }

    /// A world's part of the state.
    pub fn part(&mut self, world: usize, which: Component) -> &mut [f64] {
        let (mut size, mut stride) = (0, 0);
        assert!(world < self.worlds);
        // SAFETY: a live batch; worlds' rows are `stride` apart.
        unsafe {
            let p = batch_mjb_component(self.raw, which as c_int, &raw mut size, &raw mut stride);
            std::slice::from_raw_parts_mut(p.add(world * stride as usize), size as usize)
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: made by this library, dropped once.
        unsafe { batch_mjb_delete(self.raw) }
    }
}
