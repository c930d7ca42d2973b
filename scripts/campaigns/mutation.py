#!/usr/bin/env python3
"""Breaks one line of the sources at a time and asks whether a test notices.

From a seed it draws mutants: a line of a folder under test, and one small change of it (an operator, a constant, a
condition, a call left out). Each is built and tested alone, on a copy of a commit in a temporary folder; the checkout
is never touched. A mutant is noticed where a test fails or hangs. What no test notices is listed, to be judged by a reader.

  scripts/campaigns/mutation.py --results mutation.jsonl              # 500 mutants of all folders
  scripts/campaigns/mutation.py --results mutation.jsonl --replay 17  # mutant 17 again, against HEAD and its tests

A results file holds the commit, HEAD where the campaign began, and a line of JSON a mutant. Run again, the campaign goes
on where it stopped, on that commit.
"""

import argparse
import bisect
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["comm", "optim", "loadbalance", "training", "bert", "scoring", "compliance", "harness"]

# The suites for a mutant of a folder, nearest first: a test executable, :N for N ranks, =FILTER for some of
# its tests (-PATTERN excludes tests). The first failure ends the mutant.
NEAREST = {
    "comm": ["test_comm", "test_comm_mpi:2", "test_comm_mpi:3", "test_training"],
    "optim": ["test_optim", "test_training"],
    "loadbalance": ["test_loadbalance", "test_training"],
    "training": ["test_training", "test_training_mpi:2", "test_training_stages_mpi:2", "test_training_modules_mpi:2"],
    "bert": ["test_bert=-*EachDamagedByte*", "test_training", "test_bert=*EachDamagedByte*"],
    "scoring": ["test_scoring=-Published*", "test_scoring=Published*"],
    "compliance": ["test_compliance=-Published*", "test_scoring=-Published*", "test_compliance=Published*"],
    "harness": ["test_harness", "test_training"],
}
# Slower and more distant suites, which survivors must pass in the end.
WIDER = {
    "comm": ["test_training_mpi:2", "test_training_mpi:4", "test_training_stages_mpi:2"],
    "optim": ["test_training_mpi:2"],
    "loadbalance": ["test_training_mpi:2", "test_cli=Bench*"],
    "training": ["test_cli=Train.*:Bench*"],
    "bert": ["test_training_stages_mpi:2", "test_cli=Eval.*:Train.*"],
    "scoring": ["test_cli_tools", "test_cli=PlotCommand.*"],
    "compliance": ["test_cli_tools"],
    "harness": ["test_cli=Train.*:*Signal.*:RunningJob.*:*ResumedJob*"],
}
# The reduction on device streams is built only with CUDA; its tests need no GPU.
NEEDS_CUDA = {"comm/order/stream_executor.cc": ["test_comm_streams_mpi:2", "test_training_streams_mpi:2"]}

MEMORY_LIMIT = 16 << 30  # bytes of address space: a mutant may ask for any amount
MOST_SECONDS = 1200  # time limit of a suite without a mutant

BEGUN = re.compile(r"\[ RUN      \] (\S+)")
PASSED = re.compile(r"\[       OK \] (\S+) \((\d+) ms\)")

Mutation = collections.namedtuple("Mutation", "file line kind begin end text before after")


# --- Drawing ---------------------------------------------------------------------------------------------------------

NO_CODE = re.compile(
    r'''//[^\n]* | /\*.*?\*/ | R"(?P<d>\w*)\(.*?\)(?P=d)" | "(?:\\.|[^"\\\n])*" | (?<![0-9a-zA-Z])'(?:\\.|[^'\\\n])+'
        | ^[ ]*\#(?:[^\n]*\\\n)*[^\n]* | \bstatic_assert\b[^;]*; | \[\[[^\]\n]*\]\]''',
    re.VERBOSE | re.DOTALL | re.MULTILINE)


def code_of(text):
    """The text, of the same length, with blanks for what does not run: comments, literals, includes, static_assert."""
    return NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


# A kind of mutation: a pattern over code, and what its match becomes. Spaces tell an operator from a template's bracket,
# a pointer or a sign: the sources are formatted.
def swapped(*pairs):
    both = {**dict(pairs), **{b: a for a, b in pairs}}
    return lambda match: both[match[0]]


