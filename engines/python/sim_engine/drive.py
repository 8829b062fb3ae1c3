"""The vehicle in a batch: `drive JOB.json OUT_DIR`.

All worlds hold one vehicle, driven by a schedule of actions or by a law that differs from world to
world, with worlds put back to the start by turns. What is noted after every physics step is what the
plant of `engines/vehicle` notes; its definitions are in `scenes/vehicle/model/src/telemetry.rs`.
The job's fields and those of `run.json` are in `docs/vehicle.md`.
"""

from __future__ import annotations

import json
import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import mujoco
import numpy as np

from sim_engine.contract import Failed

FORMAT = 1
COLUMNS = 36
WHEELS = ("front_left", "front_right", "rear_left", "rear_right")
# Below this spin, rad/s, a brake takes its sign from the body; below this speed, m/s, it does nothing to
# a wheel that does not spin.
SPINS, MOVES = 0.5, 0.1


@dataclass
class Contacts:
    """What touches what after a physics step, over all worlds: one entry a contact."""

    world: np.ndarray
    # (contacts, 2), geom numbers.
    geoms: np.ndarray
    # Negative inside each other, m.
    distance: np.ndarray
    # N.
    normal: np.ndarray


class Batch(ABC):
    """Worlds of one model that a batched engine steps. Arrays have a row a world."""

    worlds: int

    @abstractmethod
    def state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates, velocities and simulated times, as double precision or as they are."""

    @abstractmethod
    def step(self, ctrl: np.ndarray) -> None:
        """One physics step of every world with these controls, (worlds, actuators); returns when it is
        done."""

    @abstractmethod
    def reset(self, mask: np.ndarray) -> None:
        """Puts the worlds where `mask` holds into the start state."""

    @abstractmethod
    def contacts(self) -> Contacts:
        """Contacts of the last step."""

    @abstractmethod
    def room(self) -> dict[str, tuple[int, int]]:
        """By kind (`contacts`, `collisions`, `constraints`): what the last step asked for at most and what
        there is room for, in the same unit. Kinds that the engine does not count are left out."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """`engine`, `version`, `backend`, `precision` and whatever else tells what ran."""


class Vehicle:
    """Where everything is in the model, and the limits of the configuration."""

    def __init__(self, model: mujoco.MjModel, config: dict[str, Any]) -> None:
        kinds = mujoco.mjtObj

        def number(kind: Any, name: str) -> int:
            found = mujoco.mj_name2id(model, kind, name)
            if found < 0:
                raise Failed(f"the model has no {name}")
            return found

        joints = [number(kinds.mjOBJ_JOINT, f"{w}_wheel") for w in WHEELS]
        steers = [number(kinds.mjOBJ_JOINT, f"{w}_steer") for w in WHEELS[:2]]
        self.spin = model.jnt_dofadr[joints]
        self.steer = model.jnt_qposadr[steers]
        self.ground = number(kinds.mjOBJ_GEOM, "ground")
        wheels = [number(kinds.mjOBJ_GEOM, f"{w}_wheel_geom") for w in WHEELS]
        # By geom number, which wheel it is; -1 for others.
        self.wheel_of = np.full(model.ngeom, -1)
        self.wheel_of[wheels] = range(4)
        steering = [number(kinds.mjOBJ_ACTUATOR, f"{w}_steer_position") for w in WHEELS[:2]]
        drive = [number(kinds.mjOBJ_ACTUATOR, f"{w}_drive") for w in WHEELS]
        self.steering, self.drive, self.actuators = steering, drive, model.nu
        self.rear_axle = model.site_pos[number(kinds.mjOBJ_SITE, "rear_axle_reference")].copy()
        actuator, vehicle = config["actuator"], config["vehicle"]
        self.angle = actuator["max_steering_angle_rad"]
        self.most, self.least = (
            actuator["max_acceleration_mps2"],
            -actuator["max_deceleration_mps2"],
        )
        self.control_dt = config["simulation"]["control_dt_s"]
        self.turn = actuator["max_steering_rate_rad_s"] * self.control_dt
        self.torque = vehicle["mass_kg"] * vehicle["wheel_radius_m"] / 4.0
        self.dt = model.opt.timestep
        self.substeps = round(self.control_dt / self.dt)
        if abs(self.control_dt / self.dt - self.substeps) > 1e-9 or self.substeps < 1:
            raise Failed(f"a control step of {self.control_dt} s is no whole number of {self.dt} s")


def rotation(q: np.ndarray) -> np.ndarray:
    """Rotation matrices of unit quaternions w, x, y, z: (worlds, 3, 3)."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


