#!/usr/bin/env bash
# The quickstart with every load-balance strategy and every clip mode, or with every schedule, on ranks of this machine
# that share the same global batch: time to train, samples to converge and step time, as the tables of
# docs/measurements/strategies.md. Runs take turns, one of every setting before the second of any, so that a slow minute of the
# machine hits all alike; the runs of a turn have the same seed. If it is stopped and started again, it resumes.
# Usage: bench/compare_runs.sh [--what WHAT] [--only PATTERN] [--runs N] [--ranks LIST] [--output DIR] [--launcher 'PREFIX'] [-- KEY=VALUE...]
#   --what WHAT        strategies (and clip modes) or orders (schedules); default strategies
#   --only PATTERN     rows that this extended regular expression finds
#   --runs N           runs of every setting: 10 are MLPerf's number; default 1
#   --ranks LIST       default 1,2,4 for strategies, 2 for orders, which need an even number
#   --output DIR       default runs/compare_WHAT
#   --launcher PREFIX  put before every run, for example 'chrt --rr 1'
# Needs scripts/quickstart.sh to have run once.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"

what=strategies only='' runs=1 ranks='' output='' launcher=() overrides=()
strata=${STRATA:-$root/build/quickstart/cli/strata}
while [[ $# -gt 0 ]]; do
  case $1 in
    --what) what=$2; shift 2 ;;
    --only) only=$2; shift 2 ;;
    --runs) runs=$2; shift 2 ;;
    --ranks) ranks=$2; shift 2 ;;
    --output) output=$2; shift 2 ;;
    --launcher) read -ra launcher <<<"$2"; shift 2 ;;
    --) shift; for override in "$@"; do overrides+=(--set "$override"); done; break ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) give_up "unknown option $1; see --help" ;;
  esac
done
case $what in
  strategies) ranks=${ranks:-1,2,4} ;;
  orders) ranks=${ranks:-2} ;;
  *) give_up "unknown comparison $what; see --help" ;;
esac
[[ -x $strata ]] || give_up "$strata is missing: run scripts/quickstart.sh first"
output=${output:-$root/runs/compare_$what}
mkdir -p "$output"
output=$(realpath "$output")

global_batch=8
# For every row of the table: its label, and the settings that it makes.
rows=()
declare -A sets
add() {
  [[ $1 =~ $only ]] || return 0
  rows+=("$1")
  sets[$1]=$2
}
add_strategies() {
  local strategy mode
  for strategy in random exchange stratified stratified+presort planned; do
    add "$strategy, bucket_before_allreduce" "batch.load_balance.strategy=$strategy"
  done
  for mode in none after_allreduce before_allreduce; do add "stratified, $mode" "clip.mode=$mode"; done
}
# Micro-batches of 2 samples, so that a step has several.
add_orders() {
  local several="batch.micro_batch=2 batch.gradient_accumulation_steps=$((global_batch / 2 / $1))"
  local stages="batch.micro_batch=2 batch.gradient_accumulation_steps=$((global_batch / $1)) parallel.stages=2"
  local layer="$several batch.accumulation_order=layer"
  add "micro_batch" "$several"
  add "micro_batch, recompute" "$several batch.activations=recompute"
  add "micro_batch, tied-embedding split" "$several reduce.split_tied_embedding=true"
  add "layer" "$layer"
  add "layer, recompute" "$layer batch.activations=recompute"
  add "layer, sharded state" "$layer optimizer.sharded=state"
  add "layer, sharded gradients" "$layer optimizer.sharded=gradients"
  add "layer, sharded all" "$layer optimizer.sharded=all"
  add "contiguous, 2 stages" "$stages parallel.pipeline=contiguous"
  add "modular, 2 stages" "$stages parallel.pipeline=modular"
  [[ $1 -ne 2 ]] || add "Ouroboros, 3 modules" "batch.micro_batch=$global_batch ouroboros.modules=3 ouroboros.warmup_steps=20"
}
# choose RANKS: selects the rows for so many ranks, and the settings common to them.
choose() {
  rows=() sets=()
  case $what in
    strategies) add_strategies; common="batch.micro_batch=$((global_batch / $1))" ;;
    orders) add_orders "$1"; common=clip.mode=after_allreduce ;;
  esac
}

