#!/usr/bin/env bash
# Logs per second of `strata check log` (one thread) and of the official compliance checker (one process) over the same
# 500 published logs with the same rule files, rule loading included. Five turns: Strata checks all logs, then the official
# checker the next hundred. Strata's time is the median. Exits 1 if the ratio is below 50, or if both do not judge as many
# logs and fail as many.
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
import logging, sys, time
start = time.time()
from mlperf_logging.compliance_checker import mlp_compliance
logging.disable(logging.CRITICAL)
rows = [row.split() for row in open("logs.tsv")]
loading = time.time() - start
for turn, _ in enumerate(sys.stdin):
    start, failed, part = time.time(), 0, rows[turn * 100:turn * 100 + 100]
    for log, ruleset in part:
        checker = mlp_compliance.make_checker("training", ruleset, False, False)
        valid, *_ = mlp_compliance.main(log, f"training_{ruleset}/common.yaml", checker)
        failed += not valid
    print(len(part), failed, time.time() - start + loading, flush=True)
    loading = 0
PY

coproc official { exec "$python" official.py; }
for turn in 1 2 3 4 5; do
  began=$(date +%s.%N)
  xargs "$strata" check log --threads 1 --rules "$package" < logs.txt > strata.out || true
  ended=$(date +%s.%N)
  own_failed=$(grep -c '^failed ' strata.out || true)
  own_count=$(grep -cE '^(failed|passed) ' strata.out || true)
  echo next >&"${official[1]}"
  read -r count failed seconds <&"${official[0]}" || give_up "the official checker stopped in turn $turn"
  echo "$(awk "BEGIN { print $ended - $began }") $own_count $own_failed $count $failed $seconds"
done > turns.txt
sort -n turns.txt | awk '{ strata[NR] = $1; own = $2; own_failed = $3; count += $4; failed += $5; official += $6 } END {
  printf "strata:   %d logs (%d fail) in %.3f s (%.3f to %.3f): %.0f a second\n", own, own_failed, strata[3], strata[1], strata[5], own / strata[3]
  printf "official: %d logs (%d fail) in %.3f s: %.1f a second\n", count, failed, official, count / official
  ratio = (own / strata[3]) / (count / official)
  printf "strata'\''s logs a second over the official checker'\''s: %.1f\n", ratio
  exit !(own == count && own_failed == failed && ratio >= 50)
}'
