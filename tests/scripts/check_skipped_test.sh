#!/usr/bin/env bash
# Tests scripts/developing/check_skipped.sh in a tree of its own.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/scripts/developing" "$root/tests"
cp "$here/scripts/developing/check_skipped.sh" "$root/scripts/developing/"
cp "$here/scripts/surroundings.sh" "$root/scripts/"

# check ALLOWED TEST STATUS: runs the script on one test. Exits as it does.
check() {
  printf '# comment\n%s\n' "$1" >"$root/tests/may_skip.txt"
  printf '<testsuite>\n\t<testcase name="%s" status="%s"/>\n</testsuite>\n' "$2" "$3" >"$root/results.xml"
  "$root/scripts/developing/check_skipped.sh" "$root/results.xml" >"$root/out" 2>&1
}
exits() { check "${@:2}"; test $? -eq "$1"; }

expect "a test that ran is fine" exits 0 'a/B  reason' 'x/Y' run
expect "a test that may be skipped is fine" exits 0 'x/Y.*  reason' 'x/Y.Z' notrun
expect "another one is not" exits 1 'a/B  reason' 'x/Y' notrun
expect "and is named" grep -q '^  x/Y$' "$root/out"
expect "nor is a disabled one" exits 1 'a/B  reason' 'x/Y' disabled
expect "nothing may be skipped if no line says so" exits 1 '' 'x/Y' notrun
expect "a line that is no pattern is an error" exits 2 'x/(Y  reason' 'x/Y' notrun

[[ $failures -eq 0 ]]
