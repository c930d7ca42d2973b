#!/usr/bin/env bash
# Whole training steps on this processor, Adam included, on MLPerf's lengths or on sequences of one: `strata bench step`
# against PyTorch (transformers, SDPA, bf16 autocast, fused AdamW; eager and torch.compile; sequences padded to 512, and sorted
# by length and padded to the longest of their batch), in turns over the same sequences with the same number of threads. What
# counts is tokens a second, without padding. The peak is the better of both programs' square GEMMs.
#   bench/peers/cpu_vs_pytorch.sh [--model MODEL] [--tokens N] [--length N] [--steps N] [--turns N] [--threads N]
#                                 [--strata PROGRAM] [--venv DIR] [--output FILE]
# --model: bert-large (default; 12 GB of memory), minilm (the quickstart's) or a model's config.json.
# --tokens: of a step (2048). --length: tokens of every sequence, for example 512; default MLPerf's mix.
# --steps: measured in each process (8). --turns: processes of each (3).
# --threads: default all processors. --strata: default build/release/cli/strata.
# --venv: where PyTorch and transformers are, or are installed from PyPI where they are absent (6 GB of disk);
# default ${XDG_CACHE_HOME:-~/.cache}/strata/pytorch. --output: also write the numbers there, as JSON.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/bench/peers/venv.sh"
model=bert-large tokens=2048 steps=8 turns=3 threads=$(nproc) strata=$root/build/release/cli/strata output= length=
venv=${XDG_CACHE_HOME:-$HOME/.cache}/strata/pytorch
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --model | --tokens | --length | --steps | --turns | --threads | --strata | --venv | --output)
      [[ $# -ge 2 ]] || { echo "$1 needs a value; see --help" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    *) echo "unknown option $1; see --help" >&2; exit 2 ;;
  esac
done
for number in tokens steps turns threads ${length:+length}; do
  [[ ${!number} =~ ^[1-9][0-9]*$ ]] || { echo "--$number ${!number}: expected a number of at least 1" >&2; exit 2; }
done
[[ $model == bert-large || $model == minilm || -f $model ]] ||
  { echo "--model $model: not bert-large, not minilm and not a file" >&2; exit 2; }
[[ -x $strata ]] || { echo "no $strata; build it first: cmake --preset release && cmake --build --preset release" >&2; exit 2; }

make_venv "$venv" "torch, transformers" PyTorch torch numpy transformers

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pytorch_model=$model
if [[ $model == minilm ]]; then
  pytorch_model=$work/minilm.json
  echo '{"vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
         "intermediate_size": 1536, "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu",
         "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}' > "$pytorch_model"
fi
export OMP_NUM_THREADS=$threads
# run NAME COMMAND...: NAME.json, or the reason.
run() {
  local name=$1
  shift
  "$@" > "$work/$name.json" 2> "$work/$name.err" || { cat "$work/$name.err" >&2; echo "$name failed" >&2; exit 1; }
}
for ((turn = 1; turn <= turns; ++turn)); do
  echo "turn $turn of $turns" >&2
  run "strata.$turn" "$strata" bench step --config "$root/scripts/configs/bert-large.yaml" --set model.config="$model" \
    --set model.vocab=none --set model.checkpoint=none --set data.train=/tmp --set data.eval=/tmp --set model.precision=bf16 \
    --tokens "$tokens" ${length:+--length "$length"} --steps "$steps" --json
  # The same sequences for every process of every turn.
  [[ -e $work/lengths ]] || "$venv/bin/python" -c 'import json, sys; json.dump(json.load(open(sys.argv[1]))["lengths"], sys.stdout)' \
    "$work/strata.1.json" > "$work/lengths"
  for variant in eager compiled; do
    for order in padded sorted; do
      options=()
      [[ $order == padded ]] || options=(--sorted)
      run "pytorch, $variant, $order.$turn" "$venv/bin/python" "$root/bench/peers/pytorch_step.py" "$pytorch_model" \
        "$work/lengths" "$variant" --device cpu --steps "$steps" "${options[@]}"
    done
  done
done

"$venv/bin/python" - "$work" "$threads" "$output" << 'PY'
import glob, json, pathlib, statistics, sys
work, threads, output = sys.argv[1:]
runs = {}
for path in sorted(pathlib.Path(work).glob("*.*.json")):
    runs.setdefault(path.stem.rsplit(".", 1)[0], []).append(json.load(open(path)))
median = lambda name, key: statistics.median(run[key] for run in runs[name])
strata = runs["strata"][0]
flops_per_token = strata["model_flops_per_step"] / strata["tokens_per_step"]
peak = max(run["matrix_peak_flops_per_second"] for every in runs.values() for run in every)
rates = {name: median(name, "tokens_per_second") for name in runs}
rivals = [name for name in rates if name != "strata"]
print(f"{threads} threads, {strata['tokens_per_step']} tokens a step, medians of {len(runs['strata'])} processes each; "
      f"{strata['device']}; PyTorch {runs[rivals[0]][0]['torch']}")
print(f"{'':<28}{'tokens/s':>10}{'GFLOP/s':>10}{'of peak':>9}{'strata over it':>16}")
for name, rate in sorted(rates.items(), key=lambda item: -item[1]):
    flops = rate * flops_per_token
    print(f"{name:<28}{rate:>10.0f}{flops / 1e9:>10.0f}{100 * flops / peak:>8.0f}%{rates['strata'] / rate:>16.2f}")
print(f"matrix peak {peak / 1e9:.0f} GFLOP/s; ratio to the fastest of PyTorch's: {rates['strata'] / max(rates[n] for n in rivals):.2f}")
if output:
    json.dump({"threads": int(threads), "tokens_per_second": rates, "flops_per_token": flops_per_token,
               "matrix_peak_flops_per_second": peak, "runs": runs}, open(output, "w"), indent=2)
PY
