#!/usr/bin/env python3
"""Checks that the source files and tests that documents name in backquotes exist.
Usage: names_test.py ROOT"""
import pathlib
import re
import sys

QUOTED = re.compile(r"`([^`\n]+)`")
SOURCE = re.compile(r"\w+(/[\w.-]+)+\.(h|cc|cu|py|sh|cmake)")
TEST = re.compile(r"[A-Z]\w+\.[A-Z]\w+")
DEFINITION = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)|\bTYPED_TEST(?:_P)?\(\s*(\w+),\s*(\w+)\s*\)")


def missing(text, is_file, tests):
    """The names in a text for which there is no file or no test."""
    names = QUOTED.findall(text)
    return [name for name in names if SOURCE.fullmatch(name) and not is_file(name) or TEST.fullmatch(name) and name not in tests]


assert missing("`comm/a.h`, `comm/b.h`, `Suite.Is`, `Suite.Was`, `other`", lambda name: name == "comm/a.h", {"Suite.Is"}) == ["comm/b.h", "Suite.Was"]
root = pathlib.Path(sys.argv[1])
tests = {".".join(filter(None, match)) for source in (root / "tests").rglob("*.cc") for match in DEFINITION.findall(source.read_text(encoding="utf-8"))}
documents = [root / "README.md", root / "CONTRIBUTING.md", *sorted(root.glob("docs/**/*.md"))]
found = [f"{document.relative_to(root)}: `{name}` does not exist"
         for document in documents for name in missing(document.read_text(encoding="utf-8"), lambda name: (root / name).is_file(), tests)]
print("\n".join(found) or f"{len(documents)} documents")
sys.exit(bool(found) or not tests)
