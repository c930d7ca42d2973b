#!/usr/bin/env bash
# MLPerf's pretraining samples of a text, in turns: create_pretraining_data.py of the MLCommons reference, and `strata data
# mlperf` with one thread and with all. Checks that one thread's samples are the reference's, and prints medians, ratios and
# bytes.
#   bench/peers/mlperf_data_vs_reference.sh FOLDER [--text FILE] [--vocab FILE] [--turns N] [--strata PROGRAM] [--venv DIR]
# FOLDER: retired_benchmarks/bert of a clone of https://github.com/mlcommons/training.
# --text: default data-cache/kjv.txt, --vocab: data-cache/minilm/vocab.txt (scripts/data/prepare_quickstart_data.sh makes both).
# --turns: runs of each (3). --strata: default build/release/cli/strata.
# --venv: where TensorFlow is, or is installed from PyPI if it is absent (2 GB of disk);
# default ${XDG_CACHE_HOME:-~/.cache}/strata/tensorflow.
set -euo pipefail
source "$(dirname "$0")/../../scripts/surroundings.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/bench/peers/venv.sh"
text=$root/data-cache/kjv.txt vocab=$root/data-cache/minilm/vocab.txt turns=3 strata=$root/build/release/cli/strata
venv=${XDG_CACHE_HOME:-$HOME/.cache}/strata/tensorflow folder=
while [[ $# -gt 0 ]]; do
  case $1 in
    --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --text | --vocab | --turns | --strata | --venv)
      [[ $# -ge 2 ]] || { echo "$1 needs a value; see --help" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    -*) echo "unknown option $1; see --help" >&2; exit 2 ;;
    *) folder=$1; shift ;;
  esac
done
[[ -f $folder/cleanup_scripts/create_pretraining_data.py ]] || {
  echo "'$folder' has no cleanup_scripts/create_pretraining_data.py; see --help" >&2; exit 2; }
for file in "$text" "$vocab"; do [[ -f $file ]] || { echo "no $file; see --help" >&2; exit 2; }; done
[[ -x $strata ]] || { echo "no $strata; build it first: cmake --preset release && cmake --build --preset release" >&2; exit 2; }

make_venv "$venv" tensorflow TensorFlow tensorflow-cpu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# One text makes one file. As many texts as processors measure all threads.
mkdir -p "$work/one" "$work/all"
cp "$text" "$work/one/part-00000-of-00001"
copies=$(nproc)
for ((i = 0; i < copies; ++i)); do
  ln "$work/one/part-00000-of-00001" "$work/all/$(printf 'part-%05d-of-%05d' "$i" "$copies")"
done
# ours TEXT_DIRECTORY THREADS: prints seconds.
ours() {
  "$strata" data mlperf --text "$work/$1" --vocab "$vocab" --out "$work/$1.out" --threads "$2" --incomplete --force \
    --json 2> "$work/messages" | python3 -I -c 'import json, sys; print(json.load(sys.stdin)["seconds"])' || {
    cat "$work/messages" >&2; exit 2; }
}
for ((turn = 1; turn <= turns; ++turn)); do
  echo "turn $turn of $turns" >&2
  "$venv/bin/python" "$root/bench/peers/data/reference_instances.py" "$folder" "$text" "$vocab" "$work/reference.tfrecord" \
    2> "$work/messages" >> "$work/reference.seconds" || { tail -20 "$work/messages" >&2; exit 2; }
  ours one 1 >> "$work/one.seconds"
  ours all "$copies" >> "$work/all.seconds"
done
"$strata" data compare "$work/one.out/train" "$work/reference.tfrecord"
python3 -I - "$work" "$copies" <<'PY'
import os, statistics, sys
work, copies = sys.argv[1], int(sys.argv[2])
median = {name: statistics.median(map(float, open(f"{work}/{name}.seconds"))) for name in ("reference", "one", "all")}
reference, one, every = median["reference"], median["one"], median["all"] / copies
size = os.path.getsize(f"{work}/reference.tfrecord"), os.path.getsize(f"{work}/one.out/train/part-00000-of-00001.hdf5")
print(f"the reference      {reference:8.2f} s  {size[0] / 1e6:8.1f} MB")
print(f"strata, 1 thread   {one:8.2f} s  {size[1] / 1e6:8.1f} MB  {reference / one:6.1f} times as fast")
print(f"strata, {copies} threads  {every:8.2f} s a file              {reference / every:6.1f} times as fast as one reference")
PY
