"""A scene in MuJoCo's terms, for every engine that takes MJCF: the model, the start state, and where each
body's state lies."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sim_engine.contract import Failed, Refused

# Name of the keyframe that a robot starts in.
START = "start"
CONES = ("pyramidal", "elliptic")
SETTINGS = ("cone", "integrator", "iterations")


def text(numbers: Any) -> str:
    """Numbers with the digits that read back to the same double."""
    return " ".join(repr(float(x)) for x in np.atleast_1d(numbers))


def turn(q: Any, v: Any) -> np.ndarray:
    """The vector `v` turned by the unit quaternion `q` (w, x, y, z): v + 2w(u×v) + 2u×(u×v)."""
    u = np.asarray(q[1:], float)
    a = np.cross(u, v)
    return np.asarray(v, float) + 2.0 * (q[0] * a + np.cross(u, a))


def conjugate(q: Any) -> list[float]:
    """The inverse of a unit quaternion."""
    return [q[0], -q[1], -q[2], -q[3]]


def product(a: Any, b: Any) -> list[float]:
    """Hamilton's product of two quaternions w, x, y, z."""
    return [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ]


class Solver:
    """Integrator, friction cone and the most iterations of Newton's method."""

    def __init__(self, job: dict[str, Any], integrators: tuple[str, ...]) -> None:
        """The benchmark's own (Euler, pyramidal cones, 50 iterations), and what the job asks for."""
        given = job.get("settings", {})
        self.named = {name: given[name] for name in SETTINGS if name in given}
        self.integrator = _choice(given, "integrator", integrators, "Euler")
        self.cone = _choice(given, "cone", CONES, "pyramidal")
        self.iterations = count(given, "iterations", 50)

    def impose(self, model: mujoco.MjModel) -> None:
        """Writes what the job asks for into a compiled model that has options of its own."""
        if "integrator" in self.named:
            name = f"mjINT_{self.integrator.upper()}"
            model.opt.integrator = getattr(mujoco.mjtIntegrator, name)
        if "cone" in self.named:
            model.opt.cone = CONES.index(self.cone)
        if "iterations" in self.named:
            model.opt.iterations = self.iterations


def _choice(given: dict[str, Any], name: str, known: tuple[str, ...], usual: str) -> str:
    value = given.get(name, usual)
    if value not in known:
        raise Refused(f"{name} = {value!r}: it takes {', '.join(known)}")
    return value


def count(given: dict[str, Any], name: str, usual: int) -> int:
    """A setting that is a count."""
    value = given.get(name, usual)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 10_000_000:
        raise Refused(f"{name} = {value!r}: it takes 1 to 10000000")
    return value


def geom(body: dict[str, Any]) -> str:
    """A body's shape as MJCF attributes. Contacts of dimension 3 ignore the last two coefficients."""
    (kind, of), = body["shape"].items()
    size = {
        "box": lambda: of["half_extents"],
        "sphere": lambda: [of["radius"]],
        "capsule": lambda: [of["radius"], of["half_length"]],
        "cylinder": lambda: [of["radius"], of["half_length"]],
    }[kind]()
    return f'type="{kind}" size="{text(size)}" friction="{text(body["friction"])} 0.005 0.0001"'


