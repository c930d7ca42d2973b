#!/usr/bin/env bash
# A small BERT from random weights: masked-LM accuracy at equal samples. Layers of 64 units, 1000 words, 24,000 samples of the King
# James Bible of up to 64 tokens. What has run is not run again.
# Usage: bench/compare_norms.sh [--what WHAT] [--seeds N] [--output DIR] [-- KEY=VALUE...]
#   --what norms       with LayerNorm, without it, and with a standardization loss in its place, two layers: the table of
#                      docs/methods/standardization.md; the default
#   --what layer_drop  LayerNorm after and before sublayers, and before them with layers dropped, six layers: the table of
#                      docs/methods/layer_dropping.md; seconds are of training, without evaluations
#   --seeds N          runs of every row, seeds 1 to N; default 1
#   --output DIR       default runs/compare_WHAT
# Needs scripts/quickstart.sh to have run once. STRATA: another program than the quickstart's.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"

what=norms seeds=1 output='' overrides=()
strata=${STRATA:-$root/build/quickstart/cli/strata}
while [[ $# -gt 0 ]]; do
  case $1 in
    --what) what=$2; shift 2 ;;
    --seeds) seeds=$2; shift 2 ;;
    --output) output=$2; shift 2 ;;
    --) shift; for override in "$@"; do overrides+=(--set "$override"); done; break ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) give_up "unknown option $1; see --help" ;;
  esac
done
case $what in
  norms) layers=2 ;;
  layer_drop) layers=6 ;;
  *) give_up "unknown comparison $what; see --help" ;;
esac
output=${output:-$root/runs/compare_$what}
[[ -x $strata ]] || give_up "$strata is missing: run scripts/quickstart.sh first"
text=$root/data-cache/kjv.txt
[[ -s $text ]] || give_up "$text is missing: run scripts/quickstart.sh first"
mkdir -p "$output"
output=$(realpath "$output")

# The vocabulary has the most frequent words, and letters for all others.
python3 -I - "$text" "$output/vocab.txt" <<'PYTHON'
import collections, re, sys
text = open(sys.argv[1]).read().lower()
letters = sorted(set(text) - set(" \n"))
vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + letters + ["##" + c for c in letters if c.isalpha()]
words = collections.Counter(re.findall(r"[a-z]+|[^\sa-z]", text)).most_common()
vocabulary += [word for word, _ in words if word not in vocabulary][: 1000 - len(vocabulary)]
open(sys.argv[2], "w").write("\n".join(vocabulary) + "\n")
PYTHON
"$strata" data prepare --text "$text" --vocab "$output/vocab.txt" --out "$output/data" --max-length 64 --max-predictions 10 \
  --dupe-factor 1 >/dev/null
cat >"$output/model.json" <<JSON
{"vocab_size": 1000, "hidden_size": 64, "num_hidden_layers": $layers, "num_attention_heads": 2, "intermediate_size": 256,
 "max_position_embeddings": 64, "type_vocab_size": 2, "hidden_act": "gelu"}
JSON
cat >"$output/run.yaml" <<'YAML'
run: {division: open, seed: 1}
model: {config: model.json, precision: fp32, hidden_dropout: 0, attention_dropout: 0}
device: {threads: 1}
data: {train: data/train.hdf5, eval: data/eval.hdf5, eval_samples: 400}
batch: {micro_batch: 16, load_balance: {strategy: random}}
optimizer: {name: adam, lr: 2e-3, beta2: 0.98, weight_decay: 0.01}
lr_schedule: {warmup_steps: 50, training_steps: 1500}
clip: {mode: after_allreduce, max_norm: 1}
target: {masked_lm_accuracy: 0.99, eval_interval_samples: 4000}
log: {step_trace: true}
YAML

# train NAME KEY=VALUE...: runs every seed and prints a line for each.
train() {
  local name=$1 seed run settings
  shift
  for ((seed = 1; seed <= seeds; ++seed)); do
    run=$output/$name-$seed settings=(--set "run.output=$output/$name-$seed" --set "run.seed=$seed")
    for setting in "$@"; do settings+=(--set "$setting"); done
    if [[ ! -s $run.json ]]; then
      rm -rf "${run:?}"
      # Exit code 1 says that the target was not reached. It is out of reach.
      "$strata" train --config "$output/run.yaml" "${settings[@]}" "${overrides[@]}" --json >"$run.tmp" || (($? == 1))
      mv "$run.tmp" "$run.json"
    fi
    printf '%-14s%4d' "$name" "$seed"
    sed -n 's/.*"key": "eval_accuracy", "value": \([0-9.]*\).*/\1/p' "$run"/*/results/*/bert/result_0.txt |
      awk '{ printf " %7.4f", $1 }'
    sed -n 's/.*"seconds": *\([0-9.e-]*\).*/\1/p' "$run"/*/results/*/bert/result_0.steps.jsonl |
      awk '{ sum += $1 } END { printf " %8.1f\n", sum }'
  done
}

printf '%-14s%4s %7s %7s %7s %7s %7s %7s %8s\n' samples seed 4000 8000 12000 16000 20000 24000 seconds
train post
if [[ $what == norms ]]; then
  train none model.norm=none
  for weight in 0.01 0.1 1; do train "unit-$weight" model.norm=none "standardization.weight=$weight"; done
  train token-0.01 model.norm=none standardization.axis=token standardization.weight=0.01
else
  train pre model.norm=pre
  for theta in 0.5 0.25; do train "pre-$theta" model.norm=pre "layer_drop.theta=$theta"; done
fi
