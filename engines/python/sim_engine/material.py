"""A scene of material points in the terms of an engine with the material point method.

The dynamic bodies are points; the static ones are the boxes of a tank; the block `mpm` holds the material, the grid and
the substeps. What is asked for is in engines/protocol/src/mpm.rs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim_engine.contract import Refused, Unsupported


@dataclass
class Box:
    """A box of the tank."""

    half_extents: list[float]
    position: list[float]


class Material:
    """The points, the tank and the material of a scene."""

    def __init__(self, scene: dict[str, Any], job: dict[str, Any], settings: tuple[str, ...]) -> None:
        """`settings` are those that make sense for material points; others are refused."""
        for name in job.get("settings", {}):
            if name not in settings:
                raise Refused(f"setting {name}: it says nothing of material points")
        mpm = self.mpm = scene["mpm"]
        points = [b for b in scene["bodies"] if b["kind"] == "dynamic"]
        self.count = len(points)
        self.positions = np.array([b["position"] for b in points])
        self.velocities = np.array([b["linear_velocity"] for b in points])
        # kg; the scene's own check says that all are alike.
        self.mass = float(points[0]["mass"])
        self.tank = [
            Box(b["shape"]["box"]["half_extents"], b["position"])
            for b in scene["bodies"]
            if b["kind"] == "static"
        ]
        self.gravity = tuple(float(g) for g in scene["gravity"])
        # s; a step of the scene is a frame of so many substeps.
        self.frame = float(scene["timestep"])
        self.substeps = int(mpm["substeps"])
        self.cell = float(mpm["cell"])
        self.spacing = float(mpm["spacing"])
        self.density = float(mpm["density"])
        self.friction = float(mpm["friction"])
        (self.law, numbers), = mpm["material"].items()
        self.young, self.poisson = numbers["young_modulus"], numbers["poisson_ratio"]
        self.angle = numbers.get("friction_angle", 0.0)
        for name in ("cohesion", "hardening"):
            if numbers.get(name, 0.0) != 0.0:
                raise Unsupported(f"{name} = {numbers[name]}: only sand without it")

    def surface(self) -> float:
        """The Drucker-Prager coefficient μ of √J₂ ≤ μ·p that meets Mohr-Coulomb's surface of the angle of
        internal friction in triaxial compression: 2√3·sin φ / (3 − sin φ), dimensionless."""
        sine = math.sin(self.angle)
        return 2.0 * math.sqrt(3.0) * sine / (3.0 - sine)

    def counters(self, active: int, masses: np.ndarray) -> dict[str, Any]:
        """What the gates ask of the engine: `active` points and the mass of each (kg)."""
        worst = np.abs(np.asarray(masses, np.float64) - self.mass).max(initial=0.0) / self.mass
        return {
            "particles": len(masses),
            "active_particles": active,
            # A mass that is no number is as wrong as can be, and JSON has none.
            "particle_mass_error": float(worst) if np.isfinite(worst) else 1.0e30,
        }

    def poses(self, positions: np.ndarray, out: np.ndarray) -> None:
        """Positions (m) as poses: a point has no orientation, and the identity stands in its place."""
        found = min(len(positions), len(out))
        out[:found, :3] = positions[:found]
        out[:found, 3:] = (1.0, 0.0, 0.0, 0.0)

    def velocities_of(self, velocities: np.ndarray, out: np.ndarray) -> None:
        """Velocities (m/s) as those of bodies that do not spin."""
        found = min(len(velocities), len(out))
        out[:found, :3] = velocities[:found]
        out[:found, 3:] = 0.0

    def translation(self, law: str, boundary: str, grid: str) -> dict[str, Any]:
        """What became of the scene: the engine's constitutive law, how walls act, and how cells are allocated."""
        return {
            "exact": [
                "number of points, each one's mass, and the radius as half of the spacing",
                "edge of a grid cell: two spacings",
                "gravity, timestep and substeps",
                "the tank: a floor and four walls, as fixed boxes",
                "Young's modulus, Poisson's ratio and density",
                "every point stays active",
            ],
            "approximated": [
                {"what": "every number", "how": "rounded to single precision"},
                {"what": "constitutive law", "how": law},
                {"what": "contact with floor and walls", "how": boundary},
                {"what": "grid", "how": grid},
            ],
            "dropped": [],
        }
