#!/usr/bin/env bash
# Logs per second of `strata check log` (one thread) and of the official compliance checker (one process) over the same
# 500 published logs with the same rule files, rule loading included. Exits 1 if the ratio is below 50, or if both
# do not judge as many logs and fail as many.
#   bench/peers/compliance_vs_official.sh [STRATA [PYTHON]]
# STRATA: the program (default: build/release/cli/strata, else build/tools-only/cli/strata).
# PYTHON: an interpreter with mlperf-logging (default: .venv/bin/python). The published rounds are those in
# ../shared/data/published_logs, or below $STRATA_SHARED.
set -euo pipefail
source "$(dirname "$0")/../../scripts/surroundings.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
give_up() { echo "$*" >&2; exit 2; }
case ${1-} in
  --help | -h) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
  -*) give_up "unknown option $1; see --help" ;;
esac
[[ $# -le 2 ]] || give_up "too many arguments; see --help"
strata=$root/build/release/cli/strata
[[ -x $strata ]] || strata=$root/build/tools-only/cli/strata
strata=${1:-$strata}
python=${2:-$root/.venv/bin/python}
data=${STRATA_SHARED:-$root/../shared}/data/published_logs
[[ -f $strata && -x $strata ]] || give_up "no $strata; build it first: cmake --preset release && cmake --build --preset release"
strata=$(realpath "$strata")
[[ -f $data/v2.0.tar.xz ]] || give_up "the published rounds are missing: no $data/v2.0.tar.xz; set STRATA_SHARED (see --help)"
package=$("$python" -c 'import mlperf_logging; print(mlperf_logging.__path__[0])') ||
  give_up "$python has no mlperf-logging; pip install mlperf-logging"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xJf "$data/v1.1.tar.xz"
tar -C "$work" -xJf "$data/v2.0.tar.xz"
cd "$work"

# Takes every ninth log of the table: both rounds, all benchmarks.
tail -n +2 "$data/expected_verdicts.tsv" | awk -F'\t' 'NR % 9 == 1 {print $1 "\t" $2}' | head -500 > logs.tsv
cut -f1 logs.tsv > logs.txt
xargs cat < logs.txt > /dev/null  # makes both read from the page cache

cat > official.py <<'PY'
import logging, time
start = time.time()
from mlperf_logging.compliance_checker import mlp_compliance
logging.disable(logging.CRITICAL)
count = failed = 0
for row in open("logs.tsv"):
    log, ruleset = row.split()
    checker = mlp_compliance.make_checker("training", ruleset, False, False)
    valid, *_ = mlp_compliance.main(log, f"training_{ruleset}/common.yaml", checker)
    count += 1
    failed += not valid
print(count, failed, time.time() - start)
PY

began=$(date +%s.%N)
xargs "$strata" check log --threads 1 --rules "$package" < logs.txt > strata.out || true
ended=$(date +%s.%N)
read -r count failed seconds < <("$python" official.py)
own_failed=$(grep -c '^failed ' strata.out || true)
own_count=$(grep -cE '^(failed|passed) ' strata.out || true)
awk -v a="$own_count" -v f="$own_failed" -v t="$(echo "$ended - $began" | bc -l 2>/dev/null || awk "BEGIN{print $ended - $began}")" \
    -v b="$count" -v g="$failed" -v u="$seconds" 'BEGIN {
  printf "strata:   %d logs (%d fail) in %.3f s: %.0f a second\n", a, f, t, a / t
  printf "official: %d logs (%d fail) in %.3f s: %.1f a second\n", b, g, u, b / u
  printf "strata'\''s logs a second over the official checker'\''s: %.1f\n", (a / t) / (b / u)
  exit !(a == b && f == g && (a / t) / (b / u) >= 50)
}'
