#!/usr/bin/env bash
# Checks that bench/peers/pytorch/pytorch_train.py learns as Strata does from the same samples. Both take the quickstart's first steps in
# fp32 from the same checkpoint; every batch is the same eight samples; both clip the global norm. Prints losses and gradient norms, and
# exits 1 if a masked-LM loss differs by more than 1 %. They are not equal because both draw the next-sentence head at random.
#   bench/peers/pytorch_follows_strata.sh [--steps N] [--heads strata|transformers] [--strata PROGRAM] [--python PROGRAM] [--data FOLDER]
# --steps: number of steps (8). --heads: whose rule gives PyTorch the weights that the checkpoint lacks (strata).
# --strata: default build/release/cli/strata. --python: a Python with torch, transformers, h5py and yaml (python3).
# --data: folder that scripts/data/prepare_quickstart_data.sh made (data-cache).
set -euo pipefail
source "$(dirname "$0")/../../scripts/surroundings.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/bench/peers/venv.sh"
steps=8 heads=strata strata=$root/build/release/cli/strata python=python3 data=$root/data-cache
give_up() { echo "$*" >&2; exit 2; }
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --steps | --heads | --strata | --python | --data)
      [[ $# -ge 2 ]] || give_up "$1 needs a value; see --help"
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    *) give_up "unknown option $1; see --help" ;;
  esac
done
[[ $steps =~ ^[1-9][0-9]*$ ]] || give_up "--steps $steps: expected a number of at least 1"
[[ $heads == strata || $heads == transformers ]] || give_up "--heads $heads: expected strata or transformers"
[[ -x $strata ]] || give_up "no $strata; build it first: cmake --preset release && cmake --build --preset release"
for file in minilm/config.json minilm/vocab.txt minilm/model.safetensors quickstart/train.hdf5; do
  [[ -f $data/$file ]] || give_up "no $data/$file; scripts/data/prepare_quickstart_data.sh makes it, --data names another folder"
done
data=$(realpath "$data")
reason=$("$python" -c 'import torch, transformers, h5py, yaml' 2>&1) || give_up "--python $python: ${reason##*$'\n'}"

has_memory PyTorch pytorch-step "$data/minilm/config.json" 8x512 --precision fp32 || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" - "$data/quickstart/train.hdf5" "$work/eight.hdf5" << 'PY'
import sys
import h5py
first, count = 1000, 8
with h5py.File(sys.argv[1]) as file, h5py.File(sys.argv[2], "w") as cut:
    cut.attrs.update(file.attrs)
    offsets = file["offsets"][first:first + count + 1]
    (token, masked), (last_token, last_masked) = offsets[0], offsets[-1]
    for name in file:
        begin, end = ((token, last_token) if name == "tokens" else (masked, last_masked) if name.startswith("masked_lm")
                      else (first, first + count))
        cut[name] = offsets - offsets[0] if name == "offsets" else file[name][begin:end]
PY
# run NAME COMMAND...: both programs end without reaching the target, with exit code 1.
run() {
  local name=$1 status=0
  shift
  "$@" > "$work/$name.out" 2> "$work/$name.err" || status=$?
  [[ $status -le 1 ]] || { cat "$work/$name.err" >&2; give_up "$name failed"; }
}
run "strata train" "$strata" train --config "$root/scripts/configs/quickstart.yaml" --set run.output="$work/run" --set run.seed=1 \
  --set model.config="$data/minilm/config.json" --set model.vocab="$data/minilm/vocab.txt" \
  --set model.checkpoint="$data/minilm/model.safetensors" --set model.precision=fp32 --set data.train="$work/eight.hdf5" \
  --set data.eval="$work/eight.hdf5" --set batch.micro_batch=4 --set batch.gradient_accumulation_steps=2 \
  --set batch.load_balance.strategy=random --set clip.mode=after_allreduce --set target.masked_lm_accuracy=1 \
  --set target.max_steps="$steps" --set target.start_eval_at_sample=$((8 * steps)) --set log.step_trace=true \
  --set initialization.warmup_steps=1
settings=$(find "$work/run" -name result_0.yaml)
trace=$(find "$work/run" -name result_0.steps.jsonl)
[[ -n $settings && -n $trace ]] || { cat "$work/strata train.err" >&2; give_up "strata train wrote no step trace; see its messages above"; }
run pytorch_train.py "$python" "$root/bench/peers/pytorch/pytorch_train.py" "$settings" 1 --ranks 1 --variant eager \
  --heads "$heads" --trace "$work/pytorch.jsonl"
[[ -s $work/pytorch.jsonl ]] || { cat "$work/pytorch_train.py.err" >&2; give_up "pytorch_train.py wrote no step trace; see its messages above"; }

"$python" - "$trace" "$work/pytorch.jsonl" << 'PY'
import json, sys
strata, pytorch = ([json.loads(line) for line in open(path)] for path in sys.argv[1:])
keys = {"masked_lm_loss": "masked-LM loss", "next_sentence_loss": "next-sentence loss", "gradient_norm": "gradient norm"}
print("step" + "".join(f"{name + ': Strata':>29}{'PyTorch':>10}" for name in keys.values()))
for a, b in zip(strata, pytorch, strict=True):
    print(f"{a['step']:>4}" + "".join(f"{a[key]:>29.4f}{b[key]:>10.4f}" for key in keys))
worst = max(abs(b["masked_lm_loss"] / a["masked_lm_loss"] - 1) for a, b in zip(strata, pytorch))
print(f"masked-LM losses differ by {100 * worst:.2f} % at most")
sys.exit(0 if worst <= 0.01 else 1)
PY
