//! A model that MuJoCo compiled, as the kernels' tables.

use crate::fields::Tables;
use crate::mujoco::{Compiled, Kind};
use crate::pairs::{Mix, Pair, pairs};
use crate::refuse::refusal;
use std::fmt;
use std::path::Path;

/// Why there is no model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelError {
    /// MuJoCo could not compile it; its message.
    Compile(String),
    /// The engine does not do something in it; what, by name.
    Unsupported(String),
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compile(e) => write!(f, "MuJoCo cannot compile the model: {e}"),
            Self::Unsupported(what) => write!(f, "the batch engine does not do this: {what}"),
        }
    }
}

impl std::error::Error for ModelError {}

/// Constants of a soft constraint, from MuJoCo's solref and solimp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Soft {
    k: f64,
    b: f64,
    imp: [f64; 5],
    margin: f64,
}

/// A solref whose time constant is at least two steps, unless the model says otherwise.
fn safe(m: &Compiled, [r0, r1]: [f64; 2]) -> [f64; 2] {
    let refsafe = m.option("disableflags") as i32 >> 12 & 1 == 0;
    [if refsafe && r0 > 0.0 { r0.max(2.0 * m.option("timestep")) } else { r0 }, r1]
}

fn damping(dmax: f64, [r0, r1]: [f64; 2]) -> f64 {
    let tiny = 1e-15;
    if r1 > 0.0 { 2.0 / (dmax * r0).max(tiny) } else { -r1 / dmax.max(tiny) }
}

impl Soft {
    pub(crate) fn new(
        m: &Compiled,
        solref: [f64; 2],
        solimp: [f64; 5],
        margin: f64,
    ) -> Result<Self, String> {
        let tiny = 1e-15;
        let [d0, dmax, width, mid, power] = solimp;
        let within = |d: f64| d.clamp(1e-4, 0.9999);
        let (d0, dmax, mid) = (within(d0), within(dmax), within(mid));
        let power = power.max(1.0);
        if power.fract() != 0.0 || power > 16.0 {
            return Err(format!("solimp power {power}; it must be a whole number up to 16"));
        }
        let [r0, r1] = safe(m, solref);
        let k = if r0 > 0.0 {
            1.0 / (dmax * dmax * r0 * r0 * r1 * r1).max(tiny)
        } else {
            -r0 / (dmax * dmax).max(tiny)
        };
        let b = damping(dmax, [r0, r1]);
        let width = if d0 == dmax || width <= tiny { 0.0 } else { width };
        Ok(Self { k, b, imp: [d0, dmax, width, mid, power], margin })
    }

    /// Damping, 1/s.
    pub(crate) fn damping(&self) -> f64 {
        self.b
    }

    /// Damping by another solref.
    pub(crate) fn damped(&self, m: &Compiled, solref: [f64; 2]) -> f64 {
        damping(self.imp[1], safe(m, solref))
    }

    /// In the kernels' order.
    fn values(&self) -> [f64; 10] {
        let [d0, dmax, width, mid, power] = self.imp;
        let low = mid.powf(power - 1.0).recip();
        let high = (1.0 - mid).powf(power - 1.0).recip();
        [self.k, self.b, d0, dmax, width, mid, power, low, high, self.margin]
    }

    /// Impedance where the distance is the margin.
    fn at_margin(&self) -> f64 {
        if self.imp[2] == 0.0 { 0.5 * (self.imp[0] + self.imp[1]) } else { self.imp[0] }
    }
}

/// A model in the engine's tables, and MuJoCo's that it came from.
pub struct Model {
    pub(crate) compiled: Compiled,
    pub(crate) tables: Tables,
    pub(crate) pairs: Vec<Pair>,
    /// Number of coordinates, velocities, controls.
    pub(crate) sizes: [usize; 3],
    pub(crate) worst_rows: usize,
}

impl Model {
    /// From MJCF text.
    pub fn from_text(xml: &str) -> Result<Self, ModelError> {
        Self::new(Compiled::from_text(xml).map_err(ModelError::Compile)?)
    }

    /// From an MJCF file.
    pub fn from_file(path: &Path) -> Result<Self, ModelError> {
        Self::new(Compiled::from_file(path).map_err(ModelError::Compile)?)
    }

