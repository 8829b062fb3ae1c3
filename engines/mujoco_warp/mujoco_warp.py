"""MuJoCo Warp on Warp's CPU backend: all worlds of a job in one batch, single precision, one thread."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sim_engine import contract, drive, mujoco_scene
from sim_engine.contract import PROTOCOL, Failed, Refused, Unsupported
from sim_engine.environment import Cache

SETTINGS = [*mujoco_scene.SETTINGS, "contacts", "rows"]
INTEGRATORS = ("Euler", "RK4", "implicitfast")
# Contacts and rows of a world with a robot.
ROBOT_ROOM = (512, 256)
# Overflows that lose a contact or a constraint; counted are the worlds in which one happened at any step.
DROPS = ("nefc", "njmax_nnz", "broadphase", "narrowphase", "ccd", "hfield", "nvmax")


def warp(cache: Cache) -> Any:
    """Warp, with its kernels in the cache and its announcements off: they would be written to the standard
    output of whoever imports it."""
    import warp as wp

    # Where kernels lie is settled when Warp begins, in a folder of its version, and stays so.
    if str(cache.folder) not in (wp.config.kernel_cache_dir or ""):
        wp.config.log_level = 30
        wp.config.kernel_cache_dir = str(cache.folder)
        wp.init()
    return wp


class Engine(contract.Engine):
    """MuJoCo Warp."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache

    def describe(self) -> dict[str, Any]:
        warp(self.cache)
        import mujoco_warp as mjw

        return {
            "protocol": PROTOCOL,
            "engine": "mujoco_warp",
            "version": mjw.__version__,
            "backends": ["cpu"],
            "precision": "single",
            "capabilities": {
                "modes": ["timed", "memory", "capture", "probe", "profile"],
                "shapes": ["box", "sphere", "capsule", "cylinder"],
                "hinges": True,
                "robots": True,
                "worlds": "batched",
                "threads": False,
                "settings": sorted(SETTINGS),
                "device_timestamps": False,
                "repeatability": {"status": "bitwise"},
            },
            "limits": {},
        }

    def build(self, scene: dict[str, Any], job: dict[str, Any]) -> contract.Simulation:
        return Worlds(scene, job, self.cache)

    def batch(self, model: mujoco.MjModel, job: dict[str, Any]) -> drive.Batch:
        """Worlds of a model that are driven."""
        return Driven(model, job, self.cache)


def room(start: mujoco_scene.Start, job: dict[str, Any]) -> tuple[int, int]:
    """Contacts and constraint rows that are made room for, a world. A guess by the number of bodies, larger
    than what the suites' scenes need; where it is too small, the run fails and says so."""
    given = job.get("settings", {})
    movers, model = len(start.bodies), start.model
    # P259: what robots that stand up need, with room to spare.
    contacts, rows = ROBOT_ROOM
    if not start.robot:
        contacts = 24 * movers + 64
        # A pyramidal contact of dimension 3 has four rows; a joint one for its limit and one for its friction.
        rows = 4 * 8 * movers + int(np.count_nonzero(model.jnt_limited)) + model.nv + 64
    contacts = mujoco_scene.count(given, "contacts", contacts)
    rows = mujoco_scene.count(given, "rows", rows)
    return contacts, rows


def upload(wp: Any, mjw: Any, model: mujoco.MjModel) -> Any:
    """The model on the device."""
    # MuJoCo Warp never resets a world by itself, and takes no model that forbids it.
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    with wp.ScopedDevice("cpu"):
        try:
            put = mjw.put_model(model)
        except NotImplementedError as error:
            raise Unsupported(str(error)) from error
    # What kernels print at each overflow would drown the log; `overflow` has them, step by step.
    put.opt.warn_overflow = 0
    return put


