#!/usr/bin/env python3
"""Differential fuzzing of the log checker: mutated logs, judged by mlperf-logging in process and by `strata check log`.

    fuzz_logs.py --strata build/release/cli/strata --logs PUBLISHED --count 1000000 --out fuzz-logs
    fuzz_logs.py --strata build/release/cli/strata --logs PUBLISHED --replay 1:52:7

Needs a Python with mlperf-logging. PUBLISHED holds v1.1.tar.xz and v2.0.tar.xz; without it all logs are made from the
rules. Two verdicts are the same where both pass or fail, with the same keys in error, as many errors without a key, and
the same keys in the warnings. Every round that has rules is drawn, with the official rule files, and for BERT with
Strata's own too. Differences that known_differences.py does not name are written to OUT as SEED.log and SEED.json; the
exit code is then 1.
"""

import argparse
import collections
import functools
import gc
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

import known_differences
import logs
import official
from mutations import Mutator

BATCH = 250  # logs of one round per call of strata
MAX_WRITTEN = 200  # most differences written as files
OWN_RULES = "Strata's rules"
OFFICIAL_RULES = "official rules"

Judged = collections.namedtuple("Judged", "name seed usage ruleset rules text")
seeds = None
options = None


def own_rulesets(strata):
    """The rounds of the rules built into `strata`: an empty log breaks some of their rules."""
    with tempfile.NamedTemporaryFile(suffix=".txt") as empty:
        found = []
        for usage, ruleset in official.rulesets():
            result = subprocess.run(
                [strata, "check", "log", "--json", "--usage", usage, "--ruleset", ruleset, empty.name],
                capture_output=True,
                text=True,
            )
            (log,) = json.loads(result.stdout)["logs"]
            if any(error["id"] != "log/no-events" for error in log["errors"]):
                found.append((usage, ruleset))
        return found


@functools.lru_cache(maxsize=None)
def rule_words(usage, ruleset):
    """The values that a round's rules compare with, as JSON texts, and their keys."""
    records = [record for _, record in official.rule_records(usage, ruleset)]
    found = {text for record in records for text in logs.literals(json.dumps(record).replace('\\"', '"'))}
    return sorted(text for text in found if "/" not in text), sorted({record["NAME"] for record in records})


def make_batch(campaign, batch, only=None):
    """The logs of a batch; of `only` that place alone."""
    rng = random.Random(f"{campaign}:{batch}")
    own = rng.random() < 0.25
    usage, ruleset = rng.choice(options.own_rulesets if own else official.rulesets())
    made = seeds.of(usage, ruleset)
    values, keys = rule_words(usage, ruleset)
    other = lambda rng: rng.choice(rng.choice([made, seeds.published or made])).lines
    for place in range(options.batch) if only is None else [only]:
        rng = random.Random(f"{campaign}:{batch}:{place}")
        seed = seeds.draw(usage, ruleset, rng, own)
        text = Mutator(rng, values, keys, other).mutate(seed.lines)
        if ruleset == "0.6.0":
            text = "".join(logs.to_old_form(line) for line in text.splitlines(keepends=True))
        if options.pad:
            text = pad(text, rng)
        yield Judged(
            f"{campaign}:{batch}:{place}", seed.name, usage, ruleset, OWN_RULES if own else OFFICIAL_RULES, text
        )


