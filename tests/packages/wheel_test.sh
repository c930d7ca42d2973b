#!/usr/bin/env bash
# Does pip install the wheel, does its program do what the static one does, and can it be removed? scripts/packages.sh wheel runs it.
# Usage: wheel_test.sh WHEEL PROGRAM [PYTHON]     PYTHON: one that has auditwheel
set -euo pipefail
wheel=$1 program=$2 auditor=${3:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

export HOME=$scratch PYTHONUSERBASE=$scratch/user
python3 -I -m venv "$scratch/venv"
python=$scratch/venv/bin/python installed=$scratch/venv/bin/strata
"$python" -m pip install --quiet --disable-pip-version-check --no-index "$wheel"
cmp "$installed" "$program" || fail "pip installed another program"
[[ $("$python" -m pip show strata-tools | sed -n 's/^Version: //p') == $("$installed" --version | sed -n '1s/^strata \([0-9.]*\).*/\1/p') ]] ||
  fail "the wheel and its program have different versions"

echo ':::MLLOG {"namespace": "", "time_ms": 1700000000000, "event_type": "INTERVAL_START", "key": "run_start", "value": null, "metadata": {}}' \
  >"$scratch/result_0.txt"
status=0
"$python" -m strata_tools check log --ruleset 5.0.0 "$scratch/result_0.txt" >"$scratch/checked" || status=$?
[[ $status == 1 ]] && grep -q run_stop "$scratch/checked" || fail "the module's check log ended with $status: $(cat "$scratch/checked")"
rm "$installed"
status=0
"$python" -m strata_tools --version 2>"$scratch/said" || status=$?
[[ $status == 1 ]] && grep -q 'install strata-tools again' "$scratch/said" || fail "without the program the module ended with $status"

# With --target, pip puts the program into bin/ beside the module, where the module must find it.
"$python" -m pip install --quiet --disable-pip-version-check --no-index --target "$scratch/folder" "$wheel"
PYTHONPATH=$scratch/folder "$python" -m strata_tools --version | grep -q '^strata ' || fail "the module does not find the program of --target"

"$python" -m pip uninstall --quiet --disable-pip-version-check --yes strata-tools
left=$(find "$scratch/venv" -name 'strata*')
[[ -z $left ]] || fail "pip left $left"
if [[ -n $auditor ]]; then
  "$auditor" -m auditwheel show "$wheel" >"$scratch/audit" 2>&1 || fail "auditwheel: $(cat "$scratch/audit")"
  grep -q "manylinux_2_17_$(uname -m)" "$scratch/audit" || fail "auditwheel does not find it portable: $(cat "$scratch/audit")"
fi
echo "wheel: $(stat -c %s "$wheel") bytes, works"
