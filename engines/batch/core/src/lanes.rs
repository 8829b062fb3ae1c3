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

    fn at(&self, world: usize, i: usize) -> usize {
        (world / self.width * self.per + i) * self.width + world % self.width
    }

    pub(crate) fn get(&self, world: usize, i: usize) -> f32 {
        self.data.slice()[self.at(world, i)]
    }

    pub(crate) fn set(&mut self, world: usize, i: usize, v: f32) {
        let at = self.at(world, i);
        self.data.slice_mut()[at] = v;
    }

    /// World by world.
    pub(crate) fn rows(&self, worlds: usize) -> Vec<f32> {
        let mut out = Vec::with_capacity(worlds * self.per);
        for w in 0..worlds {
            out.extend((0..self.per).map(|i| self.get(w, i)));
        }
        out
    }

    /// From values world by world.
    pub(crate) fn set_rows(&mut self, rows: &[f32]) {
        if self.per == 0 {
            return;
        }
        for (w, row) in rows.chunks_exact(self.per).enumerate() {
            for (i, v) in row.iter().enumerate() {
                self.set(w, i, *v);
            }
        }
    }

    /// Where a block's values begin.
    pub(crate) fn offset(&self, block: usize) -> usize {
        block * self.per * self.width
    }
}