class State:
    """The public state of every world, from coordinates and velocities."""

    def __init__(self, vehicle: Vehicle, qpos: np.ndarray, qvel: np.ndarray) -> None:
        q, v = np.asarray(qpos, float), np.asarray(qvel, float)
        self.qpos, self.qvel = q, v
        r = rotation(q[:, 3:7])
        self.position = q[:, :3] + r @ vehicle.rear_axle
        self.turning = v[:, 3:6]
        lever = np.cross(self.turning, vehicle.rear_axle)
        self.velocity = np.einsum("wji,wj->wi", r, v[:, :3]) + lever
        self.angles = np.stack(
            [
                np.arctan2(r[:, 2, 1], r[:, 2, 2]),
                np.arctan2(-r[:, 2, 0], np.hypot(r[:, 0, 0], r[:, 1, 0])),
                np.arctan2(r[:, 1, 0], r[:, 0, 0]),
            ],
            axis=1,
        )
        self.spin = v[:, vehicle.spin]
        self.speed = self.velocity[:, 0]


def torques(vehicle: Vehicle, acceleration: np.ndarray, state: State) -> np.ndarray:
    """Torque at each wheel, N·m, (worlds, 4). A brake opposes the spin; it vanishes at rest, so that it never
    drives backwards."""
    a, v = acceleration[:, None], state.speed[:, None]
    magnitude = vehicle.torque * np.abs(a)
    moving = np.where(np.abs(v) >= MOVES, -magnitude * np.sign(v), 0.0)
    brake = np.where(np.abs(state.spin) >= SPINS, -magnitude * np.sign(state.spin), moving)
    return np.where(a > 0, magnitude, np.where(a < 0, brake, 0.0))


def schedule(actions: list[dict[str, float]], worlds: int) -> Callable[..., np.ndarray]:
    """Actions by time, the same in every world; nothing elsewhere."""

    def act(step: int, seconds: float, speed: np.ndarray) -> np.ndarray:
        for a in actions:
            # Times are multiples of the control step, up to rounding.
            if a["from_s"] - 1e-9 < seconds <= a["to_s"] - 1e-9:
                return np.tile([a.get("steering", 0.0), a.get("acceleration", 0.0)], (worlds, 1))
        return np.zeros((worlds, 2))

    return act


def law(of: dict[str, Any], worlds: int) -> Callable[..., np.ndarray]:
    """A speed that each world holds and a sine that it steers, out of phase with the others."""
    world = np.arange(worlds)
    target = of["target_mps"] + of["target_step_mps"] * (world % of["targets"])
    phase = 2.0 * math.pi * world / worlds

    def act(step: int, seconds: float, speed: np.ndarray) -> np.ndarray:
        action = np.zeros((worlds, 2))
        if step >= of["speed_from_step"]:
            action[:, 1] = np.clip(of["gain"] * (target - speed), of["least"], of["most"])
        if step >= of["steering_from_step"]:
            turn = 2.0 * math.pi * seconds / of["steering_period_s"]
            action[:, 0] = of["steering_amplitude_rad"] * np.sin(turn + phase)
        return action

    return act


class Interval:
    """What is noted over the physics steps of a control step: a row a world."""

    def __init__(self, worlds: int) -> None:
        self.penetration = np.zeros(worlds)
        self.touched = np.zeros((worlds, 4))
        self.load = np.zeros((worlds, 4))
        self.unexpected = np.zeros(worlds, int)
        self.tilt = np.zeros(worlds)
        self.vertical = np.zeros(worlds)
        self.gap = np.zeros(worlds, int)


