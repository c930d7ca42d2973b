#!/usr/bin/env bash
# A small BERT from random weights with LayerNorm, without it, and with a standardization loss in its place: masked-LM accuracy
# at equal samples, the table of docs/methods/standardization.md. Two layers of 64 units, 1000 words, 24,000 samples of the
# King James Bible of up to 64 tokens, one seed. What has run is not run again.
# Usage: bench/compare_norms.sh [--output DIR] [-- KEY=VALUE...]
#   --output DIR       default runs/compare_norms
# Needs scripts/quickstart.sh to have run once. STRATA: another program than the quickstart's.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"

output=$root/runs/compare_norms overrides=()
strata=${STRATA:-$root/build/quickstart/cli/strata}
while [[ $# -gt 0 ]]; do
  case $1 in
    --output) output=$2; shift 2 ;;
    --) shift; for override in "$@"; do overrides+=(--set "$override"); done; break ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) give_up "unknown option $1; see --help" ;;
  esac
done
[[ -x $strata ]] || give_up "$strata is not there: run scripts/quickstart.sh first"
text=$root/data-cache/kjv.txt
[[ -s $text ]] || give_up "$text is not there: run scripts/quickstart.sh first"
mkdir -p "$output"
output=$(realpath "$output")

# The most frequent words, and letters for the others.
python3 - "$text" "$output/vocab.txt" <<'PYTHON'
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
cat >"$output/model.json" <<'JSON'
{"vocab_size": 1000, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 256,
 "max_position_embeddings": 64, "type_vocab_size": 2, "hidden_act": "gelu"}
JSON
cat >"$output/run.yaml" <<'YAML'
run: {division: open, seed: 1}
model: {config: model.json, precision: fp32, hidden_dropout: 0, attention_dropout: 0}
device: {threads: 1}
data: {train: data/train.hdf5, eval: data/eval.hdf5, eval_samples: 400}
batch: {micro_batch: 16, load_balance: {strategy: random}}
optimizer: {name: adam, lr: 2e-3, beta2: 0.98, weight_decay: 0.01}
schedule: {warmup_steps: 50, training_steps: 1500}
clip: {mode: after_allreduce, max_norm: 1}
target: {masked_lm_accuracy: 0.99, eval_interval_samples: 4000}
log: {step_trace: true}
YAML

# train NAME KEY=VALUE...
train() {
  local name=$1 settings=(--set "run.output=$output/$1")
  shift
  for setting in "$@"; do settings+=(--set "$setting"); done
  if [[ ! -s $output/$name.json ]]; then
    rm -rf "${output:?}/$name"
    # 1: the target, which is out of reach, was not reached.
    "$strata" train --config "$output/run.yaml" "${settings[@]}" "${overrides[@]}" --json >"$output/$name.tmp" || (($? == 1))
    mv "$output/$name.tmp" "$output/$name.json"
  fi
  printf '%-14s' "$name"
  sed -n 's/.*"key": "eval_accuracy", "value": \([0-9.]*\).*/\1/p' "$output/$name"/*/results/*/bert/result_0.txt |
    awk '{ printf " %7.4f", $1 } END { print "" }'
}

printf '%-14s %7s %7s %7s %7s %7s %7s\n' samples 4000 8000 12000 16000 20000 24000
train post
train none model.norm=none
for weight in 0.01 0.1 1; do train "unit-$weight" model.norm=none "standardization.weight=$weight"; done
train token-0.01 model.norm=none standardization.axis=token standardization.weight=0.01
