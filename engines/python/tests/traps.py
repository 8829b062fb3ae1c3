"""Traps that engines in Python set, each with the adapter's way out: `traps.py ADAPTER MODULE`.

ADAPTER is the built adapter's tree; SIM_ENGINE_ENVIRONMENT and SIM_ENGINE_CACHE name the environment and compiled
kernels, as for any run of it.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import scenes

ADAPTER, MODULE = Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(ADAPTER / "python"))
sys.path.append(os.path.join(os.environ["SIM_ENGINE_ENVIRONMENT"], "site"))

import importlib  # noqa: E402

import mujoco  # noqa: E402
import numpy as np  # noqa: E402

from sim_engine import contract, environment, mujoco_scene  # noqa: E402


# One for this process: engines settle where it lies when they begin.
CACHE = environment.Cache()


def engine():
    """The adapter's engine in this process."""
    return importlib.import_module(f"sim_engine.{MODULE}").Engine(CACHE)


def build(scene, **more):
    """Its worlds, in the start state."""
    simulation = engine().build(scene, scenes.job(**more))
    simulation.reset()
    return simulation


def poses(simulation, world, count):
    """Poses of a world."""
    out = np.full((count, 7), np.nan)
    simulation.poses(world, out)
    return out


def run(scene, **more):
    """A job in a process of its own: its result, and what it printed to standard output."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "scene.json").write_text(json.dumps(scene))
        (place / "job.json").write_text(json.dumps(scenes.job(**more)))
        (program,) = (ADAPTER / "bin").iterdir()
        done = subprocess.run(
            [program, "run", place / "job.json", place], capture_output=True, text=True, check=True, timeout=1200
        )
        return json.loads((place / "result.json").read_text()), done.stdout


class Traps(unittest.TestCase):
    """What each trap is, and that the adapter does not fall into it."""

    def test_poses_are_those_of_the_state_and_not_one_step_late(self):
        """After a step MuJoCo's `xpos` still is that of the state before; at 10 m/s that is 4 cm."""
        model = mujoco.MjModel.from_xml_string(
            '<mujoco><option timestep="0.01"/><worldbody><body pos="0 0 9"><freejoint/>'
            '<geom size="0.1"/></body></worldbody></mujoco>'
        )
        data = mujoco.MjData(model)
        data.qvel[2] = -10.0
        mujoco.mj_step(model, data)
        self.assertGreater(abs(data.xpos[1, 2] - data.qpos[2]), 0.09, "the trap is there")
        # A hinged body's pose has to be computed. Its angle after n steps of first-order Euler, in double
        # precision, from MuJoCo itself.
        simulation = build(scenes.pendulum())
        simulation.step(24)
        simulation.sync()
        start = mujoco_scene.Start(scenes.pendulum(), mujoco_scene.Solver(scenes.job(), ("Euler",)))
        for _ in range(24):
            mujoco.mj_step(start.model, start.data)
        late = start.data.xpos[1].copy()
        mujoco.mj_kinematics(start.model, start.data)
        found = poses(simulation, 1, 1)[0, :3]
        self.assertLess(np.abs(found - start.data.xpos[1]).max(), 1e-5)
        self.assertGreater(np.abs(found - late).max(), 1e-3)

    def test_free_fall_and_a_spin_about_the_worlds_axis(self):
        """Free joints take angular velocity in the body's axes (P193): a spin that is not turned there is
        about another axis."""
        simulation = build(scenes.falling())
        simulation.step(240)
        simulation.sync()
        for world in range(2):
            found = poses(simulation, world, 2)
            # First-order Euler: g·dt·t/2 below the closed form.
            z = 40.0 - 9.81 * scenes.DT**2 * 240 * 241 / 2
            self.assertLess(np.abs(found[:, 2] - z).max(), 2e-4)
            self.assertLess(abs(found[1, 0] - 3.5), 1e-5)
            turned = mujoco_scene.product([math.cos(1.0), 0, 0, math.sin(1.0)], [0.5**0.5] * 2 + [0, 0])
            self.assertGreater(abs(np.dot(turned, found[1, 3:])), 1 - 1e-5)
        v = np.full((2, 6), np.nan)
        simulation.velocities(0, v)
        self.assertLess(np.abs(v[1] - [0.5, 0, -9.81, 0, 0, 2.0]).max(), 1e-3)

    def test_what_diverged_stays_so(self):
        """MuJoCo puts a diverged world back to its start and says so in a counter alone; what looks finite
        then is a fresh start."""
        simulation = build(scenes.resting(2))
        self.break_world(simulation, 1)
        simulation.step(4)
        simulation.sync()
        self.assertFalse(np.isfinite(poses(simulation, 1, 2)).all())
        self.assertTrue(np.isfinite(poses(simulation, 0, 2)).all(), "the other world is whole")
        simulation.reset()
        simulation.step(4)
        self.assertTrue(np.isfinite(poses(simulation, 1, 2)).all(), "a reset mends it")

    def break_world(self, simulation, world):
        """A velocity that is no number."""
        simulation.spoil(world)

    def test_runs_and_a_reset_end_in_the_same_bits_or_say_why_not(self):
        """As the description promises."""
        promise = engine().describe()["capabilities"]["repeatability"]
        simulation = build(scenes.resting(3))
        ends = []
        for _ in range(2):
            simulation.reset()
            simulation.step(24)
            ends.append(poses(simulation, 0, 3))
        simulation.reset()
        simulation.step(7)
        poses(simulation, 0, 3)
        simulation.step(17)
        ends.append(poses(simulation, 0, 3))
        if promise["status"] == "bitwise":
            self.assertTrue((ends[0] == ends[1]).all() and (ends[0] == ends[2]).all())
        else:
            self.assertTrue(promise["reason"])
            self.assertLess(np.abs(ends[0] - ends[1]).max(), 1e-3)

    def test_settings_of_another_solver_are_refused(self):
        """No silent default in place of what was asked for."""
        for settings, said in [
            ({"integrator": "RK5"}, "integrator = 'RK5'"),
            ({"cone": "round"}, "cone = 'round'"),
            ({"iterations": 0}, "iterations = 0"),
        ]:
            result, _ = run(scenes.resting(1), settings=settings)
            self.assertEqual(result["outcome"]["status"], "refused")
            self.assertIn(said, result["outcome"]["reason"])
        result, _ = run(scenes.resting(1), settings={"speed": 2})
        self.assertEqual(result["outcome"]["status"], "unsupported")

    def test_what_prints_to_standard_output_is_not_taken_for_an_answer(self):
        """Kernels print to file descriptor 1, past Python."""
        main = ADAPTER / "python/sim_engine/main.py"
        code = (
            f"import sys; sys.argv = [{str(main)!r}]; import runpy; "
            f"m = runpy.run_path({str(main)!r}); import os; os.system('echo noise'); "
            "os.write(m['STDOUT'], b'answer')"
        )
        done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=True)
        self.assertEqual((done.stdout, done.stderr.strip()), (b"answer", b"noise"))
        _, printed = run(scenes.resting(1), steps=2)
        self.assertEqual(printed, "")