    /// From a model that MuJoCo compiled.
    pub fn new(compiled: Compiled) -> Result<Self, ModelError> {
        if let Some(what) = refusal(&compiled) {
            return Err(ModelError::Unsupported(what));
        }
        let pairs = pairs(&compiled).map_err(ModelError::Unsupported)?;
        let m = &compiled;
        let mut t = Tables::new();
        let sizes = [m.size("nq"), m.size("nv"), m.size("nu")];
        for (name, n) in ["nq", "nv", "nu"].into_iter().zip(sizes) {
            t.size(name, n);
        }
        bodies(m, &mut t);
        dofs(m, &mut t);
        geoms(m, &mut t);
        meshes(m, &mut t);
        actuators(m, &mut t);
        limits(m, &mut t).map_err(ModelError::Unsupported)?;
        let worst_rows = contacts(m, &mut t, &pairs);
        settings(m, &mut t);
        t.finish();
        Ok(Self { compiled, tables: t, pairs, sizes, worst_rows })
    }

    /// Number of coordinates.
    pub fn nq(&self) -> usize {
        self.sizes[0]
    }

    /// Number of velocities.
    pub fn nv(&self) -> usize {
        self.sizes[1]
    }

    /// Number of controls.
    pub fn nu(&self) -> usize {
        self.sizes[2]
    }

    /// Number of bodies, the world included.
    pub fn nbody(&self) -> usize {
        self.tables.get("nbody")
    }

    /// Physics step, s.
    pub fn timestep(&self) -> f64 {
        self.compiled.option("timestep")
    }

    /// Positions at the reference.
    pub fn qpos0(&self) -> Vec<f32> {
        self.compiled.f64s("qpos0").into_iter().map(|q| q as f32).collect()
    }

    /// The model as MuJoCo compiled it.
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }
}

fn flags(m: &Compiled, bit: i32) -> bool {
    m.option("disableflags") as i32 >> bit & 1 != 0
}

/// Rotation matrix of a unit quaternion, row by row.
pub(crate) fn matrix(q: &[f64]) -> [f64; 9] {
    let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    let [w, x, y, z] = [q[0], q[1], q[2], q[3]].map(|v| v / norm);
    [
        w * w + x * x - y * y - z * z,
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        w * w - x * x + y * y - z * z,
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        w * w - x * x - y * y + z * z,
    ]
}

/// Principal moments about a frame turned by `q`, in the body's frame: xx yy zz xy xz yz.
pub(crate) fn turned_inertia(principal: &[f64], q: &[f64]) -> [f64; 6] {
    let r = matrix(q);
    let at = |i: usize, j: usize| (0..3).map(|k| r[3 * i + k] * principal[k] * r[3 * j + k]).sum();
    [at(0, 0), at(1, 1), at(2, 2), at(0, 1), at(0, 2), at(1, 2)]
}

fn bodies(m: &Compiled, t: &mut Tables) {
    let n = m.size("nbody");
    t.size("nbody", n);
    let parent = m.ints("body_parentid");
    // A tree for each body that hangs on the world; the world itself is never asked for its own.
    let mut tree = vec![0; n];
    let mut trees = 0;
    for b in 1..n {
        if parent[b] == 0 {
            tree[b] = trees;
            trees += 1;
        } else {
            tree[b] = tree[parent[b] as usize];
        }
    }
    t.size("ntree", trees.max(1) as usize);
    t.ints("body_parent", parent);
    t.ints("body_tree", tree);
    t.ints("body_jntadr", m.ints("body_jntadr"));
    t.ints("body_jntnum", m.ints("body_jntnum"));
    t.ints("body_dofadr", m.ints("body_dofadr"));
    t.ints("body_dofnum", m.ints("body_dofnum"));
    // Free bodies on which nothing else moves.
    let (first, joints, kind) = (m.ints("body_jntadr"), m.ints("body_jntnum"), m.ints("jnt_type"));
    let root = m.ints("body_rootid");
    let dofs = m.ints("body_dofnum");
    let free: Vec<i32> = (1..n)
        .filter(|b| joints[*b] == 1 && kind[first[*b] as usize] == 0)
        .filter(|b| (*b + 1..n).all(|c| root[c] as usize != *b || dofs[c] == 0))
        .map(|b| b as i32)
        .collect();
    t.size("nfree", free.len());
    t.ints("free_body", free);
    for (name, field) in
        [("body_pos", "body_pos"), ("body_quat", "body_quat"), ("body_ipos", "body_ipos")]
    {
        t.floats(name, m.f64s(field));
    }
    let gravity = if flags(m, 7) { vec![0.0; 3] } else { m.option_vec("gravity") };
    t.table("gravity", gravity);
    t.table("mass", m.f64s("body_mass"));
    let (inertia, turn) = (m.f64s("body_inertia"), m.f64s("body_iquat"));
    t.table(
        "inertia",
        (0..n).flat_map(|b| turned_inertia(&inertia[3 * b..3 * b + 3], &turn[4 * b..4 * b + 4])),
    );
}

