#!/usr/bin/env python3
"""Holds example outputs in documents to what their commands print.

A marker before a code block names the command:

    <!-- printed by: strata rules list -->

and in a file whose comments begin with '#', such as a configuration:

    # printed by: strata train --config scripts/configs/tiny.yaml --dry-run
    #     the output, indented by four more spaces

A block is fenced by ``` or indented by four spaces. It holds the command's standard output; `2>&1` adds errors.
In a block, '...' stands for any text, and a line '...' for any number of lines. 'printed, but for numbers, by:' lets all
numbers differ, and the widths of columns with them. 'printed, within 10 %, by:' lets numbers differ by as much. A marker
may span lines.

Commands run with bash in one scratch folder for each document, one after the other, so that a command may read what an
earlier one wrote. The scratch folder links to what stands at the top of the source tree; `strata` is the program under test.
A marker 'prepared by:' runs a command and has no block. A command that ends with 77 is skipped; so is one with a
subcommand that the program lacks, unless --all is given.

Usage: printed_blocks.py [--update] [--all] SOURCE STRATA DOCUMENT...
--update writes what the commands print into the documents; blocks with '...' or free numbers are only replaced if they differ.
Exit codes: 0 all agree, 1 a block differs, 77 all were skipped.
"""

import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MARKER = re.compile(r"^(?P<prefix>\s*#\s*|\s*<!--\s*)(?P<kind>printed|prepared)(?:,\s*(?P<how>[^:]*?),)?\s+by:\s*(?P<command>.*)$")
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
# Folders of a source tree without sources.
NOT_LINKED = {"build", "data-cache", "runs", ".git", ".venv"}


class Block:
    """A command, and the lines first to last (exclusive) of the document that it prints."""

    def __init__(self, line, kind, how, command):
        self.line, self.kind, self.how, self.command = line, kind, how, command
        self.first = self.last = None
        self.indent, self.text = "", []


def fail(message):
    sys.exit(f"FAILED: {message}")


def read_blocks(name, lines):
    blocks, at = [], 0
    while at < len(lines):
        marker = MARKER.match(lines[at])
        if not marker:
            if re.match(r"\s*<!--.*\bprinted\b.*\bby\b", lines[at]):
                fail(f"{name}:{at + 1}: a marker is '<!-- printed by: COMMAND -->'")
            at += 1
            continue
        block = Block(at + 1, marker["kind"], marker["how"], marker["command"])
        in_comment = marker["prefix"].strip() == "#"
        at += 1
        if in_comment:
            while block.command.endswith("\\") and at < len(lines):
                block.command += "\n" + lines[at].lstrip(" #")
                at += 1
        else:
            while "-->" not in block.command:
                if at == len(lines):
                    fail(f"{name}:{block.line}: the marker has no '-->'")
                block.command += "\n" + lines[at]
                at += 1
            block.command = block.command[: block.command.index("-->")].rstrip()
        if block.kind == "printed":
            at = take_text(name, lines, at, block, marker["prefix"].rstrip() if in_comment else "")
        blocks.append(block)
    return blocks


def take_text(name, lines, at, block, comment):
    """Sets the block's text and place; `comment` begins each of its lines."""
    while at < len(lines) and lines[at].strip() == "":
        at += 1
    fence = re.match(r"^(\s*)```", lines[at]) if at < len(lines) else None
    if fence and not comment:
        block.indent = fence[1]
        block.first = at + 1
        at = block.first
        while at < len(lines) and lines[at].strip() != "```":
            at += 1
        if at == len(lines):
            fail(f"{name}:{block.line}: the block's ``` is not closed")
        block.last = at
    else:
        block.indent = f"{comment}     " if comment else "    "
        block.first = at
        while at < len(lines) and (lines[at].startswith(block.indent) or lines[at].strip() == comment):
            at += 1
        while at > block.first and lines[at - 1].strip() == comment:
            at -= 1
        block.last = at
    if block.first == block.last:
        fail(f"{name}:{block.line}: no code block follows the marker")
    block.text = [line[len(block.indent) :].rstrip() for line in lines[block.first : block.last]]
    return at


def lacks_subcommand(command, environment, folder):
    """The first subcommand of the command that the program does not have, or None."""
    for words in re.findall(r"\bstrata((?: [a-z][a-z-]*)+)", command):
        words = words.split()[:2]
        known = ["strata"]
        for word in words:
            asked = subprocess.run(
                [*known, "--help"], env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            ).stdout
            commands = asked.partition("\nSubcommands:\n")[2]
            if not commands:
                break
            if not re.search(rf"^  {re.escape(word)}(\s|$)", commands, re.MULTILINE):
                return " ".join([*known, word])
            known.append(word)
    return None


def same_numbers(expected, printed, tolerance):
    if len(expected) != len(printed):
        return False
    if tolerance is None:
        return True
    values = [[float(text.replace(",", "")) for text in texts] for texts in (expected, printed)]
    return all(abs(e - p) <= tolerance * abs(e) for e, p in zip(*values))


