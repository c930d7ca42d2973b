#!/usr/bin/env bash
# Runs the micro-benchmarks (bench/micro/) of this checkout. With --against it compares this checkout with another commit: it builds
# both the same way, the other in a worktree below build/, and measures them in turns on one processor (overlap: on two), each
# first in every other turn. 'strata compare' then prints both means of every number, their difference, its 95 % interval and Mann and Whitney's U test.
# Usage: scripts/bench.sh [--against COMMIT] [--measure LIST] [--filter REGEX] [--repetitions N] [--seconds S] [--output DIR]
#                         [--config FILE] [--tokens N] [--history FILE]
#   --against COMMIT   what to compare with; without it the micro-benchmarks run once and are listed
#   --measure LIST     what to measure, with commas between: micro (default); step, overlap (two ranks) and operations, which 'strata
#                      bench' measures; check ('strata check log' of large logs, on one thread); or all
#   --filter REGEX     only micro-benchmarks whose names match this extended regular expression, for example '^attention.*bf16'
#   --repetitions N    turns, each of which measures both builds; small differences need 9 or more; default 9
#   --seconds S        seconds of every micro-benchmark in a turn; default 0.1
#   --config FILE      configuration of step, overlap and operations; default scripts/configs/quickstart.yaml with its model, without data
#   --tokens N         tokens of their micro-batches; default 512
#   --output DIR       folder of the JSON files of every turn; default build/bench/results
#   --history FILE     file that gets a line of JSON with the ratios and their intervals; default bench/results/history.jsonl.
#                      'strata plot history' draws it.
# Exits with 1 if a number of this checkout is clearly slower by more than 5 %. The more numbers there are, the surer each must be.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

