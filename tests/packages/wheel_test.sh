#!/usr/bin/env bash
# Does pip install the wheel, does its program do what the static one does, and can it be removed? scripts/packages.sh wheel runs it.
# A wheel for another machine is only installed into a folder, and its program runs in qemu.
# Usage: wheel_test.sh WHEEL PROGRAM [MACHINE [PYTHON]]     MACHINE: the wheel's; PYTHON: one that has auditwheel
set -euo pipefail
wheel=$1 program=$2 machine=${3:-$(uname -m)} auditor=${4:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

export HOME=$scratch PYTHONUSERBASE=$scratch/user
python3 -I -m venv "$scratch/venv"
python=$scratch/venv/bin/python
pip() { "$python" -m pip "$@" --quiet --disable-pip-version-check; }
echo ':::MLLOG {"namespace": "", "time_ms": 1700000000000, "event_type": "INTERVAL_START", "key": "run_start", "value": null, "metadata": {}}' \
  >"$scratch/result_0.txt"
# works COMMAND...: checks a log that lacks run_stop
works() {
  local status=0
  "$@" check log --ruleset 5.0.0 "$scratch/result_0.txt" >"$scratch/checked" || status=$?
  [[ $status == 1 ]] && grep -q run_stop "$scratch/checked" || fail "$*: check log ended with $status: $(cat "$scratch/checked")"
}

if [[ $machine == "$(uname -m)" ]]; then
  installed=$scratch/venv/bin/strata
  pip install --no-index "$wheel"
  cmp "$installed" "$program" || fail "pip installed another program"
  [[ $("$python" -m pip show strata-tools | sed -n 's/^Version: //p') == $("$installed" --version | sed -n '1s/^strata \([0-9.]*\).*/\1/p') ]] ||
    fail "the wheel and its program have different versions"
  works "$python" -m strata_tools
  rm "$installed"
  status=0
  "$python" -m strata_tools --version 2>"$scratch/said" || status=$?
  [[ $status == 1 ]] && grep -q 'install strata-tools again' "$scratch/said" || fail "without the program the module ended with $status"
fi

# With --target, pip puts the program into bin/ beside the module, where the module must find it.
pip install --no-index --platform "manylinux2014_$machine" --only-binary :all: --target "$scratch/folder" "$wheel"
cmp "$scratch/folder/bin/strata" "$program" || fail "pip installed another program"
works env PYTHONPATH="$scratch/folder" "$python" -m strata_tools

if [[ $machine == "$(uname -m)" ]]; then
  pip uninstall --yes strata-tools
  left=$(find "$scratch/venv" -name 'strata*')
  [[ -z $left ]] || fail "pip left $left"
fi
if [[ -n $auditor ]]; then
  "$auditor" -m auditwheel show "$wheel" >"$scratch/audit" 2>&1 || fail "auditwheel: $(cat "$scratch/audit")"
  grep -q "manylinux_2_17_$machine" "$scratch/audit" || fail "auditwheel does not find it portable: $(cat "$scratch/audit")"
fi
echo "wheel: $(stat -c %s "$wheel") bytes, works"
