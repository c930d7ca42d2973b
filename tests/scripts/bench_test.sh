#!/usr/bin/env bash
# Tests what scripts/bench.sh builds, runs, compares and refuses, in a small tree whose benchmarks are a script.
# Usage: tests/scripts/bench_test.sh STRATA
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export REAL_STRATA=$1
command -v git >/dev/null || { echo "git is missing"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source "$root/tests/scripts/expect.sh"
tree=$work/tree
commit() { git -C "$tree" add -A && git -C "$tree" -c user.name=a -c user.email=b commit -q -m "$1"; }
bench() { "$tree/scripts/bench.sh" "$@" >"$work/out" 2>"$work/err"; }

# All packages are said to be there.
mkdir -p "$work/bin" "$tree/scripts/developing"
printf '#!/bin/sh\necho install ok installed\n' >"$work/bin/dpkg-query"
chmod +x "$work/bin/dpkg-query"
export PATH=$work/bin:$PATH
cp "$root"/scripts/{common,surroundings,bench}.sh "$tree/scripts/"
cp "$root/scripts/developing/bench_numbers.py" "$tree/scripts/developing/"
mkdir -p "$tree"/{scripts/configs,tests/docs,bench/results}
touch "$tree/scripts/configs/quickstart.yaml" "$tree/bench/results/README.md"
cp "$root/tests/docs/bert_log.py" "$tree/tests/docs/"
printf '/build/\n/bench/results/history.jsonl\n' >"$tree/.gitignore"
history=$tree/bench/results/history.jsonl
# mpirun.sh starts the program once.
printf '#!/bin/sh\nshift 2\nRANKS=2 exec "$@"\n' >"$tree/scripts/mpirun.sh"
chmod +x "$tree/scripts/mpirun.sh"
cat >"$tree/CMakePresets.json" <<'JSON'
{"version": 6, "configurePresets": [{"name": "quickstart", "generator": "Ninja"}]}
JSON
cat >"$tree/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(small NONE)
add_custom_target(strata COMMAND ${CMAKE_COMMAND} -E make_directory cli
                         COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/strata.sh cli/strata)
if(EXISTS ${CMAKE_SOURCE_DIR}/bench/micro)
  add_custom_target(strata_micro COMMAND ${CMAKE_COMMAND} -E make_directory bench/micro
                                 COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/bench/micro/micro.sh bench/micro/strata_micro)
endif()
CMAKE
# strata TIME: its benchmarks take about so long, and say that they were called; all else the real one does.
strata() {
  cat >"$tree/strata.sh" <<SCRIPT
#!/usr/bin/env bash
[[ \$1 == bench || "\$1 \$2" == 'check log' ]] || exec "$REAL_STRATA" "\$@"
echo "$1 \$* [\${RANKS:-1}]" >>"$work/calls"
turns=\$(wc -l <"$work/calls")
time=$1.\$((turns * 7 % 10))
case \$2 in
  step) echo '{"seconds": {"step": '\$time', "forward": 1}}' ;;
  overlap) echo '{"modes": [{"mode": "none", "step_seconds": '\$time'}]}' ;;
  operations) echo '{"operations": [{"operation": "adam_update", "where": "", "seconds": '\$time'},
    {"operation": "linear", "where": "output", "seconds": 3.'\$((turns * 7 % 10))'}]}' ;;
  log) "$REAL_STRATA" "\$@" ;;
esac
SCRIPT
  chmod +x "$tree/strata.sh"
}
strata 8
git init -q "$tree"
commit "without benchmarks"
mkdir -p "$tree/bench/micro"
touch "$tree/bench/micro/CMakeLists.txt"
# micro TIME: takes about so long, and says that it was called, and how.
micro() {
  cat >"$tree/bench/micro/micro.sh" <<SCRIPT
#!/usr/bin/env bash
echo "$1 \$*" >>"$work/calls"
turns=\$(wc -l <"$work/calls")
for argument; do
  case \$argument in
    --benchmark_filter=none) benchmarks= ;;
    --benchmark_filter=*) benchmarks='{"name": "adam", "cpu_time": '$1.\$((turns % 9))', "time_unit": "us"}' ;;
    --benchmark_out=*) out=\${argument#*=} ;;
  esac
done
[[ -z \${out:-} ]] && echo "adam $1 us" || echo '{"context": {}, "benchmarks": ['"\$benchmarks"']}' >"\$out"
SCRIPT
  chmod +x "$tree/bench/micro/micro.sh"
}
micro 100
commit "slow"
micro 50
commit "fast"

bench --help
expect "--help succeeds" test $? -eq 0
expect "--help explains --against" grep -q -- '--against COMMIT' "$work/out"

bench --filter adam
expect "without --against it succeeds" test $? -eq 0
expect "and prints the table" grep -q 'adam 50 us' "$work/out"
expect "of one run" test "$(wc -l <"$work/calls")" -eq 1
expect "with the filter" grep -q -- '--benchmark_filter=adam' "$work/calls"

rm "$work/calls"
bench --against HEAD~1 --repetitions 4 --seconds 0.01
expect "a faster checkout is a success" test $? -eq 0
expect "both are run in turns, each first every other time" test \
  "$(cut -d ' ' -f 1 "$work/calls" | tr '\n' ' ')" = "50 100 100 50 50 100 100 50 "
