#!/usr/bin/env bash
# Trains the quickstart's model on the GPU and on the processor with one seed, so on the same batches and dropout, and
# on the processor with another: the GPU's losses must stay nearer to the processor's than another seed's do.
#   bench/gpu_follows_cpu.sh [--steps N] [--device cuda|cpu] [--precision bf16|fp32] [--output FILE]
# --steps: of training (200). --device: what is held against cpu (cuda). --precision: of the device (bf16); the
# processor computes in fp32. --output: default bench/results/gpu_follows_cpu.json.
# Takes data-cache/quickstart and data-cache/minilm (scripts/prepare_quickstart_data.sh) or, where there is only the
# text and no checkpoint, makes instances from it and starts from random weights. Exits 1 where the losses part.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"
steps=200 device=cuda precision=bf16 output=$root/bench/results/gpu_follows_cpu.json
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    --steps | --device | --precision | --output)
      [[ $# -ge 2 ]] || give_up "$1 needs a value; see --help"
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    *) give_up "unknown option $1; see --help" ;;
  esac
done
strata=${STRATA_BIN:-$root/build/release/cli}/strata
[[ -x $strata ]] || give_up "$strata is not there: build the release preset, or set STRATA_BIN"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
options=()
if [[ ! -f $cache/quickstart/train.hdf5 ]]; then
  [[ -f $cache/kjv.txt ]] || give_up "neither $cache/quickstart nor $cache/kjv.txt is there: run scripts/prepare_quickstart_data.sh"
  "$strata" data prepare --text "$cache/kjv.txt" --vocab "$cache/minilm/vocab.txt" --out "$work/data" --eval-every 20 \
    >"$work/prepare.txt" 2>&1 || { cat "$work/prepare.txt" >&2; exit 2; }
  options+=(--set data.train="$work/data/train.hdf5" --set data.eval="$work/data/eval.hdf5")
fi
[[ -f $cache/minilm/model.safetensors ]] || options+=(--set model.checkpoint=none)

# train NAME SEED BACKEND PRECISION: ends with exit code 1, as the target is out of reach.
train() {
  local name=$1 status=0
  say "$name"
  "$strata" train --config "$root/scripts/configs/quickstart.yaml" "${options[@]}" --set run.output="$work/$name" \
    --set run.seed="$2" --set run.system="$name" --set device.backend="$3" --set model.precision="$4" \
    --set log.step_trace=true --set target.masked_lm_accuracy=1 --set target.max_steps="$steps" \
    --set target.start_eval_at_sample="$((steps * 8))" --set target.eval_interval_samples="$((steps * 8))" \
    >"$work/$name.txt" 2>&1 || status=$?
  [[ $status -le 1 ]] || { tail -n 5 "$work/$name.txt" >&2; exit 2; }
}
train cpu 1 cpu fp32
train device 1 "$device" "$precision"
train other_seed 2 cpu fp32

mkdir -p "$(dirname "$output")"
python3 - "$work" "$output" "$device $precision" << 'PY'
import glob, json, sys
work, output, device = sys.argv[1:]
def trace(name):
    [path] = glob.glob(f"{work}/{name}/**/result_0.steps.jsonl", recursive=True)
    steps = [json.loads(line) for line in open(path)]
    [log] = glob.glob(f"{work}/{name}/**/result_0.txt", recursive=True)
    events = [json.loads(line.removeprefix(":::MLLOG ")) for line in open(log)]
    accuracy = [event["value"] for event in events if event["key"] == "eval_accuracy"]
    return [s["masked_lm_loss"] + s["next_sentence_loss"] for s in steps], accuracy[-1]
runs = {name: trace(name) for name in ("cpu", "device", "other_seed")}
mean = lambda values: sum(values) / len(values)
apart = lambda a, b: [abs(x - y) for x, y in zip(runs[a][0], runs[b][0])]
result = {"device": device, "steps": len(runs["cpu"][0]),
          "mean_loss_difference": mean(apart("cpu", "device")), "largest_loss_difference": max(apart("cpu", "device")),
          "mean_loss_difference_of_another_seed": mean(apart("cpu", "other_seed")),
          "accuracy": {name: accuracy for name, (_, accuracy) in runs.items()},
          "losses": {name: losses for name, (losses, _) in runs.items()}}
result["follows"] = (result["mean_loss_difference"] < 0.5 * result["mean_loss_difference_of_another_seed"]
                     and abs(runs["cpu"][1] - runs["device"][1]) < 0.01)
json.dump(result, open(output, "w"))
print(f"{result['steps']} steps; losses of {device} from cpu fp32's: {result['mean_loss_difference']:.4f} in the mean, "
      f"{result['largest_loss_difference']:.4f} at most; of another seed: "
      f"{result['mean_loss_difference_of_another_seed']:.4f} in the mean")
print("accuracy at the end: " + ", ".join(f"{name} {value:.4f}" for name, value in result["accuracy"].items()))
print("follows" if result["follows"] else "does not follow")
print(f"written to {output}")
sys.exit(not result["follows"])
PY
