//! The model's header and tables, filled by the names of `kernels/fields.h`.

use std::sync::LazyLock;

/// Field names in the kernels' order.
static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    include_str!("../kernels/fields.h")
        .lines()
        .filter_map(|l| l.strip_prefix("X(")?.strip_suffix(')'))
        .collect()
});

pub(crate) fn index(name: &str) -> usize {
    NAMES
        .iter()
        .position(|n| *n == name)
        .unwrap_or_else(|| panic!("the kernels have no field `{name}`"))
}

/// Header, integers, shared constants and the table that may differ from world to world.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    header: Vec<i32>,
    set: Vec<bool>,
    pub(crate) ints: Vec<i32>,
    pub(crate) floats: Vec<f32>,
    /// One world's values.
    pub(crate) table: Vec<f32>,
}

impl Tables {
    pub(crate) fn new() -> Self {
        let n = NAMES.len();
        Self {
            header: vec![0; n],
            set: vec![false; n],
            ints: Vec::new(),
            floats: Vec::new(),
            table: Vec::new(),
        }
    }

    fn put(&mut self, name: &str, value: usize) {
        let i = index(name);
        assert!(!self.set[i], "`{name}` is set twice");
        self.set[i] = true;
        self.header[i] = i32::try_from(value).unwrap_or_else(|_| panic!("`{name}` = {value}"));
    }

    /// A size or option.
    pub(crate) fn size(&mut self, name: &str, value: usize) {
        self.put(name, value);
    }

    /// An integer array, `i_name`.
    pub(crate) fn ints(&mut self, name: &str, values: impl IntoIterator<Item = i32>) {
        self.put(&format!("i_{name}"), self.ints.len());
        self.ints.extend(values);
    }

    /// An array of shared constants, `s_name`.
    pub(crate) fn floats(&mut self, name: &str, values: impl IntoIterator<Item = f64>) {
        self.put(&format!("s_{name}"), self.floats.len());
        self.floats.extend(values.into_iter().map(|v| v as f32));
    }

    /// An array of a world's own, `t_name`.
    pub(crate) fn table(&mut self, name: &str, values: impl IntoIterator<Item = f64>) {
        self.put(&format!("t_{name}"), self.table.len());
        self.table.extend(values.into_iter().map(|v| v as f32));
    }

    /// A field's value.
    pub(crate) fn get(&self, name: &str) -> usize {
        self.header[index(name)] as usize
    }

    /// The header, when every field is set.
    pub(crate) fn finish(&mut self) {
        self.put("ntab", self.table.len());
        for (name, set) in NAMES.iter().zip(&self.set) {
            assert!(*set, "the kernels' field `{name}` was not set");
        }
    }

    /// Changes a field that is set.
    pub(crate) fn change(&mut self, name: &str, value: usize) {
        self.header[index(name)] = i32::try_from(value).unwrap_or(i32::MAX);
    }

    pub(crate) fn header(&self) -> &[i32] {
        &self.header
    }
}
