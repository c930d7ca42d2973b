# Functions for the scripts. Source this file; do not run it. Expects bash with 'set -euo pipefail'.

source "$(dirname "${BASH_SOURCE[0]}")/surroundings.sh"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=$root/data-cache

build_packages=(g++ cmake ninja-build ccache pkg-config libfmt-dev libcli11-dev libyaml-cpp-dev
  nlohmann-json3-dev libboost-dev libmicrohttpd-dev libxlsxwriter-dev zlib1g-dev)
training_packages=(libdnnl-dev libopenmpi-dev openmpi-bin libhdf5-dev libleveldb-dev
  libmd-dev libprotozero-dev libutf8proc-dev)
data_packages=(bible-kjv unzip python3-pip)

say() { printf '\n== %s\n' "$*"; }
give_up() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 2
}

# set_aside FOLDER WORD: renames it to FOLDER.WORD, or FOLDER.WORD.2 and so on, so that nothing is lost. Says where it is.
set_aside() {
  local folder=$1 name=$1.$2 number=2
  while [[ -e $name || -L $name ]]; do
    name=$folder.$2.$number
    number=$((number + 1))
  done
  mv -T -- "$folder" "$name"
  say "$folder is archived as $name"
}

# Installs the named Debian packages unless they are installed.
install_packages() {
  local missing=() package as_root=()
  for package in "$@"; do
    dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
  done
  if [[ ${#missing[@]} -eq 0 ]]; then
    say "packages: all installed"
    return
  fi
  say "packages: installing ${missing[*]}"
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || give_up "installing packages needs root: run as root, install sudo, or run
  apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
}

# pip_of PYTHON ACTION NAME ARGUMENT...: installs or downloads requirements/NAME.txt: only wheels, whose hashes must match.
pip_of() {
  local python=$1 action=$2 name=$3
  shift 3
  "$python" -I -m pip "$action" --quiet --disable-pip-version-check --no-input --require-hashes --only-binary :all: \
    --requirement "$root/scripts/requirements/$name.txt" "$@"
}

# Fetches the headers of cuDNN's C++ interface if there is a CUDA toolkit. The CUDA backend needs them for cuDNN's attention.
fetch_cudnn_frontend() {
  local folder=$cache/cudnn-frontend
  command -v nvcc "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" >/dev/null || return 0
  [[ ! -f $folder/include/cudnn_frontend.h ]] || return 0
  say "headers: nvidia-cudnn-frontend from PyPI"
  rm -rf "$folder" "$folder.unfinished"
  if pip_of python3 download cudnn_frontend --no-deps --dest "$folder.unfinished" &&
    unzip -q "$folder.unfinished"/*.whl 'include/*' -d "$folder.unfinished"; then
    rm "$folder.unfinished"/*.whl
    mv "$folder.unfinished" "$folder"
  else
    say "headers: could not be fetched from PyPI; the build leaves out attention by cuDNN"
    rm -rf "$folder.unfinished"
  fi
}

# refuse_moved_build FOLDER SOURCES: gives up if the build folder was configured for other sources, for example because the
# checkout was moved or copied. cmake would refuse it without saying what to remove.
refuse_moved_build() {
  local folder=$1 sources=$2 before
  before=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$folder/CMakeCache.txt" 2>/dev/null) || return 0
  [[ -z $before || $before -ef $sources ]] ||
    give_up "$folder was configured for the sources in $before; they are in $sources now. Remove it and start again:
  rm -rf '$folder'"
}

# say_score RESULT TARGET LOG VERDICT: prints the end of the quickstart from the JSON of 'strata train'. Fails unless
# the target was reached and VERDICT is PASS.
say_score() {
  local result=$1 target=$2 log=$3 verdict=$4 name
  local -A value=()
  for name in seconds samples accuracy reached_target; do
    value[$name]=$(sed -n "s/^ *\"$name\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" "$result")
  done
  printf '\n'
  if [[ ${value[reached_target]} == true ]]; then
    printf 'score     %.1f s to the target, %s samples (one run; MLPerf scores ten)\n' "${value[seconds]}" "${value[samples]}"
  else
    printf 'score     none: the target was not reached in %.1f s and %s samples\n' "${value[seconds]}" "${value[samples]}"
  fi
  printf 'accuracy  %.4f of masked tokens\n' "${value[accuracy]}"
  printf 'target    %.4f, %s\n' "$target" "$([[ ${value[reached_target]} == true ]] && echo reached || echo 'not reached')"
  printf 'log       %s\n' "$log"
  printf 'check     %s\n' "$verdict"
  [[ ${value[reached_target]} == true && $verdict == PASS ]]
}

# build PRESET TARGET [CMAKE OPTION...]: configures and builds into build/PRESET. Fails if that fails.
build() {
  local preset=$1 target=$2
  shift 2
  refuse_moved_build "$root/build/$preset" "$root"
  say "building $target (preset $preset)"
  (cd "$root" && cmake --preset "$preset" "$@" >"$root/build-$preset.log" 2>&1) || {
    cat "$root/build-$preset.log" >&2
    printf 'cmake could not configure the build\n' >&2
    return 1
  }
  rm -f "$root/build-$preset.log"
  (cd "$root" && cmake --build --preset "$preset" --target "$target")
}

# run_tests PRESET [CTEST OPTION...]: runs the tests of build/PRESET, as many at a time as there are processors, and
# writes build/PRESET/results.xml. Fails if a test failed, and adds it to failed_tests.
failed_tests=()
run_tests() {
  local preset=$1 results=$root/build/$1/results.xml before=${#failed_tests[@]} test
  shift
  say "tests (preset $preset)"
  rm -f "$results"
  (cd "$root" && ctest --test-dir "build/$preset" --no-tests=error --output-on-failure --parallel "$processors" --output-junit "$results" "$@") &&
    return 0
  while IFS= read -r test; do
    failed_tests+=("$preset: $test")
  done < <(sed -nE 's/^.*<testcase name="([^"]*)".* status="fail".*$/\1/p' "$results" 2>/dev/null | unescape_xml)
  [[ ${#failed_tests[@]} -gt $before ]] || failed_tests+=("$preset: ctest itself")
  return 1
}

# Notes that a preset does not build, for say_failed_tests.
note_failed_build() { failed_tests+=("$1: does not build"); }

# Repeats all that failed at the end, below the output of the last preset: the last lines that each printed, then a list.
# Appends the same to the file STRATA_FAILED_TESTS, where a caller of several scripts collects it.
say_failed_tests() {
  [[ ${#failed_tests[@]} -gt 0 ]] || return 0
  print_failed_tests | tee -a "${STRATA_FAILED_TESTS:-/dev/null}"
}
print_failed_tests() {
  python3 -I - "$root/build" "${failed_tests[@]}" <<'PYTHON' || true
import sys
import xml.etree.ElementTree as tree

shown = sys.argv[2:12]
lines = max(12, 60 // len(shown))  # continuous integration may keep some 80 lines of all
for failed in shown:
    preset, _, name = failed.partition(": ")
    try:
        cases = tree.parse(f"{sys.argv[1]}/{preset}/results.xml").iter("testcase")
    except (OSError, tree.ParseError):
        continue
    for case in cases:
        if case.get("name") == name and case.get("status") == "fail":
            print(f"\n== failed: {failed}", *(case.findtext("system-out") or "").splitlines()[-lines:], sep="\n")
PYTHON
  local failed
  for failed in "${failed_tests[@]}"; do
    [[ $failed == *": does not build" ]] || continue
    printf '\n== %s\n' "$failed"
    (cd "$root" && cmake --build --preset "${failed%%:*}" 2>&1 | tail -n 25) || true  # the same errors again
  done
  say "failed:"
  printf '  %s\n' "${failed_tests[@]}"
}
