#!/usr/bin/env bash
# The quickstart with every load-balance strategy and every clip mode, on 1, 2 and 4 ranks of this machine that share the
# same global batch of 16 samples: time to train, samples to converge and step time, as the table of docs/measurements/strategies.md.
# Runs take turns, one of every setting before the second of any, so that a slow minute of the machine hits all alike. Stopped
# and started again, it goes on where it was.
# Usage: bench/compare_runs.sh [--runs N] [--ranks LIST] [--output DIR] [--launcher 'PREFIX'] [-- KEY=VALUE...]
#   --runs N           runs of every setting: 10 are MLPerf's number; default 1
#   --ranks LIST       default 1,2,4
#   --output DIR       default runs/compare
#   --launcher PREFIX  put before every run, for example 'chrt --rr 1'
# Needs scripts/quickstart.sh to have run once.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"

runs=1 ranks=1,2,4 output=$root/runs/compare launcher=() overrides=()
strata=${STRATA:-$root/build/quickstart/cli/strata}
while [[ $# -gt 0 ]]; do
  case $1 in
    --runs) runs=$2; shift 2 ;;
    --ranks) ranks=$2; shift 2 ;;
    --output) output=$2; shift 2 ;;
    --launcher) read -ra launcher <<<"$2"; shift 2 ;;
    --) shift; for override in "$@"; do overrides+=(--set "$override"); done; break ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) give_up "unknown option $1; see --help" ;;
  esac
done
[[ -x $strata ]] || give_up "$strata is not there: run scripts/quickstart.sh first"
mkdir -p "$output"
output=$(realpath "$output")

global_batch=16
settings=()
for strategy in random exchange stratified stratified+presort planned; do
  settings+=("batch.load_balance.strategy=$strategy")
done
for mode in none after_allreduce before_allreduce; do settings+=("clip.mode=$mode"); done

# run_once RANKS SETTING DIRECTORY: leaves DIRECTORY/result.json and the result tree.
run_once() {
  local directory=$3
  rm -rf "$directory"
  mkdir -p "$directory"
  "${launcher[@]}" "$root/scripts/mpirun.sh" -n "$1" "$strata" train \
    --config "$root/scripts/configs/quickstart.yaml" --json --set run.output="$directory/tree" \
    --set batch.micro_batch=$((global_batch / $1)) --set log.step_trace=true --set "$2" \
    "${overrides[@]}" >"$directory/running.json" 2>"$directory/messages.txt" || true
  # A run that missed its target has a result too; one that was stopped has none.
  [[ -s $directory/running.json ]] || give_up "a run failed: see $directory/messages.txt"
  mv "$directory/running.json" "$directory/result.json"
}

print_table() {
  python3 - "$output" <<'EOF'
import json, pathlib, statistics, sys

rows = {}
for result in sorted(pathlib.Path(sys.argv[1]).glob("*/*/run_*/result.json")):
    ranks, setting = int(result.parts[-4]), result.parts[-3]
    run = json.loads(result.read_text())[0]
    trace = next(result.parent.glob("tree/**/result_0.steps.jsonl"))
    steps = [json.loads(line)["seconds"] for line in trace.read_text().splitlines()]
    row = rows.setdefault((ranks, setting), {"seconds": [], "samples": [], "steps": [], "runs": 0})
    row["runs"] += 1
    row["steps"] += steps
    if run["reached_target"]:
        row["seconds"].append(run["seconds"])
        row["samples"].append(run["samples"])

def mean(values):  # MLPerf's olympic mean where there are enough
    values = sorted(values)
    return statistics.mean(values[1:-1] if len(values) >= 5 else values)

order = ["random", "exchange", "stratified", "stratified+presort", "planned",
         "none", "after_allreduce", "before_allreduce"]
print("| ranks | load balance | clip mode | runs | reached | time to train (s) | samples to converge | step (ms) |")
print("| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |")
for ranks, setting in sorted(rows, key=lambda key: (key[0], order.index(key[1].split("=")[1]))):
    key, value = setting.split("=")
    strategy = value if key.endswith("strategy") else "stratified"
    clip = value if key == "clip.mode" else "bucket_before_allreduce"
    row = rows[ranks, setting]
    reached = row["seconds"]
    time = f"{mean(reached):.1f}" if reached else "-"
    if len(reached) > 1:
        time += f" ({min(reached):.1f} to {max(reached):.1f})"
    samples = f"{mean(row['samples']):.0f}" if reached else "-"
    print(f"| {ranks} | {strategy} | {clip} | {row['runs']} | {len(reached)} | {time} | {samples} "
          f"| {1e3 * statistics.median(row['steps']):.0f} |")
EOF
}

for ((run = 0; run < runs; ++run)); do
  for count in ${ranks//,/ }; do
    for setting in "${settings[@]}"; do
      directory=$output/$count/$setting/run_$run
      [[ -f $directory/result.json ]] && continue
      say "run $((run + 1)) of $runs, $count ranks, $setting" >&2
      run_once "$count" "$setting" "$directory"
    done
  done
done
print_table
