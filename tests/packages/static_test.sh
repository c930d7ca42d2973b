#!/usr/bin/env bash
# Is the static program one: no library of the system, at most 15 MB, and does it work in a folder that holds nothing else?
# scripts/packages.sh static runs it.
# Usage: static_test.sh PROGRAM
set -euo pipefail
program=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

linked=$(readelf -d "$program")
[[ $linked != *NEEDED* ]] || fail "$program is linked to libraries of the system: $linked"
bytes=$(stat -c %s "$program")
((bytes <= 15000000)) || fail "$program has $bytes bytes"

cp "$program" "$scratch/strata"
echo ':::MLLOG {"namespace": "", "time_ms": 1700000000000, "event_type": "INTERVAL_START", "key": "run_start", "value": null, "metadata": {}}' \
  >"$scratch/result_0.txt"
in_empty_root=(chroot "$scratch")
[[ $(id -u) == 0 ]] || in_empty_root=(unshare --user --map-root-user chroot "$scratch")
"${in_empty_root[@]}" /strata --version >"$scratch/version" || fail "it does not start where nothing else is"
grep -q '^strata [0-9]' "$scratch/version" || fail "$(cat "$scratch/version")"
status=0
"${in_empty_root[@]}" /strata check log --ruleset 5.0.0 /result_0.txt >"$scratch/checked" || status=$?
[[ $status == 1 ]] && grep -q run_stop "$scratch/checked" || fail "check log ended with $status: $(cat "$scratch/checked")"
"${in_empty_root[@]}" /strata report / -o /report.html >"$scratch/reported" 2>&1 || fail "$(cat "$scratch/reported")"
[[ -s $scratch/report.html ]] || fail "report wrote no page"
status=0
"${in_empty_root[@]}" /strata report / --watch --port 0 >"$scratch/watched" 2>&1 || status=$?
[[ $status == 2 ]] && grep -q "built without its server" "$scratch/watched" || fail "--watch ended with $status: $(cat "$scratch/watched")"
echo "static: $bytes bytes, works in an empty root"
