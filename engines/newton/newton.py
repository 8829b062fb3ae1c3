"""Newton on Warp's CPU backend, single precision, one thread: SolverMuJoCo with MuJoCo Warp inside for rigid bodies,
all worlds of a job in one batch, and SolverImplicitMPM for material points."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sim_engine import contract, mujoco_scene
from sim_engine.contract import PROTOCOL, Failed, Refused
from sim_engine.environment import Cache
from sim_engine.material import Material

SETTINGS = [*mujoco_scene.SETTINGS, "contacts", "rows"]
# Those of material points.
POINTS = ("grid",)
GRIDS = ("dense", "sparse")
INTEGRATORS = ("Euler", "RK4", "implicitfast")
# P259: contacts and rows of a world with a robot.
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
    """Newton."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache

    def describe(self) -> dict[str, Any]:
        warp(self.cache)
        import newton

        return {
            "protocol": PROTOCOL,
            "engine": "newton",
            "version": newton.__version__,
            "backends": ["cpu"],
            "precision": "single",
            "capabilities": {
                "modes": ["timed", "memory", "capture", "probe", "profile"],
                "shapes": ["box", "sphere", "capsule", "cylinder"],
                "hinges": True,
                "robots": True,
                "worlds": "batched",
                "threads": False,
                "mpm": True,
                "settings": sorted([*SETTINGS, *POINTS]),
                "device_timestamps": False,
                "repeatability": {"status": "bitwise"},
            },
            "limits": {},
        }

    def build(self, scene: dict[str, Any], job: dict[str, Any]) -> contract.Simulation:
        if "mpm" in scene:
            return Points(scene, job, self.cache)
        for name in POINTS:
            if name in job.get("settings", {}):
                raise Refused(f"setting {name}: it says nothing of rigid bodies")
        return Worlds(scene, job, self.cache)


def room(start: mujoco_scene.Start, job: dict[str, Any]) -> tuple[int, int]:
    """Contacts and constraint rows that are made room for, a world. A guess by the number of bodies, larger
    than what the suites' scenes need; where it is too small, the run fails and says so."""
    given = job.get("settings", {})
    movers, model = len(start.bodies), start.model
    contacts, rows = ROBOT_ROOM
    if not start.robot:
        # Candidates within a gap count, too.
        contacts = 48 * movers + 64
        rows = 4 * 8 * movers + int(np.count_nonzero(model.jnt_limited)) + model.nv + 64
    contacts = mujoco_scene.count(given, "contacts", contacts)
    return contacts, mujoco_scene.count(given, "rows", rows)


