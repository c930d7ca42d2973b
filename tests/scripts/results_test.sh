#!/usr/bin/env bash
# Is results/Strata laid out as a submission, small, and does README.md give its score?
# Usage: tests/scripts/results_test.sh STRATA
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
strata=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
source "$root/tests/scripts/expect.sh"

expect "the submission's checks pass" "$strata" check package "$root/results/Strata" >"$scratch/check.txt"
expect "it is small" test "$(du -s --apparent-size --block-size=1 "$root/results" | cut -f 1)" -le 300000
logs=("$root"/results/Strata/results/*/bert/result_*.txt)
expect "it has ten results" test "${#logs[@]}" -eq 10

score=$("$strata" score "$root/results" --json | python3 -I -c '
import json, sys
scores = json.load(sys.stdin)["scores"]
assert len(scores) == 1
print(round(scores[0]["time_to_train_ms"] / 1000))')
expect "README.md gives its score" grep -qF "[Ten such runs](results/README.md) score $score s" "$root/README.md"

if [[ -n ${STRATA_ORACLE_PYTHON:-} ]]; then
  expect "the official package checker agrees" \
    "$root/scripts/parts/official_package_check.sh" "$STRATA_ORACLE_PYTHON" "$root/results/Strata" "$scratch/check.txt"
else
  echo "not judged by the official package checker: STRATA_ORACLE_PYTHON is not set"
fi
exit $((failures > 0))