def same_line(expected, printed, free, tolerance):
    parts = expected.split("...")
    if len(parts) > 1:
        if free:
            fail("a block has '...' or free numbers, not both in one line")
        pattern = ".*".join(re.escape(part) for part in parts)
        return re.fullmatch(pattern, printed) is not None
    if not free:
        return expected == printed
    if not same_numbers(NUMBER.findall(expected), NUMBER.findall(printed), tolerance):
        return False
    # The rules of tables are as wide as their columns, which depend on numbers.
    shown = [re.sub(r"-{3,}", "---", " ".join(NUMBER.sub("#", line).split())) for line in (expected, printed)]
    return shown[0] == shown[1]


def agree(expected, printed, free, tolerance):
    """Whether lines agree; a line '...' in `expected` stands for any number of lines."""
    reachable = {0}  # how many printed lines may match the expected ones so far
    for line in expected:
        if line.strip() == "...":
            reachable = set(range(min(reachable), len(printed) + 1))
        else:
            reachable = {n + 1 for n in reachable if n < len(printed) and same_line(line, printed[n], free, tolerance)}
        if not reachable:
            return False
    return len(printed) in reachable


def manner_of(name, block):
    """Whether numbers are free, and by how much they may differ (None: by any)."""
    if block.how is None:
        return False, None
    if block.how == "but for numbers":
        return True, None
    within = re.fullmatch(r"within (\d+) %", block.how)
    if within is None:
        fail(f"{name}:{block.line}: '{block.how}': expected 'but for numbers' or 'within N %'")
    return True, int(within[1]) / 100


def run(command, environment, folder):
    done = subprocess.run(
        ["bash", "-c", "set -uo pipefail\n" + command], env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    while printed and not printed[-1]:
        printed.pop()
    return done.returncode, printed, done.stderr


def make_scratch(source, strata, folder):
    for entry in source.iterdir():
        if entry.name not in NOT_LINKED:
            (folder / entry.name).symlink_to(entry)
    programs = folder / ".programs"
    programs.mkdir()
    (programs / "strata").symlink_to(strata)
    environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", LC_ALL="C.UTF-8", COLUMNS="80", HOME=str(folder))
    # Installed rules would judge logs that the built-in ones cannot.
    for name in ("PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "XDG_DATA_HOME"):
        environment.pop(name, None)
    return environment


def check(document, arguments):
    """Compares, or updates, one document. Returns how many blocks agree, differ, and were skipped."""
    lines = document.read_text().splitlines()
    blocks = read_blocks(document, lines)
    counts = {"same": 0, "different": 0, "skipped": 0}
    replacements = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        environment = make_scratch(arguments.source, arguments.strata, folder)
        lacking = None  # the missing command, because later blocks may need its output
        for block in blocks:
            place = f"{document}:{block.line}"
            free, tolerance = manner_of(document, block)
            lacking = lacking or lacks_subcommand(block.command, environment, folder)
            if lacking and arguments.all:
                fail(f"{place}: the program has no '{lacking}'")
            code, printed, errors = (77, [], "") if lacking else run(block.command, environment, folder)
            if code == 77:
                reason = f"this program has no '{lacking}'" if lacking else errors.strip() or "its command says so"
                print(f"{place}: skipped: {reason}")
                counts["skipped"] += 1
            elif code > 125 or (block.kind == "prepared" and code != 0):
                print(f"{place}: '{block.command}' ended with {code}\n{errors}")
                counts["different"] += 1
            elif block.kind == "prepared":
                continue
            elif agree(block.text, printed, free, tolerance):
                counts["same"] += 1
            elif arguments.update:
                replacements.append((block, [(block.indent + line).rstrip() for line in printed]))
                print(f"{place}: updated")
                counts["same"] += 1
            else:
                print(f"{place}: other than what this prints (exit code {code}): {block.command}")
                print("\n".join(difflib.unified_diff(block.text, printed, "document", "printed", lineterm="")))
                print(errors, end="")
                counts["different"] += 1
    for block, text in reversed(replacements):
        lines[block.first : block.last] = text
    if replacements:
        document.write_text("\n".join(lines) + "\n")
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("strata", type=pathlib.Path)
    parser.add_argument("documents", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    arguments.source = arguments.source.resolve()
    arguments.strata = arguments.strata.resolve()
    if shutil.which("bash") is None:
        sys.exit(77)
    total = {"same": 0, "different": 0, "skipped": 0}
    for document in arguments.documents:
        for key, count in check(document, arguments).items():
            total[key] += count
    print(f"{total['same']} blocks agree, {total['different']} differ, {total['skipped']} were skipped")
    if total["different"]:
        sys.exit(1)
    sys.exit(77 if total["skipped"] and not total["same"] else 0)


if __name__ == "__main__":
    main()
