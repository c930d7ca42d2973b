#!/usr/bin/env bash
# Fetches oneDNN 3.2 from PyPI into a folder that CMake's -DSTRATA_ONEDNN takes; does nothing if it exists.
# Usage: scripts/developing/fetch_onednn.sh [FOLDER]     FOLDER: data-cache/onednn
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

case ${1:-} in
  -h | --help) sed -n '2,3s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  -*) give_up "unknown option $1; see --help" ;;
esac
folder=${1:-$cache/onednn}
if [[ ! -f $folder/lib/libdnnl.so || ! -f $folder/include/oneapi/dnnl/dnnl.hpp ]]; then
  [[ ! -e $folder ]] || give_up "$folder: exists already, but is not a oneDNN; remove it, or name another folder"
  say "oneDNN 3.2: fetching from PyPI (39 MB)"
  mkdir -p "$(dirname "$folder")"
  unfinished=$(mktemp -d "$folder.XXXXXX")
  trap 'rm -rf "$unfinished"' EXIT
  pip_of python3 download onednn --no-deps --dest "$unfinished" ||
    give_up "oneDNN could not be fetched from PyPI, or is not the expected file"
  for wheel in "$unfinished"/*.whl; do
    unzip -q "$wheel" '*.data/data/*' -d "$unfinished"
    rm "$wheel"
  done
  mkdir "$unfinished/whole"
  cp -r "$unfinished"/*.data/data/. "$unfinished/whole"
  mv "$unfinished/whole" "$folder"
fi
printf 'cmake --preset release -DSTRATA_ONEDNN=%s\n' "$(realpath "$folder")"
