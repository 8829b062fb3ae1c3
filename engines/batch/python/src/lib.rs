//! The engine for Python. Arrays cross as the bytes of float32 numbers; `__init__.py` makes them NumPy's.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sim_batch::mujoco::Compiled;
use sim_batch::{BatchedEngine, Lanes, Model, Options};
use std::sync::Arc;

fn refused(e: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(e.to_string())
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn bytes<'py>(py: Python<'py>, numbers: &[f32]) -> Bound<'py, PyBytes> {
    let raw: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    PyBytes::new(py, &raw)
}

/// Many worlds of one model.
#[pyclass]
struct Engine(BatchedEngine);

#[pymethods]
impl Engine {
    /// A model that MuJoCo saved in its binary format.
    #[new]
    #[pyo3(signature = (model, nworld, threads, contact_row_cap, iterations, warmstart, lanes))]
    fn new(
        model: &[u8],
        nworld: usize,
        threads: usize,
        contact_row_cap: usize,
        iterations: Option<usize>,
        warmstart: bool,
        lanes: Option<usize>,
    ) -> PyResult<Self> {
        let compiled = Compiled::from_binary(model).map_err(refused)?;
        let model = Arc::new(Model::new(compiled).map_err(refused)?);
        let lanes = match lanes {
            None => None,
            Some(n) => {
                let found = Lanes::available().into_iter().find(|l| l.width() == n);
                Some(found.ok_or_else(|| refused(format!("this machine has no {n} lanes")))?)
            }
        };
        let options = Options {
            lanes,
            threads,
            contact_row_cap,
            iterations,
            warmstart,
            ..Options::default()
        };
        BatchedEngine::new(model, nworld, &options).map(Self).map_err(refused)
    }

    fn sizes(&self) -> (usize, usize, usize, usize, usize, usize) {
        let m = self.0.model();
        (m.nq(), m.nv(), m.nu(), self.0.worlds(), self.0.lanes().width(), self.0.threads())
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    fn reset_worlds(&mut self, mask: Vec<bool>) -> PyResult<()> {
        self.0.reset_worlds(&mask).map_err(refused)
    }

    fn set_state(&mut self, qpos: &[u8], qvel: &[u8], ctrl: &[u8]) -> PyResult<()> {
        self.0.set_state(&numbers(qpos), &numbers(qvel), &numbers(ctrl)).map_err(refused)
    }

    fn set_ctrl(&mut self, ctrl: &[u8]) -> PyResult<()> {
        self.0.set_ctrl(&numbers(ctrl)).map_err(refused)
    }

    fn set_warmstart(&mut self, qacc: &[u8]) -> PyResult<()> {
        self.0.set_warmstart(&numbers(qacc)).map_err(refused)
    }

    fn set_world_tables(&mut self, name: &str, values: &[u8]) -> PyResult<()> {
        self.0.set_world_tables(name, &numbers(values)).map_err(refused)
    }

    fn step_n(&mut self, py: Python<'_>, n: usize) {
        py.detach(|| self.0.step_n(n));
    }

    fn part<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let e = &self.0;
        let of = |f: fn(&sim_batch::Report) -> usize| -> Vec<f32> {
            (0..e.worlds()).map(|w| f(&e.report(w)) as f32).collect()
        };
        let out = match name {
            "qpos" => e.qpos(),
            "qvel" => e.qvel(),
            "qacc" => e.qacc(),
            "ctrl" => e.ctrl(),
            "ncon" => of(|r| r.contacts),
            "nefc" => of(|r| r.rows),
            "niter" => of(|r| r.iterations),
            "overflow" => of(|r| usize::from(r.overflow)),
            "not_finite" => of(|r| usize::from(r.not_finite)),
            _ => return Err(PyRuntimeError::new_err(format!("no part `{name}`"))),
        };
        Ok(bytes(py, &out))
    }
}

#[pymodule]
fn _engine(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Engine>()
}
