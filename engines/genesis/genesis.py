"""Genesis on its CPU backend, single precision, one thread: its rigid solver, all worlds of a job in one batch, and its
MPM solver for material points."""

from __future__ import annotations

import os
import sys
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np

from sim_engine import contract, mujoco_scene
from sim_engine.contract import PROTOCOL, Failed, Refused
from sim_engine.environment import Cache
from sim_engine.material import Material

SETTINGS = (*mujoco_scene.SETTINGS, "pairs")
INTEGRATORS = ("Euler", "implicitfast")
# P126: the smallest grid of distances, for shapes that are all convex and never read it. A robot keeps Genesis's own.
SMALLEST_SDF = 16
# Time constant of contacts, s: as for every engine that has MuJoCo's soft constraints.
TIME_CONSTANT = 0.02
# Collision pairs that are made room for at least; Genesis's own number.
PAIRS = 150
# P201: that number is too small for a wall of bricks.
PAIRS_A_BODY = 4
# How a boundary slows what comes near it, m: Genesis's own number.
SOFTNESS = 0.002
# Cells between the bounds of a grid and where Genesis turns points back.
MARGIN = 3


def genesis(cache: Cache) -> Any:
    """Genesis, begun once in a process, with its kernels in the cache. Threads are few: with two it was slower, and
    ends in other bits."""
    if "genesis" in sys.modules and sys.modules["genesis"]._initialized:
        return sys.modules["genesis"]
    folder = str(cache.folder)
    os.environ.update(
        GS_CACHE_FILE_PATH=f"{folder}/genesis",
        QD_OFFLINE_CACHE_FILE_PATH=f"{folder}/quadrants",
        QD_NUM_THREADS="1",
        GS_PARA_LEVEL="0",
    )
    import genesis as gs

    gs.init(backend=gs.cpu, precision="32", logging_level="error", seed=0)
    return gs


