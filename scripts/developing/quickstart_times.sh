#!/usr/bin/env bash
# Runs the quickstart's configuration several times with different seeds and prints a table of their times.
# Usage: scripts/developing/quickstart_times.sh [RUNS [KEY=VALUE...]]     RUNS: 10; needs scripts/quickstart.sh to have run once
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

runs=${1:-10}
shift || true
overrides=()
for argument in "$@"; do overrides+=(--set "$argument"); done
strata=$root/build/quickstart/cli/strata
[[ -x $strata ]] || give_up "run scripts/quickstart.sh first"

output=$root/runs/quickstart_times
if [[ -e $output ]]; then archive "$output" previous >&2; fi
mkdir -p "$output"
"$root/scripts/mpirun.sh" -n 2 "$strata" train --config "$root/scripts/configs/quickstart.yaml" \
  --set run.output="$output" --experiments "$runs" "${overrides[@]}" >"$output/results.txt" || true

echo '| run | seed | time to target (s) | samples | accuracy | outcome |'
echo '| --- | --- | --- | --- | --- | --- |'
sed -nE 's/^result_([0-9]+): (.*), accuracy (.*), ([0-9,]+) samples?, .* steps?, (.*) s, seed ([0-9]+), .*/| \1 | \6 | \5 | \4 | \3 | \2 |/p' \
  "$output/results.txt"
echo
"$strata" score "$output" | sed -n 's/^/    /p'
