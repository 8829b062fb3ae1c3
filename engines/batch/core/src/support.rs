//! Patterns of a model's matrices and Jacobians.

use crate::model::Model;

impl Model {
    /// Ancestors of a dof, ascending.
    pub(crate) fn pattern(&self, dof: usize) -> &[i32] {
        let t = &self.tables;
        let (adr, cols) = (t.get("i_row_adr"), t.get("i_row_cols"));
        let (a, b) = (t.ints[adr + dof] as usize, t.ints[adr + dof + 1] as usize);
        &t.ints[cols + a..cols + b]
    }

    /// How many dofs move a pair's geoms against each other.
    pub(crate) fn support(&self, pair: usize) -> usize {
        self.tables.ints[self.tables.get("i_pair_supnum") + pair] as usize
    }

    /// Those dofs, ascending.
    pub(crate) fn support_dofs(&self, pair: usize) -> Vec<usize> {
        let t = &self.tables;
        let from = t.get("i_sup") + t.ints[t.get("i_pair_supadr") + pair] as usize;
        t.ints[from..from + self.support(pair)].iter().map(|d| (*d >> 1) as usize).collect()
    }

    /// A field of an engine's header.
    pub(crate) fn field_of(&self, header: &[i32], name: &str) -> usize {
        header[crate::fields::index(name)] as usize
    }
}