class Worlds(contract.Simulation):
    """All worlds of a job."""

    def __init__(self, scene: dict[str, Any], job: dict[str, Any], cache: Cache) -> None:
        solver = mujoco_scene.Solver(job, INTEGRATORS)
        self.start = start = mujoco_scene.Start(scene, solver)
        self.worlds = job["worlds"]
        wp = self.wp = warp(cache)
        import newton

        self.newton = newton
        kind = newton.solvers.SolverMuJoCo
        gravity = tuple(scene["gravity"])
        contacts, rows = room(start, job)
        with wp.ScopedDevice("cpu"):
            one = newton.ModelBuilder(gravity=gravity)
            kind.register_custom_attributes(one)
            # Bodies that a scene's robot or pile must not touch are told apart by contype and conaffinity.
            text = start.robot["model"] if start.robot else mujoco_scene.mjcf(scene, solver)
            one.add_mjcf(text, ctrl_direct=True, verbose=False)
            top = newton.ModelBuilder(gravity=gravity)
            kind.register_custom_attributes(top)
            top.replicate(one, self.worlds)
            self.model = top.finalize()
            # A robot's model has options of its own; what the job sets wins.
            asked = solver.named if start.robot else {
                "integrator": solver.integrator,
                "cone": solver.cone,
                "iterations": solver.iterations,
            }
            self.solver = kind(
                self.model,
                use_mujoco_cpu=False,
                solver="newton",
                enable_sleeping=False,
                nconmax=contacts,
                njmax=rows,
                **{name: v.lower() if isinstance(v, str) else v for name, v in asked.items()},
            )
            self.solver.mjw_model.opt.warn_overflow = 0
            self.states = [self.model.state(), self.model.state()]
            self.control = self.model.control()
        self.dt = float(scene["timestep"])
        self._first()
        self.bits = np.zeros(self.worlds, np.int32)
        self.overflow = self.solver.mjw_data.overflow.numpy()
        self.reset()
        self.step(1)
        self.sync()
        self.compiled = cache.added()

    def _first(self) -> None:
        """The start state in Newton's coordinates: quaternions x, y, z, w; a free joint's velocities of the
        body's centre of mass and about it, both in the world's axes."""
        start, model = self.start, self.model
        per = model.joint_coord_count // self.worlds
        if per != start.model.nq or model.joint_dof_count // self.worlds != start.model.nv:
            raise Failed(f"Newton has {per} coordinates a world, MuJoCo {start.model.nq}")
        labels = [str(name).rsplit("/", 1)[-1] for name in model.body_label]
        count = len(labels) // self.worlds
        mine = [mujoco.mj_id2name(start.model, mujoco.mjtObj.mjOBJ_BODY, int(b)) for b in start.bodies]
        if sorted(labels[:count]) != sorted(mine):
            raise Failed(f"Newton has the bodies {labels[:count]}, the scene {mine}")
        self.bodies = np.array([labels.index(name) for name in mine])
        self.per_world = count
        q, v = start.data.qpos.copy(), start.data.qvel.copy()
        for joint in range(start.model.njnt):
            if start.model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
                at, dof = start.model.jnt_qposadr[joint], start.model.jnt_dofadr[joint]
                v[dof + 3 : dof + 6] = mujoco_scene.turn(q[at + 3 : at + 7], v[dof + 3 : dof + 6])
                q[at + 3 : at + 7] = np.roll(q[at + 3 : at + 7], -1)
        self.first = [np.tile(x, self.worlds).astype(np.float32) for x in (q, v)]
        self.ctrl = np.tile(start.data.ctrl, self.worlds).astype(np.float32)

    def settings(self) -> dict[str, Any]:
        option = self.solver.mj_model
        return {
            **mujoco_scene.option_settings(option),
            "autoreset": False,
            "contacts": int(self.solver.mjw_data.naconmax) // self.worlds,
            "contacts_of_all_worlds": int(self.solver.mjw_data.naconmax),
            "kernels_compiled_in_setup": self.compiled,
            "rigid_solver": "SolverMuJoCo with MuJoCo Warp",
            "rows": int(self.solver.mjw_data.njmax),
            "threads_used": 1,
            # Given to every step; the model's own is of no effect.
            "timestep": self.dt,
            "warp": self.wp.__version__,
            "worlds": "one batch",
        }

    def translation(self) -> dict[str, Any]:
        return self.start.translation(single=True)

    def reset(self) -> None:
        with self.wp.ScopedDevice("cpu"):
            data = self.solver.mjw_data
            self.newton_state = self.states[0]
            state = self.newton_state
            state.joint_q.assign(self.first[0])
            state.joint_qd.assign(self.first[1])
            self.newton.eval_fk(self.model, state.joint_q, state.joint_qd, state)
            if self.ctrl.size:
                ctrl = self.control.mujoco.ctrl
                ctrl.assign(self.ctrl.reshape(ctrl.shape))
            for name in ("qacc_warmstart", "qacc", "time", "act"):
                array = getattr(data, name)
                if array.size:
                    array.zero_()
        self.bits[:] = 0

    def step(self, steps: int) -> None:
        now, then = self.newton_state, self.states[1 - self.states.index(self.newton_state)]
        with self.wp.ScopedDevice("cpu"):
            for _ in range(steps):
                now.clear_forces()
                self.solver.step(now, then, self.control, None, self.dt)
                # Newton clears these bits before each step, so each step's are kept here: one operation on
                # a number a world.
                self.bits |= self.overflow
                now, then = then, now
        self.newton_state = now

    def sync(self) -> None:
        self.wp.synchronize_device("cpu")

    def poses(self, world: int, out: np.ndarray) -> None:
        found = self.newton_state.body_q.numpy().reshape(self.worlds, self.per_world, 7)[world]
        out[:, :3] = found[self.bodies, :3]
        out[:, 3:] = found[self.bodies][:, [6, 3, 4, 5]]

    def velocities(self, world: int, out: np.ndarray) -> None:
        found = self.newton_state.body_qd.numpy().reshape(self.worlds, self.per_world, 6)[world]
        out[:] = found[self.bodies]

    def spoil(self, world: int) -> None:
        per = self.model.joint_dof_count // self.worlds
        self.newton_state.joint_qd.numpy()[world * per] = np.nan

    def counters(self) -> dict[str, Any]:
        import mujoco_warp as mjw

        data = self.solver.mjw_data
        worlds = {
            kind.name.lower(): int(np.count_nonzero(self.bits & kind.value))
            for kind in mjw.OverflowType
            if kind
        }
        return {
            # Candidates within a gap count, too.
            "contacts": int(data.nacon.numpy()[0]),
            "constraints": int(data.nefc.numpy().sum()),
            "solver_iterations": int(data.solver_niter.numpy().max()),
            "overflow": sum(worlds.get(name, 0) for name in DROPS),
            "warnings": {name: n for name, n in worlds.items() if n and name != "all"},
            # The world itself is a body.
            "simulated_bodies": int((data.nbody_awake.numpy() - 1).sum()),
        }


# Larger than any stress here: what is elastic without limit has no yield surface, Pa.
UNBOUNDED = 1.0e15


