//! Values of the model that may differ from world to world.

use crate::engine::{BatchedEngine, EngineError};
use crate::lanes::Worlds;
use crate::model::{matrix, turned_inertia};

/// MuJoCo's name, numbers of one element as given and as kept, the kernels' table.
const NAMES: [(&str, usize, usize, &str); 11] = [
    ("gravity", 3, 3, "t_gravity"),
    ("body_mass", 1, 1, "t_mass"),
    ("body_inertia", 3, 6, "t_inertia"),
    ("geom_pos", 3, 3, "t_geom_pos"),
    ("geom_quat", 4, 9, "t_geom_mat"),
    ("geom_friction", 3, 3, "t_friction"),
    ("actuator_gainprm", 3, 3, "t_gain"),
    ("actuator_biasprm", 3, 3, "t_bias"),
    ("dof_damping", 1, 1, "t_damping"),
    ("dof_armature", 1, 1, "t_armature"),
    ("dof_frictionloss", 1, 1, "t_floss"),
];

impl BatchedEngine {
    /// Names that [`BatchedEngine::set_world_tables`] takes.
    pub fn world_tables() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|n| n.0)
    }

    /// Numbers of one world in a table.
    pub fn world_table_len(&self, name: &str) -> Result<usize, EngineError> {
        let known = NAMES.iter().find(|n| n.0 == name);
        let (_, given, kept, field) = known.ok_or_else(|| {
            let all: Vec<&str> = Self::world_tables().collect();
            EngineError(format!("no world table `{name}`; there are {}", all.join(", ")))
        })?;
        let t = &self.model.tables;
        let begin = t.get(field);
        let ends = NAMES.iter().map(|n| t.get(n.3)).filter(|e| *e > begin);
        let end = ends.min().unwrap_or(t.table.len());
        Ok((end - begin) / kept * given)
    }

    /// Gives every world values of its own for a field of the model, world by world, in MuJoCo's units
    /// and order. `actuator_gainprm` and `actuator_biasprm` have the first three numbers of an actuator.
    ///
    /// Weights that MuJoCo derives when it compiles (`body_invweight0`, `dof_invweight0`) stay. Friction
    /// loss can be given only to dofs that have some in the model, and damping has its implicit part in
    /// Euler's method only where some dof of the model has damping.
    pub fn set_world_tables(&mut self, name: &str, values: &[f32]) -> Result<(), EngineError> {
        let len = self.world_table_len(name)?;
        if values.len() != len * self.worlds {
            let due = len * self.worlds;
            let given = values.len();
            return Err(EngineError(format!("`{name}` has {given} numbers; {due} are due")));
        }
        if let Some(bad) = values.iter().position(|v| !v.is_finite()) {
            return Err(EngineError(format!("`{name}` is not finite at number {bad}")));
        }
        if name == "dof_frictionloss" {
            let model = self.model.compiled.f64s(name);
            let lost = values.iter().enumerate().find(|(i, v)| **v > 0.0 && model[i % len] == 0.0);
            if let Some((i, v)) = lost {
                let dof = i % len;
                return Err(EngineError(format!(
                    "friction loss {v} for dof {dof}, which has none in the model"
                )));
            }
        }
        if len == 0 {
            return Ok(());
        }
        self.own_tables();
        let (_, given, kept, field) = NAMES.into_iter().find(|n| n.0 == name).unwrap_or(NAMES[0]);
        let begin = self.model.tables.get(field);
        let turn = self.model.compiled.f64s("body_iquat");
        for (w, row) in values.chunks_exact(len).enumerate() {
            let slot = self.slots[w] as usize;
            for (e, v) in row.chunks_exact(given).enumerate() {
                let v: Vec<f64> = v.iter().map(|x| f64::from(*x)).collect();
                let kept_values = match name {
                    "body_inertia" => turned_inertia(&v, &turn[4 * e..4 * e + 4]).to_vec(),
                    "geom_quat" => matrix(&v).to_vec(),
                    _ => v,
                };
                for (k, x) in kept_values.iter().enumerate() {
                    self.table.set(slot, begin + e * kept + k, *x as f32);
                }
            }
        }
        Ok(())
    }

    /// From one table for all to one for every world.
    fn own_tables(&mut self) {
        if self.own_tables {
            return;
        }
        let width = self.lanes.width();
        let blocks = self.worlds.div_ceil(width);
        let mut own = Worlds::new(blocks, self.table.per, width);
        let shared = self.table.data.slice();
        for part in own.data.slice_mut().chunks_exact_mut(shared.len()) {
            part.copy_from_slice(shared);
        }
        self.table = own;
        self.own_tables = true;
    }
}
