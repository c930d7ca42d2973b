#!/usr/bin/env python3
"""Every ruleset of an installed mlperf-logging: logs made from its rules, judged by it and by `strata check log`.

    every_round.py --strata build/tools-only/cli/strata [LOG...]

Each log is judged as it is, with a run_stop that says aborted, and with one that has no status. LOGs are judged by
every ruleset. Prints a line a ruleset: how many verdicts agree, and of how many logs each end of a run is an error.
Differences that known_differences.py does not name are shown; the exit code is then 1.
"""

import argparse
import collections
import sys

import fuzz_logs
import known_differences
import logs
import official

SUCCESS, ABORTED, NO_STATUS = '"status": "success"', '"status": "aborted"', '"end": 1'
ENDS = {
    "as it is": lambda text: text,
    "aborted": lambda text: text.replace(SUCCESS, ABORTED),
    "no status": lambda text: text.replace(SUCCESS, NO_STATUS).replace(ABORTED, NO_STATUS),
}


def logs_of(usage, ruleset, paths):
    texts = [(seed.name, "".join(seed.lines)) for seed in logs.made_seeds(usage, ruleset)]
    for path in paths:
        with open(path, encoding="latin-1", newline="") as file:
            texts.append((path, file.read()))
    for name, text in texts:
        for end, change in ENDS.items():
            changed = change(text)
            if ruleset == "0.6.0":
                changed = "".join(logs.to_old_form(line) for line in changed.splitlines(keepends=True))
            yield fuzz_logs.Judged(f"{name}, {end}", None, usage, ruleset, fuzz_logs.OFFICIAL_RULES, changed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strata", default="build/release/cli/strata", help="the program (default: %(default)s)")
    parser.add_argument("logs", nargs="*", metavar="LOG")
    fuzz_logs.options = parser.parse_args()
    total = collections.Counter()
    for usage, ruleset in official.rulesets():
        counts, stops = collections.Counter(), collections.Counter()
        for log, theirs, ours, _ in fuzz_logs.judge(list(logs_of(usage, ruleset, fuzz_logs.options.logs))):
            end = log.name.rpartition(", ")[2]
            if theirs == ours:
                counts["same"] += 1
            elif ours is not None and known_differences.name_of(log, theirs, ours):
                counts["known difference"] += 1
            else:
                counts["unexplained"] += 1
                print(f"{log.name}: official {theirs}, strata {ours}")
            stops[end] += ours is not None and "run_stop" in ours.keyed
        total += counts
        print(f"{usage} {ruleset}: {dict(counts)}; run_stop is an error of {dict(stops)}", flush=True)
    print(f"all: {dict(total)}")
    return 1 if total["unexplained"] else 0


if __name__ == "__main__":
    sys.exit(main())