class Points(contract.Simulation):
    """Material points, by SolverImplicitMPM."""

    def __init__(self, scene: dict[str, Any], job: dict[str, Any], cache: Cache) -> None:
        self.material = material = Material(scene, job, POINTS)
        grid = job.get("settings", {}).get("grid", "dense")
        if grid not in GRIDS:
            raise Refused(f"grid = {grid!r}: it takes {', '.join(GRIDS)}")
        wp = self.wp = warp(cache)
        import newton

        self.kind = kind = newton.solvers.SolverImplicitMPM
        self.active = int(newton.ParticleFlags.ACTIVE)
        with wp.ScopedDevice("cpu"):
            builder = newton.ModelBuilder(gravity=material.gravity)
            kind.register_custom_attributes(builder)
            builder.add_particles(
                pos=material.positions.tolist(),
                vel=material.velocities.tolist(),
                mass=[material.mass] * material.count,
                radius=[material.spacing / 2.0] * material.count,
            )
            for box in material.tank:
                x, y, z = box.half_extents
                builder.add_shape_box(
                    body=-1,
                    xform=wp.transform(wp.vec3(*box.position), wp.quat_identity()),
                    hx=x,
                    hy=y,
                    hz=z,
                    cfg=newton.ModelBuilder.ShapeConfig(mu=material.friction, density=0.0),
                )
            self.model = builder.finalize()
            for name, value in self._law().items():
                getattr(self.model.mpm, name).fill_(value)
            # P242: this mix of bases; P219: where the backend rebuilds sparse grids fast, they are for it.
            self.config = kind.Config(
                voxel_size=material.cell,
                grid_type=grid,
                velocity_basis="Q1",
                strain_basis="P0",
                collider_basis="pic",
                transfer_scheme="apic",
                air_drag=0.0,
            )
        self.dt = material.frame / material.substeps
        self.reset()
        self.step(1)
        self.sync()
        self.compiled = cache.added()

    def _law(self) -> dict[str, float]:
        """Newton's parameters of the material, by name."""
        material = self.material
        elastic = material.law == "elastic"
        return {
            "young_modulus": material.young,
            "poisson_ratio": material.poisson,
            "damping": 0.0,
            "viscosity": 0.0,
            "hardening": 0.0,
            "dilatancy": 0.0,
            "yield_pressure": UNBOUNDED,
            # Sand bears no tension and, without pressure, no shear.
            "tensile_yield_ratio": 1.0 if elastic else 0.0,
            "yield_stress": UNBOUNDED if elastic else 0.0,
            "friction": 0.0 if elastic else material.surface(),
        }

    def settings(self) -> dict[str, Any]:
        config, model = self.config, self.model
        first = lambda array: float(array.numpy()[0])  # noqa: E731
        return {
            "air_drag": float(config.air_drag),
            "collider_basis": config.collider_basis,
            "friction_of_walls": float(model.shape_material_mu.numpy().max()),
            "friction_within": first(model.mpm.friction),
            "grid": config.grid_type,
            "iterations": int(config.max_iterations),
            "kernels_compiled_in_setup": self.compiled,
            "mpm_solver": "SolverImplicitMPM",
            "poisson_ratio": first(model.mpm.poisson_ratio),
            "strain_basis": config.strain_basis,
            "substep": self.dt,
            "substeps": self.material.substeps,
            "threads_used": 1,
            "timestep": self.material.frame,
            "tolerance": float(config.tolerance),
            "transfer": config.transfer_scheme,
            "velocity_basis": config.velocity_basis,
            "voxel": float(self.solver.voxel_size),
            "warp": self.wp.__version__,
            "yield_pressure": first(model.mpm.yield_pressure),
            "yield_stress": first(model.mpm.yield_stress),
            "young_modulus": first(model.mpm.young_modulus),
        }

    def translation(self) -> dict[str, Any]:
        material = self.material
        law = "Newton's implicit elasticity of small strain steps, not Neo-Hookean"
        if material.law == "sand":
            law += (
                f"; Drucker-Prager, √J₂ ≤ {material.surface():.4f}·p, which meets the angle of internal "
                "friction in triaxial compression"
            )
        boundary = (
            f"unilateral Coulomb contact of points with friction {material.friction}, solved with the material, and a "
            "projection out of the boxes after each substep"
        )
        grid = "cells around the points, allocated anew in each substep"
        return material.translation(law, boundary, f"{self.config.grid_type}: {grid}")

    def reset(self) -> None:
        """A new solver and new states: warm starts and grids of the old ones are gone (P229)."""
        with self.wp.ScopedDevice("cpu"):
            self.states = [self.model.state(), self.model.state()]
            self.solver = self.kind(self.model, config=self.config)

    def step(self, steps: int) -> None:
        now, then = self.states
        with self.wp.ScopedDevice("cpu"):
            for _ in range(steps * self.material.substeps):
                self.solver.step(now, then, None, None, self.dt)
                self.solver.project_outside(then, then, self.dt)
                now, then = then, now
        self.states = [now, then]

    def sync(self) -> None:
        self.wp.synchronize_device("cpu")

    def poses(self, world: int, out: np.ndarray) -> None:
        self.material.poses(self.states[0].particle_q.numpy(), out)

    def velocities(self, world: int, out: np.ndarray) -> None:
        self.material.velocities_of(self.states[0].particle_qd.numpy(), out)

    def spoil(self, world: int) -> None:
        self.states[0].particle_qd.numpy()[0] = np.nan

    def counters(self) -> dict[str, Any]:
        flags = self.model.particle_flags.numpy()
        active = int(np.count_nonzero(flags & self.active))
        return self.material.counters(active, self.model.particle_mass.numpy())
