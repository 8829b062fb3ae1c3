"""A world-batched float32 rigid-body engine that computes what MuJoCo computes.

Models are compiled by MuJoCo; what the engine does not do is refused at construction, by name.
"""

import os

import mujoco  # loads the libmujoco that the engine uses
import numpy as np

from sim_pipe_batch._engine import Engine as _Engine

__all__ = ["BatchedEngine"]


class BatchedEngine:
    """Many worlds of one model.

    Results of a world depend neither on the other worlds nor on threads or lanes.
    """

    def __init__(
        self,
        mjm,
        nworld=4096,
        *,
        threads=None,
        contact_row_cap=96,
        iterations=None,
        warmstart=True,
        lanes=None,
    ):
        """Worlds at the model's reference, at rest.

        mjm: a mujoco.MjModel, or the path of an MJCF file. threads: all the machine has. contact_row_cap: most
        contact rows of a world. iterations: most of the solver's, the model's own by default. lanes: 1, 8 or 16
        worlds side by side. Raises ValueError where the model has something that the engine does not do.
        """
        if isinstance(mjm, (str, os.PathLike)):
            mjm = mujoco.MjModel.from_xml_path(os.fspath(mjm))
        saved = np.empty(mujoco.mj_sizeModel(mjm), np.uint8)
        mujoco.mj_saveModel(mjm, None, saved)
        threads = threads or len(os.sched_getaffinity(0))
        self._engine = _Engine(
            saved.tobytes(), nworld, threads, contact_row_cap, iterations, warmstart, lanes
        )
        self.nq, self.nv, self.nu, self.nworld, self.lanes, self.threads = self._engine.sizes()

    def _rows(self, what, values, per):
        rows = np.asarray(values, np.float32)
        if rows.shape != (self.nworld, per):
            raise ValueError(f"{what} has shape {rows.shape}; it needs {(self.nworld, per)}")
        return np.ascontiguousarray(rows).tobytes()

    def _part(self, name, per):
        return np.frombuffer(self._engine.part(name), np.float32).reshape(self.nworld, per)

    def reset(self, mask=None):
        """Every world, or those where `mask` (nworld,) holds, back to the reference at rest, without controls, warm
        starts and flags."""
        if mask is None:
            self._engine.reset()
            return
        mask = np.asarray(mask)
        if mask.shape != (self.nworld,) or mask.dtype != bool:
            raise ValueError(f"the mask is {mask.dtype} {mask.shape}; it needs bool {(self.nworld,)}")
        self._engine.reset_worlds(mask.tolist())

    def set_state(self, qpos, qvel, ctrl=None):
        """Positions (nworld, nq), velocities (nworld, nv), controls (nworld, nu); forgets warm starts and flags."""
        ctrl = np.zeros((self.nworld, self.nu)) if ctrl is None else ctrl
        self._engine.set_state(
            self._rows("qpos", qpos, self.nq),
            self._rows("qvel", qvel, self.nv),
            self._rows("ctrl", ctrl, self.nu),
        )

    def set_ctrl(self, ctrl):
        """Controls (nworld, nu)."""
        self._engine.set_ctrl(self._rows("ctrl", ctrl, self.nu))

    def set_warmstart(self, qacc):
        """Accelerations (nworld, nv) from which the solver starts."""
        self._engine.set_warmstart(self._rows("qacc", qacc, self.nv))

    def set_world_tables(self, **tables):
        """Values of each world for fields of the model, by MuJoCo's names: arrays (nworld, ...).

        body_mass, body_inertia, gravity, geom_pos, geom_quat, geom_friction, actuator_gainprm and
        actuator_biasprm (three numbers an actuator), dof_damping, dof_armature, dof_frictionloss.
        """
        for name, values in tables.items():
            values = np.ascontiguousarray(np.asarray(values, np.float32))
            self._engine.set_world_tables(name, values.tobytes())

    def step(self):
        """One step of every world."""
        self._engine.step_n(1)

    def step_n(self, n):
        """So many steps of every world."""
        self._engine.step_n(n)

    def step_np(self, ctrl):
        """One step under controls (nworld, nu); positions and velocities after it."""
        self.set_ctrl(ctrl)
        self.step()
        return self.state()

    def state(self):
        """Positions (nworld, nq) and velocities (nworld, nv)."""
        return self.qpos, self.qvel

    @property
    def qpos(self):
        """Positions (nworld, nq)."""
        return self._part("qpos", self.nq)

    @property
    def qvel(self):
        """Velocities (nworld, nv)."""
        return self._part("qvel", self.nv)

    @property
    def qacc(self):
        """Accelerations of the last step (nworld, nv)."""
        return self._part("qacc", self.nv)

    def _count(self, name):
        return self._part(name, 1)[:, 0].astype(np.int64)

    @property
    def ncon(self):
        """Contact points of the last step (nworld,)."""
        return self._count("ncon")

    @property
    def nefc(self):
        """Constraint rows of the last step (nworld,)."""
        return self._count("nefc")

    @property
    def niter(self):
        """Iterations of the solver in the last step (nworld,)."""
        return self._count("niter")

    @property
    def overflow(self):
        """Whether a world needed more contact rows than it may have, since its state was set (nworld,)."""
        return self._count("overflow").astype(bool)

    @property
    def not_finite(self):
        """Whether a world's numbers went astray since its state was set (nworld,)."""
        return self._count("not_finite").astype(bool)
