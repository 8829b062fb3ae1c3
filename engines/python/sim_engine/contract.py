"""What an adapter in Python implements, and how it says that it cannot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

# Version of the job, result and description documents.
PROTOCOL = 1


class AdapterError(Exception):
    """The job ends with an outcome other than `ok`; the text is its reason."""

    code = 4


class Unsupported(AdapterError):
    """The engine or this build cannot do it."""

    code = 1


class Refused(AdapterError):
    """It could, but a limit forbids it."""

    code = 2


class OutOfMemory(AdapterError):
    """It could not allocate what this size needs."""

    code = 3


class Failed(AdapterError):
    """Something broke."""


class Engine(ABC):
    """An engine behind the protocol."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The description document. Runs no physics."""

    @abstractmethod
    def build(self, scene: dict[str, Any], job: dict[str, Any]) -> Simulation:
        """Builds and compiles every world of the job, so that stepping compiles nothing more."""


class Simulation(ABC):
    """All worlds of one job, built."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The effective settings, read back from the engine where it lets us."""

    @abstractmethod
    def translation(self) -> dict[str, Any]:
        """What became of the scene: `exact`, `approximated` (of `what` and `how`), `dropped`."""

    @abstractmethod
    def reset(self) -> None:
        """Every world into its start state, solver buffers and warm starts included."""

    @abstractmethod
    def step(self, steps: int) -> None:
        """Advances every world by `steps` steps. The measured interval is one such call."""

    def sync(self) -> None:
        """Waits until everything asked for is done."""

    @abstractmethod
    def poses(self, world: int, out: np.ndarray) -> None:
        """Poses of the movers of a world in scene order: (movers, 7), position x, y, z in m and
        orientation w, x, y, z."""

    @abstractmethod
    def velocities(self, world: int, out: np.ndarray) -> None:
        """Velocities that belong to those poses: (movers, 6), of the centre of mass in m/s, then
        angular in rad/s, both in the world's axes."""

    @abstractmethod
    def counters(self) -> dict[str, Any]:
        """What the engine counted, over all worlds. What it does not count is left out."""

    def spoil(self, world: int) -> None:
        """Makes a velocity of a world no number, so that a test sees what becomes of it."""
        raise Failed("this adapter lets no test spoil a world")
