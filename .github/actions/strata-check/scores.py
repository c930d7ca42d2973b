#!/usr/bin/env python3
"""What changed between two outputs of `strata score --json`, as Markdown: scores.py BEFORE AFTER"""

import html
import json
import re
import sys


def cell(text):
    """A name from a submission as Markdown that shows it as it is, in one cell of a table."""
    shown = html.escape(" ".join(str(text).split()), quote=False)
    # Every mark as a character reference: none of Markdown's has a meaning then, and @ calls nobody.
    return re.sub(r"[^\w &;.,()/+-]", lambda mark: f"&#{ord(mark.group())};", shown).replace("_", "&#95;")


def scores(path):
    found = {}
    for score in json.load(open(path))["scores"]:
        key = (score["submitter"], score["system"], score["benchmark"])
        found[key] = score["time_to_train_ms"]
    return found


def minutes(ms):
    return "-" if ms is None else f"{ms / 60000:.3f}"


before, after = (scores(path) for path in sys.argv[1:])
rows = []
for key in sorted(set(before) | set(after)):
    old, new = before.get(key), after.get(key)
    if key in before and key in after and old == new:
        continue
    change = "new" if key not in before else "removed" if key not in after else "-"
    if old and new:
        change = f"{100 * (new / old - 1):+.2f} %"
    rows.append([*map(cell, key), minutes(old), minutes(new), change])

print("<!-- strata-check -->\n### Time to train\n")
if not rows:
    print("No score changes.")
else:
    print("| submitter | system | benchmark | minutes before | after | change |\n| --- | --- | --- | ---: | ---: | ---: |")
    for row in rows[:200]:
        print("| " + " | ".join(row) + " |")
    if len(rows) > 200:
        print(f"\n{len(rows) - 200} more are left out.")
