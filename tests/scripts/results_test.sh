#!/usr/bin/env bash
# Are the folders of results/ laid out as submissions, and small? Do they converge like the reference, and does README.md give their
# scores?
# Usage: tests/scripts/results_test.sh STRATA
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
strata=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
source "$root/tests/scripts/expect.sh"

for name in Strata PyTorch; do
  submission=$root/results/$name
  expect "$name: the checks pass" "$strata" check package --require-verdict "$submission" >"$scratch/check.txt"
  expect "$name: it converges like the reference" grep -q 'converges like the reference: the mean of 10 runs' "$scratch/check.txt"
  expect "$name: it is small" test "$(du -s --apparent-size --block-size=1 "$submission" | cut -f 1)" -le 300000
  logs=("$submission"/results/*/bert/result_*.txt)
  expect "$name: it has ten results" test "${#logs[@]}" -eq 10
  expect "$name: it names no folder of a machine" test -z "$(grep -rhoE '"(/[^"/ ]+){2,}' "$submission")"
  if [[ -n ${STRATA_ORACLE_PYTHON:-} ]]; then
    expect "$name: the official package checker agrees" \
      "$root/scripts/parts/official_package_check.sh" "$STRATA_ORACLE_PYTHON" "$submission" "$scratch/check.txt"
  else
    echo "not judged by the official package checker: STRATA_ORACLE_PYTHON is not set"
  fi
done

scores=$("$strata" score "$root/results" --json | python3 -I -c '
import json, sys
scores = {score["submitter"]: round(score["time_to_train_ms"] / 1000) for score in json.load(sys.stdin)["scores"]}
print("score {Strata} s on two Zen 4 cores, and ten of PyTorch {PyTorch} s".format(**scores))')
expect "README.md gives the scores: $scores" grep -qF "$scores" "$root/README.md"

strata=$(realpath "$strata")
(cd "$root" && "$strata" plot curves results/Strata results/PyTorch -o "$scratch/accuracy.svg" >/dev/null)
expect "results/accuracy.svg shows these runs" cmp "$scratch/accuracy.svg" "$root/results/accuracy.svg"
exit $((failures > 0))