class Engine(contract.Engine):
    """Genesis."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache

    def describe(self) -> dict[str, Any]:
        from importlib.metadata import version

        return {
            "protocol": PROTOCOL,
            "engine": "genesis",
            "version": version("genesis-world"),
            "backends": ["cpu"],
            "precision": "single",
            "capabilities": {
                "modes": ["timed", "memory", "capture", "probe", "profile"],
                "shapes": ["box", "sphere", "capsule", "cylinder"],
                "hinges": True,
                "robots": True,
                "mpm": True,
                "worlds": "batched",
                "threads": False,
                "settings": sorted(SETTINGS),
                "device_timestamps": False,
                "repeatability": {"status": "bitwise"},
            },
            "limits": {},
        }

    def build(self, scene: dict[str, Any], job: dict[str, Any]) -> contract.Simulation:
        gs = genesis(self.cache)
        try:
            return (Points if "mpm" in scene else Worlds)(gs, scene, job, self.cache)
        except gs.GenesisException as error:
            raise Failed(f"Genesis: {error}") from error


class Worlds(contract.Simulation):
    """Rigid bodies: all worlds of a job, of one MJCF that Genesis's own loader reads."""

    def __init__(self, gs: Any, scene: dict[str, Any], job: dict[str, Any], cache: Cache) -> None:
        import torch

        self.gs, self.torch = gs, torch
        solver = mujoco_scene.Solver(job, INTEGRATORS)
        self.start = start = mujoco_scene.Start(scene, solver)
        self.worlds = job["worlds"]
        robot = start.robot
        text = robot["model"] if robot else mujoco_scene.mjcf(scene, solver)
        usual = max(PAIRS, PAIRS_A_BODY * len(start.bodies))
        self.pairs = mujoco_scene.count(job.get("settings", {}), "pairs", usual)
        # Whatever of friction and contact has a default of Genesis's own is said here. A robot's file says what it is
        # made for: cone, impedance and dimension of its contacts.
        self.option = option = start.model.opt
        elliptic = option.cone == mujoco.mjtCone.mjCONE_ELLIPTIC
        self.dimension = int(start.model.geom_condim.max(initial=1))
        self.contact = {
            "friction_cone": gs.friction_cone.elliptic if elliptic else gs.friction_cone.pyramidal,
            "contact_resolution": gs.contact_resolution.convex,
            "impratio": float(option.impratio),
            "enable_torsional_friction": self.dimension > 3,
            "enable_rolling_friction": self.dimension > 4,
            "constraint_timeconst": None if robot else TIME_CONSTANT,
        }
        integrator = {
            mujoco.mjtIntegrator.mjINT_EULER: "Euler",
            mujoco.mjtIntegrator.mjINT_IMPLICITFAST: "implicitfast",
        }.get(option.integrator)
        if integrator is None:
            raise Refused("the model's integrator is none of Genesis's")
        self.integrator = integrator
        self.iterations = int(option.iterations)
        self.scene = gs.Scene(
            show_viewer=False,
            sim_options=gs.options.SimOptions(
                dt=float(scene["timestep"]), substeps=1, gravity=tuple(scene["gravity"])
            ),
            rigid_options=gs.options.RigidOptions(
                constraint_solver=gs.constraint_solver.Newton,
                iterations=self.iterations,
                integrator=getattr(gs.integrator, integrator),
                use_hibernation=False,
                max_collision_pairs=self.pairs,
                # Of one model, bodies are one entity: they meet each other, those that begin in touch, too.
                enable_self_collision=not robot,
                enable_neutral_collision=not robot,
                **self.contact,
            ),
        )
        # Friction as the file has it, for each shape.
        grid = {} if robot else {"sdf_min_res": SMALLEST_SDF, "sdf_max_res": SMALLEST_SDF}
        self.entity = self.scene.add_entity(
            gs.morphs.MJCF(file=ElementTree.fromstring(text)), material=gs.materials.Rigid(**grid)
        )
        self.scene.build(n_envs=self.worlds)
        self.rigid = self.scene.rigid_solver
        self._places()
        self.origin = self.scene.get_state()
        self.reset()
        self.step(1)
        self.sync()
        self.compiled = cache.added()

    def _places(self) -> None:
        """Genesis's joints and links by the names that MuJoCo has them by: it orders them breadth-first."""
        start, model, torch = self.start, self.start.model, self.torch
        name = lambda kind, i: mujoco.mj_id2name(model, kind, int(i))  # noqa: E731
        links = {link.name: link.idx for link in self.entity.links}
        mine = [name(mujoco.mjtObj.mjOBJ_BODY, b) for b in start.bodies]
        missing = [n for n in mine if n not in links]
        if missing:
            raise Failed(f"Genesis has no link {missing[0]}, but {sorted(links)[:20]}")
        self.links = [links[n] for n in mine]
        # Joints without a name are told by the link that they move.
        joints = {joint.link.name: joint for joint in self.entity.joints if joint.n_dofs}
        if len(joints) != model.njnt or self.rigid.n_dofs != model.nv or self.rigid.n_qs != model.nq:
            raise Failed(f"Genesis has {self.rigid.n_dofs} degrees of freedom, MuJoCo {model.nv}")
        q, v = np.empty(model.nq), np.empty(model.nv)
        self.dof = np.empty(model.nv, int)
        for j in range(model.njnt):
            joint = joints[name(mujoco.mjtObj.mjOBJ_BODY, model.jnt_bodyid[j])]
            at, dof = model.jnt_qposadr[j], model.jnt_dofadr[j]
            q[joint.q_start : joint.q_end] = start.data.qpos[at : at + joint.n_qs]
            v[joint.dof_start : joint.dof_end] = start.data.qvel[dof : dof + joint.n_dofs]
            self.dof[dof : dof + joint.n_dofs] = np.arange(joint.dof_start, joint.dof_end)
        batch = lambda x: torch.tensor(np.tile(x, (self.worlds, 1)), dtype=self.gs.tc_float)  # noqa: E731
        self.qpos, self.qvel = batch(q), batch(v)
        joint_of = model.actuator_trnid[:, 0]
        self.driven = self.dof[model.jnt_dofadr[joint_of]].tolist() if model.nu else []
        self.targets = batch(start.data.ctrl)
        self.gains = self._gains()

    def _gains(self) -> str:
        """Whether each servo has the model's gains; how, in words."""
        model = self.start.model
        if not model.nu:
            return ""
        found = [
            np.asarray(x.cpu()).reshape(-1, model.nu)[0]
            for x in (
                self.rigid.get_dofs_kp(self.driven),
                self.rigid.get_dofs_kv(self.driven),
                self.rigid.get_dofs_force_range(self.driven)[1],
            )
        ]
        asked = [model.actuator_gainprm[:, 0], -model.actuator_biasprm[:, 2], model.actuator_forcerange[:, 1]]
        for what, a, b in zip(("kp", "kv", "force range"), asked, found):
            if not np.allclose(a, b, rtol=1e-5, atol=1e-6):
                raise Failed(f"Genesis's loader has other servos: {what} {b.tolist()}, not {a.tolist()}")
        return "as the model has them"

    def settings(self) -> dict[str, Any]:
        options = self.rigid._options
        return {
            "cone": "elliptic" if options.friction_cone == self.gs.friction_cone.elliptic else "pyramidal",
            "contact_resolution": options.contact_resolution.name,
            "hibernation": bool(options.use_hibernation),
            "impratio": float(options.impratio),
            "integrator": self.integrator,
            "iterations": int(options.iterations),
            "kernels_compiled_in_setup": self.compiled,
            "ls_iterations": int(options.ls_iterations),
            "pairs": int(options.max_collision_pairs),
            "rolling_friction": bool(options.enable_rolling_friction),
            "sdf_active": any(not geom.is_convex for geom in self.rigid.geoms),
            "sdf_max_res": int(self.entity.material.sdf_max_res),
            "threads_used": 1,
            "time_constant": float(options.constraint_timeconst or 0.0),
            "timestep": float(self.scene.sim.dt),
            "torch": self.torch.__version__,
            "torsional_friction": bool(options.enable_torsional_friction),
            "worlds": "one batch",
        }

    def translation(self) -> dict[str, Any]:
        said = self.start.translation(single=True)
        said["approximated"] += [
            {"what": "contact points of a pair", "how": "Genesis's own: found by perturbed queries, and thinned out"},
        ]
        return said

    def reset(self) -> None:
        self.scene.reset(self.origin)
        self.rigid.set_qpos(self.qpos)
        self.rigid.set_dofs_velocity(self.qvel)
        if self.driven:
            self.rigid.control_dofs_position(self.targets, self.driven)

    def step(self, steps: int) -> None:
        for _ in range(steps):
            self.scene.step()

    def sync(self) -> None:
        """A lack of room and numbers that are none leave a mark, which Genesis looks at now and then."""
        try:
            self.rigid.check_errno()
        except self.gs.GenesisException as error:
            raise Failed(f"Genesis: {error}") from error

    def _of(self, tensor: Any, world: int) -> np.ndarray:
        return tensor.cpu().numpy()[world]

    def poses(self, world: int, out: np.ndarray) -> None:
        out[:, :3] = self._of(self.rigid.get_links_pos(self.links), world)
        out[:, 3:] = self._of(self.rigid.get_links_quat(self.links), world)

    def velocities(self, world: int, out: np.ndarray) -> None:
        out[:, :3] = self._of(self.rigid.get_links_vel(self.links, ref=self.gs.link_ref_frame.link_COM), world)
        out[:, 3:] = self._of(self.rigid.get_links_ang(self.links), world)

    def spoil(self, world: int) -> None:
        broken = self.rigid.get_dofs_velocity().clone()
        broken[world, 0] = float("nan")
        self.rigid.set_dofs_velocity(broken)

    def counters(self) -> dict[str, Any]:
        contacts = self.rigid.collider.collider_state.n_contacts.to_numpy()
        return {
            "contacts": int(np.sum(contacts)),
            # More than there is room for halts Genesis, so nothing was dropped in a run that came here.
            "overflow": 0,
            "simulated_bodies": len(self.links) * self.worlds,
        }


