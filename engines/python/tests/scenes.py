"""Small scenes and jobs for the tests."""

from __future__ import annotations

from typing import Any

DT = 1.0 / 240.0


def body(position: list[float], kind: str = "dynamic", **more: Any) -> dict[str, Any]:
    """A box of 0.2 m and 8 kg; or the floor, whose top is z = 0."""
    dynamic = kind == "dynamic"
    return {
        "kind": kind,
        "shape": {"box": {"half_extents": [0.1] * 3 if dynamic else [50.0, 50.0, 0.5]}},
        "mass": 8.0 if dynamic else 0.0,
        # m/3·(a² + b²) of a solid box with half edges a and b.
        "inertia": [8.0 / 3.0 * 0.02] * 3 if dynamic else [0.0] * 3,
        "position": position,
        "orientation": [1.0, 0.0, 0.0, 0.0],
        "linear_velocity": [0.0] * 3,
        "angular_velocity": [0.0] * 3,
        "friction": 0.5,
        **more,
    }


def scene(bodies: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A scene of those bodies."""
    return {
        "format": 1,
        "name": "test",
        "gravity": [0.0, 0.0, -9.81],
        "timestep": DT,
        "bodies": bodies,
        "hinges": [],
        **more,
    }


def resting(count: int, above: float = 0.0) -> dict[str, Any]:
    """Boxes that lie on the floor, or begin that much above it."""
    floor = body([0.0, 0.0, -0.5], "static")
    return scene([floor, *(body([0.5 * i, 0.0, 0.1 + above]) for i in range(count))])


def falling() -> dict[str, Any]:
    """Two boxes far from everything: one moves, is rolled onto its side and spins about the world's z."""
    half = 0.5**0.5
    spun = body(
        [3.0, 0.0, 40.0],
        orientation=[half, half, 0.0, 0.0],
        linear_velocity=[0.5, 0.0, 0.0],
        angular_velocity=[0.0, 0.0, 2.0],
    )
    return scene([body([0.0, 0.0, 40.0]), spun], contact_free=True, reference="free_fall")


def pendulum() -> dict[str, Any]:
    """A box on a hinge about y, its arm of 1 m level at the start."""
    hinge = {"body": 0, "anchor": [0.0, 0.0, 5.0], "anchor_local": [-1.0, 0.0, 0.0], "axis": [0.0, 1.0, 0.0]}
    return scene([body([1.0, 0.0, 5.0])], hinges=[hinge])


def job(**more: Any) -> dict[str, Any]:
    """A timed job of two worlds."""
    return {
        "protocol": 1,
        "mode": "timed",
        "scene": "scene.json",
        "worlds": 2,
        "steps": 48,
        "warmup": 0,
        "threads": 1,
        "seed": 0,
        "backend": "cpu",
        **more,
    }


def points(law: str, height: float = 0.0, edge: int = 8, **more: Any) -> dict[str, Any]:
    """A 0.4 m cube of material of `edge`³ points, `height` m above the floor of a tank of 1.6 m x 1.6 m x 1 m; the
    scenarios of material points are of these."""
    spacing = 0.4 / edge
    material = {"young_modulus": 1.0e4, "poisson_ratio": 0.2}
    if law == "sand":
        material |= {"friction_angle": 0.5235987755982988, "cohesion": 0.0, "hardening": 0.0}
    mass, radius = 1000.0 * spacing**3, spacing / 2.0
    boxes = [
        ([1.2, 1.2, 0.2], [0.0, 0.0, -0.2]),
        ([0.2, 1.2, 0.5], [1.0, 0.0, 0.5]),
        ([0.2, 1.2, 0.5], [-1.0, 0.0, 0.5]),
        ([0.8, 0.2, 0.5], [0.0, 1.0, 0.5]),
        ([0.8, 0.2, 0.5], [0.0, -1.0, 0.5]),
    ]
    bodies = [body(place, "static", shape={"box": {"half_extents": half}}) for half, place in boxes]
    for k in range(edge**3):
        x, y, z = ((i + 0.5) * spacing for i in (k % edge, k // edge % edge, k // edge**2))
        bodies.append(
            body(
                [x - 0.2, y - 0.2, z + height],
                shape={"sphere": {"radius": radius}},
                mass=mass,
                inertia=[0.4 * mass * radius**2] * 3,
            )
        )
    mpm = {
        "material": {law: material},
        "density": 1000.0,
        "spacing": spacing,
        "cell": 2.0 * spacing,
        "substeps": 20,
        "friction": 0.5,
        "lower": [-0.8, -0.8, 0.0],
        "upper": [0.8, 0.8, 1.0],
        "padding": 0.4,
    }
    return scene(bodies, format=3, mpm=mpm, **more)
