//! MuJoCo through the functions of `shim.c`: models, states, and what plants ask of them.
//!
//! `shim.c` is compiled against the headers of the very library it is linked with, so one source serves
//! every pinned version.

pub mod program;

use std::ffi::{CStr, CString, c_char, c_double, c_int};

#[repr(C)]
struct RawModel {
    private: [u8; 0],
}

#[repr(C)]
struct RawData {
    private: [u8; 0],
}

#[link(name = "shim", kind = "static")]
unsafe extern "C" {
    fn plant_version() -> *const c_char;
    fn plant_compile(
        xml: *const c_char,
        length: c_int,
        error: *mut c_char,
        size: c_int,
    ) -> *mut RawModel;
    fn plant_delete_model(m: *mut RawModel);
    fn plant_data(m: *const RawModel) -> *mut RawData;
    fn plant_delete_data(d: *mut RawData);
    fn plant_reset(m: *const RawModel, d: *mut RawData);
    fn plant_forward(m: *const RawModel, d: *mut RawData);
    fn plant_step(m: *const RawModel, d: *mut RawData);
    fn plant_nq(m: *const RawModel) -> c_int;
    fn plant_nv(m: *const RawModel) -> c_int;
    fn plant_nu(m: *const RawModel) -> c_int;
    fn plant_njnt(m: *const RawModel) -> c_int;
    fn plant_timestep(m: *const RawModel) -> c_double;
    fn plant_set_timestep(m: *mut RawModel, dt: c_double);
    fn plant_time(d: *const RawData) -> c_double;
    fn plant_qpos(d: *mut RawData) -> *mut c_double;
    fn plant_qvel(d: *mut RawData) -> *mut c_double;
    fn plant_qacc(d: *const RawData) -> *const c_double;
    fn plant_ctrl(d: *mut RawData) -> *mut c_double;
    fn plant_xpos(d: *const RawData) -> *const c_double;
    fn plant_xquat(d: *const RawData) -> *const c_double;
    fn plant_xfrc(d: *mut RawData) -> *mut c_double;
    fn plant_actuator_force(d: *const RawData) -> *const c_double;
    fn plant_warnings(d: *const RawData) -> c_int;
    fn plant_contacts(d: *const RawData) -> c_int;
    fn plant_contact(
        m: *const RawModel,
        d: *const RawData,
        i: c_int,
        geoms: *mut c_int,
        distance: *mut c_double,
        normal: *mut c_double,
    );
    fn plant_id(m: *const RawModel, kind: c_int, name: *const c_char) -> c_int;
    fn plant_joint(
        m: *const RawModel,
        i: c_int,
        of: *mut c_int,
        axis: *mut c_double,
        range: *mut c_double,
    );
    fn plant_geom(m: *const RawModel, i: c_int, of: *mut c_int, size: *mut c_double);
    fn plant_site(
        m: *const RawModel,
        i: c_int,
        body: *mut c_int,
        at: *mut c_double,
        turned: *mut c_double,
    );
    fn plant_body(
        m: *const RawModel,
        i: c_int,
        parent: *mut c_int,
        mass: *mut c_double,
        inertia: *mut c_double,
        centre: *mut c_double,
        at: *mut c_double,
    );
    fn plant_actuator(
        m: *const RawModel,
        i: c_int,
        joint: *mut c_int,
        control: *mut c_double,
        force: *mut c_double,
    );
    fn plant_sensor(m: *const RawModel, i: c_int, of: *mut c_int, cutoff: *mut c_double);
    fn plant_sensor_value(d: *const RawData, address: c_int) -> c_double;
    fn plant_control_range(m: *const RawModel, i: c_int, range: *mut c_double);
    fn plant_subtree_mass(m: *const RawModel, body: c_int) -> c_double;
    fn plant_options(m: *const RawModel, out: *mut c_int);
}

/// The version that the library says it has.
pub fn version() -> String {
    // SAFETY: a static string.
    unsafe { CStr::from_ptr(plant_version()).to_string_lossy().into_owned() }
}

/// What a name names.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Body.
    Body,
    /// Joint.
    Joint,
    /// Geom.
    Geom,
    /// Site.
    Site,
    /// Actuator.
    Actuator,
    /// Sensor.
    Sensor,
}

/// A body.
#[derive(Clone, Debug)]
pub struct Body {
    /// The body it hangs on.
    pub parent: usize,
    /// kg.
    pub mass: f64,
    /// Principal moments about the centre of mass, kg·m².
    pub inertia: [f64; 3],
    /// Centre of mass in its frame, m.
    pub centre: [f64; 3],
    /// Its frame in that of its parent, m.
    pub position: [f64; 3],
}