fn dofs(m: &Compiled, t: &mut Tables) {
    t.size("njnt", m.size("njnt"));
    t.ints("jnt_type", m.ints("jnt_type"));
    t.ints("jnt_qpos", m.ints("jnt_qposadr"));
    t.ints("jnt_dof", m.ints("jnt_dofadr"));
    t.floats("jnt_pos", m.f64s("jnt_pos"));
    t.floats("jnt_axis", m.f64s("jnt_axis"));
    t.floats("stiffness", m.f64s("jnt_stiffness"));
    t.floats("qpos0", m.f64s("qpos0"));
    t.floats("springref", m.f64s("qpos_spring"));
    t.ints("dof_body", m.ints("dof_bodyid"));
    // Each dof's ancestors, ascending: the pattern of the mass matrix.
    let parent = m.ints("dof_parentid");
    let (mut adr, mut cols) = (vec![0], Vec::new());
    for d in 0..parent.len() {
        let mut above = Vec::new();
        let mut up = parent[d];
        while up >= 0 {
            above.push(up);
            up = parent[up as usize];
        }
        cols.extend(above.into_iter().rev());
        adr.push(cols.len() as i32);
    }
    t.ints("row_adr", adr);
    t.ints("row_cols", cols);
    let joint = m.ints("dof_jntid");
    let (bounded, range) = (m.ints("jnt_actfrclimited"), m.f64s("jnt_actfrcrange"));
    t.floats(
        "dof_actfrc",
        joint.iter().flat_map(|j| {
            let j = *j as usize;
            if bounded[j] != 0 { [range[2 * j], range[2 * j + 1]] } else { [0.0; 2] }
        }),
    );
    let damping = m.f64s("dof_damping");
    t.size("damped", usize::from(!flags(m, 15) && damping.iter().any(|d| *d > 0.0)));
    t.table("damping", damping);
    t.table("armature", m.f64s("dof_armature"));
    t.table("floss", m.f64s("dof_frictionloss"));
}

fn geoms(m: &Compiled, t: &mut Tables) {
    let n = m.size("ngeom");
    t.size("ngeom", n);
    t.ints("geom_body", m.ints("geom_bodyid"));
    t.ints("geom_mesh", m.ints("geom_dataid"));
    t.floats("geom_size", m.f64s("geom_size"));
    t.floats("geom_bound", m.f64s("geom_rbound"));
    t.table("geom_pos", m.f64s("geom_pos"));
    let quat = m.f64s("geom_quat");
    t.table("geom_mat", (0..n).flat_map(|g| matrix(&quat[4 * g..4 * g + 4])));
    t.table("friction", m.f64s("geom_friction"));
}

fn meshes(m: &Compiled, t: &mut Tables) {
    let vertadr = m.ints("mesh_vertadr");
    let vertnum = m.ints("mesh_vertnum");
    let polyadr = m.ints("mesh_polyadr");
    let (mapadr, mapnum) = (m.ints("mesh_polymapadr"), m.ints("mesh_polymapnum"));
    let map = m.ints("mesh_polymap");
    let (mut adr, mut faces) = (vec![0], Vec::new());
    for mesh in 0..vertadr.len() {
        for v in vertadr[mesh]..vertadr[mesh] + vertnum[mesh] {
            let (at, count) = (mapadr[v as usize] as usize, mapnum[v as usize] as usize);
            faces.extend(map[at..at + count].iter().map(|f| f + polyadr[mesh]));
            adr.push(faces.len() as i32);
        }
    }
    t.ints("mesh_vertadr", vertadr);
    t.ints("mesh_vertnum", vertnum);
    t.ints("face_adr", m.ints("mesh_polyvertadr"));
    t.ints("face_num", m.ints("mesh_polyvertnum"));
    t.ints("face_vert", m.ints("mesh_polyvert"));
    t.ints("vert_faceadr", adr);
    t.ints("vert_face", faces);
    t.floats("mesh_vert", m.f64s("mesh_vert"));
    t.floats("face_normal", m.f64s("mesh_polynormal"));
}

