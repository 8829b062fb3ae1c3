//! What a forward pass computes, world by world: for tests, diagnostics and poses.

use crate::engine::BatchedEngine;
use crate::kernel::Found;

/// A contact point of a world.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactPoint {
    /// Its geoms; the normal points from the first to the second.
    pub geoms: [usize; 2],
    /// Number of dimensions of its force.
    pub dim: usize,
    /// Negative where they penetrate, m.
    pub distance: f32,
    /// Midway between the surfaces, m.
    pub position: [f32; 3],
    /// Normal and two tangents.
    pub frame: [f32; 9],
    /// Its first row.
    pub row: usize,
}

/// A world's quantities up to the accelerations.
#[derive(Clone, Debug)]
pub struct Forward {
    /// Bodies' origins, m, (nbody, 3).
    pub xpos: Vec<f32>,
    /// Bodies' orientations, (nbody, 9).
    pub xmat: Vec<f32>,
    /// Geoms' centres, m, (ngeom, 3).
    pub geom_xpos: Vec<f32>,
    /// Mass matrix, (nv, nv).
    pub mass: Vec<f32>,
    /// Coriolis, centrifugal and gravity forces.
    pub bias: Vec<f32>,
    /// Springs and dampers.
    pub passive: Vec<f32>,
    /// Actuators.
    pub actuator: Vec<f32>,
    /// Everything but constraints.
    pub smooth: Vec<f32>,
    /// Accelerations without constraints.
    pub qacc_smooth: Vec<f32>,
    /// Constraint Jacobian, (rows, nv): friction loss, limits, contacts.
    pub jacobian: Vec<f32>,
    /// Inverse regularisation, a row each.
    pub d: Vec<f32>,
    /// Reference acceleration, a row each.
    pub aref: Vec<f32>,
    /// Rows of friction loss and of limits; the others are contacts'.
    pub kinds: [usize; 2],
    /// Contact points.
    pub contacts: Vec<ContactPoint>,
}

/// A contact of the last step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Its geoms.
    pub geoms: [usize; 2],
    /// Negative where they penetrate, m.
    pub distance: f32,
    /// Force along the normal, N.
    pub normal: f32,
}

/// Where a body's frame is and how its centre of mass moves, in the world's axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyMotion {
    /// m.
    pub position: [f64; 3],
    /// Unit quaternion w, x, y, z.
    pub orientation: [f64; 4],
    /// Of the centre of mass, m/s.
    pub linear: [f64; 3],
    /// rad/s.
    pub angular: [f64; 3],
}

/// Reads one lane of the scratch memory.
struct Lane {
    width: usize,
    lane: usize,
}

impl Lane {
    /// # Safety
    /// `p` points to more than `i` values of all lanes.
    unsafe fn at(&self, p: *const f32, i: usize) -> f32 {
        // SAFETY: the caller's promise.
        unsafe { *p.add(i * self.width + self.lane) }
    }

    /// # Safety
    /// `p` points to `n` values of all lanes.
    unsafe fn take(&self, p: *const f32, n: usize) -> Vec<f32> {
        // SAFETY: the caller's promise.
        (0..n).map(|i| unsafe { self.at(p, i) }).collect()
    }
}

impl BatchedEngine {
    /// Poses and velocities of some bodies in a world, from its present positions and velocities, by
    /// MuJoCo's kinematics in float64.
    pub fn motion(&self, world: usize, bodies: &[usize]) -> Vec<BodyMotion> {
        assert!(world < self.worlds, "world {world} of {}", self.worlds);
        let slot = self.slots[world] as usize;
        let row = |a: &crate::lanes::Worlds| -> Vec<f64> {
            (0..a.per).map(|i| f64::from(a.get(slot, i))).collect()
        };
        let mut data = self.model.compiled.data();
        data.set("qpos", &row(&self.qpos));
        data.set("qvel", &row(&self.qvel));
        data.motion();
        let (xpos, xquat) = (data.get("xpos"), data.get("xquat"));
        bodies
            .iter()
            .map(|&b| {
                let v = data.body_velocity(b);
                BodyMotion {
                    position: std::array::from_fn(|k| xpos[3 * b + k]),
                    orientation: std::array::from_fn(|k| xquat[4 * b + k]),
                    linear: [v[3], v[4], v[5]],
                    angular: [v[0], v[1], v[2]],
                }
            })
            .collect()
    }

