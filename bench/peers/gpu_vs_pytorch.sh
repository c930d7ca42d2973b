#!/usr/bin/env bash
# Whole training steps of bert-large on one GPU, MLPerf's lengths, Adam included: `strata bench step` against PyTorch
# (transformers, SDPA, bf16 autocast, fused AdamW, its masked-LM head at masked positions alone, as Strata's; sequences
# padded to 512, or sorted by length and padded to the longest of a batch; eager and torch.compile; the fastest counts),
# in turns over the same lengths, with the GPU's matrix and copy peaks; beside them Strata's steps in fp8,
# `strata bench operations`, and attention by every kernel PyTorch has for it. Starts nothing in the last fifth of its
# time, and ends processes that take longer than 150 s. Writes after every process what there is, and what is missing and why.
#   bench/peers/gpu_vs_pytorch.sh [--sequences N] [--steps N] [--turns N] [--seconds N] [--short] [--model MODEL]
#                     [--config FILE] [--set KEY=VALUE] [--python PYTHON] [--output FILE] [--device cuda|cpu]
# --sequences: sequences of a step (96). --steps: measured steps of each process (10). --turns: processes of each row (2).
# --seconds: how long all of it may take (570). --short: only one turn of steps in bf16, and PyTorch's attention.
# --model: bert-large or a config.json. --config: Strata's configuration, default scripts/configs/bert-large.yaml.
# --set: a key of Strata's; may be repeated. --python: a Python with torch and transformers (python3).
# --output: default bench/results/gpu_vs_pytorch.json. Programs come from build/release, or from $STRATA_BIN.
# --device: default cuda; cpu is the same on the processor, to try the script. Exits 1 if Strata or PyTorch has no steps.
set -euo pipefail
source "$(dirname "$0")/../../scripts/surroundings.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/scripts/gpu/limited_steps.sh"
sequences=96 steps=10 turns=2 seconds=570 short= model=bert-large config=$root/scripts/configs/bert-large.yaml settings=()
python=python3 output=$root/bench/results/gpu_vs_pytorch.json device=cuda
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --short) short=yes turns=1; shift ;;
    --sequences | --steps | --turns | --seconds | --model | --config | --set | --python | --output | --device)
      [[ $# -ge 2 ]] || { echo "$1 needs a value; see --help" >&2; exit 2; }
      [[ $1 != --set ]] || { settings+=(--set "$2"); shift 2; continue; }
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    *) echo "unknown option $1; see --help" >&2; exit 2 ;;
  esac
done
strata=${STRATA_BIN:-$root/build/release/cli}/strata
for number in "$sequences" "$steps" "$turns" "$seconds"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || { echo "expected a number, got $number; see --help" >&2; exit 2; }
done
[[ -x $strata ]] || { echo "no $strata; build the release preset first, or set STRATA_BIN" >&2; exit 2; }
# PyTorch finds its own libraries, without the path that a bundle's `run` sets for Strata's.
# Its allocator would otherwise leave gaps, and eager steps would exceed an 80 GB GPU.
pytorch=(env LD_LIBRARY_PATH="${STRATA_OUTER_LIBRARY_PATH-${LD_LIBRARY_PATH-}}"
  PYTORCH_CUDA_ALLOC_CONF="${PYTORCH_CUDA_ALLOC_CONF-expandable_segments:True}" "$python")
"${pytorch[@]}" -c 'import torch, transformers' ||
  { echo "$python lacks torch or transformers; see --python" >&2; exit 2; }
[[ $device == cpu || $device == cuda ]] || { echo "--device $device: expected cpu or cuda" >&2; exit 2; }

mkdir -p "$(dirname "$output")"
work=$(mktemp -d)

# report: writes the figures so far as JSON and prints them. Fails if there is nothing to compare.
report() {
  "${pytorch[@]}" - "$work" "$output" << 'PY'
import glob, json, os, pathlib, statistics, sys
work, output = sys.argv[1:]
missing = {path.stem: path.read_text(errors="replace").splitlines()
           for path in sorted(pathlib.Path(work).glob("*.missing"))}
def load(pattern):
    found = []
    for path in sorted(glob.glob(f"{work}/{pattern}.json")):
        try:
            found.append(json.load(open(path)))
        except ValueError:
            missing[pathlib.Path(path).stem] = ["no JSON"]
    return found
def only(name):
    return (load(name) or [None])[0]
def median(runs, key):
    return statistics.median(run[key] for run in runs) if runs else None
def ratio(a, b):
    return a / b if a and b else None
strata, fp8, operations, attention = load("strata.*"), load("fp8.*"), only("operations"), only("attention") or []
pytorch = {variant: runs for variant in ("eager", "compiled", "eager_sorted", "compiled_sorted")
           if (runs := load(f"pytorch.{variant}.*"))}
for run in strata + fp8:
    del run["lengths"]
every = [run for runs in pytorch.values() for run in runs]
matrix, copy = median(every, "matrix_peak_flops_per_second"), median(every, "copy_peak_bytes_per_second")
rate, flops = median(strata, "sequences_per_second"), median(strata, "model_flops_per_second")
rates = {variant: median(runs, "sequences_per_second") for variant, runs in pytorch.items()}
best = max(rates.values(), default=None)
first = (every or strata or [{}])[0]
result = {"device": first.get("device"), "torch": every[0]["torch"] if every else None,
          "sequences_per_step": strata[0]["sequences_per_step"] if strata else None,
          "strata_sequences_per_second": rate, "model_flops_share_of_matrix_peak": ratio(flops, matrix),
          "pytorch_sequences_per_second": rates, "ratio_to_best_pytorch": ratio(rate, best),
          "matrix_peak_flops_per_second": matrix, "copy_peak_bytes_per_second": copy, "missing": missing,
          "strata": strata, "strata_fp8": fp8, "pytorch": pytorch, "operations": operations,
          "pytorch_attention": attention}
with open(output + ".unfinished", "w") as file:
    json.dump(result, file, indent=2)
os.replace(output + ".unfinished", output)
print(f"{result['device']}, PyTorch {result['torch']}, {result['sequences_per_step']} sequences a step, "
      f"medians of {len(strata)} processes each")
if strata:
    print(f"strata             {rate:10.2f} sequences/s" +
          (f", {100 * flops / matrix:.1f} % of the matrix peak" if matrix else ""))
if fp8:
    print(f"strata, fp8        {median(fp8, 'sequences_per_second'):10.2f} sequences/s")
for variant in pytorch:
    print(f"PyTorch {variant:<16} {rates[variant]:10.2f} sequences/s padded to " +
          ("the longest of a batch" if variant.endswith("_sorted") else "512"))
if strata and pytorch:
    print(f"Strata over the fastest of PyTorch's: {rate / best:.2f}")
if pytorch:
    print(f"matrix peak {matrix / 1e12:.1f} TFLOP/s, copy peak {copy / 1e9:.0f} GB/s (by PyTorch)")
if operations and pytorch:
    slow = [o for o in operations["operations"] if o["flops"] == 0 and o["bytes"] / o["seconds"] < 0.8 * copy]
    print("memory-bound operations below 80 % of the copy peak: " +
          (", ".join(f"{o['operation']} {100 * o['bytes'] / o['seconds'] / copy:.0f} %" for o in slow) or "none"))
if operations:
    ours = {o["operation"]: o["seconds"] for o in operations["operations"]}
    attention = [{"kernel": "strata", "sequences": "packed", "forward_seconds": ours["attention_forward"],
                  "backward_seconds": ours["attention_backward"]}, *attention]
if attention:
    print("attention of a layer, forward and backward: " + ("; ".join(
        f"{a['kernel']} {a['sequences']} {1e3 * a['forward_seconds']:.3f} + {1e3 * a['backward_seconds']:.3f} ms"
        for a in attention if "error" not in a) or "not measured"))
for name, lines in missing.items():
    print(f"missing: {name}, {lines[0] if lines else 'no reason known'}")
print(f"written to {output}")
sys.exit(not (strata and pytorch))
PY
}

report_at_end report

# has_room NAME ARGUMENT...: succeeds if the memory that pytorch_memory.py estimates is available, or the device is a GPU, whose errors say
# that it is not. Otherwise writes the reason to NAME.missing.
has_room() {
  local name=$1 status=0
  shift
  [[ $device == cpu && -s $work/lengths ]] || return 0
  python3 -I "$root/bench/peers/pytorch/pytorch_memory.py" "$@" > "$work/$name.missing" 2>&1 || status=$?
  if [[ $status -eq 0 ]]; then rm "$work/$name.missing"; else cat "$work/$name.missing" >&2; fi
  return "$status"
}

# attempt NAME COMMAND...: writes the output to NAME.json, or the reason of a failure to
# NAME.missing.
attempt() {
  local name=$1 left=$((seconds - SECONDS)) begin=$SECONDS status=0
  shift
  ((5 * SECONDS < 4 * seconds)) || { echo "not started: no time was left" > "$work/$name.missing"; return 1; }
  echo "$name" >&2
  echo "the script was stopped" > "$work/$name.missing"
  limited $((left < 150 ? left : 150)) "$@" > "$work/$name.output" 2> "$work/$name.err" || status=$?
  if [[ $status -eq 0 ]]; then
    mv "$work/$name.output" "$work/$name.json"
    rm "$work/$name.missing"
  else
    { echo "exit status $status after $((SECONDS - begin)) s"; tail -n 20 "$work/$name.err"; } > "$work/$name.missing"
    cat "$work/$name.missing" >&2
  fi
  report > "$work/report" || true
  return "$status"
}
strata_options=(--config "$config" "${settings[@]}" --set model.vocab=none --set model.checkpoint=none
  --set data.train=/tmp --set data.eval=/tmp --set batch.micro_batch="$sequences" --json)
on_device=("${strata_options[@]}" --set device.backend="$device" --set model.config="$model")
# keep_lengths NAME: keeps the lengths of its steps for PyTorch's steps, and the first step's for
# PyTorch's attention.
keep_lengths() {
  "${pytorch[@]}" - "$work/$1.json" "$work/lengths" "$work/first_lengths" << 'PY'
import json, sys
lengths = json.load(open(sys.argv[1]))["lengths"]
json.dump(lengths, open(sys.argv[2], "w"))
json.dump({"lengths": lengths[0]}, open(sys.argv[3], "w"))
PY
}
# PyTorch is measured even if Strata fails: lengths are the same for any device and any model with 512 positions.
if attempt lengths "$strata" bench step "${strata_options[@]}" --set device.backend=cpu --set model.config=tiny \
  --steps "$steps"; then
  keep_lengths lengths || true
fi
for ((turn = 1; turn <= turns; ++turn)); do
  if has_room "strata.$turn" strata-step "$model" "$work/lengths" &&
    attempt "strata.$turn" "$strata" bench step "${on_device[@]}" --steps "$steps"; then
    keep_lengths "strata.$turn" || true
  fi
  # The variant that is probably fastest runs first. Variants that PyTorch cannot run here are left
  # out.
  for variant in compiled_sorted eager_sorted eager compiled; do
    sorted=()
    [[ $variant != *_sorted ]] || sorted=(--sorted)
    has_room "pytorch.$variant.$turn" pytorch-step "$model" "$work/lengths" --variant "${variant%_sorted}" "${sorted[@]}" || continue
    attempt "pytorch.$variant.$turn" "${pytorch[@]}" "$root/bench/peers/pytorch/pytorch_step.py" "$model" "$work/lengths" \
      "${variant%_sorted}" --device "$device" --masked-only --steps "$steps" "${sorted[@]}" || true
  done
  [[ -n $short ]] || { has_room "fp8.$turn" strata-step "$model" "$work/lengths" &&
    attempt "fp8.$turn" "$strata" bench step "${on_device[@]}" --steps "$steps" \
    --set model.precision=fp8 --set batch.round_tokens=64; } || true
  ((turn == 1)) || continue
  # Runs once, before the turns that only repeat.
  attention_lengths=$work/first_lengths
  if [[ -z $short ]] && has_room operations strata-step "$model" "$work/lengths" && attempt operations "$strata" bench operations "${on_device[@]}"; then
    attention_lengths=$work/operations.json
  fi
  attempt attention "${pytorch[@]}" "$root/bench/peers/pytorch/pytorch_attention.py" "$model" "$attention_lengths" \
    --device "$device" || true
done
