#!/usr/bin/env bash
# Whole training steps of bert-large on one GPU, MLPerf's lengths, Adam included: `strata bench step` against PyTorch
# (transformers, SDPA, bf16 autocast, fused AdamW, sequences padded to 512; eager and torch.compile, the better counts),
# in turns over the same lengths, with the GPU's matrix and copy peaks; then Strata's steps in fp8, `strata bench
# operations`, and attention by every kernel PyTorch has for it.
#   bench/gpu_vs_pytorch.sh [--sequences N] [--steps N] [--turns N] [--model MODEL] [--python PYTHON] [--output FILE]
# --sequences: a step (96). --steps: measured in each process (10). --turns: processes of each (2).
# --model: bert-large or a config.json. --python: one with torch and transformers (python3).
# --output: default bench/results/gpu_vs_pytorch.json. Programs come from build/release, or from $STRATA_BIN.
# --device cpu: the same on the processor, to try the script.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
sequences=96 steps=10 turns=2 model=bert-large python=python3 output=$root/bench/results/gpu_vs_pytorch.json device=cuda
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --sequences | --steps | --turns | --model | --python | --output | --device)
      [[ $# -ge 2 ]] || { echo "$1 needs a value; see --help" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    *) echo "unknown option $1; see --help" >&2; exit 2 ;;
  esac
done
strata=${STRATA_BIN:-$root/build/release/cli}/strata
[[ -x $strata ]] || { echo "no $strata; build the release preset first, or set STRATA_BIN" >&2; exit 2; }
"$python" -c 'import torch, transformers' || { echo "$python lacks torch or transformers; see --python" >&2; exit 2; }
[[ $device == cpu || $device == cuda ]] || { echo "--device $device: cpu or cuda" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strata_options=(--config "$root/scripts/configs/bert-large.yaml" --set device.backend="$device"
  --set model.config="$model" --set model.vocab=none --set model.checkpoint=none --set data.train=/tmp
  --set data.eval=/tmp --set batch.micro_batch="$sequences" --json)
attempt() {
  local name=$1
  shift
  echo "$name" >&2
  "$@" > "$work/$name.json" 2> "$work/$name.err" || { tail -n 20 "$work/$name.err" >&2; return 1; }
}
for ((turn = 1; turn <= turns; ++turn)); do
  attempt "strata.$turn" "$strata" bench step "${strata_options[@]}" --steps "$steps" || exit 1
  "$python" -c 'import json, sys; json.dump(json.load(open(sys.argv[1]))["lengths"], open(sys.argv[2], "w"))' \
    "$work/strata.$turn.json" "$work/lengths"
  for variant in eager compiled; do
    # What PyTorch cannot do here is left out of the comparison.
    attempt "pytorch.$variant.$turn" "$python" "$root/bench/pytorch_step.py" "$model" "$work/lengths" "$variant" \
      --device "$device" --steps "$steps" || rm -f "$work/pytorch.$variant.$turn.json"
  done
done
for ((turn = 1; turn <= turns; ++turn)); do
  attempt "fp8.$turn" "$strata" bench step "${strata_options[@]}" --steps "$steps" --set model.precision=fp8 \
    --set batch.round_tokens=64 || rm -f "$work/fp8.$turn.json"
done
attempt operations "$strata" bench operations "${strata_options[@]}" || exit 1
attempt attention "$python" "$root/bench/pytorch_attention.py" "$model" "$work/operations.json" --device "$device" ||
  echo '[]' > "$work/attention.json"

mkdir -p "$(dirname "$output")"
"$python" - "$work" "$output" << 'PY'
import glob, json, statistics, sys
work, output = sys.argv[1:]
load = lambda pattern: [json.load(open(path)) for path in sorted(glob.glob(f"{work}/{pattern}.json"))]
strata, operations, attention = load("strata.*"), load("operations")[0], load("attention")[0]
fp8 = load("fp8.*")
pytorch = {variant: runs for variant in ("eager", "compiled") if (runs := load(f"pytorch.{variant}.*"))}
if not pytorch:
    sys.exit("PyTorch ran in no variant; nothing to compare")
median = lambda runs, key: statistics.median(run[key] for run in runs)
rate = median(strata, "sequences_per_second")
for run in strata + fp8:
    del run["lengths"]
every = [run for runs in pytorch.values() for run in runs]
matrix, copy = median(every, "matrix_peak_flops_per_second"), median(every, "copy_peak_bytes_per_second")
flops = median(strata, "model_flops_per_second")
best = max(pytorch, key=lambda variant: median(pytorch[variant], "sequences_per_second"))
best_rate = median(pytorch[best], "sequences_per_second")
result = {"device": every[0]["device"], "torch": every[0]["torch"], "sequences_per_step": strata[0]["sequences_per_step"],
          "strata_sequences_per_second": rate, "model_flops_share_of_matrix_peak": flops / matrix,
          "pytorch_sequences_per_second": {v: median(runs, "sequences_per_second") for v, runs in pytorch.items()},
          "ratio_to_best_pytorch": rate / best_rate, "matrix_peak_flops_per_second": matrix,
          "copy_peak_bytes_per_second": copy, "strata": strata, "strata_fp8": fp8, "operations": operations,
          "pytorch_attention": attention}
json.dump(result, open(output, "w"), indent=2)
print(f"{result['device']}, PyTorch {result['torch']}, {result['sequences_per_step']} sequences a step, "
      f"medians of {len(strata)} processes each")
print(f"strata             {rate:10.2f} sequences/s, {100 * flops / matrix:.1f} % of the matrix peak")
if fp8:
    print(f"strata, fp8        {median(fp8, 'sequences_per_second'):10.2f} sequences/s")
for variant, runs in pytorch.items():
    print(f"PyTorch {variant:<10} {median(runs, 'sequences_per_second'):10.2f} sequences/s padded to 512")
print(f"ratio to the better one: {rate / best_rate:.2f}")
print(f"matrix peak {matrix / 1e12:.1f} TFLOP/s, copy peak {copy / 1e9:.0f} GB/s (by PyTorch)")
slow = [o for o in operations["operations"] if o["flops"] == 0 and o["bytes"] / o["seconds"] < 0.8 * copy]
print("memory-bound operations below 80 % of the copy peak: " +
      (", ".join(f"{o['operation']} {100 * o['bytes'] / o['seconds'] / copy:.0f} %" for o in slow) or "none"))
ours = {o["operation"]: o["seconds"] for o in operations["operations"]}
print(f"attention of a layer, forward and backward: strata {1e3 * ours['attention_forward']:.3f} + "
      f"{1e3 * ours['attention_backward']:.3f} ms" + "".join(
          f"; {a['kernel']} {a['sequences']} {1e3 * a['forward_seconds']:.3f} + {1e3 * a['backward_seconds']:.3f} ms"
          for a in attention if "error" not in a))
print(f"written to {output}")
PY