fn actuators(m: &Compiled, t: &mut Tables) {
    let n = m.size("nactuator");
    let target = m.ints("actuator_trnid");
    let (dof, qpos) = (m.ints("jnt_dofadr"), m.ints("jnt_qposadr"));
    let joint: Vec<usize> = (0..n).map(|a| target[2 * a] as usize).collect();
    t.ints("act_dof", joint.iter().map(|j| dof[*j]));
    t.ints("act_qpos", joint.iter().map(|j| qpos[*j]));
    let (ctrl, force) = (m.ints("actuator_ctrllimited"), m.ints("actuator_forcelimited"));
    let (gain, bias) = (m.ints("actuator_gaintype"), m.ints("actuator_biastype"));
    let clamped = !flags(m, 8);
    t.ints(
        "act_flags",
        (0..n).map(|a| {
            i32::from(ctrl[a] != 0 && clamped)
                | i32::from(force[a] != 0) << 1
                | i32::from(gain[a] == 1) << 2
                | i32::from(bias[a] == 1) << 3
        }),
    );
    let gear = m.f64s("actuator_gear");
    t.floats("act_gear", (0..n).map(|a| gear[6 * a]));
    t.floats("act_ctrl", m.f64s("actuator_ctrlrange"));
    t.floats("act_force", m.f64s("actuator_forcerange"));
    for (name, field) in [("gain", "actuator_gainprm"), ("bias", "actuator_biasprm")] {
        let all = m.f64s(field);
        let per = all.len() / n.max(1);
        t.table(name, (0..n).flat_map(|a| all[a * per..a * per + 3].to_vec()));
    }
}

