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

# needs_writable_checkout: gives up if this user cannot write into the checkout.
needs_writable_checkout() {
  [[ -w $root ]] || give_up "$root: you cannot write there, and this script makes build/, data-cache/ and runs/ in it. Copy the folder, or build
elsewhere: cmake -S '$root' -B DIR -G Ninja && cmake --build DIR"
}

# archive FOLDER WORD: renames it to FOLDER.WORD, or FOLDER.WORD.2 and so on, so that nothing is lost. Says where it is.
archive() {
  local folder=$1 name=$1.$2 number=2
  while [[ -e $name || -L $name ]]; do
    name=$folder.$2.$number
    number=$((number + 1))
  done
  mv -T -- "$folder" "$name"
  say "$folder is archived as $name"
}

# Whether this user may be able to install packages of the distribution.
may_install() { [[ $(id -u) -eq 0 ]] || command -v sudo >/dev/null; }

# Prints the package manager to use: apt-get if this user may call it, else that of an active environment, else the distribution's.
package_manager() {
  local manager
  if command -v apt-get >/dev/null && may_install; then echo apt-get; return; fi
  if [[ -n ${CONDA_PREFIX:-} ]]; then echo conda; return; fi
  if [[ -n ${SPACK_ENV:-} ]]; then echo spack; return; fi
  for manager in apt-get dnf zypper pacman conda spack; do
    if command -v "$manager" >/dev/null; then echo "$manager"; return; fi
  done
  echo none
}

# names_for MANAGER PACKAGE...: prints Debian packages' names for another manager, one a line; PACKAGE itself if there is none.
names_for() {
  local manager=$1 package name
  shift
  for package in "$@"; do
    name=$(awk -v package="$package" -v column="$(case $manager in
        dnf) echo 2 ;; zypper) echo 3 ;; pacman) echo 4 ;; conda) echo 5 ;; spack) echo 6 ;; *) echo 1 ;;
      esac)" '$1 == package { print $column }' "$root/scripts/parts/package_names.txt")
    case $name in - | '') echo "$package" ;; *) echo "$name" ;; esac
  done
}

# is_installed MANAGER NAME: whether the manager knows the package as installed. Spack is not asked, because it takes seconds.
is_installed() {
  case $1 in
    apt-get) dpkg-query -W -f '${Status}\n' "$2" 2>/dev/null | grep -q '^install ok installed' ;;
    dnf | zypper) rpm -q --whatprovides "$2" >/dev/null 2>&1 ;;
    pacman) pacman -T "$2" >/dev/null 2>&1 ;;
    conda) compgen -G "${CONDA_PREFIX:-/none}/conda-meta/$2-[0-9]*.json" >/dev/null ;;
    *) return 1 ;;
  esac
}

# Whether an MPI is installed, whichever it is.
has_mpi() { command -v mpicxx >/dev/null && command -v mpirun >/dev/null; }

# Installs the named Debian packages unless they are installed. On other systems it names the packages that are missing and goes on:
# their libraries may be in a prefix that CMake finds, and CMake names what it does not find.
install_packages() {
  local missing=() package as_root=() manager names
  for package in "$@"; do
    # Another MPI serves as well.
    [[ $package != libopenmpi-dev && $package != openmpi-bin ]] || ! has_mpi || continue
    is_installed apt-get "$package" || missing+=("$package")
  done
  if [[ ${#missing[@]} -eq 0 ]]; then
    say "packages: all installed"
    return
  fi
  manager=$(package_manager)
  if [[ $manager != apt-get ]]; then
    names=()
    while IFS= read -r package; do
      is_installed "$manager" "$package" || names+=("$package")
    done < <(names_for "$manager" "${missing[@]}" | awk '!seen[$0]++')
    if [[ ${#names[@]} -eq 0 ]]; then
      say "packages: all installed"
      return
    fi
    case $manager in
      dnf | zypper) say "packages: install what is missing:
  sudo $manager install ${names[*]}" ;;
      pacman) say "packages: install what is missing:
  sudo pacman -S --needed ${names[*]}" ;;
      conda) say "packages: install what is missing:
  conda install -c conda-forge ${names[*]}" ;;
      spack) say "packages: load what is missing, or install it:
  spack install ${names[*]}" ;;
      none) say "packages: this system has none of apt-get, dnf, zypper, pacman, conda and spack. Install these packages (Debian's names):
  ${names[*]}" ;;
    esac
    say "packages: continuing with what is installed; CMake also looks in CMAKE_PREFIX_PATH"
    return
  fi
  if ! may_install; then
    [[ -n ${CMAKE_PREFIX_PATH:-} ]] || give_up "installing packages needs root: run as root, install sudo, or run
  apt-get install ${missing[*]}
If the libraries are in a folder of your own, name it in CMAKE_PREFIX_PATH"
    say "packages: not installed, because that needs root: ${missing[*]}"
    say "packages: continuing with what is installed and in CMAKE_PREFIX_PATH"
    return
  fi
  say "packages: installing ${missing[*]}"
  [[ $(id -u) -eq 0 ]] || as_root=(sudo)
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null ||
    give_up "apt-get could not install ${missing[*]}, for the reason above. Ubuntu has some of them in its component universe:
  add-apt-repository universe"
}

# pip_of PYTHON ACTION NAME ARGUMENT...: installs or downloads requirements/NAME.txt: only wheels, whose hashes must match.
pip_of() {
  local python=$1 action=$2 name=$3
  shift 3
  "$python" -I -m pip "$action" --quiet --disable-pip-version-check --no-input --require-hashes --only-binary :all: \
    --requirement "$root/scripts/parts/requirements/$name.txt" "$@"
}

# Fetches the headers of cuDNN's C++ interface if there is a CUDA toolkit. The CUDA backend needs them for cuDNN's attention.
fetch_cudnn_frontend() {
  local folder=$cache/cudnn-frontend
  command -v nvcc "${CUDACXX:-nvcc}" "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" >/dev/null || return 0
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
