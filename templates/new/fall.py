"""A point mass falls for one second: explicit Euler against the closed form.

Usage: fall.py TIMESTEP_S OUTPUT.json
"""

import json
import sys

G = 9.81  # m/s^2

dt = float(sys.argv[1])
steps = round(1.0 / dt)
z = v = 0.0
for _ in range(steps):
    z, v = z + v * dt, v - G * dt
exact = -G / 2
with open(sys.argv[2], "w") as f:
    json.dump({"timestep_s": dt, "z_m": z, "exact_m": exact, "error_m": abs(z - exact)}, f)
