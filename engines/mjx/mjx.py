"""MJX, the implementation in JAX, on JAX's CPU backend: one compiled loop over the steps, vmapped over the
worlds, single precision."""

from __future__ import annotations

import os
from typing import Any

import mujoco
import numpy as np

from sim_engine import contract, mujoco_scene
from sim_engine.contract import PROTOCOL, Unsupported
from sim_engine.environment import Cache

SETTINGS = mujoco_scene.SETTINGS
INTEGRATORS = ("Euler", "RK4", "implicitfast")


def jax(cache: Cache) -> Any:
    """JAX, with what it compiles in the cache. Settled when it is imported for the first time."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    # With two threads a compiled loop of some shapes waits for itself for ever; one never does.
    os.environ["NPROC"] = "1"
    import jax as module

    module.config.update("jax_enable_x64", False)
    module.config.update("jax_compilation_cache_dir", str(cache.folder / f"jax-{module.__version__}"))
    # Caches of its own below that folder would bring the folder's name into every key.
    module.config.update("jax_persistent_cache_enable_xla_caches", "none")
    module.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    module.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return module


class Engine(contract.Engine):
    """MJX."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache

    def describe(self) -> dict[str, Any]:
        jax(self.cache)
        import importlib.metadata

        return {
            "protocol": PROTOCOL,
            "engine": "mjx",
            # The package has no version of its own to ask.
            "version": importlib.metadata.version("mujoco-mjx"),
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
                "repeatability": {
                    "status": "varies",
                    "reason": "the loop compiled for another number of worlds may round otherwise",
                },
            },
            "limits": {},
        }

    def build(self, scene: dict[str, Any], job: dict[str, Any]) -> contract.Simulation:
        if any("cylinder" in body["shape"] for body in scene["bodies"]):
            raise Unsupported(
                "cylinders in a scene of bodies: MJX collides them with planes alone, and a floor is a box"
            )
        return Worlds(scene, job, self.cache)


class Worlds(contract.Simulation):
    """All worlds of a job."""

    def __init__(self, scene: dict[str, Any], job: dict[str, Any], cache: Cache) -> None:
        self.start = mujoco_scene.Start(scene, mujoco_scene.Solver(job, INTEGRATORS))
        self.worlds = job["worlds"]
        self.jax = module = jax(cache)
        import jax.numpy as jp
        from mujoco import mjx

        model = self.start.model
        # MJX never resets a world by itself.
        model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
        try:
            self.model = mjx.put_model(model)
            one = mjx.put_data(model, self.start.data)
        except NotImplementedError as error:
            raise Unsupported(f"MJX: {error}") from error
        self.first = module.tree_util.tree_map(
            lambda x: jp.broadcast_to(x, (self.worlds, *x.shape)), one
        )
        step = module.vmap(mjx.step, in_axes=(None, 0))
        places = module.vmap(mjx.kinematics, in_axes=(None, 0))

        def roll(m: Any, d: Any, steps: Any) -> Any:
            return module.lax.fori_loop(0, steps, lambda _, state: step(m, state), d)

        # Everything that will be called is compiled here. The number of steps is an argument, so one loop
        # serves them all.
        self.roll = module.jit(roll).lower(self.model, self.first, 1).compile()
        self.places = module.jit(places).lower(self.model, self.first).compile()
        self.state = self.first
        self.reset()
        self.step(1)
        self.sync()
        self.compiled = cache.added()
        self.device = str(self.state.qpos.devices())

    def settings(self) -> dict[str, Any]:
        return {
            **mujoco_scene.option_settings(self.start.model),
            "autoreset": False,
            "contact_slots": int(self.state._impl.contact.dist.shape[-1]),
            "jax": self.jax.__version__,
            "kernels_compiled_in_setup": self.compiled,
            "threads_used": 1,
            "worlds": "vmap",
        }

    def translation(self) -> dict[str, Any]:
        return self.start.translation(single=True)

    def reset(self) -> None:
        self.state = self.first

    def step(self, steps: int) -> None:
        self.state = self.roll(self.model, self.state, steps)

    def sync(self) -> None:
        self.jax.block_until_ready(self.state)

    def poses(self, world: int, out: np.ndarray) -> None:
        # A step leaves body poses at the state before its last integration.
        placed = None

        def of(name: str) -> np.ndarray:
            nonlocal placed
            placed = placed if placed is not None else self.places(self.model, self.state)
            return np.asarray(getattr(placed, name))[world]

        qpos = np.asarray(self.state.qpos)[world]
        self.start.poses(qpos, lambda: of("xpos"), lambda: of("xquat"), out)

    def velocities(self, world: int, out: np.ndarray) -> None:
        qpos, qvel = np.asarray(self.state.qpos)[world], np.asarray(self.state.qvel)[world]
        self.start.velocities(qpos, qvel, out)

    def spoil(self, world: int) -> None:
        self.state = self.state.replace(qvel=self.state.qvel.at[world, 0].set(np.nan))

    def counters(self) -> dict[str, Any]:
        # Every pair of geoms has its slots from the start, so none can be dropped for want of room; how many
        # iterations were made is not kept.
        contact = self.state._impl.contact
        return {
            "contacts": int((np.asarray(contact.dist) < 0).sum()),
            "simulated_bodies": self.worlds * (int(self.model.nbody) - 1),
        }
