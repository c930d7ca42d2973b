#!/usr/bin/env bash
# Tests what scripts/common.sh repeats of failed tests, with a ctest that stands in for the real one.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
source "$root/tests/scripts/expect.sh"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/build/release"
processors=1

ctest() {
  while [[ $1 != --output-junit ]]; do shift; done
  cat >"$2" <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<testsuite>
	<testcase name="good" status="run"><system-out>nothing to see</system-out></testcase>
	<testcase name="a &lt; b" status="fail"><system-out>2 &lt; 1
FAILED: the reason</system-out></testcase>
</testsuite>
XML
  return 8
}
export STRATA_FAILED_TESTS=$root/collected
(run_tests release || true; say_failed_tests) >"$root/out" 2>&1
expect "the output of a failed test is repeated" grep -qx 'FAILED: the reason' "$root/out"
expect "with its name" grep -q '^== failed: release: a .*b' "$root/out"
expect "the output of others is not" test "$(grep -c 'nothing to see' "$root/out")" -eq 0
expect "the list comes last" test "$(tail -n 1 "$root/out")" = '  release: a < b'
expect "a caller's file gets it too" grep -qx 'FAILED: the reason' "$STRATA_FAILED_TESTS"

ctest() { return 8; }
failed_tests=()
(run_tests release || true; say_failed_tests) >"$root/out" 2>&1
expect "a ctest without results is named" test "$(tail -n 1 "$root/out")" = '  release: ctest itself'

# cmake stands in for a build that fails.
cmake() { printf 'x.cc:1: error: no such thing\n'; return 1; }
failed_tests=()
(build release all || note_failed_build release; say_failed_tests) >"$root/out" 2>&1
expect "a preset that does not build is named last" test "$(tail -n 1 "$root/out")" = '  release: does not build'
expect "with the compiler's errors" grep -q '^x.cc:1: error' "$root/out"

[[ $failures -eq 0 ]]
