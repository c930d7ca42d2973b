#!/usr/bin/env bash
# Are the logs that bench/peers/pytorch writes through mlperf_logging like Strata's own, and does each checker accept them?
# Usage: tests/scripts/own_trainer_test.sh STRATA
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
strata=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
source "$root/tests/scripts/expect.sh"
if [[ -z ${STRATA_ORACLE_PYTHON:-} ]]; then
  echo "skipped: STRATA_ORACLE_PYTHON is not set"
  exit 77
fi

# A run without PyTorch: two evaluations, of which the second reaches the target.
cat >"$scratch/train.py" <<'PY'
import sys
import time

root, path, accuracy = sys.argv[1:]
sys.path.insert(0, root + "/bench/peers/pytorch")
from mlperf_log import MlperfLog

log = MlperfLog(path, "PyTorch", "1xCPU")
log.settings(3, 8, 1, {
    "data": {"max_predictions_per_seq": 76}, "target": {"masked_lm_accuracy": 0.33},
    "optimizer": {"name": "adam", "lr": 7e-4, "epsilon": 1e-8, "beta1": 0.7, "beta2": 0.99, "weight_decay": 0.03},
    "lr_schedule": {"training_steps": 120, "warmup_steps": 25, "start_warmup_step": 0, "end_lr": 0, "power": 1.2}})
log.start()
time.sleep(0.01)
for first, samples, value in ((0, 480, 0.3), (480, 496, float(accuracy))):
    log.block(first, samples - first)
    log.evaluation(samples)
    log.accuracy(samples, value)
log.stop(float(accuracy) >= 0.33, 496, 207)
PY
log() { "$STRATA_ORACLE_PYTHON" "$scratch/train.py" "$root" "$@"; }
expect "a log is written" log "$scratch/result_0.txt" 0.34
expect "an existing log is not replaced" not log "$scratch/result_0.txt" 0.35 2>/dev/null
if [[ $(id -u) -eq 0 ]] && mkdir "$scratch/full" && mount -t tmpfs -o size=4k tmpfs "$scratch/full" 2>/dev/null; then
  expect "a full disk is an error" not log "$scratch/full/result_0.txt" 0.34 2>/dev/null
  umount "$scratch/full"
fi
expect "Strata accepts it" "$strata" check log --require-verdict "$scratch/result_0.txt"
(cd "$scratch" && "$STRATA_ORACLE_PYTHON" -m mlperf_logging.compliance_checker --usage training --ruleset 5.0.0 result_0.txt) \
  >"$scratch/official.txt" 2>&1
expect "the official checker accepts it" grep -q "SUCCESS" "$scratch/official.txt"
expect "its run is scored" grep -q '"time_to_train_ms": [0-9]' <("$strata" score "$scratch" --json)

# events LOG: each kind of event with the names of its metadata.
events() {
  python3 -I - "$1" <<'PY'
import json
import sys

kinds = set()
for line in open(sys.argv[1], encoding="utf-8"):
    event = json.loads(line.split(":::MLLOG ", 1)[1])
    kinds.add((event["event_type"], event["key"], *sorted(event["metadata"])))
print(*sorted(kinds), sep="\n")
PY
}
expect "it has the events of Strata's logs" diff <(events "$root"/results/Strata/results/*/bert/result_0.txt) <(events "$scratch/result_0.txt")
log "$scratch/missed.txt" 0.32
expect "a run that misses the target is no success" grep -q '"key": "run_stop".*"status": "aborted"' "$scratch/missed.txt"
exit $((failures > 0))
