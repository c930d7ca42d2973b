#!/bin/bash
# Names the strata program to the next steps: $GIVEN, or one built from this repository's source.
set -euo pipefail
export LC_ALL=C.UTF-8
source "${BASH_SOURCE[0]%/*}/common.sh"
stop() {
  echo "::error::strata check: '${GIVEN//$'\n'/ }' $1"
  exit 2
}
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
elif [[ $program != */* ]]; then
  # A name is looked for where programs are installed: a file of that name in the checkout is not meant.
  program=$(type -P -- "$program") || stop 'is not installed; name a program in PATH, or its path'
fi
[[ -f $program && -x $program ]] || stop 'is no program'
program=$(realpath -- "$program")
! may_be_committed "$program" ||
  stop 'may be a file of the pull request, which is never run; put the program outside of the checkout'
"$program" --version
# A value with a line break would set further outputs.
[[ $program != *$'\n'* ]]
echo "program=$program" >>"$GITHUB_OUTPUT"
