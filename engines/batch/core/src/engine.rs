//! Many worlds of one model, stepped together.

use crate::kernel::{Block, Header, Kernel, Lanes};
use crate::lanes::{Aligned, Worlds};
use crate::model::Model;
use rayon::prelude::*;
use std::fmt;
use std::sync::Arc;

/// Steps after which worlds are brought together anew.
const REGROUP: usize = 16;

/// Numbers that the kernels tell of each world.
pub const INFO: usize = 7;

/// How an engine is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// Worlds side by side; none: the widest that the machine has, narrower where few worlds would
    /// leave threads without work.
    pub lanes: Option<Lanes>,
    /// Threads; at least one.
    pub threads: usize,
    /// Most contact rows of a world. A world that needs more leaves contacts out and is flagged.
    pub contact_row_cap: usize,
    /// Most iterations of the solver; none: the model's.
    pub iterations: Option<usize>,
    /// Whether the solver starts from the last accelerations.
    pub warmstart: bool,
    /// Contacts of a world that are kept to be read after a step, see [`BatchedEngine::touches`].
    pub touches: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            lanes: None,
            threads: 1,
            contact_row_cap: 96,
            iterations: None,
            warmstart: true,
            touches: 0,
        }
    }
}

/// A request that the engine cannot carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineError(pub String);

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EngineError {}

/// What is known of a world beside its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Contact points of the last step.
    pub contacts: usize,
    /// Constraint rows of the last step.
    pub rows: usize,
    /// Iterations of the solver in the last step.
    pub iterations: usize,
    /// Pairs that were near enough for a narrow phase in the last step.
    pub near: usize,
    /// Steps since the state was set; exact up to 16,777,216.
    pub steps: usize,
    /// Since the state was set, a step needed more contact rows than the cap.
    pub overflow: bool,
    /// Since the state was set, a number was not finite or beyond 1e10.
    pub not_finite: bool,
}

/// Many worlds of one model. Results of a world depend neither on its place among them, nor on how many
/// there are, nor on threads and lanes.
pub struct BatchedEngine {
    pub(crate) model: Arc<Model>,
    pub(crate) worlds: usize,
    pub(crate) lanes: Lanes,
    pub(crate) header: Vec<i32>,
    pub(crate) qpos: Worlds,
    pub(crate) qvel: Worlds,
    pub(crate) ctrl: Worlds,
    pub(crate) warm: Worlds,
    pub(crate) qacc: Worlds,
    pub(crate) info: Worlds,
    /// One block's for all, or every block's own.
    pub(crate) table: Worlds,
    pub(crate) own_tables: bool,
    /// Contacts of the last step, three numbers each.
    pub(crate) touch: Worlds,
    /// Where each world is: worlds that touch alike are brought together.
    pub(crate) slots: Vec<u32>,
    /// Steps since that was done.
    since: usize,
    kernel: Kernel,
    scratch: Vec<Aligned>,
    pool: Option<rayon::ThreadPool>,
}

/// A pointer that blocks share; each block writes its own part.
#[derive(Clone, Copy)]
struct Shared(*mut f32);
// SAFETY: blocks are disjoint, see `run`.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn at(self, offset: usize) -> *mut f32 {
        // SAFETY: offsets come from the arrays' own layout.
        unsafe { self.0.add(offset) }
    }
}

