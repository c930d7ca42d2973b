#!/usr/bin/env bash
# From a fresh Debian 12 to a scored time-to-train run: installs packages, builds, prepares real text, trains a
# small BERT from a pretrained checkpoint to a target accuracy on two MPI ranks, checks the log, scores it.
# Skips what is done; a finished run is kept until the commit, the configuration or the KEY=VALUE change, or --again.
# Usage: scripts/quickstart.sh [--again] [KEY=VALUE...]     KEY=VALUE: see docs/config.md, e.g. optimizer.lr=1e-3
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source "$root/scripts/parts/run_once.sh"

again=false
settings=() overrides=()
for argument in "$@"; do
  case $argument in
    --again) again=true ;;
    *=*) settings+=("$argument") overrides+=(--set "$argument") ;;
    *)
      sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      [[ $argument == -h || $argument == --help ]] && exit 0 || exit 2
      ;;
  esac
done

needs_writable_checkout
install_packages "${build_packages[@]}" "${training_packages[@]}" "${data_packages[@]}"
build quickstart strata
strata=$root/build/quickstart/cli/strata
"$root/scripts/data/prepare_quickstart_data.sh" "$strata"

output=$root/runs/quickstart
result=$output/result.json
config=$root/scripts/configs/quickstart.yaml
if $again; then rm -f "$output/made_from.txt"; fi
run_once "$output" "$(origin_of "$config" "${settings[@]}")" \
  "$root/scripts/mpirun.sh" -n 2 "$strata" train --config "$config" "${overrides[@]}" --json

log=$(sed -n 's/^ *"log": "\(.*\)",\{0,1\}$/\1/p' "$result")
target=$(sed -n 's/.*"key": "quality_target", "value": \([0-9.]*\).*/\1/p' "$log")
say "checking and scoring"
verdict=PASS
"$strata" check log "$log" || verdict=FAIL
scored=yes
"$strata" score "$output" || scored=no  # also fails if the target was not reached
say_score "$result" "$target" "$log" "$verdict" && [[ $scored == yes ]]
