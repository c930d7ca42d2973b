#!/usr/bin/env python3
"""Fails every call of some kinds that strata makes, one a run, and judges how the run ends.

Calls are write, read, open, close, fsync, rename, remove, mkdir, truncate, map (mmap), memory,
thread, socket and fork. A run must end with exit code 2 and a message that names the file, or go on
as if nothing had happened: no signal, no hang, no torn file under a final name, nothing left over.

Memory is asked for very often from few places. With --places only the first (or last) call from
every place fails, whichever command makes it: a place is what the innermost --depth return
addresses outside the C library have in common, and none fails again in a later command.
"""

import argparse
import collections
import dataclasses
import errno
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

from commands import COMMANDS, MPIRUN, make_inputs
from judge import Judge, Outcome, files_of

SOURCE = pathlib.Path(__file__).with_name("fault.cc")
SHORT = 0
# The ways in which calls of a kind fail, in the order of failing_call.h. After EINTR a program must go on.
KINDS = {
    "write": [errno.ENOSPC, errno.EINTR, SHORT],
    "read": [errno.EIO, errno.EINTR, SHORT],
    "open": [errno.EMFILE, errno.EACCES],
    "close": [errno.EIO],
    "fsync": [errno.EIO],
    "rename": [errno.EACCES],
    "remove": [errno.EACCES],
    "mkdir": [errno.EACCES],
    "truncate": [errno.ENOSPC],
    "map": [errno.ENOMEM],
    "memory": [errno.ENOMEM],
    "thread": [errno.EAGAIN],
    "socket": [errno.EMFILE],
    "fork": [errno.EAGAIN],
}
REPORT = struct.Struct("32Q Q Q 48Q 64s 4096s")  # struct Report of failing_call.h
PLACE = struct.Struct("3Q Q 48Q")  # struct Place of failing_call.h
MOST_PLACES = 1 << 16


# If a launcher waits although all ranks and the log's keeper have ended, or if a signal kills it,
# that is no fault of strata: the run is repeated, at most so many times.
LAUNCHER_HANGS = "hangs"
LAUNCHES = 4
LOOK_EVERY = 5  # seconds


def alive_of_run(session, words):
    """The processes of a session, and those with these words, that have not ended; by process the
    time that each has run. (The log's keeper has a session of its own, and the words of its rank.)"""
    alive = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            its_words = (folder / "cmdline").read_text().split("\0")
        except OSError:
            continue  # it has ended
        is_ours = int(fields[3]) == session or (words and its_words[:-1] == words)
        if is_ours and fields[0] not in "ZX":
            alive[int(folder.name)] = int(fields[11]) + int(fields[12])
    return alive


@dataclasses.dataclass(frozen=True)
class Place:
    """Where memory is asked for, `calls` times, from the `first` of all calls for memory on."""

    name: int
    calls: int = 1
    first: int = 0
    stack: tuple = ()

    @property
    def start(self):
        """Where to begin to look for it: threads make more and fewer calls from run to run."""
        return self.first * 9 // 10 - 200


@dataclasses.dataclass
class Fault:
    """The `at`th call of a kind fails as `reason` says; the rest is known after the run."""

    kind: str
    at: int  # index among the calls from `place`
    reason: int
    place: Place | None = None  # None: any
    happened: bool = False
    call: str = ""
    path: str = ""
    stack: tuple = ()

    @property
    def survivable(self):
        return self.reason == errno.EINTR

    @property
    def reason_name(self):
        return errno.errorcode.get(self.reason, "short")


