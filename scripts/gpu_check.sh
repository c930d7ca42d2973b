#!/usr/bin/env bash
# Everything that needs a GPU, in at most nine minutes: every operation and the whole model against their oracles,
# NCCL, compute-sanitizer over small shapes, bert-large's steps and each of its operations timed. Prints a table and
# writes it as JSON.
# Usage: scripts/gpu_check.sh [--output FILE] [--skip STEP,...]
#   --output FILE     default bench/results/gpu_check.json
#   --skip STEP,...   of: conformance model nccl sanitizer races benchmark graphs fp8 small small_graphs
#                     operations operations_fp8
# Takes the programs from build/release, or from $STRATA_BIN (see scripts/gpu_bundle.sh). Exits 1 where a check fails.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

output=$root/bench/results/gpu_check.json
skip=
while [[ $# -gt 0 ]]; do
  case $1 in
    --output) output=$2; shift 2 ;;
    --skip) skip=$2; shift 2 ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) give_up "unknown option $1; see --help" ;;
  esac
done
strata=${STRATA_BIN:-$root/build/release/cli}/strata
conformance=${STRATA_BIN:-$root/build/release/tests/conformance}/test_conformance
bert=${STRATA_BIN:-$root/build/release/tests/bert}/test_bert
comm=${STRATA_BIN:-$root/build/release/tests/comm}/test_comm
for program in "$strata" "$conformance" "$bert" "$comm"; do
  [[ -x $program ]] || give_up "$program is not there: build the release preset, or set STRATA_BIN"
done
command -v nvidia-smi >/dev/null || give_up "there is no nvidia-smi: this machine has no NVIDIA driver"
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1)
mkdir -p "$(dirname "$output")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say "$gpu"

# What is still running then is ended: the table must come within nine minutes.
deadline=525

# run_step NAME COMMAND...: keeps its output and how it ended. A skipped test counts as a failure: it hides a missing GPU.
run_step() {
  local name=$1 status=0 begin
  shift
  [[ ,$skip, != *,$name,* ]] || { echo "skipped: by --skip, or not for this GPU" >"$work/$name.verdict"; return; }
  local left=$((deadline - SECONDS))
  ((left > 10)) || { echo "failed: the nine minutes were over" >"$work/$name.verdict"; return; }
  say "$name"
  begin=$(date +%s)
  timeout $((left < 300 ? left : 300)) "$@" >"$work/$name.txt" 2>&1 || status=$?
  tail -n 15 "$work/$name.txt"
  if [[ $status -eq 0 ]] && ! grep -q 'SKIPPED' "$work/$name.txt"; then
    echo passed >"$work/$name.verdict"
  else
    echo "failed: exit status $status" >"$work/$name.verdict"
  fi
  echo $(($(date +%s) - begin)) >"$work/$name.seconds"
}

# Tests that skip by right: of separate compute weights and of products in 8 bits for f32, and of the latter on GPUs
# that have none.
skipping='*ComputeWeightsAreTheNewWeightsRounded/cuda_f32:*Float8*cuda_f32:*InEightBits*cuda_f32*'
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1)
if awk -v capability="$capability" 'BEGIN { exit !(capability + 0 < 8.9) }'; then
  skipping+=':*Float8*:*InEightBits*'
  skip+=,fp8,operations_fp8
fi
run_step conformance "$conformance" --gtest_brief=1 --gtest_filter="*cuda*-$skipping"
run_step nccl "$comm" --gtest_brief=1 --gtest_filter='Nccl.*'
run_step model "$bert" --gtest_brief=1 --gtest_filter="*GoldenModel*cuda*-$skipping"
# 96 samples of MLPerf's lengths, 253 tokens each, and the 3 that a GPU of a thousand would have; issued and replayed.
options=(--config "$root/scripts/configs/bert-large.yaml" --set device.backend=cuda --set data.train=/tmp
  --set data.eval=/tmp --set model.vocab=none --set model.checkpoint=none --json)
graphs=(--set device.graphs=true --set batch.round_tokens=64)
run_step benchmark "$strata" bench step "${options[@]}" --tokens 24288 --steps 20
run_step operations "$strata" bench operations "${options[@]}" --tokens 24288
run_step graphs "$strata" bench step "${options[@]}" --tokens 24288 --steps 20 "${graphs[@]}"
run_step fp8 "$strata" bench step "${options[@]}" --tokens 24288 --steps 20 "${graphs[@]}" --set model.precision=fp8
run_step small "$strata" bench step "${options[@]}" --tokens 768 --steps 20
run_step small_graphs "$strata" bench step "${options[@]}" --tokens 768 --steps 20 "${graphs[@]}"
run_step operations_fp8 "$strata" bench operations "${options[@]}" --tokens 24288 --set model.precision=fp8 \
  --set batch.round_tokens=64