    /// A world's contacts of the last step (or of [`BatchedEngine::look`]), as it found them before it moved
    /// anything; at most `Options::touches` of them.
    pub fn touches(&self, world: usize) -> impl Iterator<Item = Touch> + '_ {
        assert!(world < self.worlds, "world {world} of {}", self.worlds);
        let slot = self.slots[world] as usize;
        let kept = (self.info.get(slot, 0) as usize).min(self.touch.per / 3);
        (0..kept).map(move |i| {
            let at = |k: usize| self.touch.get(slot, 3 * i + k);
            let geoms = self.model.pairs[at(0) as usize].geoms;
            Touch { geoms, distance: at(1), normal: at(2) }
        })
    }

    /// Computes what follows from a world's present state, and leaves the state as it is.
    pub fn forward(&self, world: usize) -> Forward {
        assert!(world < self.worlds, "world {world} of {}", self.worlds);
        let t = &self.model.tables;
        // SAFETY: pointers and counts, for which zero is a value; the kernel sets them all but the masks.
        let mut f: Found = unsafe { std::mem::zeroed() };
        let mut masks = vec![0; self.points_capacity() + 1];
        let mut lim_masks = vec![0; t.get("nlimit") + 1];
        f.pt_mask = masks.as_mut_ptr();
        f.lim_mask = lim_masks.as_mut_ptr();
        let scratch = self.forward_block(world, &mut f);
        let width = self.lanes.width();
        let l = Lane { width, lane: self.slots[world] as usize % width };
        let (nb, nv, ng) = (t.get("nbody"), t.get("nv"), t.get("ngeom"));
        // SAFETY: the kernel's arrays of these sizes, in scratch memory that is alive to the end.
        let out = unsafe {
            let mut mass = vec![0.0; nv * nv];
            for i in 0..nv {
                let mut put = |j: usize| {
                    let v = l.at(f.mass, i * (i + 1) / 2 + j);
                    mass[i * nv + j] = v;
                    mass[j * nv + i] = v;
                };
                put(i);
                self.model.pattern(i).iter().for_each(|j| put(*j as usize));
            }
            let mut out = Forward {
                xpos: l.take(f.xpos, 3 * nb),
                xmat: l.take(f.xmat, 9 * nb),
                geom_xpos: l.take(f.gpos, 3 * ng),
                mass,
                bias: l.take(f.bias, nv),
                passive: l.take(f.passive, nv),
                actuator: l.take(f.actuator, nv),
                smooth: l.take(f.smooth, nv),
                qacc_smooth: l.take(f.qacc_smooth, nv),
                jacobian: Vec::new(),
                d: Vec::new(),
                aref: Vec::new(),
                kinds: [t.get("nfric"), 0],
                contacts: Vec::new(),
            };
            self.single_rows(world, &mut out, &f, &lim_masks, &l);
            for (p, mask) in masks.iter().enumerate().take(f.npoint as usize) {
                if mask >> l.lane & 1 != 0 {
                    self.contact_rows(&mut out, &f, p, &l);
                }
            }
            out
        };
        drop(scratch);
        out
    }

    fn points_capacity(&self) -> usize {
        self.model.field_of(&self.header, "most_points")
    }

    /// Friction loss and limits.
    ///
    /// # Safety
    /// `f` is what the kernel found for the world's block.
    unsafe fn single_rows(
        &self,
        world: usize,
        out: &mut Forward,
        f: &Found,
        masks: &[i32],
        l: &Lane,
    ) {
        let t = &self.model.tables;
        let nv = t.get("nv");
        let mut row = |dof: usize, j: f32, d: f32, aref: f32| {
            out.jacobian.extend((0..nv).map(|i| if i == dof { j } else { 0.0 }));
            out.d.push(d);
            out.aref.push(aref);
        };
        for i in 0..t.get("nfric") {
            let dof = t.ints[t.get("i_fric_dof") + i] as usize;
            let at = t.get("s_fric") + 2 * i;
            row(
                dof,
                1.0,
                t.floats[at + 1],
                -(t.floats[at] * self.qvel.get(self.slots[world] as usize, dof)),
            );
        }
        let mut limits = 0;
        for (k, mask) in masks.iter().enumerate().take(f.nlim as usize) {
            if mask >> l.lane & 1 == 0 {
                continue;
            }
            // SAFETY: fewer than `nlim`.
            let (lim, d, c) =
                unsafe { (*f.lim.add(k) as usize, l.at(f.lim_d, k), l.at(f.lim_aref, k)) };
            let dof = t.ints[t.get("i_lim_dof") + lim] as usize;
            row(dof, -(t.ints[t.get("i_lim_side") + lim] as f32), d, -c);
            limits += 1;
        }
        out.kinds[1] = limits;
    }

    /// Rows of one contact point.
    ///
    /// # Safety
    /// As above; `p` is one of its points.
    unsafe fn contact_rows(&self, out: &mut Forward, f: &Found, p: usize, l: &Lane) {
        let nv = self.model.nv();
        // SAFETY: fewer than `npoint` points, each with a Jacobian of its dimension and support.
        unsafe {
            let pair = *f.pt_pair.add(p) as usize;
            let (dim, geoms) = (self.model.pairs[pair].dim, self.model.pairs[pair].geoms);
            let row = out.d.len();
            let mut basis = vec![vec![0.0f32; nv]; dim];
            let jac = *f.pt_jac.add(p) as usize;
            for (e, dof) in self.model.support_dofs(pair).iter().enumerate() {
                for (k, b) in basis.iter_mut().enumerate() {
                    b[*dof] = l.at(f.jac, jac + e * dim + k);
                }
            }
            let aref: Vec<f32> = (0..dim).map(|k| l.at(f.aref, 6 * p + k)).collect();
            let d = l.at(f.d, p);
            if dim > 1 && self.model.pairs[pair].elliptic {
                // The kernels keep a cone's rows times friction.
                for (k, b) in basis.iter().enumerate() {
                    let mu = l.at(f.mu, 6 * p + k);
                    out.jacobian.extend(b.iter().map(|j| j / mu));
                    out.aref.push(-aref[k] / mu);
                    out.d.push(d * mu * mu);
                }
            }
            let mut push = |k: usize, s: f32| {
                let add = |a: f32, b: f32| if k == 0 { a } else { a + s * b };
                out.jacobian.extend((0..nv).map(|i| add(basis[0][i], basis[k][i])));
                out.aref.push(-add(aref[0], aref[k]));
                out.d.push(d);
            };
            if dim == 1 {
                push(0, 1.0);
            }
            for k in (1..dim).filter(|_| !self.model.pairs[pair].elliptic) {
                push(k, 1.0);
                push(k, -1.0);
            }
            out.contacts.push(ContactPoint {
                geoms,
                dim,
                distance: l.at(f.dist, p),
                position: std::array::from_fn(|k| l.at(f.pos, 3 * p + k)),
                frame: std::array::from_fn(|k| l.at(f.axes, 9 * p + k)),
                row,
            });
        }
    }
}