against='' filter=. repetitions=9 seconds=0.1 output=$root/build/bench/results
measure=micro config=$root/scripts/configs/quickstart.yaml tokens=512 history=$root/bench/results/history.jsonl
while [[ $# -gt 0 ]]; do
  case $1 in
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    --against | --filter | --repetitions | --seconds | --output | --measure | --config | --tokens | --history)
      [[ $# -ge 2 ]] || give_up "$1 needs a value; see --help"
      printf -v "${1#--}" '%s' "$2"
      shift 2
      ;;
    *) give_up "unknown option $1; see --help" ;;
  esac
done
[[ $repetitions =~ ^[1-9][0-9]*$ ]] || give_up "--repetitions $repetitions: expected a number of at least 1"
[[ $seconds =~ ^[0-9]*\.?[0-9]+$ ]] || give_up "--seconds $seconds: expected a number"
[[ $tokens =~ ^[1-9][0-9]*$ ]] || give_up "--tokens $tokens: expected a number of at least 1"
every=(micro step overlap operations check)
[[ $measure != all ]] || measure=$(IFS=,; echo "${every[*]}")
IFS=, read -ra kinds <<<"$measure"
for kind in "${kinds[@]}"; do
  [[ " ${every[*]} " == *" $kind "* ]] || give_up "--measure $measure: expected all, or some of ${every[*]} with commas between them"
done
[[ ${#kinds[@]} -gt 0 ]] || give_up "--measure is empty; see --help"
[[ -n $against || $measure == micro ]] || give_up "--measure $measure: needs --against; 'strata bench' measures one build"
[[ -f $config ]] || give_up "--config $config: there is no such file"
with() { [[ ,$measure, == *,$1,* ]]; }
commit=''
if [[ -n $against ]]; then
  commit=$(git -C "$root" rev-parse --quiet --verify "$against^{commit}" 2>/dev/null) ||
    give_up "--against $against: there is no such commit"
  ! with micro || git -C "$root" cat-file -e "$commit:bench/micro/CMakeLists.txt" 2>/dev/null ||
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
# measure_micro FOLDER [OPTION...]: runs the micro-benchmarks that are built in FOLDER.
measure_micro() {
  local program=$1/bench/micro/strata_micro
  shift
  OMP_NUM_THREADS=1 "${pinned[@]}" "$program" "--benchmark_filter=$filter" "--benchmark_min_time=$seconds" "$@"
}

here=$root/build/bench/checkout
if [[ -z $against ]]; then
  build_in "$root" "$here" strata_micro
  measure_micro "$here"
  exit
fi

there=$root/build/bench/$commit
git -C "$root" worktree prune
[[ -e $there/source/.git ]] || git -C "$root" worktree add --quiet --detach "$there/source" "$commit"
targets=(strata)
! with micro || targets+=(strata_micro)
build_in "$root" "$here" "${targets[@]}"
[[ $measure != micro ]] || targets=(strata_micro)
build_in "$there/source" "$there/build" "${targets[@]}"

numbers=(python3 -I "$root/scripts/developing/bench_numbers.py")
logs=$root/build/bench/logs
if with check; then
  python3 -I "$root/tests/docs/bert_log.py" >"$root/build/bench/log.txt"
  "${numbers[@]}" logs "$root/build/bench/log.txt" "$logs" 300
fi
model=(--config "$config" --set model.vocab=none --set model.checkpoint=none --set data.train=/tmp --set data.eval=/tmp
  --tokens "$tokens" --steps 3 --json)
[[ $config != "$root/scripts/configs/quickstart.yaml" ]] || model+=(--set model.config=minilm)
# measure_kind FOLDER KIND: prints the JSON of one kind.
measure_kind() {
  local strata=$1/cli/strata
  case $2 in
    step | operations) OMP_NUM_THREADS=1 "${pinned[@]}" "$strata" bench "$2" "${model[@]}" ;;
    # The link's speed is given, because it would otherwise follow the build's backward.
    overlap) OMP_NUM_THREADS=1 "$root/scripts/mpirun.sh" -n 2 "$strata" bench overlap "${model[@]}" --gbits 2 ;;
    check) "${pinned[@]}" "${numbers[@]}" check "$strata" "$logs" ;;
  esac
}
# measure_turn SIDE TURN: measures every kind for one build, and writes the JSON of the turn.
measure_turn() {
  local folder=${folders[$1]} file=$output/${names[$1]}/$2 kind found=()
  for kind in "${kinds[@]}"; do
    if [[ $kind == micro ]]; then
      measure_micro "$folder" --benchmark_out_format=json --benchmark_out="$file.micro.json" >"$output/running.txt" 2>&1 ||
        { cat "$output/running.txt" >&2; give_up "the benchmarks of ${names[$1]} failed"; }
      grep -q '"name"' "$file.micro.json" || give_up "--filter $filter: finds no benchmark of ${names[$1]}"
    else
      measure_kind "$folder" "$kind" >"$output/running.$kind" 2>"$output/running.txt" ||
        { cat "$output/running.txt" >&2; give_up "$kind of ${names[$1]} failed"; }
      found+=("$kind" "$output/running.$kind")
    fi
  done
  [[ ${#found[@]} -eq 0 ]] || "${numbers[@]}" times "${found[@]}" >"$file.json"
}

names=("$(git -C "$root" rev-parse --short "$commit")" checkout)
folders=("$there/build" "$here")
rm -rf "${output:?}/${names[0]}" "${output:?}/${names[1]}"
mkdir -p "$output/${names[0]}" "$output/${names[1]}"
for ((turn = 1; turn <= repetitions; ++turn)); do
  say "turn $turn of $repetitions"
  for side in $((turn % 2)) $((1 - turn % 2)); do
    measure_turn "$side" "$turn"
  done
done
rm -f "$output"/running.*
echo
status=0
"$here/cli/strata" compare "$output/${names[0]}" "$output/${names[1]}" --fail-above 5% || status=$?
[[ $status -le 1 ]] || exit "$status"
"$here/cli/strata" compare "$output/${names[0]}" "$output/${names[1]}" --json >"$output/comparison.json"
new=$(git -C "$root" rev-parse --short HEAD)
[[ -z $(git -C "$root" status --porcelain --untracked-files=no) ]] || new+=+
"${numbers[@]}" history "${names[0]}" "$new" "$output/comparison.json" >>"$history"
say "the ratios are in $history"
exit "$status"
