#!/usr/bin/env bash
# Times updates, from gradients to new weights, in turns: `strata bench optimizer` (norm, then one fused pass: clip, AdamW, bf16
# weights) and PyTorch (clip_grad_norm_, fused AdamW, a bf16 copy of every weight), over the same tensors with the
# same number of threads.
#   bench/peers/optimizer_vs_pytorch.sh [--model MODEL] [--threads N] [--turns N] [--rounds N] [--strata PROGRAM] [--venv DIR]
# MODEL: bert-large (default; 7 GB of memory) or a model's config.json. --threads: default all processors.
# --turns: processes of each program (5). --rounds: updates in each process (7). --strata: default build/release/cli/strata.
# --venv: where PyTorch is, or is installed from PyPI if it is absent (6 GB of disk);
# default ${XDG_CACHE_HOME:-~/.cache}/strata/pytorch.
set -euo pipefail
source "$(dirname "$0")/../../scripts/surroundings.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/bench/peers/venv.sh"
model=bert-large threads=$(nproc) turns=5 rounds=7 strata=$root/build/release/cli/strata
venv=${XDG_CACHE_HOME:-$HOME/.cache}/strata/pytorch
while [[ $# -gt 0 ]]; do
  case $1 in
    --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --model | --threads | --turns | --rounds | --strata | --venv)
      [[ $# -ge 2 ]] || { echo "$1 needs a value; see --help" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    *) echo "unknown option $1; see --help" >&2; exit 2 ;;
  esac
done
[[ $model == bert-large || -f $model ]] || { echo "--model $model: expected bert-large or a file" >&2; exit 2; }
[[ -x $strata ]] || { echo "no $strata; build it first: cmake --preset release && cmake --build --preset release" >&2; exit 2; }

make_venv "$venv" torch PyTorch torch numpy

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
has_memory "an update" optimizer "$model" || exit 2
for ((turn = 1; turn <= turns; ++turn)); do
  echo "turn $turn of $turns" >&2
  "$strata" bench optimizer --model "$model" --precision bf16 --threads "$threads" --rounds "$rounds" --json \
    > "$work/strata.$turn.json" 2> "$work/strata.err" || { cat "$work/strata.err" >&2; exit 2; }
  OMP_NUM_THREADS=$threads "$venv/bin/python" "$root/bench/peers/pytorch/pytorch_optimizer.py" "$model" "$threads" "$rounds" \
    > "$work/pytorch.$turn.json"
done

"$venv/bin/python" - "$work" "$threads" << 'PY'
import glob, json, statistics, sys, torch
work, threads = sys.argv[1:]
strata = [json.load(open(path)) for path in glob.glob(f"{work}/strata.*.json")]
pytorch = [json.load(open(path)) for path in glob.glob(f"{work}/pytorch.*.json")]
# Strata's arena has gaps of a few elements after small tensors.
ours, theirs = strata[0]["parameters"], pytorch[0]["parameters"]
if not theirs <= ours <= 1.01 * theirs:
    sys.exit(f"not the same model: {ours} parameters here, {theirs} in PyTorch")
milliseconds = lambda results, key: 1e3 * statistics.median(r[key] for r in results)
seconds = [r["seconds"] for r in strata]
both, total = milliseconds(seconds, "norm_and_update"), milliseconds(pytorch, "total")
print(f"{theirs / 1e6:.1f} M parameters, {threads} threads, medians of {len(strata)} processes each")
print(f"strata           norm {milliseconds(seconds, 'norm'):.1f} ms + update {milliseconds(seconds, 'update'):.1f} ms:"
      f" {both:.1f} ms")
print(f"PyTorch {torch.__version__}  clip {milliseconds(pytorch, 'clip'):.1f} ms +"
      f" AdamW {milliseconds(pytorch, 'update'):.1f} ms + bf16 copy {milliseconds(pytorch, 'copy'):.1f} ms:"
      f" {total:.1f} ms")
print(f"PyTorch's time over Strata's: {total / both:.2f}; of the update alone, without either norm: "
      f"{(total - milliseconds(pytorch, 'clip')) / milliseconds(seconds, 'update'):.2f}")
PY