/// A site.
#[derive(Clone, Debug)]
pub struct Site {
    /// Its body.
    pub body: usize,
    /// In the body's frame, m.
    pub position: [f64; 3],
    /// Orientation in the body's frame, real part first.
    pub quaternion: [f64; 4],
}

/// An actuator.
#[derive(Clone, Debug)]
pub struct Actuator {
    /// Its joint, if it drives one.
    pub joint: Option<usize>,
    /// Range of its control.
    pub control: [f64; 2],
    /// Range of its force, N or N·m.
    pub force: [f64; 2],
}

/// A sensor.
#[derive(Clone, Debug)]
pub struct Sensor {
    /// Whether it is a rangefinder.
    pub rangefinder: bool,
    /// Its site, of a rangefinder.
    pub object: usize,
    /// Where its values begin.
    pub address: usize,
    /// Its values are cut off beyond this; 0 where they are not.
    pub cutoff: f64,
}

/// A joint.
#[derive(Clone, Debug)]
pub struct Joint {
    /// `mjtJoint`: 0 free, 1 ball, 2 slide, 3 hinge.
    pub kind: i32,
    /// Its body.
    pub body: usize,
    /// Where its positions begin.
    pub qpos: usize,
    /// Where its velocities begin.
    pub dof: usize,
    /// Whether its range holds.
    pub limited: bool,
    /// In the body's frame.
    pub axis: [f64; 3],
    /// rad.
    pub range: [f64; 2],
}

/// A geom.
#[derive(Clone, Debug)]
pub struct Geom {
    /// Whether it is a cylinder.
    pub cylinder: bool,
    /// Its body.
    pub body: usize,
    /// Sizes; of a cylinder radius and half length, m.
    pub size: [f64; 3],
}

/// A contact after a step.
#[derive(Clone, Copy, Debug)]
pub struct Contact {
    /// Both geoms.
    pub geoms: [usize; 2],
    /// Negative where they penetrate, m.
    pub distance: f64,
    /// N.
    pub normal: f64,
}

/// Options in force, as numbers of MuJoCo's enumerations.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// `mjtIntegrator`: 3 is implicitfast.
    pub integrator: i32,
    /// `mjtSolver`: 2 is Newton.
    pub solver: i32,
    /// `mjtCone`: 1 is elliptic.
    pub cone: i32,
    /// Most iterations of the solver.
    pub iterations: i32,
    /// Whether MuJoCo resets a state that went wrong.
    pub autoreset: bool,
}

/// A compiled model.
pub struct Model(*mut RawModel);

impl Model {
    /// Compiles MJCF. The error is MuJoCo's.
    pub fn compile(xml: &str) -> Result<Self, String> {
        let mut error = vec![0u8; 1024];
        let size = error.len() as c_int;
        // SAFETY: live buffers with their sizes.
        let m = unsafe {
            plant_compile(xml.as_ptr().cast(), xml.len() as c_int, error.as_mut_ptr().cast(), size)
        };
        if m.is_null() {
            let text = CStr::from_bytes_until_nul(&error).map(CStr::to_string_lossy);
            return Err(text.unwrap_or_default().into_owned());
        }
        Ok(Self(m))
    }

    /// Sizes nq, nv, nu and the number of joints.
    pub fn sizes(&self) -> [usize; 4] {
        // SAFETY: a live model.
        unsafe { [plant_nq(self.0), plant_nv(self.0), plant_nu(self.0), plant_njnt(self.0)] }
            .map(|n| n as usize)
    }

    /// Physics step, s.
    pub fn timestep(&self) -> f64 {
        // SAFETY: a live model.
        unsafe { plant_timestep(self.0) }
    }

    /// Sets the physics step, s.
    pub fn set_timestep(&mut self, dt: f64) {
        // SAFETY: a live model.
        unsafe { plant_set_timestep(self.0, dt) }
    }

    /// The number of a named thing.
    pub fn id(&self, kind: Kind, name: &str) -> Option<usize> {
        let name = CString::new(name).ok()?;
        // SAFETY: a live model and string.
        usize::try_from(unsafe { plant_id(self.0, kind as c_int, name.as_ptr()) }).ok()
    }

