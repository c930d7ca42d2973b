#!/usr/bin/env python3
"""Writes tests/compliance/golden/package_verdicts.tsv: the official package checker's verdict on every submitter of the
published rounds, and its seed checker's on every closed result folder.

Needs mlperf-logging and an unpacked copy of the published rounds: package_verdicts.py PUBLISHED EXPECTED_VERDICTS_TSV.
Log verdicts are taken from the table, since the official checker needs minutes for them. Where the convergence checker
crashes (it has no numbers for dlrm and minigo) the folder counts as passed, for it would end the whole check.
Run from the root of the source tree.
"""
import csv
import logging
import os
import sys
import warnings

from mlperf_logging.package_checker import package_checker
from mlperf_logging.package_checker.seed_checker import SeedChecker


def main():
    root, table = sys.argv[1:]
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    with open(table) as rows:
        passed = {row[0]: row[2] == "PASS" for row in csv.reader(rows, delimiter="\t", quoting=csv.QUOTE_NONE)}
    package_checker.mlp_compliance.main = lambda log, *_: (passed[os.path.relpath(log, root)], None, None, None)
    check_directory = package_checker.rcp_checker.check_directory

    def check_rcp(*args, **kwargs):
        kwargs["set_scaling"] = False  # leave the tree as it is
        try:
            return check_directory(*args, **kwargs)
        except Exception:
            return True, "", 1.0

    package_checker.rcp_checker.check_directory = check_rcp
    seeds = {}
    check_seeds = SeedChecker.check_seeds

    def note_seeds(self, logs, bypass=False):
        verdict = check_seeds(self, logs, bypass)
        seeds[os.path.relpath(os.path.dirname(logs[0]), root)] = verdict
        return verdict

    SeedChecker.check_seeds = note_seeds
    lines = []
    for folder, ruleset in (("v1.1", "1.1.0"), ("v2.0", "2.0.0")):
        for submitter in sorted(os.listdir(os.path.join(root, folder))):
            path = os.path.join(root, folder, submitter)
            verdict = package_checker.check_systems(path, "training", ruleset)
            verdict = package_checker.check_training_result_files(
                path, "training", ruleset, True, False, False, False, False) and verdict
            lines.append(("package", f"{folder}/{submitter}", verdict))
    lines += [("seeds", folder, verdict) for folder, verdict in sorted(seeds.items())]
    with open("tests/golden/compliance/package_verdicts.tsv", "w") as out:
        for kind, path, verdict in lines:
            out.write(f"{kind}\t{path}\t{'PASS' if verdict else 'FAIL'}\n")


if __name__ == "__main__":
    main()
