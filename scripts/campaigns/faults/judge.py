"""Says what a command may do when one of its calls fails."""

import dataclasses
import io
import json
import pathlib
import re
import xml.etree.ElementTree as ElementTree
import zipfile
import zlib

# The words that a message has instead of a file name, if the call has none.
WANTED = {
    "memory": "memory|alloc|space",
    "map": "memory|map",
    "thread": "thread",
    "socket": "socket",
    "fork": "process|cannot be run",
}
# The files that only the description of the machine reads.
MACHINE = ("/proc/", "/sys/", "/etc/", "/usr/lib/os-release")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a command ended: its exit code (None: it did not), its words and its files."""

    exit_code: int | None
    out: str
    err: str
    files: dict[str, bytes]


def files_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def without_numbers(text):
    """Times differ from run to run."""
    text = text.decode(errors="replace") if isinstance(text, bytes) else text
    return re.sub(r"\d+(\.\d+)?(e[-+]?\d+)?", "#", text)


def is_whole(name, found, original):
    """Whether a file is a complete one; a log may end early, after a whole line."""
    if found == original or without_numbers(found) == without_numbers(original):
        return True
    if not re.search(r"(result_\d+\.txt|\.jsonl)(\.interrupted\.\d+)?$", name):
        return False
    lines = found.decode(errors="replace").split("\n")
    try:
        for line in lines[:-1]:
            json.loads(line.removeprefix(":::MLLOG "))
    except ValueError:
        return False
    return lines[-1] == ""


def is_workbook(found):
    try:
        with zipfile.ZipFile(io.BytesIO(found)) as archive:
            for part in archive.namelist():
                ElementTree.fromstring(archive.read(part))
        return True
    except (ElementTree.ParseError, zipfile.BadZipFile, zlib.error):
        return False


def is_readable(name, found):
    if name.endswith(".xlsx"):
        return is_workbook(found)
    try:
        return name.endswith(".json") and json.loads(found) is not None or found.endswith(b"\n")
    except ValueError:
        return False


def wrong_ends(log):
    text = log.decode(errors="replace")
    if '"run_start"' not in text:
        yield "a log of no run"
    elif '"run_stop"' not in text:
        yield "without run_stop"


class Judge:
    """Knows how `command` ends where nothing fails (`good`), and what lay there before it."""

    def __init__(self, command, good, before):
        self.command = command
        self.good = good
        self.before = before

    def violations(self, fault, outcome):
        """Returns the faults of a run in which `fault` was made; an empty list if it is as it should be."""
        if not isinstance(outcome.exit_code, int):
            return ["hangs" if outcome.exit_code is None else "its launcher hangs"]
        if outcome.exit_code < 0 or outcome.exit_code > 127:
            return [f"dies of signal {abs(outcome.exit_code) % 128}"]
        if outcome.exit_code == self.good.exit_code:
            return self._wrong_success(fault, outcome)
        if outcome.exit_code == 2:
            return self._wrong_files(fault, outcome) + self._wrong_message(fault, outcome)
        if outcome.exit_code == 1 and self.command.checks_folders:
            return [] if self._names(fault, outcome.out) else ["names no folder"]
        return self._wrong_files(fault, outcome) + [f"exit code {outcome.exit_code}"]

    def _wrong_files(self, fault, outcome):
        wrong = []
        for name, content in outcome.files.items():
            originals = [f[name] for f in (self.good.files, self.before) if name in f]
            if not originals:
                if fault.kind != "remove":
                    wrong.append(f"leaves {name}")
            elif content == self.before.get(name):
                pass  # unchanged
            elif name.endswith(".log") and content.decode(errors="replace") == outcome.out:
                pass  # --log-output keeps the printed text
            elif self.command.of_parts:
                if not is_readable(name, content):
                    wrong.append(f"torn: {name}")
            elif not any(is_whole(name, content, original) for original in originals):
                wrong.append(f"torn: {name}")
            elif name.endswith(".txt") and name not in fault.path:
                wrong += [f"{wrong_end}: {name}" for wrong_end in wrong_ends(content)]
        return wrong + [f"lost: {name}" for name in self.before
                        if name not in self._known(outcome) and not name.endswith(".index")]

    def _known(self, outcome):
        aside = re.compile(r"\.interrupted\.\d+$")
        return {aside.sub("", name) for name in outcome.files} | set(outcome.files) | {
            name for name in self.before if name not in self.good.files
        }

    def _wrong_message(self, fault, outcome):
        lines = [line for line in outcome.err.splitlines() if "strata: " in line]
        if fault.path == "standard error":
            return []
        if not lines:
            return ["no message"]
        said = "\n".join(lines)
        wrong = ["the message says 'unexpected error'"] if "unexpected error:" in said else []
        if fault.survivable:
            wrong.append("a call that was cut short must be made again")
        if fault.path.startswith(MACHINE) and "describes another system" in said:
            return wrong  # unreadable fields are missing, and the message names them
        if not self._names(fault, said):
            wrong.append(f"the message does not name {fault.path or fault.kind}")
        return wrong

    @staticmethod
    def _names(fault, said):
        if not fault.path or fault.kind in ("memory", "thread", "socket", "fork"):
            return re.search(WANTED.get(fault.kind, "."), said, re.IGNORECASE) is not None
        path = re.sub(r"\.tmp\.\d+\.\d+$", "", fault.path)
        path = re.sub(r"/\.probe\.\d+$", "", path)
        path = re.sub(r"\.interrupted\.\d+$", "", path)  # an archived file counts under its old name
        if path.startswith(("/memfd:", "/proc/self/fd/")):
            return "picture" in said or "converter" in said or "workbook" in said
        if re.search(r"/tmp\.\w+ \(deleted\)$", path):  # libxlsxwriter's file
            return "temporary files" in said
        return path in said or pathlib.Path(path).name in said

    def _wrong_success(self, fault, outcome):
        if fault.path.startswith(MACHINE) or fault.path == "standard error":
            return []
        if self._names(fault, outcome.err) and fault.path:
            return []  # it went on without, and reported it
        wrong = [f"leaves {name}" for name in outcome.files
                 if name not in self.good.files and fault.kind != "remove"]
        if without_numbers(outcome.out) != without_numbers(self.good.out):
            wrong.append("succeeds, and prints something else")
        for name, content in self.good.files.items():
            if name not in outcome.files:
                wrong.append(f"succeeds without {name}")
            elif not self._same(content, outcome.files[name]):
                wrong.append(f"succeeds with another {name}")
        return wrong

    @staticmethod
    def _same(one, other):
        return one == other or without_numbers(one) == without_numbers(other)