    /// A joint by number.
    pub fn joint(&self, i: usize) -> Joint {
        let (mut of, mut axis, mut range) = ([0; 5], [0.0; 3], [0.0; 2]);
        // SAFETY: a live model; arrays as long as the function writes.
        unsafe {
            plant_joint(self.0, i as c_int, of.as_mut_ptr(), axis.as_mut_ptr(), range.as_mut_ptr());
        }
        let [kind, body, qpos, dof, limited] = of;
        let (body, qpos, dof) = (body as usize, qpos as usize, dof as usize);
        Joint { kind, body, qpos, dof, limited: limited != 0, axis, range }
    }

    /// A geom by number.
    pub fn geom(&self, i: usize) -> Geom {
        let (mut of, mut size) = ([0; 2], [0.0; 3]);
        // SAFETY: as above.
        unsafe { plant_geom(self.0, i as c_int, of.as_mut_ptr(), size.as_mut_ptr()) };
        Geom { cylinder: of[0] != 0, body: of[1] as usize, size }
    }

    /// A site by number.
    pub fn site(&self, i: usize) -> Site {
        let (mut body, mut position, mut quaternion) = (0, [0.0; 3], [0.0; 4]);
        let (at, turned) = (position.as_mut_ptr(), quaternion.as_mut_ptr());
        // SAFETY: as above.
        unsafe { plant_site(self.0, i as c_int, &raw mut body, at, turned) };
        Site { body: body as usize, position, quaternion }
    }

    /// A body by number.
    pub fn body(&self, i: usize) -> Body {
        let (mut parent, mut mass) = (0, 0.0);
        let (mut inertia, mut centre, mut position) = ([0.0; 3], [0.0; 3], [0.0; 3]);
        // SAFETY: as above.
        unsafe {
            plant_body(
                self.0,
                i as c_int,
                &raw mut parent,
                &raw mut mass,
                inertia.as_mut_ptr(),
                centre.as_mut_ptr(),
                position.as_mut_ptr(),
            );
        }
        Body { parent: parent as usize, mass, inertia, centre, position }
    }

    /// An actuator by number.
    pub fn actuator(&self, i: usize) -> Actuator {
        let (mut joint, mut control, mut force) = (0, [0.0; 2], [0.0; 2]);
        let (c, f) = (control.as_mut_ptr(), force.as_mut_ptr());
        // SAFETY: as above.
        unsafe { plant_actuator(self.0, i as c_int, &raw mut joint, c, f) };
        Actuator { joint: usize::try_from(joint).ok(), control, force }
    }

    /// A sensor by number.
    pub fn sensor(&self, i: usize) -> Sensor {
        let (mut of, mut cutoff) = ([0; 3], 0.0);
        // SAFETY: as above.
        unsafe { plant_sensor(self.0, i as c_int, of.as_mut_ptr(), &raw mut cutoff) };
        let [rangefinder, object, address] = of;
        let (object, address) = (object as usize, address as usize);
        Sensor { rangefinder: rangefinder != 0, object, address, cutoff }
    }

    /// The range of an actuator's control.
    pub fn control_range(&self, i: usize) -> [f64; 2] {
        let mut range = [0.0; 2];
        // SAFETY: as above.
        unsafe { plant_control_range(self.0, i as c_int, range.as_mut_ptr()) };
        range
    }

    /// Mass of a body and all below it, kg.
    pub fn subtree_mass(&self, body: usize) -> f64 {
        // SAFETY: a live model.
        unsafe { plant_subtree_mass(self.0, body as c_int) }
    }

    /// Options in force.
    pub fn options(&self) -> Options {
        let mut o = [0; 5];
        // SAFETY: as above.
        unsafe { plant_options(self.0, o.as_mut_ptr()) };
        let [integrator, solver, cone, iterations, autoreset] = o;
        Options { integrator, solver, cone, iterations, autoreset: autoreset != 0 }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: made by this library, dropped once.
        unsafe { plant_delete_model(self.0) }
    }
}

/// A state of a model.
pub struct Data<'m> {
    model: &'m Model,
    raw: *mut RawData,
    sizes: [usize; 4],
}

impl<'m> Data<'m> {
    /// A state at the model's reference.
    pub fn new(model: &'m Model) -> Result<Self, String> {
        // SAFETY: a live model.
        let raw = unsafe { plant_data(model.0) };
        if raw.is_null() {
            return Err("MuJoCo could not allocate a state".to_owned());
        }
        Ok(Self { model, raw, sizes: model.sizes() })
    }

    /// Back to the reference.
    pub fn reset(&mut self) {
        // SAFETY: live model and state.
        unsafe { plant_reset(self.model.0, self.raw) }
    }

