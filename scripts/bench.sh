#!/usr/bin/env bash
# Micro-benchmarks (bench/micro/) of this checkout, and whether it is faster than another commit: both are built the same way,
# the other in a worktree below build/, and run in turns on one processor, by turns one or the other first. 'strata compare' then
# prints every benchmark's means, their difference, its 95 % interval and the U test of Mann and Whitney.
# Usage: scripts/bench.sh [--against COMMIT] [--filter REGEX] [--repetitions N] [--seconds S] [--output DIR]
#   --against COMMIT   what to compare with; without it the benchmarks run once and are listed
#   --filter REGEX     only benchmarks that this extended regular expression finds, for example '^attention.*bf16'
#   --repetitions N    turns, of both builds each; 9 or more say something about small differences; default 9
#   --seconds S        of every benchmark in a turn; default 0.1
#   --output DIR       where Google Benchmark's JSON goes, a file a turn; default build/bench/results
# Exits with 1 if a benchmark of this checkout is clearly slower by more than 5 %.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

against='' filter=. repetitions=9 seconds=0.1 output=$root/build/bench/results
while [[ $# -gt 0 ]]; do
  case $1 in
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    --against | --filter | --repetitions | --seconds | --output)
      [[ $# -ge 2 ]] || give_up "$1 wants a value; see --help"
      printf -v "${1#--}" '%s' "$2"
      shift 2
      ;;
    *) give_up "unknown option $1; see --help" ;;
  esac
done
[[ $repetitions =~ ^[1-9][0-9]*$ ]] || give_up "--repetitions $repetitions: expected a number of at least 1"
[[ $seconds =~ ^[0-9]*\.?[0-9]+$ ]] || give_up "--seconds $seconds: expected a number"
commit=''
if [[ -n $against ]]; then
  commit=$(git -C "$root" rev-parse --quiet --verify "$against^{commit}" 2>/dev/null) ||
    give_up "--against $against: there is no such commit"
  git -C "$root" cat-file -e "$commit:bench/micro/CMakeLists.txt" 2>/dev/null ||
    give_up "--against $against: has no micro-benchmarks (bench/micro/)"
fi

install_packages "${build_packages[@]}" "${training_packages[@]}" libbenchmark-dev

# build_in SOURCE FOLDER TARGET...: builds into FOLDER with the options of scripts/quickstart.sh.
build_in() {
  local source=$1 folder=$2
  shift 2
  say "building $* in $folder"
  mkdir -p "$folder"
  (cd "$source" && cmake --preset quickstart -B "$folder" >"$folder/cmake.log" 2>&1) || {
    cat "$folder/cmake.log" >&2
    give_up "cmake could not configure $source"
  }
  cmake --build "$folder" --target "$@"
}

# The first processor that this process may use, or all without taskset.
pinned=()
if command -v taskset >/dev/null; then
  processors=$(taskset -cp $$ | sed 's/.*: //')
  pinned=(taskset -c "${processors%%[,-]*}")
fi
# measure FOLDER [OPTION...]: runs the micro-benchmarks that are built in FOLDER.
measure() {
  local program=$1/bench/micro/strata_micro
  shift
  OMP_NUM_THREADS=1 "${pinned[@]}" "$program" "--benchmark_filter=$filter" "--benchmark_min_time=$seconds" "$@"
}

here=$root/build/bench/checkout
if [[ -z $against ]]; then
  build_in "$root" "$here" strata_micro
  measure "$here"
  exit
fi

there=$root/build/bench/$commit
git -C "$root" worktree prune
[[ -e $there/source/.git ]] || git -C "$root" worktree add --quiet --detach "$there/source" "$commit"
build_in "$root" "$here" strata_micro strata
build_in "$there/source" "$there/build" strata_micro

names=("$(git -C "$root" rev-parse --short "$commit")" checkout)
folders=("$there/build" "$here")
rm -rf "${output:?}/${names[0]}" "${output:?}/${names[1]}"
mkdir -p "$output/${names[0]}" "$output/${names[1]}"
for ((turn = 1; turn <= repetitions; ++turn)); do
  say "turn $turn of $repetitions"
  for side in $((turn % 2)) $((1 - turn % 2)); do
    measure "${folders[side]}" --benchmark_out_format=json --benchmark_out="$output/${names[side]}/$turn.json" \
      >"$output/running.txt" 2>&1 || { cat "$output/running.txt" >&2; give_up "the benchmarks of ${names[side]} failed"; }
    grep -q '"name"' "$output/${names[side]}/$turn.json" ||
      give_up "--filter $filter: finds no benchmark of ${names[side]}"
  done
done
rm -f "$output/running.txt"
echo
"$here/cli/strata" compare "$output/${names[0]}" "$output/${names[1]}" --fail-above 5%
