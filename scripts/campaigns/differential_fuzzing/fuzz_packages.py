#!/usr/bin/env python3
"""Differential fuzzing of the package checker: mutated submissions, judged by mlperf-logging in process and by
`strata check package`, part by part: system descriptions, number of files, logs, seeds, convergence.

    fuzz_packages.py --strata build/release/cli/strata --logs PUBLISHED --count 10000 --out fuzz-packages
    fuzz_packages.py --strata build/release/cli/strata --logs PUBLISHED --replay 1:7

Needs a Python with mlperf-logging. PUBLISHED holds v1.1.tar.xz and v2.0.tar.xz. A submission is one published result
folder with its system's description. Differences that are not known are written to OUT as the submission's folder and
SEED.json; the exit code is then 1.
"""

import argparse
import collections
import functools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

import logs
import official
from mlperf_logging.package_checker import package_checker
from mutations import ODD_VALUES, Mutator

PARTS = ["systems", "files", "logs", "seeds", "convergence"]
OF_SECTION = {"Result files": "files", "Logs": "logs", "Seeds": "seeds", "Reference convergence": "convergence"}
OF_ERROR = {"Incorrect number": "files", " %d files do not": "logs", "Seed checker": "seeds", "RCP Test": "convergence"}

# Known differences. docs/compliance.md explains each under "Where the official tool looks wrong", nesting under "Logs".
DESCRIPTION_CRASH = "known: the official checker ends with an error at a system description"
CONVERGENCE_CRASH = "known: the official convergence check ends with an error"
LOG_CRASH = "known: the official checker ends with an error at a log; a failed run here"
BYPASS = "known: package_checker_params of several lines, of which the official checker understands the last"
NESTED = "known: JSON nested more than 500 deep"
OTHER_CRASH = "known: the official checker ends with an error; fails here"
FIRST_LOG = "known: a log without batch size or benchmark, which official convergence passes over where it comes first"


def mutate_description(text, rng):
    description = json.loads(text)
    name = rng.choice(list(description))
    kind = rng.randrange(5)
    if kind == 0:
        del description[name]
    elif kind == 1:
        description[name] = rng.choice([None, 8, 0.5, True, [], {}, "", "closed", "open", "Closed", "on-premise"])
    elif kind == 2:
        description["division"] = rng.choice(["closed", "open", "Closed", "", None])
    elif kind == 3:
        return text[: rng.randrange(len(text))]
    else:
        return text.replace(json.dumps(description[name]), rng.choice(ODD_VALUES), 1)
    return json.dumps(description)


def scale_convergence(lines, factor):
    """The lines of a log whose evaluations come after `factor` times as many epochs."""
    scaled = []
    for line in lines:
        if "eval_accuracy" in line:
            event = json.loads(line.split(logs.TOKEN)[-1])
            if isinstance(event["metadata"].get("epoch_num"), (int, float)):
                event["metadata"]["epoch_num"] *= factor
            line = logs.TOKEN + json.dumps(event) + "\n"
        scaled.append(line)
    return scaled


