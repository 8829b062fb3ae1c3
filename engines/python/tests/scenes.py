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
