#!/usr/bin/env python3
"""Prints what changed between two outputs of `strata score --json`, as Markdown: scores.py BEFORE AFTER"""

import collections
import html
import json
import re
import sys


def cell(text):
    """A name from a submission as Markdown that shows it as it is, in one cell of a table."""
    shown = html.escape(" ".join(str(text).split()), quote=False)
    # Every mark as a character reference: none of Markdown's has a meaning then, and @ calls nobody.
    return re.sub(r"[^\w &;.,()/+-]", lambda mark: f"&#{ord(mark.group())};", shown).replace("_", "&#95;")


def read(path):
    return json.load(open(path, encoding="utf-8"))["scores"]


def name_of(score):
    return score["submitter"], score["system"], score["benchmark"]


def several(scores):
    """Names that more than one folder has."""
    counts = collections.Counter(map(name_of, scores))
    return {name for name, count in counts.items() if count > 1}


def times(scores, shared):
    """Times by name; the folder's path is part of a name that several folders have."""
    found = {}
    for score in scores:
        submitter, system, benchmark = name = name_of(score)
        if name in shared:
            system += " in " + score["path"]
        found[submitter, system, benchmark] = score["time_to_train_ms"]
    return found


def minutes(ms):
    return "-" if ms is None else f"{ms / 60000:.3f}"


trees = [read(path) for path in sys.argv[1:]]
shared = set().union(*map(several, trees))
before, after = (times(tree, shared) for tree in trees)
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
