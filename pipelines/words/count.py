"""Counts the words of a text. Usage: count.py TEXT OUTPUT.json"""

import json
import re
import sys

words = re.findall(r"[a-z]+", open(sys.argv[1], encoding="utf-8").read().lower())
counts = {}
for word in words:
    counts[word] = counts.get(word, 0) + 1
with open(sys.argv[2], "w", encoding="utf-8") as out:
    json.dump({"words": len(words), "different": len(counts), "counts": counts}, out, sort_keys=True)