class Driver:
    """Drives a batch and notes what comes of it."""

    def __init__(self, batch: Batch, vehicle: Vehicle) -> None:
        self.batch, self.vehicle = batch, vehicle
        self.target = np.zeros(batch.worlds)
        # Consecutive physics steps without contact, by wheel.
        self.open = np.zeros((batch.worlds, 4), int)
        self.look()

    def look(self) -> State:
        """Reads the state."""
        qpos, qvel, self.time = self.batch.state()
        self.state = State(self.vehicle, qpos, qvel)
        return self.state

    def note(self, interval: Interval, count_gaps: bool = True) -> None:
        """Notes contacts and state after a physics step."""
        v, found = self.vehicle, self.batch.contacts()
        first, second = found.geoms[:, 0], found.geoms[:, 1]
        grounded = (first == v.ground) | (second == v.ground)
        wheel = v.wheel_of[np.where(first == v.ground, second, first)]
        expected = grounded & (wheel >= 0)
        np.maximum.at(interval.penetration, found.world, -found.distance)
        loads, hits = np.zeros((self.batch.worlds, 4)), np.zeros((self.batch.worlds, 4), bool)
        at = (found.world[expected], wheel[expected])
        np.add.at(loads, at, found.normal[expected])
        hits[at] = True
        strange = np.bincount(found.world[~expected], minlength=self.batch.worlds)
        interval.unexpected = np.maximum(interval.unexpected, strange)
        interval.touched += hits
        interval.load += loads
        if count_gaps:
            self.open = np.where(hits, 0, self.open + 1)
            interval.gap = np.maximum(interval.gap, self.open.max(axis=1))
        s = self.state
        interval.tilt = np.maximum(interval.tilt, np.abs(s.angles[:, :2]).max(axis=1))
        interval.vertical = np.maximum(interval.vertical, np.abs(s.velocity[:, 2]))

    def control_step(self, action: np.ndarray, after: Callable[[State], None]) -> Interval:
        """One control step with an action a world; `after` is called after every physics step."""
        v = self.vehicle
        steering = np.clip(action[:, 0], -v.angle, v.angle)
        self.applied = np.stack([steering, np.clip(action[:, 1], v.least, v.most)], axis=1)
        self.clipped = (self.applied != action).sum(axis=1)
        self.target = self.target + np.clip(steering - self.target, -v.turn, v.turn)
        interval = Interval(self.batch.worlds)
        ctrl = np.zeros((self.batch.worlds, v.actuators))
        ctrl[:, v.steering] = self.target[:, None]
        for _ in range(v.substeps):
            ctrl[:, v.drive] = torques(v, self.applied[:, 1], self.state)
            self.batch.step(ctrl)
            self.look()
            self.note(interval)
            after(self.state)
        return interval

    def reset(self, mask: np.ndarray) -> None:
        """Puts worlds back to the start."""
        self.batch.reset(mask)
        self.target[mask] = 0.0
        self.open[mask] = 0
        self.look()

    def row(self, interval: Interval, substeps: int) -> np.ndarray:
        """Telemetry of world 0."""
        s, v = self.state, self.vehicle
        applied = getattr(self, "applied", np.zeros((1, 2)))
        clipped = getattr(self, "clipped", np.zeros(1))
        row = np.concatenate(
            [
                [self.time[0]],
                s.position[0],
                s.angles[0],
                s.velocity[0],
                s.turning[0],
                [s.qpos[0, v.steer].mean()],
                s.spin[0],
                [interval.penetration[0]],
                interval.touched[0] / substeps,
                interval.load[0] / substeps,
                [interval.unexpected[0], 0.0, interval.tilt[0], interval.vertical[0]],
                [interval.gap[0] * v.dt],
                applied[0],
                [self.target[0], clipped[0]],
            ]
        )
        if len(row) != COLUMNS:
            raise Failed(f"a row of {len(row)} columns instead of {COLUMNS}")
        return row


