#!/usr/bin/env python3
"""Checks that a section which gives a ratio to PyTorch names the processor, since the ratio depends on it.
Usage: ratios_test.py ROOT"""
import pathlib
import re
import sys

RATIO = re.compile(r"\d times|times as fast")
COLUMN = re.compile(r"Strata over it|ratio of times")
PROCESSOR = re.compile(r"\bZen \d|\bXeon\b|\b[AH][12]00\b")


def has_ratio(paragraph):
    """Whether a paragraph, or a table by a row or its columns, has a ratio to PyTorch."""
    rows = paragraph.splitlines() if paragraph.startswith("|") else [paragraph]
    return any("PyTorch" in row and RATIO.search(row) for row in rows) or (
        "PyTorch" in paragraph and bool(COLUMN.search(paragraph)))


def unnamed(text):
    """Headings of sections with a ratio to PyTorch and no processor."""
    sections = re.split(r"^(?=#+ )", text, flags=re.MULTILINE)
    return [section.splitlines()[0] for section in sections
            if not PROCESSOR.search(section) and any(map(has_ratio, section.split("\n\n")))]


assert unnamed("# A\n\nZen 5.\n\n## B\n\nStrata is 2.35 times as fast as PyTorch.") == ["## B"]
assert unnamed("## B\n\n| PyTorch | 3 | Strata over it |") == ["## B"]
assert unnamed("## B\n\n2.35 times as fast as PyTorch.\n\nTwo cores of Zen 5.") == []
assert unnamed("## B\n\nPyTorch 2.15 trains.\n\nLoading is 3 times as fast.") == []
root = pathlib.Path(sys.argv[1])
documents = [root / "README.md", *sorted(root.glob("docs/**/*.md"))]
found = [f"{document.relative_to(root)}: {heading}: a ratio to PyTorch without its processor"
         for document in documents for heading in unnamed(document.read_text(encoding="utf-8"))]
print("\n".join(found) or f"{len(documents)} documents")
sys.exit(bool(found))