OPERATORS = [
    ("comparison", r" (<|<=|>|>=) ", swapped((" < ", " <= "), (" > ", " >= "))),
    ("equality", r" (==|!=) ", swapped((" == ", " != "))),
    ("logic", r" (&&|\|\|) ", swapped((" && ", " || "))),
    ("one less", r" [+-] 1\b(?![.'])", lambda match: ""),
    ("sum", r"(?<=[\w)\]]) [+-] ", swapped((" + ", " - "))),
    ("product", r"(?<=[\w)\]]) [*/] (?=[\w(])", swapped((" * ", " / "))),
    ("accumulation", r" (\+=|-=) ", swapped((" += ", " -= "))),
    ("constant", r"(?<![\w.'])(?:0|[1-9]\d*)(?=[uUlL]*\b(?!['.]))", lambda match: str(int(match[0]) + 1)),
    ("constant", r"(?<![\w.'])\d+(?=\.\d*(?:e-?\d+)?f?\b)", lambda match: str(int(match[0]) + 1)),
    ("truth", r"\b(true|false)\b(?!_)", swapped(("true", "false"))),
    ("extreme", r"\b(min|max)(?=\()", swapped(("min", "max"))),
    ("range", r"\b([\w.>-]+[.>]begin\(\)), ([\w.>-]+[.>]end\(\))", lambda match: f"{match[2]}, {match[1]}"),
    ("range", r"(?<=\.)(begin|end)\b(?!\()", swapped(("begin", "end"))),
]
NO_MUTANTS = re.compile(r"^\s*(using|namespace|template|friend|enum|struct|class|case|public|private)\b|= (0|default|delete);$"
                        r"|= (0|false|nullptr|-1);$")
TEXT = re.compile(r'" [+]|. [+]=? (?:"|fmt::format)', re.DOTALL)
CALL = re.compile(r"(?:^ *|(?<=\) )|(?<=else ))(?!(?:return|co_return|if|for|while|switch|sizeof|delete|assert|using)\b)"
                  r"(?:throw \w[\w:]*(?=\()|(?:[a-z_]\w*(?:::|\.|->|\[\w*\]|\(\)))*[a-z_]\w*(?=\())", re.MULTILINE)
IF = re.compile(r"\bif (?=\()")


def matching(code, at):
    """Position behind the bracket that closes the one at `at`."""
    depth = 0
    for position in range(at, len(code)):
        depth += {"(": 1, ")": -1}.get(code[position], 0)
        if depth == 0:
            return position + 1
    raise ValueError("a bracket is not closed")


def mutations_of(file, text):
    """All mutations of a file, by line."""
    code = code_of(text)
    starts = [0] + [match.end() for match in re.finditer("\n", code)]
    by_line = collections.defaultdict(list)

    def add(kind, begin, end, replacement):
        line = bisect.bisect_right(starts, begin)
        last = bisect.bisect_left(starts, end)
        first, behind = starts[line - 1], starts[last] if last < len(starts) else len(text)
        if line == last and NO_MUTANTS.search(code[first:behind].rstrip()):
            return
        before = " ".join(text[first:behind].split())
        after = " ".join((text[first:begin] + replacement + text[end:behind]).split())
        by_line[line].append(Mutation(file, line, kind, begin, end, replacement, before, after))

    for kind, pattern, change in OPERATORS:
        for match in re.finditer(pattern, code):
            if kind in ("sum", "accumulation") and TEXT.match(text, match.start() - 1):
                continue  # strings have no difference
            add(kind, match.start(), match.end(), change(match))
    for match in CALL.finditer(code):
        end = matching(code, match.end())
        begin = match.start() + len(match[0]) - len(match[0].lstrip())
        # A call whose value is unused. The body of a constructor and a function's definition are no calls.
        if code[end:end + 1] == ";" and not re.search(r"[,:?=(]\s*$", code[:begin]):
            add("call", begin, end, "{}" if code[:begin].rstrip()[-1:] == ")" or code[:begin].rstrip().endswith("else") else "")
    for match in IF.finditer(code):
        end = matching(code, match.end())
        condition = text[match.end():end]
        if not re.search(r";|[^=!<>]=[^=]", code[match.end():end]):
            add("condition", match.end(), end, f"(!{condition})")
    return by_line


