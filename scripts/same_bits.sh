#!/usr/bin/env bash
# Says whether two builds of strata train alike to the bit: 20 steps of a small model on 1, 2 and 4 ranks. Every value of precision,
# clip mode, schedule, sharding and optimizer occurs on each number of ranks; then N random combinations follow.
# The losses of every step and the final weights are compared.
# Usage: scripts/same_bits.sh OLD_STRATA NEW_STRATA [N [SEED]]     N: 200, SEED: 1
# Prints a line for every run: same, DIFFERENT, or refused, if both programs refuse the combination. Exits 1 if one differs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
esac
[[ $# -ge 2 && $# -le 4 ]] || give_up "give two programs; see --help"
combinations=${3:-200}
RANDOM=${4:-1}
for program in "$1" "$2"; do [[ -x $program ]] || give_up "$program does not exist, or is not a program"; done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Five layers, so that five modules divide them.
cat >"$work/model.json" <<JSON
{"vocab_size": 30522, "hidden_size": 64, "num_hidden_layers": 5, "num_attention_heads": 2, "intermediate_size": 128,
 "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu"}
JSON
cat >"$work/run.yaml" <<YAML
run: {organization: Same, system: bits, output: $work/runs, seed: 7}
model: {config: $work/model.json, precision: fp32}
device: {threads: 1}
data: {train: $root/tests/golden/reference/mlperf_reference.tfrecord, eval: $root/tests/golden/reference/mlperf_reference.tfrecord}
batch: {micro_batch: 4}
optimizer: {lr: 1e-3}
lr_schedule: {warmup_steps: 5, training_steps: 20}
target: {masked_lm_accuracy: 1.0, eval_interval_samples: 80}
initialization: {clear_whole_cache: false}
log: {step_trace: true, save_checkpoint: true}
YAML

# run PROGRAM RANKS DIRECTORY KEY=VALUE...: fails if the program refuses the configuration.
run() {
  local program=$1 ranks=$2 directory=$3 status=0 set=()
  shift 3
  for override in "$@"; do set+=(--set "$override"); done
  "$root/scripts/mpirun.sh" -n "$ranks" "$program" train --config "$work/run.yaml" --set run.output="$directory" \
    "${set[@]}" >"$directory.txt" 2>&1 || status=$?
  # 1: the target is out of reach. 2: an error.
  [[ $status -le 1 ]] || { grep -q '^strata: ' "$directory.txt" && return 1; cat "$directory.txt" >&2; give_up "$program failed"; }
}

# result FOLDER: prints the losses of every step, and a checksum of the final weights.
result() {
  local folder=$1/Same/results/bits/bert
  sed -E 's/.*("masked_lm_loss": ?[^,]*).*("next_sentence_loss": ?[^,]*).*/\1 \2/' "$folder/result_0.steps.jsonl"
  sha256sum <"$folder/result_0.safetensors"
}

precisions=(fp32 bf16 fp16 fp8)
clips=(none after_allreduce before_allreduce bucket_before_allreduce)
shardings=(none state gradients all)
optimizers=(adam lamb madgrad acclip sgd)
# Schedules. Stages need at least as many ranks. Modules need one rank less, so MODULES becomes the ranks and 1.
orders=("batch.gradient_accumulation_steps=1" "batch.gradient_accumulation_steps=3" "batch.gradient_accumulation_steps=2 batch.accumulation_order=layer"
  "batch.gradient_accumulation_steps=2 batch.activations=recompute" "batch.gradient_accumulation_steps=2 parallel.stages=2"
  "batch.gradient_accumulation_steps=2 parallel.stages=2 parallel.pipeline=contiguous" "reduce.split_tied_embedding=true" "reduce.half_layers=true"
  "ouroboros.modules=MODULES ouroboros.warmup_steps=3 clip.mode=none")
reductions=("" "reduce.dtype=bf16" "reduce.dtype=bf16 reduce.accumulate=bf16_chunked")

status=0 number=0
# compare RANKS KEY=VALUE...: runs both programs and compares their results.
compare() {
  local ranks=$1 verdict=same refused=0 side
  shift
  set -- "${@//MODULES/$((ranks + 1))}"
  number=$((number + 1))
  for side in 1 2; do
    local program=$old
    [[ $side -eq 1 ]] || program=$new
    run "$program" "$ranks" "$work/$number.$side" "$@" || refused=$((refused + side))
    [[ $refused -ge $side ]] || result "$work/$number.$side" >"$work/$number.$side.result"
  done
  if [[ $refused -eq 3 ]]; then
    verdict=refused
  elif [[ $refused -ne 0 ]] || ! cmp -s "$work/$number.1.result" "$work/$number.2.result"; then
    verdict=DIFFERENT status=1
  elif [[ $(wc -l <"$work/$number.1.result") -ne 21 ]]; then
    give_up "a run does not have 20 steps: $(cat "$work/$number.1.txt")"
  fi
  rm -rf "${work:?}/$number".*
  printf '%-9s %s rank%s, %s\n' "$verdict" "$ranks" "$([[ $ranks == 1 ]] || echo s)" "$*"
}

any() { local values=("$@"); echo "${values[RANDOM % ${#values[@]}]}"; }

old=$1 new=$2
for ranks in 1 2 4; do
  small="reduce.bucket_megabytes=0.2"
  for precision in "${precisions[@]}"; do compare "$ranks" $small model.precision="$precision"; done
  for clip in "${clips[@]}"; do compare "$ranks" $small clip.mode="$clip" batch.gradient_accumulation_steps=2 reduce.dtype=bf16; done
  for sharded in "${shardings[@]}"; do compare "$ranks" $small optimizer.sharded="$sharded" clip.mode=after_allreduce batch.gradient_accumulation_steps=2; done
  for optimizer in "${optimizers[@]}"; do compare "$ranks" $small optimizer.name="$optimizer" optimizer.sharded=state clip.mode=none; done
  for order in "${orders[@]}"; do read -ra keys <<<"$order"; compare "$ranks" $small clip.mode=after_allreduce "${keys[@]}"; done
done
for ((i = 0; i < combinations; ++i)); do
  read -ra keys <<<"$(any "${orders[@]}") $(any "${reductions[@]}")"
  compare "$(any 1 2 4)" reduce.bucket_megabytes="$(any 0.05 0.2 25)" model.precision="$(any "${precisions[@]}")" clip.mode="$(any "${clips[@]}")" \
    optimizer.sharded="$(any "${shardings[@]}")" optimizer.name="$(any "${optimizers[@]}")" "${keys[@]}"
done
exit $status