class Bench:
    """Runs commands with the library that makes calls fail."""

    def __init__(self, folder, options):
        self.strata = str(options.strata.resolve())
        self.limit = options.limit
        self.depth = options.depth
        self.launcher = collections.Counter()  # unusual endings of the launcher
        self.library = folder / "fault.so"
        self.inputs, self.out = folder / "inputs", folder / "run"
        self.report, self.places_file = folder / "report", folder / "places"
        subprocess.run(
            [os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC",
             "-o", self.library, SOURCE, "-ldl"],
            check=True,
        )
        make_inputs(self.strata, self.inputs, self.out)

    def run(self, command, fault=None):
        """Runs `command`, fills in what became of `fault`, and returns its outcome.

        Without a fault it counts: see counts() and places().
        """
        self._prepare(command)
        words = command.words(self.strata, self.inputs, self.out)
        at = words.index(self.strata)
        words[at:at] = ["env", f"LD_PRELOAD={self.library}", *self._settings(command, fault)]
        exit_code, out, err = self._call(words)
        for _ in range(LAUNCHES - 1):
            if not self._is_launchers(words, exit_code):
                break
            self.launcher[exit_code] += 1
            self._prepare(command)
            exit_code, out, err = self._call(words)
        if fault:
            self._read_report(fault)
        return Outcome(exit_code, out, err, files_of(self.out))

    def _prepare(self, command):
        shutil.rmtree(self.out, ignore_errors=True)
        if command.start:
            shutil.copytree(self.inputs / command.start, self.out)
        else:
            self.out.mkdir()
        self.report.write_bytes(bytes(REPORT.size))

    def _settings(self, command, fault):
        settings = [f"STRATA_FAULT_REPORT={self.report}", f"STRATA_FAULT_DEPTH={self.depth}"]
        if command.ranks > 1:
            settings.append(f"STRATA_FAULT_RANK={command.failing_rank}")
        if not fault:
            self.places_file.write_bytes(bytes(MOST_PLACES * PLACE.size))
            settings.append(f"STRATA_FAULT_PLACES={self.places_file}")
        if fault and fault.place:
            settings += [f"STRATA_FAULT_PLACE={fault.place.name:x}",
                         f"STRATA_FAULT_FROM={max(fault.place.start, 0)}"]
        if fault:
            settings += [f"STRATA_FAULT_KIND={fault.kind}", f"STRATA_FAULT_AT={fault.at}",
                         f"STRATA_FAULT_AS={fault.reason}"]
        return settings

    def _call(self, words):
        """Standard error ends when all processes that write to it have: the log's keeper too."""
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        of_rank = words[words.index(self.strata):]
        before = None
        for _ in range(int(max(self.limit // LOOK_EVERY, 1))):
            try:
                out, err = process.communicate(timeout=LOOK_EVERY)
                return process.returncode, *(t.decode(errors="replace") for t in (out, err))
            except subprocess.TimeoutExpired:
                alive = alive_of_run(process.pid, of_rank)
            # The launcher has started the ranks, is alone, and does nothing.
            if words[0] == str(MPIRUN) and self._has_begun() and alive.keys() == {process.pid}:
                if alive == before:
                    return self._end(process, LAUNCHER_HANGS)
                before = alive
        return self._end(process, None)

    def _has_begun(self):
        return self.report.read_bytes() != bytes(REPORT.size)

    @staticmethod
    def _is_launchers(words, exit_code):
        """If a signal kills a rank, mpirun's exit code is 128 plus the signal."""
        died = isinstance(exit_code, int) and exit_code < 0
        return exit_code == LAUNCHER_HANGS or (died and words[0] == str(MPIRUN))

    @staticmethod
    def _end(process, exit_code):
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.communicate(timeout=10 if exit_code is None else 1)
        except subprocess.TimeoutExpired:
            for alive in alive_of_run(process.pid, []):
                os.kill(alive, signal.SIGKILL)
            process.wait()
        return exit_code, "", ""

    def counts(self):
        """How many calls of each kind the last run made."""
        values = REPORT.unpack(self.report.read_bytes())
        return dict(zip(KINDS, values))

    def places(self):
        """Where the last run that counted asked for memory, by first call."""
        rows = PLACE.iter_unpack(self.places_file.read_bytes())
        found = (Place(*row[:3], row[4:4 + row[3]]) for row in rows if row[0])
        return sorted(found, key=lambda place: place.first)

    def _read_report(self, fault):
        values = REPORT.unpack(self.report.read_bytes())
        fault.happened, frames = bool(values[32]), values[33]
        fault.stack = tuple(values[34:34 + frames])
        fault.call, path = (text.split(b"\0")[0].decode(errors="replace") for text in values[-2:])
        fault.path = self._name_of(path)

    @staticmethod
    def _name_of(path):
        """Standard streams are pipes here."""
        return re.sub(r"^pipe:\[\d+\]$", "standard output", path)

    def sources(self, stacks):
        """Returns for every stack the places in strata that led to the call, innermost first."""
        addresses = sorted({address for stack in stacks for address in stack if address})
        asked = "\n".join(hex(address - 1) for address in addresses) + "\n"
        # Every answer is one line; code without debug information gives "?? ??:0".
        found = subprocess.run(["addr2line", "-Cfpe", self.strata], input=asked,
                               capture_output=True, text=True, check=False).stdout.splitlines()
        names = dict(zip(addresses, found))
        return [[names.get(address, "?") for address in stack if address] for stack in stacks]


def calls_to_fail(count, options):
    later = range(options.first + 1 + options.seed % options.every, count + 1, options.every)
    return [*range(1, min(count, options.first) + 1), *later]


def places_to_fail(bench, done, options):
    """(at, place) of places that are not in `done`, which they then are."""
    first = options.places == "first"
    places = [place for place in bench.places()
              if place.name not in done and (first or place.calls > 1)]
    done |= {place.name for place in places}
    if options.near:
        names = bench.sources([place.stack for place in places])
        places = [place for place, functions in zip(places, names)
                  if any(re.search(options.near, name) for name in functions[:options.depth])]
    if options.most and len(places) > options.most:
        places = sorted(random.Random(options.seed).sample(places, options.most),
                        key=lambda place: place.first)
    return [(1 if first else place.calls, place) for place in places]


def places_of(bench, name):
    """Threads come to more and fewer places from run to run: those of two runs."""
    found = set()
    for _ in range(2):
        bench.run(command_of(name))
        found |= {place.name for place in bench.places()}
    return found


def command_of(name):
    return next(command for command in COMMANDS if command.name == name)


# Libraries that end the process; the program cannot prevent it.
LIBRARIES = {
    # The destructor of a value moves its contents to a list, which needs memory.
    "nlohmann json": r"nlohmann::.*::json_value::destroy",
}


@dataclasses.dataclass
class Tally:
    calls: int = 0
    places: int = 0  # only with --places
    runs: int = 0
    refused: int = 0  # runs that ended with 2
    survived: int = 0
    in_library: int = 0  # see LIBRARIES
    violations: int = 0


def judge_run(bench, judge, command, fault):
    outcome = bench.run(command, fault)
    if fault.call == "readdir" and fault.reason in (errno.EINTR, SHORT):
        fault.happened = False  # the C library handles it
    if not fault.happened:
        return outcome, []
    return outcome, judge.violations(fault, outcome)


def judge_of(bench, command):
    good = bench.run(command)
    if good.exit_code != command.exit_code:
        sys.exit(f"{command.name}: exit code {good.exit_code}\n{good.err}")
    start = bench.inputs / command.start
    return Judge(command, good, files_of(start) if command.start else {})


def as_replay(command, fault):
    place = f"@{fault.place.name:x}" if fault.place else ""
    return f"{command.name}:{fault.kind}{place}:{fault.at}:{fault.reason_name}"


def library_of(places):
    """Returns whose code strata had called."""
    inner = list(itertools.takewhile(lambda place: not place.startswith("strata::"), places))
    for name, pattern in LIBRARIES.items():
        if any(re.search(pattern, place) for place in inner):
            return name
    return None


def sort_out(bench, wrong, tally):
    """The violations among `wrong`, which now say where their calls were made."""
    for each, places in zip(wrong, bench.sources([each.pop("stack") for each in wrong])):
        each["places"] = places
    violations = [each for each in wrong if not library_of(each["places"])]
    tally.violations = len(violations)
    tally.in_library = len(wrong) - len(violations)
    return violations


def run_kind(bench, judge, command, kind, tally, calls):
    """Makes each of the (at, place) `calls` of a kind fail, counts the outcomes in `tally`, and returns the violations."""
    wrong = []
    for number, (at, place) in enumerate(calls, start=1):
        for reason in KINDS[kind]:
            fault = Fault(kind, at, reason, place)
            outcome, violations = judge_run(bench, judge, command, fault)
            if not fault.happened:
                continue  # the number of threads' calls varies from run to run
            tally.runs += 1
            if violations:
                wrong.append({"replay": as_replay(command, fault), "call": fault.call,
                              "path": fault.path, "violations": violations,
                              "message": outcome.err[-1000:], "stack": fault.stack})
            elif outcome.exit_code == 2:
                tally.refused += 1
            else:
                tally.survived += 1
        show(f"{command.name} {kind} {number} of {len(calls)}: {len(wrong)} violations")
    return sort_out(bench, wrong, tally)


def show(line):
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def run_campaign(bench, commands, options):
    tallies, found, done = {}, [], set()
    for name in options.without or []:
        done |= places_of(bench, name)
    for command in commands:
        judge = judge_of(bench, command)
        counts = bench.counts()
        for kind in options.kind or KINDS:
            if counts[kind] == 0:
                continue
            tally = tallies[command.name, kind] = Tally(calls=counts[kind])
            calls = [(at, None) for at in calls_to_fail(counts[kind], options)]
            if options.places and kind == "memory":
                tally.places = len(bench.places())
                calls = places_to_fail(bench, done, options)
            found += run_kind(bench, judge, command, kind, tally, calls)
        if options.json:
            write_json(tallies, found, options.json)
        mine = [tally for (name, _), tally in tallies.items() if name == command.name]
        print(f"{command.name}: {sum(t.runs for t in mine)} runs, "
              f"{sum(t.violations for t in mine)} violations", file=sys.stderr, flush=True)
    return tallies, found


def write_json(tallies, found, path):
    rows = [{"command": command, "kind": kind, **dataclasses.asdict(tally)}
            for (command, kind), tally in tallies.items()]
    path.write_text(json.dumps({"runs": rows, "violations": found}, indent=2) + "\n")


# The columns of a table, by field of Tally.
COLUMNS = {"calls": "calls", "places": "places", "runs": "runs", "refused": "ended with 2",
           "survived": "survived", "in_library": "ended by a library", "violations": "violations"}


def print_table(tallies, key):
    rows = collections.defaultdict(Tally)
    for names, tally in tallies.items():
        for row in (rows[names[key]], rows["all"]):
            for field in COLUMNS:
                setattr(row, field, getattr(row, field) + getattr(tally, field))
    columns = [field for field in COLUMNS if field != "places" or rows["all"].places]
    rows["all"] = rows.pop("all")  # moves it to the end
    print(f"| {('command', 'call')[key]} | " + " | ".join(COLUMNS[field] for field in columns), "|")
    print("| --- |" + " ---: |" * len(columns))
    for name, row in rows.items():
        print(f"| {name} | " + " | ".join(f"{getattr(row, field):,}" for field in columns), "|")
    print()


def print_violations(found):
    for each in found:
        print(f"{each['replay']} ({each['call']} {each['path']}): {'; '.join(each['violations'])}")
        for place in each["places"][:12]:
            print(f"    {place}")
        print("    " + each["message"].strip().replace("\n", "\n    "))


def replay(bench, text):
    """COMMAND:KIND:N, or COMMAND:KIND@PLACE:N:REASON, shown in full."""
    name, kind, at, *reason = text.split(":")
    kind, _, place = kind.partition("@")
    command = command_of(name)
    reasons = {"short": SHORT, **{name: number for number, name in errno.errorcode.items()}}
    fault = Fault(kind, int(at), reasons[reason[0]] if reason else KINDS[kind][0],
                  Place(int(place, 16)) if place else None)
    outcome, violations = judge_run(bench, judge_of(bench, command), command, fault)
    print(f"{fault.call} {fault.path} failed with {fault.reason_name}, called from")
    print("\n".join(f"    {place}" for place in bench.sources([fault.stack])[0]))
    print(f"exit code {outcome.exit_code}\n{outcome.out}{outcome.err}")
    print("\n".join(f"{name}: {len(content)} bytes" for name, content in outcome.files.items()))
    print("\n".join(violations) or "as it should be")
    return 1 if violations else 0


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strata", type=pathlib.Path, default="build/release/cli/strata",
                        help="the program (default: %(default)s)")
    parser.add_argument("--command", action="append", metavar="NAME",
                        help="only this command, repeatable: "
                        + ", ".join(command.name for command in COMMANDS))
    parser.add_argument("--kind", action="append", choices=KINDS, help="only such calls, repeatable")
    parser.add_argument("--first", type=int, default=100, metavar="N",
                        help="the first N calls of a kind all fail, each in a run of its own "
                        "(default: %(default)s)")
    parser.add_argument("--every", type=int, default=50, metavar="K",
                        help="of later calls every K-th fails (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1,
                        help="chooses which of K or N (default: 1)")
    parser.add_argument("--places", choices=["first", "last"],
                        help="of memory, instead, fail the first call from every place, or the "
                        "last of places that make several")
    parser.add_argument("--without", action="append", metavar="NAME",
                        help="leave out the places that this command has, repeatable")
    parser.add_argument("--near", metavar="REGEX",
                        help="only places with such a function among the innermost --depth of "
                        "strata's")
    parser.add_argument("--most", type=int, metavar="N",
                        help="of the places of a command only N, drawn with --seed")
    parser.add_argument("--depth", type=int, default=12, metavar="N",
                        help="how many frames tell places apart (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=60, metavar="SECONDS",
                        help="a run that takes longer hangs (default: %(default)s)")
    parser.add_argument("--replay", metavar="COMMAND:KIND[@PLACE]:N[:REASON]",
                        help="one run, in full")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write all there")
    return parser.parse_args()


def main():
    options = parse_options()
    commands = [command for command in COMMANDS
                if not options.command or command.name in options.command]
    if not commands:
        sys.exit(f"no such command: {', '.join(options.command)}")
    with tempfile.TemporaryDirectory(prefix="strata-faults.") as folder:
        bench = Bench(pathlib.Path(folder), options)
        if options.replay:
            return replay(bench, options.replay)
        tallies, found = run_campaign(bench, commands, options)
    print_table(tallies, 0)
    print_table(tallies, 1)
    for what, times in bench.launcher.items():
        what = f"died of signal {-what}" if isinstance(what, int) else "hung when all ranks had ended"
        print(f"mpirun itself {what}: {times} times; these runs were made again\n")
    print_violations(found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