    /// Computes everything that follows from the state.
    pub fn forward(&mut self) {
        // SAFETY: live model and state.
        unsafe { plant_forward(self.model.0, self.raw) }
    }

    /// One physics step.
    pub fn step(&mut self) {
        // SAFETY: live model and state.
        unsafe { plant_step(self.model.0, self.raw) }
    }

    /// Simulated time, s.
    pub fn time(&self) -> f64 {
        // SAFETY: a live state.
        unsafe { plant_time(self.raw) }
    }

    /// Positions.
    pub fn qpos(&self) -> &[f64] {
        // SAFETY: nq doubles, which live as long as the state.
        unsafe { std::slice::from_raw_parts(plant_qpos(self.raw), self.sizes[0]) }
    }

    /// Positions.
    pub fn qpos_mut(&mut self) -> &mut [f64] {
        // SAFETY: as above, borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(plant_qpos(self.raw), self.sizes[0]) }
    }

    /// Velocities.
    pub fn qvel(&self) -> &[f64] {
        // SAFETY: nv doubles.
        unsafe { std::slice::from_raw_parts(plant_qvel(self.raw), self.sizes[1]) }
    }

    /// Accelerations.
    pub fn qacc(&self) -> &[f64] {
        // SAFETY: nv doubles.
        unsafe { std::slice::from_raw_parts(plant_qacc(self.raw), self.sizes[1]) }
    }

    /// Controls.
    pub fn ctrl(&self) -> &[f64] {
        // SAFETY: nu doubles.
        unsafe { std::slice::from_raw_parts(plant_ctrl(self.raw), self.sizes[2]) }
    }

    /// Controls.
    pub fn ctrl_mut(&mut self) -> &mut [f64] {
        // SAFETY: nu doubles, borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(plant_ctrl(self.raw), self.sizes[2]) }
    }

    /// Where a body's frame is in the world, as of the last time it was computed.
    pub fn xpos(&self, body: usize) -> [f64; 3] {
        // SAFETY: three doubles a body.
        unsafe { *plant_xpos(self.raw).add(3 * body).cast::<[f64; 3]>() }
    }

    /// How a body's frame is turned in the world, real part first, as of the last time it was computed.
    pub fn xquat(&self, body: usize) -> [f64; 4] {
        // SAFETY: four doubles a body.
        unsafe { *plant_xquat(self.raw).add(4 * body).cast::<[f64; 4]>() }
    }

    /// Applies a force, N, and a moment, N·m, in the world's axes at a body's centre of mass, in place of
    /// what was applied there.
    pub fn apply(&mut self, body: usize, force: [f64; 3], moment: [f64; 3]) {
        let [fx, fy, fz] = force;
        let [mx, my, mz] = moment;
        // SAFETY: six doubles a body, borrowed alone.
        unsafe {
            *plant_xfrc(self.raw).add(6 * body).cast::<[f64; 6]>() = [fx, fy, fz, mx, my, mz];
        }
    }

    /// Force of each actuator in the last step.
    pub fn actuator_force(&self) -> &[f64] {
        // SAFETY: nu doubles.
        unsafe { std::slice::from_raw_parts(plant_actuator_force(self.raw), self.sizes[2]) }
    }

    /// A sensor's value by its address.
    pub fn sensor_value(&self, address: usize) -> f64 {
        // SAFETY: an address that the model gave.
        unsafe { plant_sensor_value(self.raw, address as c_int) }
    }

    /// Warnings since the last reset.
    pub fn warnings(&self) -> i32 {
        // SAFETY: a live state.
        unsafe { plant_warnings(self.raw) }
    }

    /// The contacts of the last step.
    pub fn contacts(&self) -> impl Iterator<Item = Contact> + '_ {
        // SAFETY: a live state.
        let n = unsafe { plant_contacts(self.raw) };
        (0..n).map(|i| {
            let (mut geoms, mut distance, mut normal) = ([0; 2], 0.0, 0.0);
            // SAFETY: live model and state, a contact that is there.
            unsafe {
                plant_contact(
                    self.model.0,
                    self.raw,
                    i,
                    geoms.as_mut_ptr(),
                    &raw mut distance,
                    &raw mut normal,
                );
            }
            Contact { geoms: geoms.map(|g| g as usize), distance, normal }
        })
    }
}

impl Drop for Data<'_> {
    fn drop(&mut self) {
        // SAFETY: made by this library, dropped once.
        unsafe { plant_delete_data(self.raw) }
    }
}