class Chunk:
    """Extremes over the physics steps of a chunk, of all worlds."""

    def __init__(self) -> None:
        self.finite, self.monotonic = True, True
        self.z = [math.inf, -math.inf]
        self.most = {
            name: 0.0
            for name in ("planar_speed", "quaternion_error", "qvel", "penetration", "gap", "tilt")
        }
        self.most.update(vertical_speed=0.0, unexpected=0.0)
        self.touched: np.ndarray | float = 0.0
        self.steps = 0
        self.room: dict[str, list[int]] = {}

    def after(self, driver: Driver, before: np.ndarray) -> Callable[[State], None]:
        """What is looked at after every physics step. `before` holds the times of the step before."""

        def look(s: State) -> None:
            self.finite &= bool(np.isfinite(s.qpos).all() and np.isfinite(s.qvel).all())
            self.monotonic &= bool((driver.time > before).all())
            before[:] = driver.time
            z = s.qpos[:, 2]
            self.z = [min(self.z[0], float(z.min())), max(self.z[1], float(z.max()))]
            self.up("planar_speed", np.hypot(s.qvel[:, 0], s.qvel[:, 1]))
            self.up("quaternion_error", np.abs(np.linalg.norm(s.qpos[:, 3:7], axis=1) - 1.0))
            self.up("qvel", np.abs(s.qvel))
            for kind, (asked, there) in driver.batch.room().items():
                had = self.room.setdefault(kind, [0, there])
                had[0] = max(had[0], asked)

        return look

    def up(self, name: str, values: np.ndarray) -> None:
        """Raises an extreme."""
        self.most[name] = max(self.most[name], float(np.max(values)))

    def add(self, interval: Interval, vehicle: Vehicle) -> None:
        """Adds a control step."""
        for name, values in [
            ("penetration", interval.penetration),
            ("gap", interval.gap * vehicle.dt),
            ("tilt", interval.tilt),
            ("vertical_speed", interval.vertical),
            ("unexpected", interval.unexpected),
        ]:
            self.up(name, values)
        self.touched = self.touched + interval.touched
        self.steps += vehicle.substeps

    def document(self, wall_ns: int, resets: int, invalid: int, memory: int | None) -> dict[str, Any]:
        """As it stands in `run.json`. Numbers that are not finite are null: `finite` says so."""
        numbers = {
            "z_least_m": self.z[0],
            "z_most_m": self.z[1],
            "planar_speed_mps": self.most["planar_speed"],
            "quaternion_error": self.most["quaternion_error"],
            "qvel_most": self.most["qvel"],
            "penetration_m": self.most["penetration"],
            "gap_s": self.most["gap"],
            "tilt_rad": self.most["tilt"],
            "vertical_speed_mps": self.most["vertical_speed"],
            "unexpected_contacts": self.most["unexpected"],
            # Of each world, the part of wheels and physics steps with contact; the least of them.
            "coverage_least": float(np.min(np.mean(self.touched, axis=1)) / self.steps),
        }
        numbers = {n: value if math.isfinite(value) else None for n, value in numbers.items()}
        return {
            "finite": self.finite,
            "time_monotonic": self.monotonic,
            "wall_ns": wall_ns,
            "resets": resets,
            "invalid_actions": invalid,
            "memory_bytes": memory,
            "room": {kind: {"asked": a, "there": t} for kind, (a, t) in self.room.items()},
            **numbers,
        }