def mjcf(scene: dict[str, Any], solver: Solver) -> str:
    """The whole model. Body i of the scene is `b{i}`, a chain's bodies hang on each other."""
    bodies = scene["bodies"]
    hinges = {h["body"]: h for h in scene["hinges"]}
    children: dict[int | None, list[int]] = {}
    for i, body in enumerate(bodies):
        if body["kind"] == "dynamic":
            children.setdefault(hinges.get(i, {}).get("parent"), []).append(i)

    parts = [
        '<mujoco model="scene"><compiler angle="radian" balanceinertia="false" boundmass="0" '
        f'boundinertia="0"/><option timestep="{text(scene["timestep"])}" '
        f'gravity="{text(scene["gravity"])}" integrator="{solver.integrator}" cone="{solver.cone}" '
        f'solver="Newton" iterations="{solver.iterations}"><flag autoreset="disable"/></option>'
        '<default><geom condim="3" solref="0.02 1" margin="0" gap="0"/></default><worldbody>'
    ]
    for body in bodies:
        if body["kind"] == "static":
            at, to = text(body["position"]), text(body["orientation"])
            parts.append(f'<geom pos="{at}" quat="{to}" {geom(body)}/>')

    def open_body(i: int, parent: int | None) -> str:
        body, hinge = bodies[i], hinges.get(i)
        position, orientation = body["position"], body["orientation"]
        if hinge is None:
            joint = "<freejoint/>"
        else:
            axis = turn(conjugate(orientation), hinge["axis"])
            joint = (
                f'<joint type="hinge" pos="{text(hinge["anchor_local"])}" axis="{text(axis)}" '
                'damping="0" armature="0"/>'
            )
        if parent is not None:
            frame = bodies[parent]
            away = np.subtract(position, frame["position"])
            inverse = conjugate(frame["orientation"])
            position, orientation = turn(inverse, away), product(inverse, orientation)
        return (
            f'<body name="b{i}" pos="{text(position)}" quat="{text(orientation)}">{joint}'
            f'<inertial pos="0 0 0" mass="{text(body["mass"])}" diaginertia="{text(body["inertia"])}"/>'
            f"<geom {geom(body)}/>"
        )

    # Without recursion: a chain may be longer than Python's stack.
    stack: list[tuple[int, int | None] | None] = [(i, None) for i in reversed(children.get(None, []))]
    while stack:
        item = stack.pop()
        if item is None:
            parts.append("</body>")
            continue
        parts.append(open_body(*item))
        stack.append(None)
        stack.extend((child, item[0]) for child in reversed(children.get(item[0], [])))
    parts.append("</worldbody></mujoco>")
    return "".join(parts)


