#!/usr/bin/env bash
# Lets the official package checker of mlperf-logging judge a submission, by the ruleset that Strata found for it.
# Usage: scripts/parts/official_package_check.sh PYTHON SUBMISSION CHECKED     CHECKED: what 'strata check package' printed
# Exit code: 0 no errors; 1 errors, which it prints; 77 not judged.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
python=$1 submission=$2 checked=$3

ruleset=$(sed -nE '1s/^ruleset: training ([0-9.]+).*/\1/p' "$checked")
if [[ -z $ruleset ]] || ! "$python" -c 'import mlperf_logging' 2>/dev/null; then
  say "not judged by the official package checker: set STRATA_ORACLE_PYTHON to a Python that has mlperf-logging"
  exit 77
fi
# It writes files where it runs. Its exit code is 0 with errors, too.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(cd "$scratch" && "$python" -m mlperf_logging.package_checker "$submission" training "$ruleset") >"$scratch/official.txt" 2>&1 || true
if grep 'Skipping benchmark' "$scratch/official.txt"; then
  say "not judged by the official package checker: its rules $ruleset lack this benchmark"
  exit 77
elif grep -q 'PACKAGE CHECKER FOUND NO ERRORS' "$scratch/official.txt"; then
  say "the official package checker found no errors"
else
  cat "$scratch/official.txt"
  exit 1
fi