# Last, as they take what time is left.
if command -v compute-sanitizer >/dev/null; then
  run_step sanitizer compute-sanitizer --error-exitcode 1 "$conformance" --gtest_brief=1 \
    --gtest_filter="*Adam*cuda*:*Lamb*cuda*:*Linear*cuda*:*Float8*cuda*:*Rows*cuda*:*KeptWork*cuda*-$skipping"
  run_step races compute-sanitizer --tool racecheck --error-exitcode 1 "$conformance" --gtest_brief=1 \
    --gtest_filter="*Attention*cuda_bf16:*LayerNorm*cuda*:*Classifier*cuda_bf16:*Linear.W*cuda_bf16:*Float8*cuda_bf16-$skipping"
else
  echo "skipped: there is no compute-sanitizer" | tee "$work/sanitizer.verdict" >"$work/races.verdict"
fi

python3 - "$work" "$gpu" "$output" <<'EOF2'
import json, pathlib, sys
work, gpu, output = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
steps = {}
benchmarks = {"benchmark": "bench_step", "graphs": "bench_step_graphs", "fp8": "bench_step_fp8",
              "small": "bench_step_small", "small_graphs": "bench_step_small_graphs",
              "operations": "bench_operations", "operations_fp8": "bench_operations_fp8"}
for name in ("conformance", "model", "nccl", "sanitizer", "races", *benchmarks):
    seconds = work / f"{name}.seconds"
    steps[name] = {"verdict": (work / f"{name}.verdict").read_text().strip(),
                   "seconds": int(seconds.read_text()) if seconds.exists() else None}
result = {"gpu": gpu, "steps": steps}
for name, key in benchmarks.items():
    if steps[name]["verdict"] == "passed":
        lines = (work / f"{name}.txt").read_text()
        result[key] = json.loads(lines[lines.index("{\n"):lines.rindex("}") + 1])
        result[key].pop("lengths", None)
output.write_text(json.dumps(result, indent=2) + "\n")
print(f"\n{'check':<16}{'verdict':<40}{'seconds':>8}")
for name, step in steps.items():
    print(f"{name:<16}{step['verdict']:<40}{step['seconds'] if step['seconds'] is not None else '-':>8}")
for key, what in (("bench_step", "issued"), ("bench_step_graphs", "replayed"), ("bench_step_fp8", "fp8"),
                  ("bench_step_small", "issued"), ("bench_step_small_graphs", "replayed")):
    if bench := result.get(key):
        print(f"bert-large, {bench['sequences_per_step']:>3} sequences a step, {what:<9}"
              f"{bench['sequences_per_second']:>8.0f} sequences/s, {1e3 * bench['seconds']['step']:.2f} ms a step, "
              f"{100 * bench['share_of_matrix_peak']:.1f} % of the matrix peak")
if "bench_operations" in result:
    copy = result["bench_operations"]["copy_peak_bytes_per_second"]
    together = sum(o["per_step"] * o["seconds"] for o in result["bench_operations"]["operations"])
    if "bench_step" in result:
        print(f"operations of a step take {1e3 * together:.2f} ms one by one, "
              f"a step {1e3 * result['bench_step']['seconds']['step']:.2f} ms")
    print(f"copy peak {copy / 1e9:.0f} GB/s; share of the peaks, operation by operation:")
    in_fp8 = {(o["operation"], o["where"]): o for o in result.get("bench_operations_fp8", {}).get("operations", [])}
    for o in result["bench_operations"]["operations"]:
        name = o["operation"] + (f" ({o['where']})" if o["where"] else "")
        fp8 = in_fp8.pop((o["operation"], o["where"]), None)
        print(f"  {name:<62}{1e3 * o['seconds']:>9.4f} ms{100 * o['share_of_peak']:>7.1f} %"
              + (f"{1e3 * fp8['seconds']:>9.4f} ms in fp8{100 * fp8['share_of_peak']:>7.1f} %" if fp8 else ""))
    for (operation, where), o in in_fp8.items():
        print(f"  {f'{operation} ({where})':<83}{1e3 * o['seconds']:>9.4f} ms in fp8{100 * o['share_of_peak']:>7.1f} %")
print(f"written to {output}")
sys.exit(any(step["verdict"].startswith("failed") for step in steps.values()))
EOF2