class Start:
    """The compiled model of a scene, its start state, and where each mover's state lies."""

    def __init__(self, scene: dict[str, Any], solver: Solver) -> None:
        self.scene = scene
        self.robot = scene.get("robot")
        source = self.robot["model"] if self.robot else mjcf(scene, solver)
        try:
            self.model = mujoco.MjModel.from_xml_string(source)
        except ValueError as error:
            raise Failed(f"MuJoCo does not compile the scene: {error}") from error
        if self.robot:
            solver.impose(self.model)
        if self.model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_SLEEP:
            raise Failed("sleeping is on although nothing asked for it")
        names = (
            [link["name"] for link in self.robot["links"]]
            if self.robot
            else [f"b{i}" for i, b in enumerate(scene["bodies"]) if b["kind"] == "dynamic"]
        )
        self.bodies = np.array([self._id(mujoco.mjtObj.mjOBJ_BODY, n, "body") for n in names], int)
        # Where the seven positions of a free joint begin; -1 for a body whose pose is computed.
        first = self.model.body_jntadr[self.bodies]
        is_free = (first >= 0) & (self.model.jnt_type[first] == mujoco.mjtJoint.mjJNT_FREE)
        self.free = np.where(is_free, self.model.jnt_qposadr[first], -1)
        self.data = mujoco.MjData(self.model)
        self.put()

    def _id(self, kind: mujoco.mjtObj, name: str, what: str) -> int:
        found = mujoco.mj_name2id(self.model, kind, name)
        if found < 0:
            raise Failed(f"the model has no {what} {name}")
        return found

    def put(self) -> None:
        """Puts the start state into `data`. MuJoCo takes a free joint's linear velocity in the world and its
        angular velocity in the body frame, and a hinge's as the turn against what it hangs on."""
        if self.robot:
            key = self._id(mujoco.mjtObj.mjOBJ_KEY, START, "keyframe")
            mujoco.mj_resetDataKeyframe(self.model, self.data, key)
        else:
            mujoco.mj_resetData(self.model, self.data)
            bodies = self.scene["bodies"]
            hinges = {h["body"]: h for h in self.scene["hinges"]}
            moving = [i for i, b in enumerate(bodies) if b["kind"] == "dynamic"]
            for i, number in zip(moving, self.bodies):
                body, at = bodies[i], self.model.jnt_dofadr[self.model.body_jntadr[number]]
                hinge = hinges.get(i)
                if hinge is None:
                    spin = turn(conjugate(body["orientation"]), body["angular_velocity"])
                    self.data.qvel[at : at + 3] = body["linear_velocity"]
                    self.data.qvel[at + 3 : at + 6] = spin
                else:
                    parent = hinge.get("parent")
                    base = np.zeros(3) if parent is None else bodies[parent]["angular_velocity"]
                    relative = np.subtract(body["angular_velocity"], base)
                    self.data.qvel[at] = np.dot(hinge["axis"], relative)
        mujoco.mj_forward(self.model, self.data)

    def poses(self, qpos: np.ndarray, xpos: Any, xquat: Any, out: np.ndarray) -> None:
        """Poses of the movers into `out`, (movers, 7). `qpos` is the state; `xpos` and `xquat` are functions
        that give the body poses of that very state, called only where a pose has to be computed: a
        step leaves those of the state before its last integration."""
        free = self.free >= 0
        out[free] = qpos[self.free[free][:, None] + np.arange(7)]
        if not free.all() or self.robot:
            rest = slice(None) if self.robot else ~free
            numbers = self.bodies if self.robot else self.bodies[~free]
            out[rest, :3] = xpos()[numbers]
            out[rest, 3:] = xquat()[numbers]

    def velocities(self, qpos: np.ndarray, qvel: np.ndarray, out: np.ndarray) -> None:
        """Velocities of the movers into `out`, (movers, 6), by MuJoCo's kinematics in double precision."""
        self.data.qpos[:], self.data.qvel[:] = qpos, qvel
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_comVel(self.model, self.data)
        found = np.empty(6)
        for row, body in zip(out, self.bodies):
            kind = mujoco.mjtObj.mjOBJ_BODY
            mujoco.mj_objectVelocity(self.model, self.data, kind, int(body), found, 0)
            row[:3], row[3:] = found[3:], found[:3]

    def translation(self, single: bool) -> dict[str, Any]:
        """What becomes of a scene in MuJoCo's terms, as MuJoCo's own adapter says it."""
        option = self.model.opt
        cone = "pyramid of four sides" if option.cone == 0 else "elliptic"
        constant = max(2.0 * option.timestep, 0.02)
        rounded = [
            {"what": "every number", "how": "rounded to single precision"},
        ]
        cones = {"what": "friction cone", "how": f"{cone}, softened as the contact is"}
        if self.robot:
            return {
                "exact": [
                    "links, inertias, joints, limits, armature and joint friction, as joint coordinates",
                    "collision primitives and the floor, as a plane",
                    "position servos: kp·(target − q) − kv·q̇ within their force range",
                    "gravity, timestep, start coordinates",
                    "no contact of a robot with itself, no sleeping",
                ],
                "approximated": [
                    *(rounded if single else []),
                    {
                        "what": "contact",
                        "how": "soft constraint with the model's solref and solimp",
                    },
                    {
                        "what": "friction of a pair",
                        "how": "the larger coefficient, or the geom's of priority",
                    },
                    cones,
                    {
                        "what": "joint limits and joint friction",
                        "how": "soft constraints, default solref",
                    },
                ],
                "dropped": [],
            }
        exact = [
            "shapes and sizes",
            "mass and diagonal inertia",
            "gravity and timestep",
            "start positions and orientations",
            "start velocities (angular ones turned into the body frame)",
            "zero damping, no sleeping",
        ]
        approximated = [
            *(rounded if single else []),
            {
                "what": "contact",
                "how": f"soft constraint, time constant {constant:.4f} s, default solimp",
            },
            {"what": "friction of a pair", "how": "the larger of the two coefficients"},
            cones,
        ]
        if self.scene["hinges"]:
            exact.append("hinges, as joint coordinates: anchors cannot drift")
            approximated.append(
                {
                    "what": "start velocity of hinged bodies",
                    "how": "the part about the hinge axis; a hinge allows no other",
                }
            )
        return {"exact": exact, "approximated": approximated, "dropped": []}


def option_settings(model: mujoco.MjModel) -> dict[str, Any]:
    """The effective settings of a compiled model, by the names that MuJoCo's own adapter uses."""
    option = model.opt
    disabled = mujoco.mjtDisableBit
    return {
        "autoreset": not option.disableflags & disabled.mjDSBL_AUTORESET,
        "cone": CONES[option.cone],
        "disableflags": int(option.disableflags),
        "enableflags": int(option.enableflags),
        "impratio": float(option.impratio),
        "integrator": ("Euler", "RK4", "implicit", "implicitfast")[option.integrator],
        "iterations": int(option.iterations),
        "ls_iterations": int(option.ls_iterations),
        "ls_tolerance": float(option.ls_tolerance),
        "sleeping": bool(option.enableflags & mujoco.mjtEnableBit.mjENBL_SLEEP),
        "solver": ("PGS", "CG", "Newton")[option.solver],
        "timestep": float(option.timestep),
        "tolerance": float(option.tolerance),
    }
