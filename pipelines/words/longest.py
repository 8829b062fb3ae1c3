"""The longest word of each text. Usage: longest.py FOLDER OUTPUT.csv"""

import pathlib
import re
import sys

with open(sys.argv[2], "w", encoding="utf-8") as out:
    out.write("document,word,letters\n")
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.md")):
        words = re.findall(r"[A-Za-z]+", path.read_text(encoding="utf-8"))
        word = min(words, key=lambda w: (-len(w), w))
        out.write(f"{path.name},{word},{len(word)}\n")