class Points(contract.Simulation):
    """Material points, by Genesis's MPM solver."""

    def __init__(self, gs: Any, scene: dict[str, Any], job: dict[str, Any], cache: Cache) -> None:
        import torch

        self.gs = gs
        self.material = material = Material(scene, job, ())
        # P218: where points are turned back lies outside the tank.
        away = float(scene["mpm"]["padding"]) + MARGIN * material.cell
        lower = [x - away for x in scene["mpm"]["lower"]]
        upper = [x + away for x in scene["mpm"]["upper"]]
        self.scene = gs.Scene(
            show_viewer=False,
            sim_options=gs.options.SimOptions(
                dt=material.frame, substeps=material.substeps, gravity=material.gravity
            ),
            mpm_options=gs.options.MPMOptions(
                grid_density=1.0 / material.cell,
                particle_size=material.spacing,
                lower_bound=lower,
                upper_bound=upper,
                enable_CPIC=False,
            ),
        )
        for box in material.tank:
            self.scene.add_entity(
                gs.morphs.Box(size=[2.0 * h for h in box.half_extents], pos=box.position, fixed=True),
                material=gs.materials.Rigid(
                    coup_friction=material.friction, coup_softness=SOFTNESS, coup_restitution=0.0
                ),
            )
        common = {"E": material.young, "nu": material.poisson, "rho": material.density}
        if material.law == "elastic":
            law = gs.materials.MPM.Elastic(model="neohooken", **common)
        else:
            law = gs.materials.MPM.Sand(friction_angle=float(np.degrees(material.angle)), **common)
        self.law = law
        # Exactly so many points, put where the scene has them before the state is kept (P227).
        self.entity = self.scene.add_entity(gs.morphs.Nowhere(n_particles=material.count), material=law)
        self.scene.build()
        tensor = lambda x: torch.tensor(x, dtype=gs.tc_float)  # noqa: E731
        self.entity.set_particles_pos(tensor(material.positions))
        self.entity.set_particles_vel(tensor(material.velocities))
        self.entity.set_particles_active(torch.ones(material.count, dtype=torch.bool))
        self.origin = self.scene.get_state()
        self.reset()
        self.step(1)
        self.sync()
        self.compiled = cache.added()

    def settings(self) -> dict[str, Any]:
        solver, law = self.scene.mpm_solver, self.law
        said = {
            "cpic": bool(solver.enable_CPIC),
            "grid": "bounded, " + " x ".join(str(int(n)) for n in solver._grid_res) + " cells",
            "friction_of_walls": float(self.scene.entities[0].material.coup_friction),
            "kernels_compiled_in_setup": self.compiled,
            "lower": float(solver.boundary.lower[2]),
            "law": type(law).__name__ + (f", {law.model}" if hasattr(law, "model") else ""),
            "mpm_solver": "MPMSolver",
            "poisson_ratio": float(law.nu),
            "softness_of_walls": float(self.scene.entities[0].material.coup_softness),
            "substeps": int(self.scene.sim.substeps),
            "threads_used": 1,
            "timestep": float(self.scene.sim.dt),
            "voxel": float(solver.dx),
            "young_modulus": float(law.E),
        }
        if hasattr(law, "friction_angle"):
            said["friction_angle"] = float(law.friction_angle)
        return said

    def translation(self) -> dict[str, Any]:
        law = "Neo-Hookean"
        if self.material.law == "sand":
            law = "logarithmic strains within a Drucker-Prager surface of the angle of internal friction"
        boundary = (
            "velocities of grid cells near a box are turned along its surface, with Coulomb friction; the influence fades "
            f"over {SOFTNESS} m, and CPIC is off"
        )
        return self.material.translation(law, boundary, "bounded, all cells allocated at the start")

    def reset(self) -> None:
        self.scene.reset(self.origin)

    def step(self, steps: int) -> None:
        for _ in range(steps):
            self.scene.step()

    def _array(self, tensor: Any, *shape: int) -> np.ndarray:
        return tensor.cpu().numpy().reshape(*shape)

    def poses(self, world: int, out: np.ndarray) -> None:
        self.material.poses(self._array(self.entity.get_particles_pos(), -1, 3), out)

    def velocities(self, world: int, out: np.ndarray) -> None:
        self.material.velocities_of(self._array(self.entity.get_particles_vel(), -1, 3), out)

    def spoil(self, world: int) -> None:
        broken = self.entity.get_particles_vel().clone()
        broken.reshape(-1, 3)[0] = float("nan")
        self.entity.set_particles_vel(broken.reshape(-1, 3))

    def counters(self) -> dict[str, Any]:
        if self.scene.mpm_solver.enable_CPIC:
            raise Failed("CPIC is on although nothing asked for it")
        solver = self.scene.mpm_solver
        # P228: each point's; Genesis keeps masses of volumes that are scaled up. Their sum drifts in single precision.
        masses = solver.particles_info.mass.to_numpy().astype(np.float64) / solver._particle_volume_scale
        first = self.entity.particle_start
        active = int(self._array(self.entity.get_particles_active(), -1).sum())
        return self.material.counters(active, masses[first : first + self.entity.n_particles])
