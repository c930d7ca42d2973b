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
mkdir -p "$work/bin" "$tree/scripts"
printf '#!/bin/sh\necho install ok installed\n' >"$work/bin/dpkg-query"
chmod +x "$work/bin/dpkg-query"
export PATH=$work/bin:$PATH
cp "$root"/scripts/{common,surroundings,bench}.sh "$tree/scripts/"
echo /build/ >"$tree/.gitignore"
cat >"$tree/CMakePresets.json" <<'JSON'
{"version": 6, "configurePresets": [{"name": "quickstart", "generator": "Ninja"}]}
JSON
cat >"$tree/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(small NONE)
add_custom_target(strata COMMAND ${CMAKE_COMMAND} -E make_directory cli
                         COMMAND ${CMAKE_COMMAND} -E create_symlink $ENV{REAL_STRATA} cli/strata)
if(EXISTS ${CMAKE_SOURCE_DIR}/bench/micro)
  add_custom_target(strata_micro COMMAND ${CMAKE_COMMAND} -E make_directory bench/micro
                                 COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/bench/micro/micro.sh bench/micro/strata_micro)
endif()
CMAKE
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
expect "the tree stays clean" test -z "$(git -C "$tree" status --porcelain)"

rm "$work/calls"
micro 120
bench --against HEAD --repetitions 4
expect "what is not committed is measured, and slower fails" test $? -eq 1
expect "by name" grep -q 'adam.seconds of checkout is' "$work/err"
expect "again in a worktree that is there" grep -q '^50 ' "$work/calls"

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
refused 'expected a number' --seconds soon
refused 'wants a value' --filter
refused 'unknown option --fast' --fast
refused 'finds no benchmark' --against HEAD --filter none --repetitions 1

[[ $failures -eq 0 ]] || { cat "$work/out" "$work/err"; exit 1; }
