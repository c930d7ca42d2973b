#!/usr/bin/env bash
# Names the strata program to the next steps: $GIVEN, or one built from this repository's source.
set -euo pipefail
export LC_ALL=C.UTF-8
program=${GIVEN:-}
if [[ -z $program ]]; then
  source_folder=$(cd "$GITHUB_ACTION_PATH/../../.." && pwd)
  build=${RUNNER_TEMP:?}/strata-build
  # The names of Debian 12 and Ubuntu 24.04.
  sudo=()
  [[ $(id -u) == 0 ]] || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" apt-get install -y -qq --no-install-recommends g++ cmake ninja-build pkg-config libfmt-dev libcli11-dev \
    libyaml-cpp-dev libboost-dev nlohmann-json3-dev libmicrohttpd-dev
  cmake -S "$source_folder" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSTRATA_TRAINING=OFF -DSTRATA_TESTS=OFF
  cmake --build "$build" --target strata
  program=$build/cli/strata
fi
[[ -x $program ]] || program=$(command -v "$program") || { echo "::error::strata check: '${GIVEN//$'\n'/ }' is no program"; exit 2; }
"$program" --version
# A value with a line break would set further outputs.
[[ $program != *$'\n'* ]]
echo "program=$(realpath "$program")" >>"$GITHUB_OUTPUT"