# run_once RANKS ROW SEED DIRECTORY: leaves DIRECTORY/result.json and the result tree.
run_once() {
  local directory=$4 setting settings=()
  for setting in $common ${sets[$2]}; do settings+=(--set "$setting"); done
  rm -rf "$directory"
  mkdir -p "$directory"
  "${launcher[@]}" "$root/scripts/mpirun.sh" -n "$1" "$strata" train \
    --config "$root/scripts/configs/quickstart.yaml" --json --set run.output="$directory/tree" \
    --set run.seed="$3" --set log.step_trace=true "${settings[@]}" "${overrides[@]}" \
    >"$directory/running.json" 2>"$directory/messages.txt" || true
  # A run that missed its target has a result; a run that was stopped has none.
  [[ -s $directory/running.json ]] || give_up "a run failed: see $directory/messages.txt"
  mv "$directory/running.json" "$directory/result.json"
}

# print_table ROW...: prints the rows that have run, in this order.
print_table() {
  python3 -I - "$output" "$what" "$@" <<'EOF'
import json, pathlib, statistics, sys

output, what, order = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
rows = {}
for result in sorted(output.glob("*/*/run_*/result.json")):
    ranks, name = int(result.parts[-4]), result.parts[-3]
    if name not in order:
        continue
    run = json.loads(result.read_text())["experiments"][0]
    trace = next(result.parent.glob("tree/**/result_0.steps.jsonl"))
    steps = [json.loads(line)["seconds"] for line in trace.read_text().splitlines()]
    row = rows.setdefault((ranks, name), {"seconds": [], "samples": [], "steps": [], "runs": 0})
    row["runs"] += 1
    row["steps"] += steps
    if run["reached_target"]:
        row["seconds"].append(run["seconds"])
        row["samples"].append(run["samples"])

def mean(values):  # MLPerf's olympic mean if there are enough
    values = sorted(values)
    return statistics.mean(values[1:-1] if len(values) >= 5 else values)

def with_spread(values, digits):
    if not values:
        return "-"
    text = f"{mean(values):.{digits}f}"
    if min(values) < max(values):
        text += f" ({min(values):.{digits}f} to {max(values):.{digits}f})"
    return text

names = ["load balance", "clip mode"] if what == "strategies" else ["schedule"]
print("| ranks |", " | ".join(names), "| runs | reached | time to train (s) | samples to converge | step (ms) |")
print("| ---: |", " | ".join("---" for _ in names), "| ---: | ---: | ---: | ---: | ---: |")
for ranks, name in sorted(rows, key=lambda key: (key[0], order.index(key[1]))):
    row = rows[ranks, name]
    columns = name.split(", ") if what == "strategies" else [name]
    print(f"| {ranks} |", " | ".join(columns), f"| {row['runs']} | {len(row['seconds'])} | {with_spread(row['seconds'], 1)} "
          f"| {with_spread(row['samples'], 0)} | {1e3 * statistics.median(row['steps']):.0f} |")
EOF
}

all_rows=()
for ((run = 0; run < runs; ++run)); do
  for count in ${ranks//,/ }; do
    choose "$count"
    all_rows+=("${rows[@]}")
    for row in "${rows[@]}"; do
      directory=$output/$count/$row/run_$run
      [[ -f $directory/result.json ]] && continue
      say "run $((run + 1)) of $runs, $count ranks, $row" >&2
      run_once "$count" "$row" $((run + 1)) "$directory"
    done
  done
done
print_table "${all_rows[@]}"