impl BatchedEngine {
    /// `worlds` copies of a model at its reference.
    pub fn new(model: Arc<Model>, worlds: usize, options: &Options) -> Result<Self, EngineError> {
        let fail = |e: String| Err(EngineError(e));
        if worlds == 0 || options.threads == 0 {
            return fail(format!("{worlds} worlds, {} threads: both at least 1", options.threads));
        }
        let available = Lanes::available();
        let lanes = match options.lanes {
            Some(l) if available.contains(&l) => l,
            Some(l) => return fail(format!("this machine has no {} lanes", l.width())),
            None => {
                let busy = |l: &&Lanes| worlds.div_ceil(l.width()) >= options.threads;
                let least = |l: &&Lanes| l.width() / 2 < worlds;
                let fitting = available.iter().rev().find(|l| busy(l) && least(l));
                match fitting.or(available.first()) {
                    Some(l) => *l,
                    None => return fail("this machine lacks AVX2 and FMA".to_owned()),
                }
            }
        };
        let width = lanes.width();
        let blocks = worlds.div_ceil(width);
        let mut tables = model.tables.clone();
        let rows = options.contact_row_cap.min(model.worst_rows);
        tables.change("row_cap", rows);
        tables.change("touches", options.touches);
        // A world has at most so many points, and a block at most the sum of its worlds'.
        let least_rows = model.pairs.iter().map(crate::pairs::Pair::rows).min().unwrap_or(1);
        let worst = tables.get("most_points");
        let points = worst.min(width * (rows / least_rows));
        let widest = (0..model.pairs.len())
            .map(|p| model.pairs[p].dim * model.support(p))
            .max()
            .unwrap_or(0);
        tables.change("most_points", points);
        tables.change("most_jac", tables.get("most_jac").min(points * widest));
        if let Some(n) = options.iterations {
            tables.change("iterations", n);
        }
        if !options.warmstart {
            tables.change("warmstart", 0);
        }
        let kernel = lanes.kernel();
        let header = tables.header().to_vec();
        let h = Header {
            fields: header.as_ptr(),
            ints: tables.ints.as_ptr(),
            floats: tables.floats.as_ptr(),
        };
        // SAFETY: a complete header; the function only counts.
        let bytes = unsafe { (kernel.scratch)(&raw const h) } as usize;
        let threads = options.threads.min(blocks);
        let scratch = (0..threads).map(|_| Aligned::new(bytes / 4 + 16)).collect();
        let pool = if threads > 1 {
            let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            Some(built.map_err(|e| EngineError(format!("threads: {e}")))?)
        } else {
            None
        };
        let [nq, nv, nu] = model.sizes;
        let of = |per| Worlds::new(blocks, per, width);
        let mut table = Worlds::new(1, tables.table.len(), width);
        for lane in 0..width {
            for (i, v) in tables.table.iter().enumerate() {
                table.set(lane, i, *v);
            }
        }
        let mut engine = Self {
            worlds,
            lanes,
            header,
            qpos: of(nq),
            qvel: of(nv),
            ctrl: of(nu),
            warm: of(nv),
            qacc: of(nv),
            info: of(INFO),
            touch: of(3 * options.touches),
            table,
            own_tables: false,
            slots: (0..worlds as u32).collect(),
            since: 0,
            kernel,
            scratch,
            pool,
            model,
        };
        engine.reset();
        Ok(engine)
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Number of worlds.
    pub fn worlds(&self) -> usize {
        self.worlds
    }

    /// Worlds side by side.
    pub fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// Threads in use.
    pub fn threads(&self) -> usize {
        self.scratch.len()
    }

    #[cfg(all(feature = "roofline", target_arch = "x86_64"))]
    pub(crate) fn set_kernel(&mut self, kernel: Kernel) {
        self.kernel = kernel;
    }

    /// Every world to the reference at rest, without controls.
    pub fn reset(&mut self) {
        let qpos0 = self.model.qpos0();
        let width = self.lanes.width();
        // The lanes beyond the last world hold a sound state too, though nothing is computed for them.
        for w in 0..self.worlds.div_ceil(width) * width {
            for (i, q) in qpos0.iter().enumerate() {
                self.qpos.set(w, i, *q);
            }
        }
        for part in [&mut self.qvel, &mut self.ctrl] {
            part.data.slice_mut().fill(0.0);
        }
        self.forget();
    }

    /// Puts the worlds that are marked to the reference at rest, without controls, warm starts and flags.
    pub fn reset_worlds(&mut self, mask: &[bool]) -> Result<(), EngineError> {
        self.check("the mask", mask.len(), 1)?;
        let qpos0 = self.model.qpos0();
        for (slot, _) in self.slots.iter().zip(mask).filter(|(_, marked)| **marked) {
            let slot = *slot as usize;
            for (i, q) in qpos0.iter().enumerate() {
                self.qpos.set(slot, i, *q);
            }
            let parts =
                [&mut self.qvel, &mut self.ctrl, &mut self.warm, &mut self.qacc, &mut self.info];
            for part in parts {
                (0..part.per).for_each(|i| part.set(slot, i, 0.0));
            }
        }
        Ok(())
    }

    /// Computes contacts, forces and accelerations of every world's present state, and leaves positions
    /// and velocities as they are.
    pub fn look(&mut self) {
        self.advance(0);
    }

    /// Forgets warm starts and flags.
    fn forget(&mut self) {
        for part in [&mut self.warm, &mut self.qacc, &mut self.info] {
            part.data.slice_mut().fill(0.0);
        }
    }

    fn check(&self, what: &str, given: usize, per: usize) -> Result<(), EngineError> {
        let due = self.worlds * per;
        if given == due {
            return Ok(());
        }
        Err(EngineError(format!("{what} has {given} numbers; {} worlds need {due}", self.worlds)))
    }

    /// Sets positions (worlds, nq), velocities (worlds, nv) and controls (worlds, nu), world by world, and
    /// forgets warm starts and flags.
    pub fn set_state(
        &mut self,
        qpos: &[f32],
        qvel: &[f32],
        ctrl: &[f32],
    ) -> Result<(), EngineError> {
        self.check("qpos", qpos.len(), self.qpos.per)?;
        self.check("qvel", qvel.len(), self.qvel.per)?;
        self.check("ctrl", ctrl.len(), self.ctrl.per)?;
        self.qpos.set_rows(qpos, &self.slots);
        self.qvel.set_rows(qvel, &self.slots);
        self.ctrl.set_rows(ctrl, &self.slots);
        self.forget();
        Ok(())
    }

    /// Sets controls (worlds, nu), world by world.
    pub fn set_ctrl(&mut self, ctrl: &[f32]) -> Result<(), EngineError> {
        self.check("ctrl", ctrl.len(), self.ctrl.per)?;
        self.ctrl.set_rows(ctrl, &self.slots);
        Ok(())
    }

    /// Sets the accelerations that the solver starts from (worlds, nv), world by world.
    pub fn set_warmstart(&mut self, qacc: &[f32]) -> Result<(), EngineError> {
        self.check("warmstart", qacc.len(), self.warm.per)?;
        self.warm.set_rows(qacc, &self.slots);
        Ok(())
    }

    /// One step of every world.
    pub fn step(&mut self) {
        self.step_n(1);
    }

    /// `n` steps of every world.
    pub fn step_n(&mut self, n: usize) {
        let mut left = n;
        while left > 0 {
            if self.since >= REGROUP {
                self.regroup();
            }
            let now = left.min(REGROUP - self.since);
            self.advance(now as i32);
            self.since += now;
            left -= now;
        }
    }

    /// Brings worlds together that have the same contacts, as far as sorting by their keys does. A block's
    /// work is what any of its worlds needs; no world's results depend on it.
    fn regroup(&mut self) {
        self.since = 0;
        if self.lanes == Lanes::One || self.worlds <= self.lanes.width() {
            return;
        }
        let key = |slot: u32| self.info.get(slot as usize, 4) as u32;
        let mut order: Vec<(u32, u32)> =
            self.slots.iter().enumerate().map(|(w, slot)| (key(*slot), w as u32)).collect();
        order.sort_unstable();
        let mut to = vec![0; self.worlds];
        for (slot, (_, world)) in order.iter().enumerate() {
            to[*world as usize] = slot as u32;
        }
        let from = std::mem::replace(&mut self.slots, to);
        let parts = [
            &mut self.qpos,
            &mut self.qvel,
            &mut self.ctrl,
            &mut self.warm,
            &mut self.qacc,
            &mut self.info,
            &mut self.touch,
        ];
        for part in parts {
            part.permute(&from, &self.slots);
        }
        if self.own_tables {
            self.table.permute(&from, &self.slots);
        }
    }

    /// `steps` steps of every world where it is; with none, what follows from the state.
    fn advance(&mut self, steps: i32) {
        let width = self.lanes.width();
        let worlds = self.worlds;
        let blocks = worlds.div_ceil(width);
        let arrays = [
            &mut self.qpos,
            &mut self.qvel,
            &mut self.ctrl,
            &mut self.warm,
            &mut self.qacc,
            &mut self.info,
            &mut self.touch,
        ];
        let mut at = [(Shared(std::ptr::null_mut()), 0); 7];
        for (to, from) in at.iter_mut().zip(arrays) {
            *to = (Shared(from.data.as_mut_ptr()), from.offset(1));
        }
        let table = (Shared(self.table.data.as_mut_ptr()), self.table.offset(1));
        let own_tables = self.own_tables;
        let scratch: Vec<Shared> =
            self.scratch.iter_mut().map(|s| Shared(s.as_mut_ptr())).collect();
        let tables = &self.model.tables;
        let header = (self.header.as_ptr() as usize, tables);
        let kernel = self.kernel;
        let run = |thread: usize, block: usize| {
            let h = Header {
                fields: header.0 as *const i32,
                ints: header.1.ints.as_ptr(),
                floats: header.1.floats.as_ptr(),
            };
            let part = |k: usize| at[k].0.at(block * at[k].1);
            let b = Block {
                qpos: part(0),
                qvel: part(1),
                ctrl: part(2),
                warm: part(3),
                qacc: part(4),
                info: part(5),
                tab: table.0.at(if own_tables { block * table.1 } else { 0 }),
                touch: part(6),
                valid: (worlds - block * width).min(width) as i32,
                steps,
            };
            // SAFETY: blocks are disjoint parts of the arrays, each thread has scratch memory of its own
            // of the size that the kernel asked for, and nothing else touches them until all are done.
            unsafe { (kernel.step)(&raw const h, &raw const b, scratch[thread].0.cast()) }
        };
        match &self.pool {
            None => (0..blocks).for_each(|b| run(0, b)),
            Some(pool) => pool.install(|| {
                (0..blocks).into_par_iter().with_max_len(1).for_each(|b| {
                    run(rayon::current_thread_index().unwrap_or(0), b);
                });
            }),
        }
    }

    /// The kernel's forward pass of the block that holds a world, without a change of state.
    pub(crate) fn forward_block(&self, world: usize, found: &mut crate::kernel::Found) -> Aligned {
        let width = self.lanes.width();
        let block = self.slots[world] as usize / width;
        let part = |from: &Worlds| {
            let n = from.offset(1);
            let mut to = Aligned::new(n.max(1));
            to.slice_mut()[..n].copy_from_slice(&from.data.slice()[block * n..(block + 1) * n]);
            to
        };
        let mut parts =
            [&self.qpos, &self.qvel, &self.ctrl, &self.warm, &self.qacc, &self.info, &self.touch]
                .map(part);
        let n = self.table.offset(1);
        let mut table = Aligned::new(n);
        let from = if self.own_tables { block * n } else { 0 };
        table.slice_mut().copy_from_slice(&self.table.data.slice()[from..from + n]);
        let mut scratch = self.scratch[0].clone();
        let tables = &self.model.tables;
        let h = Header {
            fields: self.header.as_ptr(),
            ints: tables.ints.as_ptr(),
            floats: tables.floats.as_ptr(),
        };
        let mut p = parts.iter_mut().map(Aligned::as_mut_ptr);
        let mut next = || p.next().unwrap_or(std::ptr::null_mut());
        let b = Block {
            qpos: next(),
            qvel: next(),
            ctrl: next(),
            warm: next(),
            qacc: next(),
            info: next(),
            touch: next(),
            tab: table.as_mut_ptr(),
            valid: (self.worlds - block * width).min(width) as i32,
            steps: 0,
        };
        // SAFETY: copies of one block and scratch memory of the right size.
        unsafe {
            (self.kernel.forward)(&raw const h, &raw const b, scratch.as_mut_ptr().cast(), found);
        }
        scratch
    }

    /// The kernels' header, whole numbers, constants and one world's table, for other back ends.
    pub fn raw_tables(&self) -> (&[i32], &[i32], &[f32], &[f32]) {
        let t = &self.model.tables;
        (&self.header, &t.ints, &t.floats, &t.table)
    }

    /// Positions, world by world.
    pub fn qpos(&self) -> Vec<f32> {
        self.qpos.rows(&self.slots)
    }

    /// Velocities, world by world.
    pub fn qvel(&self) -> Vec<f32> {
        self.qvel.rows(&self.slots)
    }

    /// Accelerations of the last step, world by world.
    pub fn qacc(&self) -> Vec<f32> {
        self.qacc.rows(&self.slots)
    }

    /// Controls, world by world.
    pub fn ctrl(&self) -> Vec<f32> {
        self.ctrl.rows(&self.slots)
    }

    /// Positions and velocities.
    pub fn state(&self) -> (Vec<f32>, Vec<f32>) {
        (self.qpos(), self.qvel())
    }

    /// What the last step found in a world, and its flags.
    pub fn report(&self, world: usize) -> Report {
        let at = |i: usize| self.info.get(self.slots[world] as usize, i);
        let flags = at(3) as i32;
        Report {
            contacts: at(0) as usize,
            rows: at(1) as usize,
            iterations: at(2) as usize,
            near: at(6) as usize,
            steps: at(5) as usize,
            overflow: flags & 1 != 0,
            not_finite: flags & 2 != 0,
        }
    }
}