class Drawing:
    """An endless list of mutants of files, the same for the same seed: every line with mutations is as likely."""

    def __init__(self, sources, seed):
        self.random = random.Random(seed)
        self.lines = []
        for file, text in sorted(sources.items()):
            self.lines += [mutations for _, mutations in sorted(mutations_of(file, text).items())]
        self.random.shuffle(self.lines)

    def __iter__(self):
        for mutations in self.lines:
            kind = self.random.choice(sorted({mutation.kind for mutation in mutations}))
            yield self.random.choice([mutation for mutation in mutations if mutation.kind == kind])


# --- Building and testing --------------------------------------------------------------------------------------------

class Copy:
    """A copy of a commit with a build of its own."""

    def __init__(self, work, commit, cuda):
        self.tree, self.build, self.work = work / "tree", work / "build", work
        tag = f"{os.getpid()} {work}"
        self.tag = f"STRATA_MUTATION={tag}"
        temporary = work / "temporary"
        temporary.mkdir(parents=True, exist_ok=True)
        self.environment = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive", TMPDIR=str(temporary),
                                CCACHE_BASEDIR=str(work), GTEST_COLOR="no", STRATA_MUTATION=tag)
        self.environment.setdefault("CCACHE_DIR", str(work / "ccache"))
        oracle = ROOT / ".venv/bin/python"
        if oracle.exists():
            self.environment.setdefault("STRATA_ORACLE_PYTHON", str(oracle))
        for package in (ROOT / ".venv/lib").glob("*/site-packages/mlperf_logging"):
            self.environment.setdefault("STRATA_MLPERF_LOGGING", str(package))
        if (ROOT.parent / "shared").exists():
            self.environment.setdefault("STRATA_SHARED", str(ROOT.parent / "shared"))
        if self.tree.exists():
            self.run(["git", "-C", self.tree, "checkout", "--quiet", "--force", "--detach", commit])
        else:
            self.run(["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", self.tree, commit])
        self.run(["cmake", "-S", self.tree, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                  "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -w", "-DSTRATA_UNITE=OFF", f"-DSTRATA_CUDA={'ON' if cuda else 'OFF'}",
                  *(["-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld"] if on_path("ld.lld") else [])])

    def run(self, command):
        done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}")

    def make(self, suite):
        """Whether the executable of a suite could be built; raises where that took too long."""
        target = re.split("[:=]", suite)[0]
        return subprocess.run(["ninja", "-C", self.build, "-j2", target], env=self.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def test(self, suite, limit_of, nearest=""):
        """Returns who noticed: the name of a test that failed, "hung in" a test that took longer than limit_of(its name),
        or nothing."""
        target, ranks, chosen = re.fullmatch(r"(\w+)(?::(\d))?(?:=(.*))?", suite).groups()
        chosen = nearest + (chosen or "")
        command = [str(next(self.build.glob(f"tests/*/{target}"))), "--gtest_fail_fast",
                   *([f"--gtest_filter={chosen}"] if chosen else [])]
        if ranks:
            command = [str(self.tree / "scripts/mpirun.sh"), "-n", ranks] + command
        output = self.work / "output.txt"
        with open(output, "w") as file:
            process = subprocess.Popen(command, env=self.environment, cwd=self.tree, stdout=file, stderr=file,
                                       stdin=subprocess.DEVNULL, preexec_fn=limits, start_new_session=True)
            status = wait(process, output, limit_of)
            if status is None:
                process.terminate()  # mpirun ends its ranks
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(5)
            self.end_strays()
            process.wait()
        self.clear_temporary()
        if status == 0:
            return ""
        text = self.output()
        failed = re.search(r"^\[  FAILED  \] ([^ ,\n]+)", text, re.MULTILINE) if status is not None else None
        begun = BEGUN.findall(text)
        name = failed[1] if failed else begun[-1] if begun else target
        return ("hung in " if status is None else "") + f"{target}: {name}"

    def output(self):
        """Returns the output of the last test."""
        return (self.work / "output.txt").read_text(errors="replace")

    def end_strays(self):
        """Ends what a test started and left behind: whatever has this campaign's tag in its environment."""
        tag = self.tag.encode()
        for environment in pathlib.Path("/proc").glob("[0-9]*/environ"):
            pid = int(environment.parent.name)
            with contextlib.suppress(OSError):
                if pid != os.getpid() and tag in environment.read_bytes().split(b"\0"):
                    os.kill(pid, signal.SIGKILL)

    def clear_temporary(self):
        subprocess.run(["find", self.environment["TMPDIR"], "-mindepth", "1", "-delete"], stderr=subprocess.DEVNULL)

    @contextlib.contextmanager
    def mutated(self, mutation):
        path = self.tree / mutation.file
        text = path.read_text()
        path.write_text(text[:mutation.begin] + mutation.text + text[mutation.end:])
        try:
            yield
        finally:
            path.write_text(text)


def wait(process, output, limit_of):
    """The exit status of a process that runs tests; None where one of them takes too long."""
    running, since = "", time.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(0.5)
        last = (BEGUN.findall(output.read_text(errors="replace")) or [""])[-1]
        if last != running:
            running, since = last, time.monotonic()
        if time.monotonic() - since > limit_of(running):
            return None


def limits():
    for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):  # a shell's background jobs ignore these
        signal.signal(ignored, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def on_path(program):
    return any(os.access(os.path.join(folder, program), os.X_OK) for folder in os.environ["PATH"].split(":"))


def head():
    return subprocess.check_output(["git", "-C", ROOT, "rev-parse", "HEAD"], text=True).strip()


def nearest_suites(file):
    return NEEDS_CUDA.get(file) or NEAREST[file.split("/")[0]]


def wider_suites(file):
    return WIDER[file.split("/")[0]]


def nearest_tests(tree, file):
    """A filter for the tests that are run first: of the source's own test file, or else of its folder."""
    path = pathlib.PurePath(file)
    folder = tree / "tests" / path.parent
    own = folder / f"{path.stem}_test.cc"
    tests = [own] if own.exists() else [test for test in folder.glob("*_test.cc") if not test.stem.endswith("_mpi_test")]
    names = {name for test in tests for name in re.findall(r"^TEST(?:_F|_P)?\((\w+),", test.read_text(), re.MULTILINE)}
    return ":".join(f"{name}.*:*/{name}.*" for name in sorted(names))


class Judge:
    def __init__(self, copy):
        self.copy, self.seconds = copy, {}

    def time_limit(self, suite):
        """Builds and runs a suite without a mutant, once: that must pass, and says what is too long for each test."""
        if suite not in self.seconds:
            if not self.copy.make(suite):
                sys.exit(f"{suite} cannot be built without a mutant")
            start = time.monotonic()
            if noticed := self.copy.test(suite, lambda test: MOST_SECONDS):
                sys.exit(f"fails without a mutant: {noticed}")
            self.seconds[suite] = {test: 1e-3 * int(ms) for test, ms in PASSED.findall(self.copy.output())}
            print(f"  {suite} passes without a mutant in {time.monotonic() - start:.0f} s", flush=True)
        seconds = self.seconds[suite]
        return lambda test: 20 + 4 * seconds.get(test, max(seconds.values(), default=0))

    def noticed_by(self, suite, tests):
        limit_of = self.time_limit(suite)
        by = self.copy.test(suite, limit_of, tests)
        if by.startswith("hung"):  # or the machine is busy
            by = self.copy.test(suite, lambda test: 4 * limit_of(test), tests)
        return by

    def outcome(self, mutation, suites):
        """(outcome, by what): "noticed", "hung", "survived" or "does not compile"."""
        for suite in suites:
            self.time_limit(suite)  # before there is a mutant
            nearest = nearest_tests(self.copy.tree, mutation.file) if suite == nearest_suites(mutation.file)[0] else ""
            with self.copy.mutated(mutation):
                if not self.copy.make(suite):
                    return "does not compile", ""
                for tests in [nearest, ""] if nearest else [""]:
                    if by := self.noticed_by(suite, tests):
                        return ("hung" if by.startswith("hung") else "noticed"), by
        return "survived", ""


# --- The campaign ----------------------------------------------------------------------------------------------------

class Results:
    """A file of JSON lines: the commit that mutants were drawn from, then a mutant each. A later line takes the place of
    an earlier one; what a replay said is kept beside what the campaign said."""

    def __init__(self, path):
        self.path, self.commit, self.by_place, self.replayed = path, "", {}, {}
        with contextlib.suppress(FileNotFoundError):
            for line in open(path):
                self.keep(json.loads(line))

    def keep(self, line):
        if "commit" in line:
            self.commit = line["commit"]
        else:
            (self.replayed if "replayed" in line else self.by_place)[line["place"]] = line

    def mutants(self):
        return [result for result in self.by_place.values() if result["n"]]

    def today(self, result):
        """The result of its replay, where there was one."""
        return self.replayed.get(result["place"], result)

    def add(self, line):
        self.keep(line)
        with open(self.path, "a") as file:
            file.write(json.dumps(line) + "\n")


def share_noticed(results):
    count = collections.Counter(result["outcome"] for result in results)
    mutants = count["noticed"] + count["hung"] + count["survived"]
    return f"{100 * (1 - count['survived'] / mutants):.1f} %" if mutants else ""


def summary(results):
    mutants = sorted(results.mutants(), key=lambda result: (result["file"], result["line"]))
    print(f"\n{'folder':<14}{'mutants':>8}{'noticed':>9}{'hung':>6}{'survived':>10}{'share noticed':>15}{'replayed':>10}")
    for folder in sorted({result["file"].split("/")[0] for result in mutants}) + ["all"]:
        drawn = [result for result in mutants if folder in ("all", result["file"].split("/")[0])]
        count = collections.Counter(result["outcome"] for result in drawn)
        if drawn:
            print(f"{folder:<14}{len(drawn):>8}{count['noticed']:>9}{count['hung']:>6}{count['survived']:>10}"
                  f"{share_noticed(drawn):>15}{share_noticed(map(results.today, drawn)):>10}")
    survivors = [result for result in mutants if results.today(result)["outcome"] == "survived"]
    print(f"\n{len(survivors)} survivors" + (":" if survivors else ""))
    for result in survivors:
        print(f"  {result['n']:>4}  {result['file']}:{result['line']}: {result['before']}\n        -> {result['after']}")


def find_again(tree, result):
    """The mutation of a result in today's sources: the nearest line with its text."""
    text = (tree / result["file"]).read_text()
    same = [mutation for mutations in mutations_of(result["file"], text).values() for mutation in mutations
            if (mutation.before, mutation.after) == (result["before"], result["after"])]
    return min(same, key=lambda mutation: abs(mutation.line - result["line"]), default=None)


def try_again(judge, results, result, suites, **note):
    """Runs a mutant of the results against suites and adds what came of it, with a note."""
    mutation = find_again(judge.copy.tree, result)
    if mutation is None:
        print(f"{result['n']:>4}  {result['file']} has no such line any more: {result['before']}", flush=True)
        return
    outcome, by = judge.outcome(mutation, suites)
    results.add({**result, "outcome": outcome, "by": by, **note})
    print(f"{result['n']:>4}  {outcome:<9} {mutation.file}:{mutation.line}: {mutation.after}  {by}", flush=True)


def replay(judge, results, numbers):
    by_number = {result["n"]: result for result in results.mutants()}
    for number in numbers:
        if number not in by_number:
            sys.exit(f"the results hold no mutant {number}")
        result = by_number[number]
        try_again(judge, results, result, nearest_suites(result["file"]), replayed=head())


def undrawn(results, drawing, headers, count, only):
    """The mutants of a drawing that the results lack, with their places, until the results hold enough that compile;
    `only` some of the first `count`."""
    drawn = 0
    for place, mutation in enumerate(drawing):
        if mutation.file.endswith(".h") and not headers:
            continue
        drawn += 1
        if only and drawn > count:
            break
        if only and not mutation.file.startswith(only):
            continue
        if place in results.by_place:
            same = results.by_place[place]
            if (same["file"], same["line"], same["after"]) != (mutation.file, mutation.line, mutation.after):
                sys.exit(f"{results.path} is of another seed or of other folders")
            continue
        if len(results.mutants()) >= count:
            break
        yield place, mutation


def work_off(judge, mutants, lock, results, count):
    """Takes mutants and adds what came of them, until there are none; `lock` guards both."""
    while True:
        with lock:
            place, mutation = next(mutants, (0, None))
        if mutation is None:
            break
        start = time.monotonic()
        outcome, by = judge.outcome(mutation, nearest_suites(mutation.file))
        seconds = time.monotonic() - start
        with lock:
            compiles = outcome != "does not compile"
            done = len(results.mutants()) + compiles
            results.add({"place": place, "n": done if compiles else 0, "file": mutation.file, "line": mutation.line,
                         "kind": mutation.kind, "before": mutation.before, "after": mutation.after, "outcome": outcome,
                         "by": by, "seconds": round(seconds, 1)})
            print(f"{done:>4}/{count} {seconds:>6.1f} s  {outcome:<9} {mutation.file}:{mutation.line} {mutation.kind}  {by}",
                  flush=True)


def campaign(judges, mutants, results, count):
    lock = threading.Lock()
    with concurrent.futures.ThreadPoolExecutor(len(judges)) as pool:
        jobs = [pool.submit(work_off, judge, mutants, lock, results, count) for judge in judges]
        try:
            for job in concurrent.futures.as_completed(jobs):
                job.result()
        finally:
            with lock:
                mutants.close()  # if one fails, the others end after their present mutant
    for result in results.mutants():
        if result["outcome"] == "survived" and not result.get("wider"):
            try_again(judges[0], results, result, wider_suites(result["file"]), wider=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default 1)")
    parser.add_argument("--count", type=int, default=500, help="mutants that compile (default 500)")
    parser.add_argument("--results", default="mutation.jsonl", metavar="FILE", help="a line of JSON a mutant (default %(default)s)")
    parser.add_argument("--folder", action="append", metavar="PATH", help="folders, or files, to mutate (default: all)")
    parser.add_argument("--only", action="append", metavar="PATH", help="of what is drawn, run these folders' mutants alone")
    parser.add_argument("--replay", type=int, nargs="+", metavar="N", help="run mutants of the results again")
    parser.add_argument("--list", action="store_true", help="print the table of the results and the survivors; run nothing")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(f"/var/tmp/strata-mutation.{os.getuid()}"), metavar="FOLDER",
                        help="where the copy of the sources and its build lie, for the next time too (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time, each on a copy of its own (default 1)")
    parser.add_argument("--headers", action="store_true",
                        help="headers too, of which each compiles all that include it: minutes a mutant")
    parser.add_argument("--cuda", action="store_true", help="build with CUDA, for comm/order/stream_executor.cc")
    arguments = parser.parse_args()

    results = Results(arguments.results)
    if arguments.list:
        return summary(results)
    work = arguments.work.resolve()
    if arguments.replay:
        return replay(Judge(Copy(work, head(), arguments.cuda)), results, arguments.replay)
    if not results.commit:
        results.add({"commit": head()})
    copies = [Copy(work / str(job) if job else work, results.commit, arguments.cuda) for job in range(arguments.jobs)]
    tree = copies[0].tree
    files = subprocess.check_output(["git", "-C", tree, "ls-files", "--", *(arguments.folder or FOLDERS)], text=True).split()
    sources = {file: (tree / file).read_text() for file in files
               if file.endswith((".cc", ".h")) and (arguments.cuda or file not in NEEDS_CUDA)}
    mutants = undrawn(results, Drawing(sources, arguments.seed), arguments.headers, arguments.count,
                      tuple(arguments.only or ()))
    campaign([Judge(copy) for copy in copies], mutants, results, arguments.count)
    summary(results)


if __name__ == "__main__":
    main()