/// Friction loss and limits.
fn limits(m: &Compiled, t: &mut Tables) -> Result<(), String> {
    let nv = m.size("nv");
    let weight = m.f64s("dof_invweight0");
    let joint = m.ints("dof_jntid");
    let loss = m.f64s("dof_frictionloss");
    let (solref, solimp) = (m.f64s("dof_solref"), m.f64s("dof_solimp"));
    let none = flags(m, 0);
    let (mut dof, mut values) = (Vec::new(), Vec::new());
    for d in (0..nv).filter(|d| loss[*d] > 0.0 && !none && !flags(m, 2)) {
        let soft = Soft::new(
            m,
            [solref[2 * d], solref[2 * d + 1]],
            std::array::from_fn(|k| solimp[5 * d + k]),
            0.0,
        )
        .map_err(|e| format!("{e} of joint {}", m.name(Kind::Joint, joint[d] as usize)))?;
        let imp = soft.at_margin();
        dof.push(d as i32);
        values.extend([soft.b, 1.0 / ((1.0 - imp) / imp * weight[d]).max(1e-15)]);
    }
    t.size("nfric", dof.len());
    t.ints("fric_dof", dof);
    t.floats("fric", values);

    let limited = m.ints("jnt_limited");
    let (qpos, dofs) = (m.ints("jnt_qposadr"), m.ints("jnt_dofadr"));
    let (range, margin) = (m.f64s("jnt_range"), m.f64s("jnt_margin"));
    let (solref, solimp) = (m.f64s("jnt_solref"), m.f64s("jnt_solimp"));
    let (mut dof, mut at, mut side, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for j in (0..limited.len()).filter(|j| limited[*j] != 0 && !none && !flags(m, 3)) {
        let soft = Soft::new(
            m,
            [solref[2 * j], solref[2 * j + 1]],
            std::array::from_fn(|k| solimp[5 * j + k]),
            margin[j],
        )
        .map_err(|e| format!("{e} of joint {}", m.name(Kind::Joint, j)))?;
        for (s, end) in [(-1, range[2 * j]), (1, range[2 * j + 1])] {
            dof.push(dofs[j]);
            at.push(qpos[j]);
            side.push(s);
            values.extend(soft.values());
            values.extend([end, weight[dofs[j] as usize]]);
        }
    }
    t.size("nlimit", dof.len());
    t.ints("lim_dof", dof);
    t.ints("lim_qpos", at);
    t.ints("lim_side", side);
    t.floats("lim", values);
    Ok(())
}

/// The dofs that move a body, ascending.
fn chain(m: &Compiled, body: i32) -> Vec<i32> {
    let (parent, adr, num) =
        (m.ints("body_parentid"), m.ints("body_dofadr"), m.ints("body_dofnum"));
    let (mut b, mut found) = (body as usize, Vec::new());
    while b > 0 {
        found.extend(adr[b]..adr[b] + num[b]);
        b = parent[b] as usize;
    }
    found.sort_unstable();
    found
}

/// Pairs and their supports; returns the most contact rows that a world can have.
fn contacts(m: &Compiled, t: &mut Tables, pairs: &[Pair]) -> usize {
    let body = m.ints("geom_bodyid");
    let chains: Vec<Vec<i32>> = (0..m.size("nbody")).map(|b| chain(m, b as i32)).collect();
    let (mut sup, mut adr, mut num, mut cross) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut alone = Vec::new();
    for p in pairs {
        let [a, b] = p.geoms.map(|g| &chains[body[g] as usize]);
        // What moves both moves them alike: it drops out.
        let first: Vec<i32> = a.iter().copied().filter(|d| !b.contains(d)).collect();
        let second: Vec<i32> = b.iter().copied().filter(|d| !a.contains(d)).collect();
        cross.push(i32::from(!first.is_empty() && !second.is_empty()));
        // The one body that moves, where the other side stands still and the force has no torque of its own.
        let moving = match (a.is_empty(), b.is_empty()) {
            _ if p.dim > 3 => -1,
            (true, false) => body[p.geoms[1]],
            (false, true) => body[p.geoms[0]],
            _ => -1,
        };
        alone.push(moving);
        let mut both: Vec<i32> =
            first.iter().map(|d| 2 * d + 1).chain(second.iter().map(|d| 2 * d)).collect();
        both.sort_unstable();
        adr.push(sup.len() as i32);
        num.push(both.len());
        sup.extend(both);
    }
    t.size("npair", pairs.len());
    t.ints("pair_g1", pairs.iter().map(|p| p.geoms[0] as i32));
    t.ints("pair_g2", pairs.iter().map(|p| p.geoms[1] as i32));
    t.ints("pair_kind", pairs.iter().map(|p| p.kind as i32));
    t.ints("pair_dim", pairs.iter().map(|p| p.dim as i32));
    let mix = |p: &Pair| match p.mix {
        Mix::Max => 0,
        Mix::First => 1,
        Mix::Second => 2,
        Mix::Own(_) => 3,
    };
    t.ints("pair_mix", pairs.iter().map(mix));
    t.ints("pair_cross", cross);
    t.ints("pair_body", alone);
    t.ints("pair_supadr", adr);
    t.ints("pair_supnum", num.iter().map(|n| *n as i32));
    t.ints("sup", sup);
    t.floats(
        "pair",
        pairs.iter().flat_map(|p| {
            let own = if let Mix::Own(f) = p.mix { f } else { [0.0; 5] };
            let more = [p.detect, p.weight, p.slide_damping];
            p.soft.values().into_iter().chain(more).chain(own).collect::<Vec<_>>()
        }),
    );
    t.size("most_points", pairs.iter().map(Pair::most_points).sum());
    let jac = pairs.iter().zip(&num).map(|(p, n)| p.most_points() * p.dim * n).sum();
    t.size("most_jac", jac);
    pairs.iter().map(|p| p.most_points() * p.rows()).sum()
}

fn settings(m: &Compiled, t: &mut Tables) {
    let nv = m.size("nv");
    let scale = 1.0 / (m.option("meaninertia") * nv.max(1) as f64);
    // What float32 can tell apart; MuJoCo's default of 1e-8 is for float64.
    let tolerance = m.option("tolerance").max(1e-6);
    let line = 1e-3;
    t.floats(
        "opt",
        [m.option("timestep"), tolerance, line, 1.0 / m.option("impratio").max(1e-15), scale],
    );
    t.size("iterations", m.option("iterations") as usize);
    t.size("ls_iterations", m.option("ls_iterations") as usize);
    t.size("elliptic", usize::from(m.option("cone") != 0.0));
    t.size("implicit", usize::from(m.option("integrator") == 3.0));
    t.size("warmstart", usize::from(!flags(m, 9)));
    t.size("row_cap", 0);
    t.size("touches", 0);
}
