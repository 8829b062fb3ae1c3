"""Puts counts side by side. Usage: table.py FOLDER_OF_COUNTS OUTPUT_FOLDER"""

import json
import pathlib
import sys

rows = []
for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    counts = json.loads((folder / "counts.json").read_text(encoding="utf-8"))
    name = folder.name.removeprefix("count[").removesuffix("]")
    rows.append((name, counts["words"], counts["different"]))

out = pathlib.Path(sys.argv[2])
table = "document,words,different\n" + "".join(f"{n},{w},{d}\n" for n, w, d in rows)
(out / "words.csv").write_text(table, encoding="utf-8")

most = max(w for _, w, _ in rows)
bars = []
for i, (name, words, different) in enumerate(rows):
    y = 14 + 30 * i
    bars.append(f'<text x="4" y="{y + 12}">{name}</text>')
    bars.append(f'<rect x="80" y="{y}" width="{360 * words / most:.1f}" height="8" class="all"/>')
    bars.append(f'<rect x="80" y="{y + 9}" width="{360 * different / most:.1f}" height="8" class="different"/>')
    bars.append(f'<text x="{86 + 360 * words / most:.1f}" y="{y + 12}">{words} / {different}</text>')
height = 30 * len(rows) + 10
# Colours for light pages and, where the page is dark, for dark ones.
style = (
    "text{fill:#444}.all{fill:#7a9cc6}.different{fill:#2b4c7e}"
    "@media(prefers-color-scheme:dark){text{fill:#bbb}.all{fill:#3f6ea5}.different{fill:#9cc4f0}}"
)
svg = (
    f'<svg xmlns="http://www.w3.org/2000/svg" width="520" height="{height}" viewBox="0 0 520 {height}" '
    f'font-family="sans-serif" font-size="12"><style>{style}</style>{"".join(bars)}</svg>\n'
)
(out / "words.svg").write_text(svg, encoding="utf-8")