expect "as long as wanted" test "$(grep -c -- '--benchmark_min_time=0.01' "$work/calls")" -eq 8
old=$(git -C "$tree" rev-parse --short HEAD~1)
expect "the table names the other commit" grep -q "^A: $old$" "$work/out"
expect "and the checkout" grep -q "^B: checkout$" "$work/out"
expect "and says by how much one is faster, with interval and test" \
  grep -qE 'adam\.seconds .*-4[89]\.[0-9]+ % .* to .* 16 +0\.029 +4, 4' "$work/out"
expect "JSON is left, a file a turn" test "$(ls "$tree/build/bench/results/checkout" | wc -l)" -eq 4
# of_history EXPRESSION: evaluates Python over `runs`, the lines of the history.
of_history() {
  python3 -c "
import json, sys
runs = [json.loads(line) for line in open('$history')]
sys.exit(not ($1))"
}
expect "the history has a line" of_history "len(runs) == 1 and runs[0]['old'] == '$old'"
expect "with the commit, without changes" of_history "runs[0]['new'] == '$(git -C "$tree" rev-parse --short HEAD)'"
expect "with the ratio and its interval" of_history "
  (n := runs[0]['numbers']['adam.seconds']) and n['interval'][0] < n['ratio'] < n['interval'][1] and 0.4 < n['ratio'] < 0.6"
expect "with the processor" of_history "'core' in runs[0]['processor']"
expect "the tree stays clean" test -z "$(git -C "$tree" status --porcelain)"

rm "$work/calls"
micro 120
bench --against HEAD --repetitions 4
expect "what is not committed is measured, and slower fails" test $? -eq 1
expect "by name" grep -q 'adam.seconds of checkout is' "$work/err"
expect "again in a worktree that is there" grep -q '^50 ' "$work/calls"

expect "the history tells that there were changes" of_history "len(runs) == 2 and runs[1]['new'].endswith('+')"

rm "$work/calls"
strata 4
bench --against HEAD --measure all --repetitions 4 --tokens 64 --history "$work/other.jsonl"
expect "all: slower micro-benchmarks fail" test $? -eq 1
expect "all: the others ran" test "$(grep -cE '^(4|8) (bench (step|overlap|operations)|check log) ' "$work/calls")" -eq 32
expect "all: both programs, each first every other time" test \
  "$(grep ' bench step ' "$work/calls" | cut -d ' ' -f 1 | tr '\n' ' ')" = "4 8 8 4 4 8 8 4 "
expect "all: of the same shapes" test "$(grep -c -- '--tokens 64 --steps 3 --json' "$work/calls")" -eq 24
expect "all: overlap has two ranks" test "$(grep -c 'bench overlap .* --gbits 2 \[2\]' "$work/calls")" -eq 8
expect "all: the table has every number" test \
  "$(grep -cE '^(adam|step|overlap.none|operations.adam_update|operations.linear .output.|check)[. ].*seconds ' "$work/out")" -eq 6
history=$work/other.jsonl
expect "all: faster ones are in the history, too" of_history "runs[0]['numbers']['step.seconds']['interval'][1] < 0.7"
expect "all: operations by their shapes" of_history "'operations.linear (output).seconds' in runs[0]['numbers']"

rm "$work/calls"
git -C "$tree" checkout -q .
strata 9
bench --against HEAD --measure step,overlap --repetitions 6 --history "$work/other.jsonl"
expect "a slower step fails" test $? -eq 1
expect "by name" grep -q 'step.seconds of checkout is' "$work/err"
expect "nothing else runs" not grep -qvE 'bench (step|overlap)' "$work/calls"
expect "the history goes on" of_history "len(runs) == 2 and set(runs[1]['numbers']) == {'step.seconds', 'overlap.none.step_seconds'}"
git -C "$tree" checkout -q .
bench --against HEAD~2 --measure step --repetitions 4 --history "$work/other.jsonl"
expect "an equal step passes, also against a commit without micro-benchmarks" test $? -eq 0
"$REAL_STRATA" plot history "$work/other.jsonl" -o "$work/history.svg" >"$work/drawn"
numbers=$(python3 -c "import json; print(sum(len(json.loads(line)['numbers']) for line in open('$history')))")
expect "the history is drawn" grep -q "history.svg: $numbers drawn" "$work/drawn"

refused() {  # TEXT OPTION...: with exit code 2 and these words, before anything is run
  local text=$1
  shift
  rm -f "$work/calls"
  bench "$@"
  expect "'$*' is refused" test $? -eq 2
  expect "'$*' is refused with words" grep -q -- "$text" "$work/err"
}
refused 'there is no such commit' --against nothing
refused 'has no micro-benchmarks' --against HEAD~2
refused 'expected a number' --repetitions 0
refused 'expected a number' --tokens many
refused 'expected all, or some of' --against HEAD --measure speed
refused 'needs --against' --measure step
refused 'there is no such file' --config "$work/none.yaml"
refused 'expected a number' --seconds soon
refused 'needs a value' --filter
refused 'unknown option --fast' --fast
refused 'finds no benchmark' --against HEAD --filter none --repetitions 1

[[ $failures -eq 0 ]] || { cat "$work/out" "$work/err"; exit 1; }
