//! Memory in which a block's lanes lie side by side, aligned for its vectors.

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([f32; 16]);

/// Numbers, zero at first, aligned to 64 bytes.
#[derive(Clone)]
pub(crate) struct Aligned {
    lines: Vec<Line>,
    len: usize,
}

impl Aligned {
    pub(crate) fn new(len: usize) -> Self {
        Self { lines: vec![Line([0.0; 16]); len.div_ceil(16)], len }
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut f32 {
        self.lines.as_mut_ptr().cast()
    }

    pub(crate) fn slice(&self) -> &[f32] {
        // SAFETY: lines are 16 floats each without gaps, and there are enough of them.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }

    pub(crate) fn slice_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above, borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

/// An array of `per` values a world, kept block by block.
#[derive(Clone)]
pub(crate) struct Worlds {
    pub(crate) data: Aligned,
    pub(crate) per: usize,
    width: usize,
}

impl Worlds {
    pub(crate) fn new(blocks: usize, per: usize, width: usize) -> Self {
        Self { data: Aligned::new(blocks * per * width), per, width }
    }

    fn at(&self, slot: usize, i: usize) -> usize {
        (slot / self.width * self.per + i) * self.width + slot % self.width
    }

    pub(crate) fn get(&self, slot: usize, i: usize) -> f32 {
        self.data.slice()[self.at(slot, i)]
    }

    pub(crate) fn set(&mut self, slot: usize, i: usize, v: f32) {
        let at = self.at(slot, i);
        self.data.slice_mut()[at] = v;
    }

    /// World by world; `slots` says where each world is.
    pub(crate) fn rows(&self, slots: &[u32]) -> Vec<f32> {
        let mut out = Vec::with_capacity(slots.len() * self.per);
        for slot in slots {
            out.extend((0..self.per).map(|i| self.get(*slot as usize, i)));
        }
        out
    }

    /// From values world by world.
    pub(crate) fn set_rows(&mut self, rows: &[f32], slots: &[u32]) {
        if self.per == 0 {
            return;
        }
        for (slot, row) in slots.iter().zip(rows.chunks_exact(self.per)) {
            for (i, v) in row.iter().enumerate() {
                self.set(*slot as usize, i, *v);
            }
        }
    }

    /// Moves each world from one slot to another.
    pub(crate) fn permute(&mut self, from: &[u32], to: &[u32]) {
        let rows = self.rows(from);
        self.set_rows(&rows, to);
    }

    /// Where a block's values begin.
    pub(crate) fn offset(&self, block: usize) -> usize {
        block * self.per * self.width
    }
}