class MujocoWarp(Traps):
    """Traps of MuJoCo Warp, and of Newton, which has it inside."""

    def test_an_overflow_fails_the_run_whatever_is_printed(self):
        """A contact or a row without room is dropped; what remains looks like a result. The bits of every step
        count, so one that came and went is found, too."""
        drop = scenes.resting(4, above=0.002)
        result, printed = run(drop, settings={"rows": 60})
        self.assertEqual(result["outcome"]["status"], "error", "four of 64 rows are lost")
        self.assertIn("dropped for want of room", result["outcome"]["reason"])
        self.assertEqual(printed, "")
        for settings in ({"rows": 16}, {"contacts": 5}):
            result, _ = run(drop, settings=settings)
            self.assertGreater(result["counters"]["overflow"], 0)
            self.assertIn(result["outcome"]["status"], ("error", "gate_failed"))
        result, _ = run(scenes.resting(4), settings={"rows": 16})
        self.assertIn(result["outcome"]["status"], ("error", "gate_failed"))
        result, _ = run(drop)
        self.assertEqual((result["outcome"]["status"], result["counters"]["overflow"]), ("ok", 0))
        self.assertGreater(result["counters"]["contacts"], 16, "two worlds of four boxes")


class Newton(MujocoWarp):
    """Traps of Newton, material points among them."""

    def test_points_fall_as_one_body_until_they_touch(self):
        """Their centre against the closed form: first-order Euler of the substeps is g·dt·t/2 below it."""
        simulation = build(scenes.points("elastic", height=0.2), worlds=1)
        simulation.step(24)
        simulation.sync()
        found = poses(simulation, 0, 512)
        t = 24 * scenes.DT
        late = 9.81 * scenes.DT / 20 * t / 2
        self.assertAlmostEqual(found[:, 2].mean(), 0.4 - 9.81 * t**2 / 2 - late, delta=2e-5)
        self.assertLess(np.abs(found[:, :2].mean(0)).max(), 1e-6)
        self.assertTrue((found[:, 3:] == [1.0, 0.0, 0.0, 0.0]).all())
        v = np.full((512, 6), np.nan)
        simulation.velocities(0, v)
        self.assertLess(np.abs(v - [0, 0, -9.81 * t, 0, 0, 0]).max(), 1e-3)

    def test_sand_is_finite_on_the_bases_that_are_used(self):
        """Quadratic velocities with the default strains gave sand that was no number (P242)."""
        simulation = build(scenes.points("sand"), worlds=1)
        simulation.step(12)
        simulation.sync()
        found = poses(simulation, 0, 512)[:, :3]
        self.assertTrue(np.isfinite(found).all())
        self.assertGreater(found[:, 2].min(), -0.1)
        self.assertLess(found[:, 2].mean(), 0.2 - 1e-3, "the column gives way")
        said = simulation.settings()
        self.assertEqual(
            [said[n] for n in ("velocity_basis", "strain_basis", "collider_basis")], ["Q1", "P0", "pic"]
        )
        self.assertAlmostEqual(said["friction_within"], 0.69282, places=5)
        self.assertEqual((said["substeps"], said["friction_of_walls"]), (20, 0.5))

    def test_a_reset_forgets_what_the_points_went_through(self):
        """Warm starts and grids of an earlier run would lead elsewhere (P229)."""
        simulation = build(scenes.points("elastic"), worlds=1)
        ends = []
        for broken in (False, True):
            simulation.reset()
            simulation.step(2)
            ends.append(poses(simulation, 0, 512))
            if not broken:
                # A grid around a point that is nowhere cannot be made, which ends a run.
                self.break_world(simulation, 0)
                with self.assertRaises(Exception):
                    simulation.step(1)
        self.assertTrue((ends[0] == ends[1]).all())

    def test_points_are_judged_by_gates_of_their_own(self):
        """A job in a process of its own; settings of rigid bodies say nothing of points, and the other way."""
        result, _ = run(scenes.points("elastic"), worlds=1, steps=1)
        self.assertEqual(result["outcome"]["status"], "ok", result["outcome"])
        gates = {gate["id"]: gate for gate in result["gates"]}
        self.assertEqual(len(gates), 7)
        self.assertEqual(gates["floor_penetration"]["limit"], 0.1)
        self.assertEqual(result["counters"]["particles"], 512)
        for scene, settings in [
            (scenes.points("elastic"), {"cone": "elliptic"}),
            (scenes.points("elastic"), {"grid": "round"}),
            (scenes.resting(1), {"grid": "dense"}),
        ]:
            result, _ = run(scene, worlds=1, steps=1, settings=settings)
            self.assertEqual(result["outcome"]["status"], "refused", result["outcome"])
        result, _ = run(scenes.points("elastic"), worlds=2, steps=1)
        self.assertIn("one world", result["outcome"]["reason"])


