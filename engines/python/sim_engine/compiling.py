"""Compiling the kernels that a job needs, ahead of any run of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Callable

import mujoco
import numpy as np

from sim_engine import contract
from sim_engine.environment import Cache

# Two, because the first step after a reset may take another path than those that follow.
STEPS = 2


def run(make: Callable[[Cache], contract.Engine], job_file: Path, out: Path) -> int:
    """Builds the worlds of a job, steps them, and leaves the kernels in `out`. Gives the exit code. What goes
    wrong here is no failure of its own: the run of the job meets the same and says so in its result."""
    job = json.loads(job_file.read_text())
    engine = make(Cache(out))
    try:
        if "model" in job:
            driven(engine, job, job_file.parent)
            return 0
        scene = json.loads((job_file.parent / job["scene"]).read_text())
        known = engine.describe()["capabilities"]["settings"]
        for name in job.get("settings", {}):
            if name not in known:
                raise contract.Unsupported(f"setting {name}")
        simulation = engine.build(scene, job)
        simulation.reset()
        simulation.step(STEPS)
        simulation.sync()
    except Exception as error:  # noqa: BLE001 - see above
        print(f"not everything was compiled: {type(error).__name__}: {error}", file=sys.stderr)
    return 0


def driven(engine: contract.Engine, job: dict[str, Any], folder: Path) -> None:
    """Compiles what a job of `drive` needs."""
    model = mujoco.MjModel.from_xml_string((folder / job["model"]).read_text())
    model.opt.timestep = job["timestep"]
    batch = engine.batch(model, job)
    for _ in range(STEPS):
        batch.reset(np.ones(batch.worlds, bool))
        batch.step(np.zeros((batch.worlds, model.nu)))
