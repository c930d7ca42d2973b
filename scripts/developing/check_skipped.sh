#!/usr/bin/env bash
# Fails if tests were skipped that tests/may_skip.txt does not list, and names them.
# Usage: scripts/developing/check_skipped.sh RESULTS.xml     as 'ctest --output-junit RESULTS.xml' writes it
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../surroundings.sh"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
results=${1:?usage: scripts/developing/check_skipped.sh RESULTS.xml}
skipped=$(sed -nE 's/^.*<testcase name="([^"]*)".* status="(notrun|disabled)".*$/\1/p' "$results" |
  sed -E 's/  *# GetParam.*//' | unescape_xml)
allowed=$(sed -E '/^#/d; /^ *$/d; s/ {2,}.*//; s/^/^(/; s/$/)$/' "$root/tests/may_skip.txt")
skipped=$(sed '/^$/d' <<<"$skipped")
[[ -n $skipped ]] || exit 0
if [[ -z $allowed ]]; then
  unexpected=$skipped
else
  unexpected=$(grep -v -E -f <(printf '%s\n' "$allowed") <<<"$skipped") || [[ $? -eq 1 ]] || {
    printf 'tests/may_skip.txt: has a line that is not a regular expression\n' >&2
    exit 2
  }
fi
[[ -z $unexpected ]] && exit 0
{
  printf 'these tests were skipped, but tests/may_skip.txt does not list them; make them run, or list them:\n'
  sed 's/^/  /' <<<"$unexpected"
} >&2
exit 1
