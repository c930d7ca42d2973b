#!/usr/bin/env bash
# Does scripts/campaigns/reference_points.py train what is missing, once, and write points that Strata and the official
# checker read? Do its faults still apply to the sources?
# Usage: tests/scripts/reference_points_test.sh STRATA
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
strata=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
source "$root/tests/scripts/expect.sh"
campaign() { python3 -I "$root/scripts/campaigns/reference_points.py" --table "$scratch/runs.jsonl" "$@" 2>&1; }
lines() { test "$(wc -l <"$scratch/runs.jsonl")" -eq "$1"; }

# A program that trains nothing: 400 samples plus 16 per seed; seed 3 fails at first.
cat >"$scratch/strata" <<SH
#!/usr/bin/env bash
[[ \$1 != --version ]] || { echo 'strata 0.1.0, commit abc123'; exit; }
for argument; do [[ \$argument != run.seed=* ]] || seed=\${argument#*=}; done
echo "\$seed" >>"$scratch/calls"
[[ \$seed != 3 || -e "$scratch/mended" ]] || { echo "no memory" >&2; exit 2; }
echo '{"experiments": [{"reached_target": true, "samples": '\$((400 + 16 * seed))', "accuracy": 0.331, "seconds": 5}]}'
SH
chmod +x "$scratch/strata"

campaign --strata "$scratch/strata" --batch-sizes 8 --runs 3 >"$scratch/out"
expect "a failed run is reported" grep -qF 'batch size 8, seed 3, fault none: exit code 2: no memory' "$scratch/out"
expect "other runs are kept" lines 2
expect "they name the program's commit" grep -q '"commit": "abc123"' "$scratch/runs.jsonl"
touch "$scratch/mended"
campaign --strata "$scratch/strata" --batch-sizes 8 --runs 3 >"$scratch/out"
expect "only the missing run is trained again" test "$(sort "$scratch/calls" | tr '\n' ' ')" = '1 2 3 3 '
truncate --size=-1 "$scratch/runs.jsonl"
campaign --strata "$scratch/strata" --runs 10 >/dev/null
expect "the other runs are trained, and no line is torn" lines 40
campaign --points "$scratch/points.json" >"$scratch/out"
expect "the points are summed up" grep -qF '8: 10 runs, mean 488.0, deviation 48.4, 416 to 560' "$scratch/out"
campaign --strata "$strata" --report >"$scratch/out"
expect "Strata judges by them, and rejects few sets ($(tail -1 "$scratch/out"))" grep -qE '^[0-9] of 100 sets' "$scratch/out"
flock "$scratch/runs.jsonl" python3 -I "$root/scripts/campaigns/reference_points.py" --table "$scratch/runs.jsonl" \
  --strata "$scratch/strata" >"$scratch/out" 2>&1
expect "two campaigns do not share a table" grep -qF 'another campaign adds to this table' "$scratch/out"
if [[ -n ${STRATA_ORACLE_PYTHON:-} ]]; then
  mean=$("$STRATA_ORACLE_PYTHON" -c '
import sys
from mlperf_logging.rcp_checker.rcp_checker import RCP_Checker
points = RCP_Checker("training", "5.0.0", "bert", False, open(sys.argv[1])).rcp_data
print(*(point["RCP Mean"] for point in points.values() if point["BS"] == 8))' "$scratch/points.json" 2>&1 | tail -1)
  expect "the official checker reads them ($mean)" test "$mean" = 488.0
fi

cp "$scratch/runs.jsonl" "$scratch/whole.jsonl"
echo '{"seed": 4' >>"$scratch/runs.jsonl"
campaign --points "$scratch/points.json" >"$scratch/out"
expect "a torn line is named" grep -qF 'runs.jsonl, line 41:' "$scratch/out"

# The reference's own table gives the points that Strata contains.
python3 -I "$root/scripts/campaigns/reference_points.py" --points "$scratch/own.json" >"$scratch/out" 2>&1
expect "the points belong to the table of runs" diff "$scratch/own.json" "$root/compliance/rcp/quickstart/rcps_bert.json"

python3 -I - "$root" >"$scratch/out" 2>&1 <<'PY'
import importlib.util
import pathlib
import sys

sys.dont_write_bytecode = True
root = pathlib.Path(sys.argv[1])
spec = importlib.util.spec_from_file_location("campaign", root / "scripts/campaigns/reference_points.py")
campaign = importlib.util.module_from_spec(spec)
spec.loader.exec_module(campaign)
for name, fault in campaign.FAULTS.items():
    if "source" in fault:
        file, text, _ = fault["source"]
        count = (root / file).read_text(encoding="utf-8").count(text)
        assert count == 1, f"{name}: {file} has its text {count} times"
PY
expect "each fault changes one place: $(tail -1 "$scratch/out")" test ! -s "$scratch/out"
exit $((failures > 0))