class Worlds(contract.Simulation):
    """All worlds of a job."""

    def __init__(self, scene: dict[str, Any], job: dict[str, Any], cache: Cache) -> None:
        self.start = mujoco_scene.Start(scene, mujoco_scene.Solver(job, INTEGRATORS))
        self.worlds = job["worlds"]
        self.cache = cache
        wp = self.wp = warp(cache)
        import mujoco_warp as mjw

        self.mjw = mjw
        contacts, rows = room(self.start, job)
        model, data = self.start.model, self.start.data
        self.model = upload(wp, mjw, model)
        with wp.ScopedDevice("cpu"):
            try:
                self.data = mjw.put_data(
                    model, data, nworld=self.worlds, nconmax=contacts, njmax=rows
                )
            except ValueError as error:
                raise Failed(f"no room for the start: {error}") from error
            self.first = {
                name: wp.clone(getattr(self.data, name))
                for name in ("qpos", "qvel", "act", "ctrl")
                if getattr(self.data, name).size
            }
        # Compiles what is not in the cache, and loads the rest.
        self.reset()
        self.step(1)
        self.sync()
        self.compiled = cache.added()

    def settings(self) -> dict[str, Any]:
        return {
            **mujoco_scene.option_settings(self.start.model),
            "autoreset": False,
            "contacts": int(self.data.naconmax) // self.worlds,
            "contacts_of_all_worlds": int(self.data.naconmax),
            "rows": int(self.data.njmax),
            "sparse": bool(self.model.is_sparse),
            "kernels_compiled_in_setup": self.compiled,
            "threads_used": 1,
            "warp": self.wp.__version__,
            "worlds": "one batch",
        }

    def translation(self) -> dict[str, Any]:
        return self.start.translation(single=True)

    def reset(self) -> None:
        with self.wp.ScopedDevice("cpu"):
            self.mjw.reset_data(self.model, self.data)
            for name, value in self.first.items():
                self.wp.copy(getattr(self.data, name), value)

    def step(self, steps: int) -> None:
        with self.wp.ScopedDevice("cpu"):
            for _ in range(steps):
                self.mjw.step(self.model, self.data)

    def sync(self) -> None:
        self.wp.synchronize_device("cpu")

    def poses(self, world: int, out: np.ndarray) -> None:
        with self.wp.ScopedDevice("cpu"):
            # A step leaves body poses at the state before its last integration.
            self.mjw.kinematics(self.model, self.data)
        self.start.poses(
            self.data.qpos.numpy()[world],
            lambda: self.data.xpos.numpy()[world],
            lambda: self.data.xquat.numpy()[world],
            out,
        )

    def velocities(self, world: int, out: np.ndarray) -> None:
        self.start.velocities(self.data.qpos.numpy()[world], self.data.qvel.numpy()[world], out)

    def spoil(self, world: int) -> None:
        # A view: on this backend arrays lie in the host's memory.
        self.data.qvel.numpy()[world, 0] = np.nan

    def counters(self) -> dict[str, Any]:
        # Every step adds its overflows to these bits, which a reset clears.
        bits = self.data.overflow.numpy()
        kinds = self.mjw.OverflowType
        worlds = {kind.name.lower(): int(np.count_nonzero(bits & kind.value)) for kind in kinds if kind}
        return {
            "contacts": int(self.data.nacon.numpy()[0]),
            "constraints": int(self.data.nefc.numpy().sum()),
            "solver_iterations": int(self.data.solver_niter.numpy().max()),
            "overflow": sum(worlds.get(name, 0) for name in DROPS),
            "warnings": {name: n for name, n in worlds.items() if n and name != "all"},
            # The world itself is a body.
            "simulated_bodies": int((self.data.nbody_awake.numpy() - 1).sum()),
        }


class Driven(drive.Batch):
    """Worlds of one model that a driver steps."""

    def __init__(self, model: mujoco.MjModel, job: dict[str, Any], cache: Cache) -> None:
        if job["backend"] != "cpu":
            raise Refused(f"backend {job['backend']}: this adapter has cpu")
        self.worlds = job["worlds"]
        wp = self.wp = warp(cache)
        import mujoco_warp as mjw

        self.mjw = mjw
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        self.model = upload(wp, mjw, model)
        with wp.ScopedDevice("cpu"):
            self.data = mjw.put_data(
                model,
                data,
                nworld=self.worlds,
                nconmax=job["contacts_per_world"],
                njmax=job["constraints_per_world"],
            )
            self.mask = wp.zeros(self.worlds, dtype=wp.bool)
        d = self.data
        # Views: on this backend arrays lie in the host's memory.
        self.qpos, self.qvel, self.time = d.qpos.numpy(), d.qvel.numpy(), d.time.numpy()
        self.ctrl, self.nacon, self.nefc = d.ctrl.numpy(), d.nacon.numpy(), d.nefc.numpy()
        self.ncollision, self.bits = d.ncollision.numpy(), d.overflow.numpy()
        c = d.contact
        self.world, self.geoms, self.distance = c.worldid.numpy(), c.geom.numpy(), c.dist.numpy()
        self.address, self.force = c.efc_address.numpy(), d.efc.force.numpy()

    def state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.qpos, self.qvel, self.time

    def step(self, ctrl: np.ndarray) -> None:
        self.ctrl[:] = ctrl
        with self.wp.ScopedDevice("cpu"):
            self.mjw.step(self.model, self.data)

    def reset(self, mask: np.ndarray) -> None:
        with self.wp.ScopedDevice("cpu"):
            self.mask.assign(mask)
            self.mjw.reset_data(self.model, self.data, self.mask)
            # Contacts of the start, for whoever reads them before the first step.
            self.mjw.forward(self.model, self.data)

    def contacts(self) -> drive.Contacts:
        n = min(int(self.nacon[0]), int(self.data.naconmax))
        world, address = self.world[:n], self.address[:n, 0]
        # The first row of an elliptic contact is along its normal.
        normal = np.where(address >= 0, self.force[world, np.maximum(address, 0)], 0.0)
        return drive.Contacts(world, self.geoms[:n], self.distance[:n], normal)

    def room(self) -> dict[str, tuple[int, int]]:
        return {
            "contacts": (int(self.nacon[0]), int(self.data.naconmax)),
            "collisions": (int(self.ncollision[0]), int(self.data.naconmax)),
            "constraints": (int(self.nefc.max()), int(self.data.njmax)),
        }

    def describe(self) -> dict[str, Any]:
        return {
            "engine": "mujoco_warp",
            "version": self.mjw.__version__,
            "backend": "cpu",
            "precision": "single",
            "versions": {"mujoco": mujoco.__version__, "warp": self.wp.__version__},
        }