class Mjx(Traps):
    """Traps of MJX."""

    def test_a_shape_that_waits_for_itself_with_two_threads_ends(self):
        """Eight boxes in sixteen worlds: with XLA's own number of threads on two processors, every run of this
        compiled and then waited for ever."""
        result, _ = run(scenes.resting(8), worlds=16, steps=4)
        self.assertEqual(result["outcome"]["status"], "ok", result["outcome"])
        simulation = build(scenes.falling())
        self.assertEqual(os.environ["NPROC"], "1")
        self.assertEqual(simulation.state.qpos.dtype, np.float32)
        self.assertIn("Cpu", simulation.device)

    def test_what_its_collisions_lack_is_unsupported_and_not_left_out(self):
        """A cylinder meets planes alone in MJX."""
        scene = scenes.resting(1)
        scene["bodies"][1]["shape"] = {"cylinder": {"radius": 0.1, "half_length": 0.1}}
        result, _ = run(scene, steps=2)
        self.assertEqual(result["outcome"]["status"], "unsupported")
        self.assertIn("cylinder", result["outcome"]["reason"])


class Genesis(Traps):
    """Traps of Genesis."""

    def test_what_diverged_stays_so(self):
        """Genesis marks a state that is no number and looks at the mark now and then; a run must not end before
        someone looked."""
        simulation = build(scenes.resting(2))
        self.break_world(simulation, 1)
        with self.assertRaises(contract.Failed):
            simulation.step(4)
            simulation.sync()
        simulation.reset()
        simulation.step(4)
        simulation.sync()
        self.assertTrue(np.isfinite(poses(simulation, 1, 2)).all(), "a reset mends it")

    def test_friction_and_contact_are_what_was_asked_for(self):
        """Genesis has defaults of its own: 25 iterations, a contact of 10 ms, torsion and rolling left out of what a
        file asks for, and shapes of one file that begin in touch pass through each other."""
        simulation = build(scenes.resting(1))
        said = simulation.settings()
        for name, value in [
            ("cone", "pyramidal"),
            ("contact_resolution", "convex"),
            ("impratio", 1.0),
            ("iterations", 50),
            ("time_constant", 0.02),
            ("integrator", "Euler"),
            ("hibernation", False),
            ("torsional_friction", False),
            ("sdf_max_res", 16),
            ("sdf_active", False),
            ("pairs", 150),
        ]:
            self.assertEqual(said[name], value, name)
        stack = scenes.resting(3)
        for level, box in enumerate(stack["bodies"][1:]):
            box["position"] = [0.0, 0.0, 0.1 + 0.2 * level]
        simulation = build(stack)
        simulation.step(48)
        simulation.sync()
        heights = poses(simulation, 1, 3)[:, 2]
        self.assertLess(np.abs(heights - [0.1, 0.3, 0.5]).max(), 2e-3)

    def test_a_lack_of_room_halts_the_run(self):
        """A pair without room is no contact; what remains looks like a result."""
        result, _ = run(scenes.resting(8), settings={"pairs": 2}, steps=4)
        self.assertEqual(result["outcome"]["status"], "error", result["outcome"])

    def test_points_fall_as_one_body_until_they_touch(self):
        """As for Newton; and each point has its mass, CPIC is off, and the grid ends outside the tank."""
        simulation = build(scenes.points("elastic", height=0.2), worlds=1)
        simulation.step(24)
        simulation.sync()
        found = poses(simulation, 0, 512)
        t = 24 * scenes.DT
        late = 9.81 * scenes.DT / 20 * t / 2
        self.assertAlmostEqual(found[:, 2].mean(), 0.4 - 9.81 * t**2 / 2 - late, delta=2e-5)
        counters = simulation.counters()
        self.assertEqual((counters["particles"], counters["active_particles"]), (512, 512))
        self.assertLess(counters["particle_mass_error"], 1e-6)
        said = simulation.settings()
        self.assertFalse(said["cpic"])
        self.assertLess(said["lower"], -0.39)


if __name__ == "__main__":
    case = {"mujoco_warp": MujocoWarp, "newton": Newton, "mjx": Mjx, "genesis": Genesis}[MODULE]
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(case)
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())