def make_package(folder, group, rng, groups):
    """Writes a mutated submission of a published result folder."""
    other = lambda rng: rng.choice(list(rng.choice(groups)["logs"].values()))
    texts = {name: "".join(lines) for name, lines in group["logs"].items()}
    if rng.random() < 0.3:
        factor = rng.choice([0.3, 0.8, 0.9, 0.95, 1.05, 2])
        texts = {name: "".join(scale_convergence(lines, factor)) for name, lines in group["logs"].items()}
    keys = ["seed", "global_batch_size", "eval_accuracy", "run_stop", "submission_benchmark"]
    mutator = Mutator(rng, [], keys, other)
    names = sorted(texts)
    for name in rng.sample(names, rng.choice([0, 0, 1, 1, 2])):
        texts[name] = mutator.mutate(texts[name].splitlines(keepends=True))
    description, benchmark, extra = group["description"], group["benchmark"], {}
    for _ in range(rng.choice([0, 1, 1, 2])):
        name = rng.choice(names)
        kind = rng.randrange(9)
        if kind == 0:
            texts.pop(name, None)
        elif kind == 1:
            texts[rng.choice(["result_99.txt", "result_a.txt", "result_.txt", "Result_1.txt", "result_1.log"])] = (
                texts.get(name, "")
            )
        elif kind == 2:
            texts[name] = texts.get(rng.choice(names), "")
        elif kind == 3:
            texts[name] = rng.choice(["", "\n", "no log"])
        elif kind in (4, 5):
            description = mutate_description(description, rng) if description == group["description"] else description
        elif kind == 6:
            extra[rng.choice(["", benchmark])] = rng.choice(
                ["rcp-bypass", "seed-checker-bypass", "rcp-bypass\nseed-checker-bypass", "rcp"]
            )
        elif kind == 7:
            benchmark = rng.choice(["bert", "resnet", "ssd", "unknown"])
        else:
            seed_line = logs.line_of(
                "seed", rng.choice(["1", "1.5", '"7"', "true", "null"]), '{"file": "a.py", "lineno": 1}', 0
            )
            texts[name] = seed_line + texts.get(name, "")
    system = os.path.join(folder, "results", group["system"])
    results = os.path.join(system, benchmark)
    os.makedirs(results)
    os.makedirs(os.path.join(folder, "systems"))
    for name, text in texts.items():
        with open(os.path.join(results, name), "w", encoding="latin-1", newline="") as file:
            file.write(text)
    for place, text in extra.items():
        with open(os.path.join(system, benchmark if place else "", "package_checker_params"), "w") as file:
            file.write(text)
    with open(os.path.join(folder, "systems", group["system"] + ".json"), "w", encoding="utf-8") as file:
        file.write(description)


class OfficialPackages:
    """The official package checker, whose errors are noted by part."""

    def __init__(self):
        self.failed = set()
        self.crashes = {}
        checker = package_checker.rcp_checker
        checker.re = official.LinearRe
        checker.RCP_Checker = functools.lru_cache(maxsize=None)(checker.RCP_Checker)
        self.check_directory = checker.check_directory
        checker.check_directory = self.check_convergence
        self.main = package_checker.mlp_compliance.main
        package_checker.mlp_compliance.main = self.check_log
        package_checker.logging = self  # its only use here are the errors
        warnings.simplefilter("ignore")

    def error(self, message, *_):
        self.failed.update(part for start, part in OF_ERROR.items() if message.startswith(start))

    def info(self, *_):
        pass

    warning = info

    def check_convergence(self, *args, **options):
        options["set_scaling"] = False  # leaves the folder unchanged
        try:
            return self.check_directory(*args, **options)
        except Exception as error:
            self.crashes["convergence"] = type(error).__name__
            return True, "", 1.0

    def check_log(self, *args):
        official.cached_yaml.loads = 0  # counts the files of this log
        try:
            return self.main(*args)
        except Exception as error:
            self.crashes["a log"] = type(error).__name__
            official.new_process()
            return False, None, None, None

    def check(self, folder, ruleset):
        """({part: passed}, {what: the exception that ended it})."""
        self.failed, self.crashes = set(), {}
        official.new_process()
        try:
            if not package_checker.check_systems(folder, "training", ruleset):
                self.failed.add("systems")
        except Exception as error:
            self.crashes["systems"] = type(error).__name__
        try:
            package_checker.check_training_result_files(folder, "training", ruleset, True, False, False, False, False)
        except Exception as error:
            self.crashes["results"] = type(error).__name__
        return {part: part not in self.failed for part in PARTS}, self.crashes


def strata_parts(strata, folder, ruleset):
    command = [
        strata,
        "check",
        "package",
        "--json",
        "--threads",
        "1",
        "--ruleset",
        ruleset,
        "--rules",
        official.PACKAGE,
        "--rcp",
        official.PACKAGE,
        folder,
    ]
    result = subprocess.run(command, capture_output=True, text=True)
    package = json.loads(result.stdout)["packages"][0]
    passed = {part: True for part in PARTS}
    passed["systems"] = all(section["outcome"] != "failed" for section in package["systems"])
    for of_folder in package["folders"]:
        for section in of_folder["sections"]:
            if section["outcome"] == "failed":
                passed[OF_SECTION.get(section["title"], "systems")] = False
    return passed, package