def drive(
    batch: Batch,
    vehicle: Vehicle,
    job: dict[str, Any],
    out: Path,
    memory: Callable[[], int | None],
) -> dict[str, Any]:
    """Runs a job and writes telemetry; gives what else stands in `run.json`."""
    worlds = batch.worlds
    act = law(job["law"], worlds) if "law" in job else schedule(job["actions"], worlds)
    start = time.perf_counter_ns()
    if job["warmup_chunks"]:
        run(batch, vehicle, act, job, job["warmup_chunks"] * job["chunk_steps"], None, memory)
    warmup_ns = time.perf_counter_ns() - start
    batch.reset(np.ones(worlds, bool))
    memory_at_start = memory()
    rows: list[np.ndarray] | None = [] if job.get("telemetry") else None
    chunks = run(batch, vehicle, act, job, job["steps"], rows, memory)
    if rows is not None:
        (out / "telemetry.bin").write_bytes(np.array(rows, "<f8").tobytes())
    last = np.concatenate([np.asarray(a, float) for a in batch.state()[:2]], axis=1)
    return {
        "warmup_ns": warmup_ns,
        "memory_at_start_bytes": memory_at_start,
        "measured_ns": sum(c["wall_ns"] for c in chunks),
        "unique_terminal_states": len(np.unique(last, axis=0)),
        "chunks": chunks,
    }


def run(
    batch: Batch,
    vehicle: Vehicle,
    act: Callable[..., np.ndarray],
    job: dict[str, Any],
    steps: int,
    rows: list[np.ndarray] | None,
    memory: Callable[[], int | None],
) -> list[dict[str, Any]]:
    """Control steps from the start state; a document for each chunk."""
    driver = Driver(batch, vehicle)
    resets = job.get("resets")
    group = np.arange(batch.worlds) % resets["groups"] if resets else None
    if rows is not None:
        interval = Interval(batch.worlds)
        driver.note(interval, count_gaps=False)
        rows.append(driver.row(interval, 1))
    before = np.asarray(driver.time, float).copy()
    chunks, at = [], 0
    while at < steps:
        count = min(job["chunk_steps"], steps - at)
        chunk, put_back, invalid = Chunk(), 0, 0
        after = chunk.after(driver, before)
        begin = time.perf_counter_ns()
        for step in range(at, at + count):
            if resets and step and step % resets["every_steps"] == 0:
                mask = group == (step // resets["every_steps"] - 1) % resets["groups"]
                if mask.any():
                    driver.reset(mask)
                    before[mask] = -1.0
                    put_back += int(mask.sum())
            action = act(step, step * vehicle.control_dt, driver.state.speed)
            invalid += int((~np.isfinite(action)).any(axis=1).sum())
            interval = driver.control_step(action, after)
            chunk.add(interval, vehicle)
            if rows is not None:
                rows.append(driver.row(interval, vehicle.substeps))
        wall = time.perf_counter_ns() - begin
        chunks.append(chunk.document(wall, put_back, invalid, memory()))
        at += count
    return chunks


def serve(
    make: Callable[[mujoco.MjModel, dict[str, Any]], Batch],
    job_file: Path,
    out: Path,
    memory: Callable[[], int | None],
) -> int:
    """Runs `drive JOB.json OUT_DIR`: `run.json`, and `telemetry.bin` where the job asks for it. Gives the exit
    code: 0 where `run.json` was written. What goes wrong in the simulation stands there as `error`."""
    job = json.loads(job_file.read_text())
    if job.get("format") != FORMAT:
        raise SystemExit(f"the job has format {job.get('format')}, this adapter knows {FORMAT}")
    model = mujoco.MjModel.from_xml_string((job_file.parent / job["model"]).read_text())
    model.opt.timestep = job["timestep"]
    vehicle = Vehicle(model, job["config"])
    start = time.perf_counter_ns()
    batch = make(model, job)
    batch.reset(np.ones(batch.worlds, bool))
    setup_ns = time.perf_counter_ns() - start
    said: dict[str, Any] = {
        "format": FORMAT,
        **batch.describe(),
        "worlds": job["worlds"],
        "steps": job["steps"],
        "substeps": vehicle.substeps,
        "setup_ns": setup_ns,
        "chunks": [],
        "error": None,
    }
    try:
        said.update(drive(batch, vehicle, job, out, memory))
    except (Failed, FloatingPointError) as error:
        said["error"] = str(error)
    (out / "run.json").write_text(json.dumps(said, indent=1, allow_nan=False) + "\n")
    return 0
