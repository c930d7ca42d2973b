#!/usr/bin/env bash
# Says whether two builds of strata train alike to the bit: 20 steps of a small model in fp32, bf16 and fp8, on one rank and on two,
# with accumulation, Adam, LAMB, sharded state and several clip modes; losses of every step and final weights are compared.
# Usage: scripts/same_bits.sh OLD_STRATA NEW_STRATA     for example build/old/cli/strata build/release/cli/strata
# Prints a line for every run. Exits 1 where one differs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
esac
[[ $# -eq 2 ]] || give_up "give two programs; see --help"
for program in "$@"; do [[ -x $program ]] || give_up "$program is not there, or no program"; done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/run.yaml" <<YAML
run: {organization: Same, system: bits, output: $work/runs, seed: 7}
model: {config: tiny, precision: fp32}
device: {threads: 1}
data: {train: $root/tests/golden/reference/mlperf_reference.tfrecord, eval: $root/tests/golden/reference/mlperf_reference.tfrecord}
batch: {micro_batch: 4}
optimizer: {lr: 1e-3}
schedule: {warmup_steps: 5, training_steps: 20}
target: {masked_lm_accuracy: 1.0, eval_interval_samples: 80}
initialization: {clear_whole_cache: false}
log: {step_trace: true, save_checkpoint: true}
YAML

# run PROGRAM RANKS DIRECTORY KEY=VALUE...
run() {
  local program=$1 ranks=$2 directory=$3 set=()
  shift 3
  for override in "$@"; do set+=(--set "$override"); done
  # Exit code 1: the target is out of reach.
  "$root/scripts/mpirun.sh" -n "$ranks" "$program" train --config "$work/run.yaml" --set run.output="$directory" \
    "${set[@]}" >"$directory.txt" 2>&1 || [[ $? -eq 1 ]] || { cat "$directory.txt" >&2; give_up "$program failed"; }
}

# Losses of every step, and a sum of the final weights' bytes.
result() {
  local folder=$1/Same/results/bits/bert
  sed -E 's/.*("masked_lm_loss": ?[^,]*).*("next_sentence_loss": ?[^,]*).*/\1 \2/' "$folder/result_0.steps.jsonl"
  sha256sum <"$folder/result_0.safetensors"
}

status=0 number=0
for precision in fp32 bf16 fp8; do
  for ranks in 1 2; do
    for rest in "clip.mode=bucket_before_allreduce" \
      "clip.mode=after_allreduce batch.gradient_accumulation_steps=3" \
      "clip.mode=before_allreduce reduce.dtype=bf16 optimizer.name=lamb" \
      "clip.mode=none optimizer.name=lamb optimizer.sharded=state batch.gradient_accumulation_steps=2"; do
      read -ra overrides <<<"model.precision=$precision reduce.bucket_megabytes=0.2 $rest"
      number=$((number + 1))
      for side in 1 2; do run "${!side}" "$ranks" "$work/$number.$side" "${overrides[@]}"; result "$work/$number.$side" >"$work/$number.$side.result"; done
      [[ $(wc -l <"$work/$number.1.result") -eq 21 ]] || give_up "a run has other than 20 steps: $(cat "$work/$number.1.txt")"
      verdict=same
      cmp -s "$work/$number.1.result" "$work/$number.2.result" || { verdict=DIFFERENT; status=1; }
      printf '%-9s %s rank%s, %s %s\n' "$verdict" "$ranks" "$([[ $ranks == 1 ]] || echo s)" "$precision" "$rest"
    done
  done
done
exit $status
