"""Collects the falls into a table and a drawing.

Usage: compare.py INPUT_FOLDER OUTPUT_FOLDER
"""

import json
import math
import pathlib
import sys

rows = [json.loads(p.read_text()) for p in pathlib.Path(sys.argv[1]).glob("*/fall.json")]
rows.sort(key=lambda r: r["timestep_s"])
out = pathlib.Path(sys.argv[2])

with open(out / "errors.csv", "w") as f:
    f.write("timestep_s,error_m\n")
    for r in rows:
        f.write(f"{r['timestep_s']},{r['error_m']}\n")


def place(r):
    x = 60 + 110 * (math.log10(r["timestep_s"]) + 3)
    y = 170 - 50 * (math.log10(r["error_m"]) + 3)
    return x, y


points = [place(r) for r in rows]
line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in points)
(out / "errors.svg").write_text(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 340 210" font-family="sans-serif" font-size="11">'
    f'<polyline points="{line}" fill="none" stroke="currentColor"/>{dots}'
    '<text x="60" y="200">timestep (0.001 s to 0.1 s)</text><text x="8" y="20">error, m</text></svg>\n'
)
