#!/usr/bin/env bash
# How far bf16 updates of query and key weights are from float64's: the first LAMB update of BERT-large from random weights, N(0, 0.03), on
# 4 samples of 128 tokens, by Strata and by PyTorch's autocast, with attention op by op and fused. Prints cosines layer by layer, and the
# whole update's relative error. BERT-large takes about 14 GB of memory and 3 minutes of two cores.
#   bench/peers/update_cosines.sh [--model MODEL] [--layers N] [--samples N] [--length N] [--std S] [--threads N] [--set KEY=VALUE]...
#     [--strata PROGRAM] [--venv FOLDER] [--json FILE]
# --model: bert-large (default) or a config.json. --layers: its first N layers (all). --set: of `strata train`, such as device.backend=cuda.
# --strata: default build/release/cli/strata. --venv: a Python environment with PyTorch, made from PyPI if it is missing (5 GB;
# default build/pytorch). --json: write the figures there, too.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/scripts/common.sh"
source "$root/bench/peers/venv.sh"
model=bert-large strata=$root/build/release/cli/strata venv=$root/build/pytorch json= options=() layers=()
give_up() { echo "$*" >&2; exit 2; }
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --model | --strata | --venv | --json)
      [[ $# -ge 2 ]] || give_up "$1 needs a value; see --help"
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    --layers | --samples | --length | --threads)
      [[ $# -ge 2 && $2 =~ ^[1-9][0-9]*$ ]] || give_up "$1 ${2-}: expected a number of at least 1"
      [[ $1 != --layers ]] || layers=(--layers "$2")
      options+=("$1" "$2")
      shift 2 ;;
    --std | --set)
      [[ $# -ge 2 ]] || give_up "$1 needs a value; see --help"
      options+=("$1" "$2")
      shift 2 ;;
    *) give_up "unknown option $1; see --help" ;;
  esac
done
[[ $model == bert-large || -f $model ]] || give_up "--model $model: expected bert-large or a config.json"
[[ -x $strata ]] || give_up "no $strata; build it first: cmake --preset release && cmake --build --preset release"
make_venv "$venv" torch,transformers,h5py,safetensors PyTorch torch transformers h5py safetensors

has_memory "the update" cosines "$model" "${layers[@]}" || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$venv/bin/python" "$root/bench/peers/pytorch/pytorch_update_cosines.py" "$strata" "$model" "$work" "${options[@]}" > "$work/figures.json"
[[ -z $json ]] || cp "$work/figures.json" "$json"
python3 -I - "$work/figures.json" << 'PY'
import json, sys
figures = json.load(open(sys.argv[1]))
systems = {"strata": "Strata", "unfused": "unfused", "fused": "fused"}
print(f"{'':5}" + "".join(f"{kind + ' weights':<30}" for kind in ("query", "key")))
print("layer" + "".join(f"{name:>10}" for _ in range(2) for name in systems.values()))
for number, layer in enumerate(figures["layers"]):
    print(f"{number:5}" + "".join(f"{layer[kind][system]:10.4f}" for kind in ("query", "key") for system in systems))
print("error of the whole update: " + ", ".join(f"{name} {figures['whole_update_error'][system]:.4f}"
                                                 for system, name in systems.items()))
PY
