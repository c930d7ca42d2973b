#!/usr/bin/env bash
# Tests what scripts/submission.sh trains, lays out, keeps and refuses, with ten runs of a tiny model.
# Usage: tests/scripts/submission_test.sh STRATA
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export STRATA=$1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source "$root/tests/scripts/expect.sh"
data=$root/tests/golden/reference/mlperf_reference.tfrecord
cat >"$work/tiny.yaml" <<YAML
run: {organization: Acme, system: box, seed: 7}
model: {config: tiny, precision: fp32}
device: {threads: 1}
data: {train: $data, eval: $data}
batch: {micro_batch: 4}
optimizer: {lr: 1e-3}
lr_schedule: {warmup_steps: 5, training_steps: 20}
target: {masked_lm_accuracy: 0.0001, eval_interval_samples: 40, start_eval_at_sample: 40}
initialization: {clear_whole_cache: false, warmup_steps: 0}
YAML
out=$work/out
submission() { "$root/scripts/submission.sh" --config "$work/tiny.yaml" --out "$out" --ranks 1 "$@" >"$work/said" 2>&1; }
exit_code() { "$@"; echo $?; }
logs() { cat "$out"/Acme/results/box/bert/result_*.txt | sha256sum; }
says() { grep -q -- "$1" "$work/said"; }

expect "a dry run tells what would be wrong" test "$(exit_code submission --dry-run)" -eq 2
expect "here it evaluates on training data" says 'evaluate on samples that the run does not train on'
expect "it tells how many runs there are" says '0 of 10 runs'
expect "and trains nothing" test ! -e "$out.runs" -a ! -e "$out"

submission --runs 3
expect "three runs are no submission" says 'these checks failed, see above: strata check package'
expect "but laid out" test -f "$out/Acme/results/box/bert/result_2.txt"
first=$(sha256sum <"$out/Acme/results/box/bert/result_0.txt")

printf '{"cooling": "air"}' >"$work/description.json"
expect "ten runs are checked, scored and reported" submission --description "$work/description.json"
expect "runs that have ended are kept" test "$(sha256sum <"$out/Acme/results/box/bert/result_0.txt")" = "$first"
expect "the folder before is kept" test -f "$out.previous/Acme/results/box/bert/result_2.txt"
expect "ten logs are there" test "$(ls "$out"/Acme/results/box/bert | wc -l)" -eq 10
expect "the description has what was given" grep -q '"cooling": "air"' "$out/Acme/systems/box.json"
expect "the code's folder has the configuration" cmp -s "$work/tiny.yaml" "$out/Acme/benchmarks/bert/implementations/strata/tiny.yaml"
expect "a report is there" test -s "$out.html"
expect "fields that only a person knows are named" says 'systems/box.json: host_processor_interconnect'
expect "except for those that were given" not says 'interconnect_topology cooling'
expect "a target of its own is told" says 'has the layout of a submission, but is not a valid one'

made=$(logs)
expect "the same again trains nothing" submission
expect "and changes no log" test "$(logs)" = "$made"

# A killed one goes on: what was trained before stays.
rm -rf "$out" "$out".*
(setsid "$root/scripts/submission.sh" --config "$work/tiny.yaml" --out "$out" --ranks 1 >"$work/killed" 2>&1 & echo $! >"$work/pid"; wait) 2>/dev/null &
for ((i = 0; i < 600; ++i)); do
  [[ -f $out.runs/Acme/results/box/bert/result_2.txt ]] && break
  sleep 0.05
done
kill -KILL -- -"$(<"$work/pid")" 2>/dev/null
wait
expect "a killed one leaves no submission" test ! -e "$out"
first=$(sha256sum <"$out.runs/Acme/results/box/bert/result_0.txt")
expect "it goes on when called again" submission
expect "with the runs that had ended" test "$(sha256sum <"$out/Acme/results/box/bert/result_0.txt")" = "$first"

mkdir "$work/mine" && echo mine >"$work/mine/file"
out=$work/mine
expect "a folder of another origin is refused" test "$(exit_code submission)" -eq 2
expect "and kept" grep -q mine "$work/mine/file"
out=$work/other
expect "an unknown option is refused" test "$(exit_code submission --rnus 3)" -eq 2
expect "no number of runs is refused" test "$(exit_code submission --runs none)" -eq 2
expect "a description that is no object is refused" test "$(exit_code submission --description "$work/tiny.yaml")" -eq 2
exit $((failures > 0))
