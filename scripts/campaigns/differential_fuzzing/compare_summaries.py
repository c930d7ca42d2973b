#!/usr/bin/env python3
"""The official result summarizer's CSV beside `strata score --summary`, submitter by submitter, byte for byte.

    compare_summaries.py --strata build/tools-only/cli/strata v2.0:2.0.0 v1.1:1.1.0
    compare_summaries.py --strata build/tools-only/cli/strata --hpc

A round is FOLDER:RULESET. Each submitter is copied first, since the official tool writes into its tree. --hpc makes a
submission of HPC 3.0 from its rules, with strong and weak scaling. Prints a line a submitter; the exit code is 1 where
one differs.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import logs
import official

HPC_RUNS = {"deepcam": 5, "oc20": 5, "cosmoflow": 10, "openfold": 10}
FIELDS = """number_of_nodes host_processors_per_node host_processor_model_name host_processor_core_count
    accelerators_per_node accelerator_model_name hw_notes framework sw_notes"""


def read(path):
    with open(path, "rb") as file:
        return file.read()


def compare(strata, submitter, usage, ruleset):
    """Returns the differences of both tables."""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, os.path.basename(submitter.rstrip("/")))
        shutil.copytree(submitter, copy)
        words = [sys.executable, "-m", "mlperf_logging.result_summarizer", copy, usage, ruleset]
        words += ["--csv", f"{folder}/official.csv"]
        theirs = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        if theirs.returncode != 0:
            return ["the official tool ends with " + (theirs.stderr.strip().splitlines() or ["nothing"])[-1]]
        different = []
        for ending, flags in [("", []), ("_detailed", ["--detailed"])]:
            output = f"{folder}/strata{ending}.csv"
            rules = ["--rules", official.PACKAGE, "--rcp", official.PACKAGE]
            words = [strata, "score", submitter, "--usage", usage, "--ruleset", ruleset, "--summary", output]
            subprocess.run(words + rules + flags, capture_output=True, check=False)
            ours, official_csv = read(output), read(f"{folder}/official{ending}.csv")
            # The official tool writes the detailed table of weak scaling to another file.
            if ours != official_csv and not (ending and usage == "hpc"):
                different.append(f"official{ending}.csv, {len(official_csv.splitlines())} lines")
        return different


def make_hpc(folder):
    """A submission whose closed and open systems have every benchmark of HPC 3.0, logs as their rules want them."""
    for seed in logs.made_seeds("hpc", "3.0.0"):
        division, _, benchmark = seed.name.rpartition("/")[2].partition("_")
        if not logs.verdict_of_lines(seed.lines, "hpc", "3.0.0").passed or benchmark not in HPC_RUNS:
            continue
        os.makedirs(f"{folder}/systems", exist_ok=True)
        description = {**dict.fromkeys(FIELDS.split(), "2"), "division": division, "submitter": "Acme"}
        with open(f"{folder}/systems/{division}.json", "w") as file:
            json.dump({**description, "system_name": division, "status": "Preview"}, file)
        for scaling, runs in [("strong", HPC_RUNS[benchmark]), ("weak", HPC_RUNS[benchmark] + 2)]:
            os.makedirs(f"{folder}/results/{division}/{scaling}/{benchmark}")
            for run in range(runs):
                with open(f"{folder}/results/{division}/{scaling}/{benchmark}/result_{run}.txt", "w") as file:
                    file.write("".join(later(line, place, run) for place, line in enumerate(seed.lines)))


def later(line, place, run):
    """Runs begin a minute after each other, and each is slower than the one before."""
    return re.sub(r'"time_ms": (\d+)', lambda time: f'"time_ms": {int(time[1]) + run * (60_000 + 1000 * place)}', line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strata", default="build/release/cli/strata", help="the program (default: %(default)s)")
    parser.add_argument("--hpc", action="store_true", help="a made submission of HPC 3.0 as well")
    parser.add_argument("rounds", nargs="*", metavar="FOLDER:RULESET")
    given = parser.parse_args()
    strata, failed = os.path.abspath(given.strata), 0
    with tempfile.TemporaryDirectory() as folder:
        wanted = []
        for name in given.rounds:
            path, _, ruleset = name.rpartition(":")
            wanted += [(os.path.join(path, one), "training", ruleset) for one in sorted(os.listdir(path))]
        if given.hpc:
            make_hpc(f"{folder}/Acme")
            wanted.append((f"{folder}/Acme", "hpc", "3.0.0"))
        for submitter, usage, ruleset in wanted:
            different = compare(strata, submitter, usage, ruleset)
            failed += bool(different)
            print(f"{submitter} {usage} {ruleset}: {'; '.join(different) or 'same'}", flush=True)
    print(f"{len(wanted)} submitters, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
