"""Against mujoco_warp's CPU backend: numeric validation and a scoreboard, in one process.

    python -m sim_pipe_batch.against_warp humanoid.xml [--worlds 64,256,1024] [--steps 20] [--no-bench]

Needs the package mujoco-warp, which this one does not depend on. Validation: two worlds, 100 steps, positions
with noise of 0.005, controls between -0.3 and 0.3 drawn anew at every step (seed 0). Scoreboard: both from the
reference at rest, 5 steps to warm up, back to the start, then steps each of which ends before the next begins;
three rounds in turn, the least time counts; one thread each.
"""

import argparse
import time

import mujoco
import mujoco_warp as mjw
import numpy as np
import warp as wp

from sim_pipe_batch import BatchedEngine


def warp_data(model, worlds, qpos):
    """mujoco_warp's data with these positions, at rest."""
    data = mjw.put_data(model, mujoco.MjData(model), nworld=worlds, nconmax=48, njmax=256)
    start(data, qpos)
    return data


def start(data, qpos):
    """Sets positions, and velocities and warm starts to zero."""
    data.qpos.assign(qpos.astype(np.float32))
    data.qvel.zero_()
    data.qacc_warmstart.zero_()


def validate(model, warp_model, worlds=2, steps=100):
    """Prints the largest differences so far at some steps, and how often the number of rows differed."""
    rng = np.random.default_rng(0)
    qpos = np.tile(model.qpos0, (worlds, 1))
    qpos[:, 7:] += 0.005 * rng.standard_normal((worlds, model.nq - 7))
    qpos = qpos.astype(np.float32)
    data = warp_data(model, worlds, qpos)
    engine = BatchedEngine(model, worlds, threads=1)
    engine.set_state(qpos, np.zeros((worlds, model.nv)))
    position = velocity = 0.0
    rows = 0
    for step in range(1, steps + 1):
        ctrl = (0.3 * rng.uniform(-1, 1, (worlds, model.nu))).astype(np.float32)
        data.ctrl.assign(ctrl)
        mjw.step(warp_model, data)
        q, v = engine.step_np(ctrl)
        position = max(position, np.abs(q - data.qpos.numpy()).max())
        velocity = max(velocity, np.abs(v - data.qvel.numpy()).max())
        rows += int((engine.nefc != data.nefc.numpy()).sum())
        if step in (1, 10, 25, 50, 100):
            print(f"step {step:3}: qpos {position:.1e}, qvel {velocity:.1e}, other rows {rows} times")


def scoreboard(model, warp_model, worlds, steps):
    """Prints both engines' times at some numbers of worlds."""
    print("worlds | mujoco_warp ms/substep | batch ms/substep | speedup")
    for n in worlds:
        qpos = np.tile(model.qpos0, (n, 1))
        qvel = np.zeros((n, model.nv))
        data = warp_data(model, n, qpos)
        engine = BatchedEngine(model, n, threads=1)
        for _ in range(5):
            mjw.step(warp_model, data)
            engine.step()
        theirs = ours = float("inf")
        for _ in range(3):
            start(data, qpos)
            clock = time.perf_counter()
            for _ in range(steps):
                mjw.step(warp_model, data)
            theirs = min(theirs, (time.perf_counter() - clock) / steps)
            engine.set_state(qpos, qvel)
            clock = time.perf_counter()
            for _ in range(steps):
                engine.step()
            ours = min(ours, (time.perf_counter() - clock) / steps)
        print(f"{n:6} | {1e3 * theirs:22.2f} | {1e3 * ours:16.3f} | {theirs / ours:6.1f}x")


def main():
    """Command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--worlds", default="64,256,1024")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--no-bench", action="store_true")
    args = parser.parse_args()
    wp.config.quiet = True
    model = mujoco.MjModel.from_xml_path(args.model)
    with wp.ScopedDevice("cpu"):
        warp_model = mjw.put_model(model)
        validate(model, warp_model)
        if not args.no_bench:
            scoreboard(model, warp_model, [int(n) for n in args.worlds.split(",")], args.steps)


if __name__ == "__main__":
    main()
