#!/usr/bin/env bash
# Trains the quickstart's model on the GPU and on the processor with one seed, so on the same batches and dropout, and
# on the processor with another. Passes if the mean difference of the losses is less than half of another seed's, and
# accuracies at the end differ by less than 0.01.
#   bench/peers/gpu_follows_cpu.sh [--steps N] [--device cuda|cpu] [--precision bf16|fp32] [--output FILE]
# --steps: of training (200). --device: what is held against cpu (cuda). --precision: of the device (bf16); the
# processor computes in fp32. --output: default bench/results/gpu_follows_cpu.json.
# Takes data-cache/quickstart and data-cache/minilm (scripts/data/prepare_quickstart_data.sh) or, if there is only the
# text and no checkpoint, makes instances from it and starts from random weights. Exits 1 if it does not pass or a
# training is incomplete: one that fails or takes longer than 150 s, or could not start within 450 s. The steps that
# there are of it are compared all the same.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
source "$root/scripts/gpu/limited_steps.sh"
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
[[ -x $strata ]] || give_up "$strata is missing: build the release preset, or set STRATA_BIN"
command -v python3 >/dev/null || give_up "python3 is missing; it compares the losses"
[[ -f $cache/quickstart/train.hdf5 || -f $cache/kjv.txt ]] ||
  give_up "neither $cache/quickstart nor $cache/kjv.txt is there: run scripts/data/prepare_quickstart_data.sh"

mkdir -p "$(dirname "$output")"
work=$(mktemp -d)

# report: writes the figures so far as JSON and prints them. Fails if the losses do not follow, or
# are missing.
report() {
  python3 -I - "$work" "$output" "$device $precision" "$steps" << 'PY'
import glob, json, os, pathlib, sys
work, output, device = sys.argv[1:4]
names = ("cpu", "device", "other_seed")
incomplete = {name: ["not started"] for name in names}
for path in pathlib.Path(work).glob("*.verdict"):
    incomplete[path.stem] = path.read_text(errors="replace").splitlines()
def records(name, file, prefix=""):
    found = []
    for path in glob.glob(f"{work}/{name}/**/{file}", recursive=True):
        for line in open(path):
            try:
                found.append(json.loads(line.removeprefix(prefix)))
            except ValueError:  # the last line of a training that was killed
                pass
    return found
def loss(step):
    parts = step["masked_lm_loss"], step["next_sentence_loss"]
    return float("nan") if None in parts else sum(parts)
losses = {name: [loss(step) for step in records(name, "result_0.steps.jsonl")] for name in names}
accuracy = {}
for name in names:
    for event in records(name, "result_0.txt", ":::MLLOG "):
        if event.get("key") == "eval_accuracy":
            accuracy[name] = event["value"]
    if not incomplete[name] and not (losses[name] and name in accuracy):
        incomplete[name] = ["no losses or no accuracy"]
incomplete = {name: lines for name, lines in incomplete.items() if lines}
def apart(a, b):
    return [abs(x - y) for x, y in zip(losses[a], losses[b])]
def mean(values):
    return sum(values) / len(values) if values else None
def text(value):
    return "unknown" if value is None else f"{value:.4f}"
both = apart("cpu", "device")
result = {"device": device, "steps_wanted": int(sys.argv[4]), "steps": len(both),
          "mean_loss_difference": mean(both), "largest_loss_difference": max(both, default=None),
          "mean_loss_difference_of_another_seed": mean(apart("cpu", "other_seed")[:len(both)]),
          "accuracy": accuracy, "incomplete": incomplete, "losses": losses, "follows": None}
if not incomplete:
    result["follows"] = (result["mean_loss_difference"] < 0.5 * result["mean_loss_difference_of_another_seed"]
                         and abs(accuracy["cpu"] - accuracy["device"]) < 0.01)
with open(output + ".unfinished", "w") as file:
    json.dump(result, file)
os.replace(output + ".unfinished", output)
print(f"{len(both)} steps; losses of {device} differ from cpu fp32's by {text(mean(both))} in the mean, "
      f"{text(max(both, default=None))} at most; those of another seed by "
      f"{text(result['mean_loss_difference_of_another_seed'])} in the mean")
print("accuracy at the end: " + ", ".join(f"{name} {value:.4f}" for name, value in accuracy.items()))
for name, lines in incomplete.items():
    print(f"incomplete: {name}, {len(losses.get(name, []))} steps, {lines[0]}")
print({True: "follows", False: "does not follow", None: "cannot be told"}[result["follows"]])
print(f"written to {output}")
sys.exit(not result["follows"])
PY
}

report_at_end report

# attempt NAME MOST COMMAND...: writes the output to NAME.txt. If the exit code exceeds MOST, NAME.verdict says why;
# otherwise it is empty.
attempt() {
  local name=$1 most=$2 left=$((570 - SECONDS)) begin=$SECONDS status=0
  shift 2
  ((SECONDS < 450)) || { echo "not started: no time was left" >"$work/$name.verdict"; return 1; }
  say "$name"
  echo "the script was stopped" >"$work/$name.verdict"
  limited $((left < 150 ? left : 150)) "$@" >"$work/$name.txt" 2>&1 || status=$?
  if [[ $status -le $most ]]; then
    : >"$work/$name.verdict"
  else
    { echo "exit status $status after $((SECONDS - begin)) s"; tail -n 20 "$work/$name.txt"; } >"$work/$name.verdict"
    cat "$work/$name.verdict" >&2
    return 1
  fi
}
options=()
if [[ ! -f $cache/quickstart/train.hdf5 ]]; then
  attempt prepare 0 "$strata" data prepare --text "$cache/kjv.txt" --vocab "$cache/minilm/vocab.txt" \
    --out "$work/data" --eval-every 20 || exit 2
  options+=(--set data.train="$work/data/train.hdf5" --set data.eval="$work/data/eval.hdf5")
fi
[[ -f $cache/minilm/model.safetensors ]] || options+=(--set model.checkpoint=none)

# train NAME SEED BACKEND PRECISION: ends with exit code 1, because the target is out of reach.
train() {
  attempt "$1" 1 "$strata" train --config "$root/scripts/configs/quickstart.yaml" "${options[@]}" \
    --set run.output="$work/$1" --set run.seed="$2" --set run.system="$1" --set device.backend="$3" \
    --set model.precision="$4" --set log.step_trace=true --set target.masked_lm_accuracy=1 \
    --set target.max_steps="$steps" --set target.start_eval_at_sample="$((steps * 8))" \
    --set target.eval_interval_samples="$((steps * 8))" || true
  report >"$work/report" || true
}
train cpu 1 cpu fp32
train device 1 "$device" "$precision"
train other_seed 2 cpu fp32
