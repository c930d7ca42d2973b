#!/usr/bin/env python3
"""Writes tests/golden/compliance/rounds.tsv: the benchmarks of every round, and how many results a benchmark's submission has.

A line is `round`, usage, ruleset, benchmark or `results`, usage, benchmark, number. Needs mlperf-logging, the official
checker. Run from the root of the source tree.
"""
from mlperf_logging import benchmark_meta


def main():
    with open("tests/golden/compliance/rounds.tsv", "w") as out:
        for usage, rounds in benchmark_meta._ALL_ALLOWED_BENCHMARKS.items():
            for ruleset, benchmarks in rounds.items():
                for benchmark in dict.fromkeys(benchmarks):
                    out.write(f"round\t{usage}\t{ruleset}.0\t{benchmark}\n")
        for usage in benchmark_meta._ALL_ALLOWED_BENCHMARKS:
            for benchmark, number in benchmark_meta.get_result_file_counts(usage).items():
                out.write(f"results\t{usage}\t{benchmark}\t{number}\n")


if __name__ == "__main__":
    main()