def has_several_permissions(package):
    """Whether a package_checker_params permits here what, for its line ends, it does not officially."""
    return any(
        "bypass" in text
        for folder in package["folders"]
        for section in folder["sections"]
        for text in section["warnings"] + section["notes"]
    )


def first_log_fails(package):
    return any(folder["logs"] and folder["logs"][0]["outcome"] == "failed" for folder in package["folders"])


def is_of_an_order(package):
    messages = {folder["rcp"]["message"] for folder in package["folders"]}
    return bool(messages & {"Benchmark names in files do not match", "Batch sizes in files do not match"})


def compare(theirs, ours, package):
    """The name of what is different, or of what is the same."""
    passed, crashes = theirs
    if "results" in crashes:
        return "unexplained: passes here" if all(ours.values()) else OTHER_CRASH
    differ = [part for part in PARTS if passed[part] != ours[part] and part not in crashes]
    if differ == ["convergence"] and is_of_an_order(package):
        return FIRST_LOG
    if (
        differ
        and set(differ) <= {"convergence", "seeds"}
        and not any(passed[part] for part in differ)
        and has_several_permissions(package)
    ):
        return BYPASS
    if differ and "JSON nested too deeply" in json.dumps(package):
        return NESTED
    if "convergence" in crashes and any(folder["rcp"]["passed"] for folder in package["folders"]):
        return FIRST_LOG if first_log_fails(package) else "unexplained: convergence passes here"
    if differ:
        return "unexplained: " + ", ".join(differ)
    if crashes:
        return DESCRIPTION_CRASH if "systems" in crashes else LOG_CRASH if "a log" in crashes else CONVERGENCE_CRASH
    return "same: passed" if all(ours.values()) else "same: failed"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strata", default="build/release/cli/strata", help="the program (default: %(default)s)")
    parser.add_argument("--logs", required=True, help="folder with the published rounds")
    parser.add_argument("--rounds", nargs="+", default=["v1.1", "v2.0"], help="published rounds (default: both)")
    parser.add_argument("--seed", default="1", help="of the whole campaign")
    parser.add_argument("--count", type=int, default=1000, help="packages")
    parser.add_argument("--out", default="fuzz-packages", help="folder for differences and counts.json")
    parser.add_argument("--replay", metavar="SEED", help="judge and show this package again")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    groups = logs.published_groups(options.logs, options.rounds, 3)
    checker = OfficialPackages()
    counts = collections.Counter()
    started = time.monotonic()
    names = [options.replay] if options.replay else [f"{options.seed}:{place}" for place in range(options.count)]
    for done, name in enumerate(names, 1):
        rng = random.Random(name)
        group = rng.choice(groups)
        ruleset = group["round"].removeprefix("v") + ".0"
        with tempfile.TemporaryDirectory() as folder:
            make_package(folder, group, rng, groups)
            ours, told = strata_parts(options.strata, folder, ruleset)
            theirs = checker.check(folder, ruleset)
            outcome = compare(theirs, ours, told)
            counts[outcome] += 1
            if outcome.startswith("unexplained") or options.replay:
                base = os.path.join(options.out, name.replace(":", "_"))
                shutil.copytree(folder, base, dirs_exist_ok=True)
                with open(base + ".json", "w") as file:
                    json.dump(
                        {"outcome": outcome, "ruleset": ruleset, "official": theirs, "strata": ours, "told": told},
                        file,
                        indent=1,
                    )
        if options.replay:
            print(outcome, theirs, ours)
        if done % 100 == 0 or done == len(names):
            rate = done / (time.monotonic() - started)
            print(f"{done} packages, {rate:.1f} a second, {dict(counts)}", file=sys.stderr, flush=True)
            with open(os.path.join(options.out, "counts.json"), "w") as file:
                json.dump(
                    {"seed": options.seed, "packages": done, "counts": dict(sorted(counts.items()))}, file, indent=1
                )
    for outcome, count in sorted(counts.items()):
        print(f"{count:9}  {outcome}")
    return 1 if any(outcome.startswith("unexplained") for outcome in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