def pad(text, rng):
    """The log with text without events before one of its lines, so much that byte --pad MiB, where a piece ends, lies
    behind it in the log."""
    lines = text.splitlines(keepends=True)
    place = rng.randrange(len(lines) + 1)
    before, after = "".join(lines[:place]), "".join(lines[place:])
    size = options.pad * 2**20 - len(before) - rng.randrange(len(after) + 1)
    end = rng.choice(["\n", "\n", "\r", "", ":::MLL"])
    return before + ("#" * 99 + "\n") * (size // 100) + "#" * (size % 100 - len(end)) + end + after


def strata_verdicts(paths, usage, ruleset, rules):
    command = [options.strata, "check", "log", "--json", "--threads", "1", "--usage", usage, "--ruleset", ruleset]
    if rules == OFFICIAL_RULES:
        command += ["--rules", official.PACKAGE]
    result = subprocess.run(command + paths, capture_output=True, text=True)
    try:
        verdicts = json.loads(result.stdout)["logs"]
    except ValueError:
        verdicts = []
    if len(verdicts) != len(paths):
        raise RuntimeError(
            f"strata says {len(verdicts)} verdicts on {len(paths)} logs, exit code {result.returncode}: {result.stderr}"
        )
    return verdicts


def comparable(verdict):
    """A verdict of `strata check log --json` in the form of the official one; None where it judges nothing."""
    if verdict["outcome"] == "not judged":
        return None
    errors = verdict["errors"]
    return official.Verdict(
        passed=verdict["outcome"] == "passed",
        keyed=frozenset(error["key"] for error in errors if error["key"]),
        loose=official.count_loose([error["summary"] for error in errors if not error["key"]]),
        warnings=frozenset(finding["key"] for finding in verdict["warnings"]),
        crash=None,
    )


def judge(batch):
    """Both verdicts on each log of a batch."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for place, log in enumerate(batch):
            paths.append(os.path.join(folder, f"{place}.txt"))
            with open(paths[-1], "w", encoding="latin-1", newline="") as file:
                file.write(log.text)
        first = batch[0]
        ours = strata_verdicts(paths, first.usage, first.ruleset, first.rules)
        for log, path, own in zip(batch, paths, ours):
            yield log, official.check(path, log.usage, log.ruleset), comparable(own), own


def readable(verdict):
    return {name: sorted(value) if isinstance(value, frozenset) else value for name, value in verdict._asdict().items()}


def run_batch(campaign, number, only=None):
    """(counts by class, differences to be written) of one batch."""
    counts = collections.Counter()
    differences = []
    for log, theirs, ours, told in judge(list(make_batch(campaign, number, only))):
        counts["logs"] += 1
        counts[f"logs, {log.rules}"] += 1
        if ours is None:
            counts["not judged: Strata's rules cover BERT"] += 1
        elif theirs == ours:
            counts["same: passed" if ours.passed else "same: failed"] += 1
        else:
            known = known_differences.name_of(log, theirs, ours)
            counts[f"known: {known}" if known else "unexplained"] += 1
            if not known or only is not None:
                summary = {
                    **log._asdict(),
                    "known": known,
                    "official": readable(theirs),
                    "strata": readable(ours),
                    "findings": told,
                }
                summary.pop("text")
                differences.append((log, summary))
    return counts, differences


def prepare(given):
    """Sets what the processes of a campaign share."""
    global options, seeds
    options = given
    seeds = logs.Seeds(options.logs, options.rounds, options.logs_a_system)
    gc.freeze()  # the seeds stay
    gc.set_threshold(100_000)


def write_difference(log, summary):
    base = os.path.join(options.out, log.name.replace(":", "_"))
    with open(base + ".log", "w", encoding="latin-1", newline="") as file:
        file.write(log.text)
    with open(base + ".json", "w") as file:
        json.dump(summary, file, indent=1)


def replay(name):
    campaign, batch, place = name.split(":")
    counts, differences = run_batch(campaign, int(batch), int(place))
    for log, summary in differences:
        write_difference(log, summary)
        print(json.dumps(summary, indent=1))
    return 1 if counts["unexplained"] else 0


def results(executor, batches):
    """The results of all batches, as they come, a few in work at a time."""
    if executor is None:
        for number in batches:
            yield run_batch(options.seed, number)
        return
    waiting = collections.deque()
    for number in batches:
        waiting.append(executor.submit(run_batch, options.seed, number))
        if len(waiting) > 2 * options.jobs:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def campaign():
    started = time.monotonic()
    total = collections.Counter()
    written = 0
    batches = range(options.first_batch, options.first_batch + -(-options.count // options.batch))
    executor = ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) if options.jobs > 1 else None
    for done, (counts, differences) in enumerate(results(executor, batches), 1):
        total += counts
        for log, summary in differences[: MAX_WRITTEN - written]:
            write_difference(log, summary)
            written += 1
        rate = total["logs"] / (time.monotonic() - started)
        if done % 20 == 0 or done == len(batches):
            print(
                f"{total['logs']} logs, {rate:.0f} a second, {total['unexplained']} unexplained",
                file=sys.stderr,
                flush=True,
            )
            with open(os.path.join(options.out, "counts.json"), "w") as file:
                json.dump(
                    {
                        "seed": options.seed,
                        "batches": [batches.start, batches.start + done],
                        "logs_a_second": round(rate),
                        "counts": dict(sorted(total.items())),
                    },
                    file,
                    indent=1,
                )
    for name, count in sorted(total.items()):
        print(f"{count:9}  {name}")
    return 1 if total["unexplained"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strata", default="build/release/cli/strata", help="the program (default: %(default)s)")
    parser.add_argument("--logs", help="folder with the published rounds (default: none, logs are made from the rules)")
    parser.add_argument("--rounds", nargs="+", default=["v1.1", "v2.0"], help="published rounds (default: both)")
    parser.add_argument("--logs-a-system", type=int, default=1, help="published logs of each system and benchmark")
    parser.add_argument("--seed", default="1", help="of the whole campaign")
    parser.add_argument("--count", type=int, default=10000, help="logs")
    parser.add_argument("--batch", type=int, default=BATCH, help="logs a call of strata; part of the seed")
    parser.add_argument(
        "--pad",
        type=int,
        default=0,
        metavar="MIB",
        help="text without events in each log; Strata reads logs over 16 MiB piece by piece",
    )
    parser.add_argument("--first-batch", type=int, default=0, help="where to go on")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", default="fuzz-logs", help="folder for differences and counts.json")
    parser.add_argument("--replay", metavar="SEED", help="judge and show this log again")
    given = parser.parse_args()
    os.makedirs(given.out, exist_ok=True)
    given.own_rulesets = own_rulesets(given.strata)
    prepare(given)
    return replay(given.replay) if given.replay else campaign()


if __name__ == "__main__":
    sys.exit(main())
