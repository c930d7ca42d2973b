#!/usr/bin/env bash
# Tests what the quickstart prints at its end, and that it names the build folder of a checkout that was moved.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
source "$root/tests/scripts/expect.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
said() { grep -qF -- "$1" "$work/said"; }

# score REACHED VERDICT
score() {
  printf '{\n  "experiments": [\n    {\n      "reached_target": %s,\n      "accuracy": 0.3312,\n' "$1" >"$work/result.json"
  printf '      "seconds": 41.25,\n      "samples": 528,\n      "log": "/some/result_0.txt"\n    }\n  ]\n}\n' >>"$work/result.json"
  say_score "$work/result.json" 0.33 /some/result_0.txt "$2" >"$work/said"
}
score true PASS
expect "a target that is reached and checked is a success" test $? -eq 0
expect "its score is printed" said "score     41.2 s to the target, 528 samples"
expect "its target is reached" said "target    0.3300, reached"
score true FAIL
expect "a log that fails its check is none" test $? -ne 0
score false PASS
expect "a target that is not reached is none" test $? -ne 0
expect "it has no score" said "score     none: the target was not reached in 41.2 s and 528 samples"
expect "it is not reached" said "target    0.3300, not reached"
expect "nothing says that the target was reached" test -z "$(grep 'to the target' "$work/said")"

# A checkout of another user.
if [[ $(id -u) -ne 0 ]]; then
  mkdir "$work/other"
  chmod a-w "$work/other"
  (root=$work/other needs_writable_checkout) >"$work/said" 2>&1
  expect "a checkout that cannot be written is refused" test $? -eq 2
  expect "what else can be done is said" said "elsewhere: cmake -S '$work/other' -B DIR"
fi

# moved BUILD SOURCES: what is said of a build folder.
moved() { (refuse_moved_build "$@") >"$work/said" 2>&1; }
mkdir -p "$work/new/build/some" "$work/old"
moved "$work/new/build/some" "$work/new"
expect "a folder that was not configured is taken" test $? -eq 0
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$work/new" >"$work/new/build/some/CMakeCache.txt"
moved "$work/new/build/some" "$work/new"
expect "a folder that was configured here is taken" test $? -eq 0
for before in "$work/old" "$work/gone"; do
  echo "CMAKE_HOME_DIRECTORY:INTERNAL=$before" >"$work/new/build/some/CMakeCache.txt"
  moved "$work/new/build/some" "$work/new"
  expect "a folder that was configured elsewhere is refused" test $? -eq 2
  expect "where it was configured is said" said "$before"
  expect "what to remove is said" said "rm -rf '$work/new/build/some'"
done

[[ $failures -eq 0 ]]
