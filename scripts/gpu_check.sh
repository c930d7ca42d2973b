#!/usr/bin/env bash
# Everything that needs a GPU, in at most nine minutes: every operation and the whole model against their oracles,
# bert-large's steps and each of its operations timed, attention by each implementation, NCCL, compute-sanitizer over
# small shapes. Prints a table and writes it as JSON, after every step as far as it is known, and packs what the steps
# printed beside it: gpu_check.json, gpu_check_logs.tgz.
# Usage: scripts/gpu_check.sh [--output FILE] [--skip STEP,...]
#   --output FILE     default bench/results/gpu_check.json
#   --skip STEP,...   of: conformance (or one suite of it, conformance.Linear) model benchmark operations graphs fp8
#                     small small_graphs operations_fp8 attention_mma attention_wgmma attention_ours_no_dropout
#                     attention_cudnn_no_dropout nccl sanitizer races
# Takes the programs from build/release, or from $STRATA_BIN (see scripts/gpu_bundle.sh). Exits 1 where a check fails.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source "$root/scripts/limited_steps.sh"

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
logs=${output%.json}_logs.tgz
strata=${STRATA_BIN:-$root/build/release/cli}/strata
conformance=${STRATA_BIN:-$root/build/release/tests/conformance}/test_conformance
bert=${STRATA_BIN:-$root/build/release/tests/bert}/test_bert
comm=${STRATA_BIN:-$root/build/release/tests/comm}/test_comm
for program in "$strata" "$conformance" "$bert" "$comm"; do
  [[ -x $program ]] || give_up "$program is not there: build the release preset, or set STRATA_BIN"
done
command -v python3 >/dev/null || give_up "there is no python3, which writes the table"
command -v nvidia-smi >/dev/null || give_up "there is no nvidia-smi: this machine has no NVIDIA driver"
gpu=$(timeout -k 10 60 nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>&1) ||
  give_up "nvidia-smi failed, or took a minute: $gpu"
[[ -n $gpu && $gpu != *'No devices were found'* ]] || give_up "nvidia-smi found no GPU${gpu:+: $gpu}"
gpu=${gpu%%$'\n'*}
capability=${gpu##*, }
version=$(timeout -k 10 60 "$strata" --version 2>&1 | sed -n '1s/^strata //p;2s/^/, /p' | tr -d '\n') || true
[[ ! -f $root/VERSION ]] || version+=", $(head -n 1 "$root/VERSION")"
mkdir -p "$(dirname "$output")"
work=$(mktemp -d)
timeout -k 10 60 nvidia-smi >"$work/nvidia-smi.txt" 2>&1 || true
say "$gpu; strata $version"

# One process each, so that what breaks the GPU for one leaves the others.
suites=(AcClip Adam Attention.cuda_f32 Attention.cuda_f16 Attention.cuda_bf16 Attention.cuda_bf16_plain Attention.cuda_bf16_mma
  Attention.cuda_bf16_wgmma Attention.cuda_bf16_cudnn Classifier Concurrency Embeddings Flat Float8 Lamb
  ResidualLayerNorm Linear Madgrad Memory Capture Rows Standardization)

# report: writes what is known by now as JSON and prints it as a table. Fails where a step did.
report() {
  python3 - "$work" "$gpu" "$version" "$output" "${suites[@]}" <<'PY'
import json, os, pathlib, sys
work, gpu, version, output = pathlib.Path(sys.argv[1]), *sys.argv[2:5]
benchmarks = {"benchmark": "bench_step", "graphs": "bench_step_graphs", "fp8": "bench_step_fp8",
              "small": "bench_step_small", "small_graphs": "bench_step_small_graphs",
              "operations": "bench_operations", "operations_fp8": "bench_operations_fp8",
              **{f"attention_{kernel}": f"bench_attention_{kernel}"
                 for kernel in ("mma", "wgmma", "ours_no_dropout", "cudnn_no_dropout")}}
def read(name):
    path = work / name
    return path.read_text(errors="replace").strip() if path.exists() else ""
def bench(name):
    text = read(f"{name}.txt")
    try:
        found = json.JSONDecoder().raw_decode(text, text.index("{\n"))[0]
    except ValueError:
        return None
    found.pop("lengths", None)
    return found
steps, results = {}, {}
for name in (*(f"conformance.{suite}" for suite in sys.argv[5:]), "model", *benchmarks, "nccl", "sanitizer", "races"):
    seconds = read(f"{name}.seconds")
    step = steps[name] = {"verdict": read(f"{name}.verdict") or "not run", "seconds": int(seconds) if seconds else None}
    if name in benchmarks and step["verdict"] == "passed":
        results[benchmarks[name]] = bench(name)
        if results[benchmarks[name]] is None:
            del results[benchmarks[name]]
            step["verdict"] = "failed: no JSON"
    if step["verdict"].startswith("failed"):
        step["last_lines"] = read(f"{name}.txt").splitlines()[-60:]
gpu, driver, capability = gpu.rsplit(", ", 2) if gpu.count(", ") >= 2 else (gpu, None, None)
result = {"gpu": gpu, "driver": driver, "compute_capability": capability, "strata": version, "steps": steps, **results}
unfinished = pathlib.Path(output + ".unfinished")
unfinished.write_text(json.dumps(result, indent=2) + "\n")
os.replace(unfinished, output)

print(f"\n{'check':<42}{'seconds':>8}  verdict")
for name, step in steps.items():
    print(f"{name:<42}{step['seconds'] if step['seconds'] is not None else '-':>8}  {step['verdict']}")
for key, what in (("bench_step", "issued"), ("bench_step_graphs", "replayed"), ("bench_step_fp8", "fp8"),
                  ("bench_step_small", "issued"), ("bench_step_small_graphs", "replayed")):
    if bench := result.get(key):
        print(f"bert-large, {bench['sequences_per_step']:>3} sequences a step, {what:<9}"
              f"{bench['sequences_per_second']:>8.0f} sequences/s, {1e3 * bench['seconds']['step']:.2f} ms a step, "
              f"{100 * bench['share_of_matrix_peak']:.1f} % of the matrix peak in bf16")
by_kernel = {}
for kernel, key in {"fastest": "bench_operations", "mma": "bench_attention_mma", "wgmma": "bench_attention_wgmma",
                    "ours without dropout": "bench_attention_ours_no_dropout",
                    "cuDNN without dropout": "bench_attention_cudnn_no_dropout"}.items():
    for o in result.get(key, {}).get("operations", []):
        if o["operation"].startswith("attention_"):
            by_kernel.setdefault(o["operation"], []).append(
                f"{kernel} {1e3 * o['seconds']:.4f} ms {100 * o['share_of_peak']:.1f} %")
for operation, times in by_kernel.items():
    print(f"{operation + ':':<20}" + "   ".join(times))
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
PY
}

# keep: what is to outlive this script, even if it is killed in the next step.
keep() {
  local status=0
  report || status=$?
  (cd "$work" && tar -czf - -- *.txt) >"$logs.unfinished" || true
  mv "$logs.unfinished" "$logs"
  return "$status"
}

# finish: for report_at_end.
finish() {
  local status=0
  keep || status=$?
  echo "what the steps printed is in $logs"
  return "$status"
}
report_at_end finish

# What is still running then is ended: the table must come within nine minutes.
deadline=525

# verdict_of FILE STATUS SECONDS: of a step that printed FILE. A skipped test counts as a failure: it hides a missing
# GPU.
verdict_of() {
  if grep -q '^=========.*Device not supported' "$1"; then
    echo "skipped: compute-sanitizer does not support this machine"
  elif [[ $2 -eq 124 || $2 -eq 137 ]]; then
    echo "failed: killed after $3 s"
  elif [[ $2 -ne 0 ]]; then
    echo "failed: exit status $2"
  elif grep -q 'SKIPPED' "$1"; then
    echo "failed: tests were skipped"
  elif grep -q '^\[=*\] 0 tests from' "$1"; then
    echo "failed: there is no such test"
  else
    echo passed
  fi
}

# run_step NAME SECONDS COMMAND...: keeps its output and how it ended.
run_step() {
  local name=$1 limit=$2 left=$((deadline - SECONDS)) begin=$SECONDS status=0 verdict
  shift 2
  if [[ ,$skip, == *,$name,* || ,$skip, == *,${name%%.*},* ]]; then
    echo "skipped: by --skip, or not for this machine" >"$work/$name.verdict"
    return
  fi
  ((left > 10)) || { echo "failed: the nine minutes were over" >"$work/$name.verdict"; return; }
  say "$name"
  echo "failed: the script was ended" >"$work/$name.verdict"
  limited $((left < limit ? left : limit)) "$@" >"$work/$name.txt" 2>&1 || status=$?
  echo $((SECONDS - begin)) >"$work/$name.seconds"
  verdict=$(verdict_of "$work/$name.txt" "$status" $((SECONDS - begin)))
  echo "$verdict" >"$work/$name.verdict"
  if [[ $verdict == failed* ]]; then
    grep -E 'Failure|FAILED|=========|cuda:|NCCL|error' "$work/$name.txt" | head -n 40 || true
    echo ...
  fi
  tail -n 15 "$work/$name.txt"
  echo "$verdict"
  keep >/dev/null || true
}

# Tests that skip by right: of separate compute weights and of FP8 GEMMs for f32, and of the latter on GPUs
# below 9.0, as of Hopper's instructions on others.
skipping='*ComputeWeightsAreTheNewWeightsRounded/cuda_f32:*Float8*cuda_f32:*InFloat8*cuda_f32*'
if awk -v capability="$capability" 'BEGIN { exit !(capability + 0 < 9) }'; then
  skipping+=':*Float8*:*InFloat8*'
  skip+=,conformance.Float8,fp8,operations_fp8
fi
# cuDNN has no gradients with the same bits every time below 9.0, and the kernels only from 9.18.1 on.
cudnn='import ctypes; library = ctypes.CDLL("libcudnn.so.9"); library.cudnnGetVersion.restype = ctypes.c_size_t
assert library.cudnnGetVersion() >= 91801'
if [[ $capability != 9.* ]] || ! python3 -c "$cudnn" 2>/dev/null; then
  skipping+=':*cuda_bf16_cudnn'
  skip+=,conformance.Attention.cuda_bf16_cudnn,attention_cudnn_no_dropout
fi
if [[ $capability != 9.* ]]; then
  skipping+=':*cuda_bf16_wgmma'
  skip+=,conformance.Attention.cuda_bf16_wgmma,attention_wgmma
fi
python3 -c 'import ctypes; ctypes.CDLL("libnccl.so.2")' 2>/dev/null || skip+=,nccl
for suite in "${suites[@]}"; do
  backend='cuda_*'
  [[ $suite != *.* ]] || backend=${suite#*.}
  run_step "conformance.$suite" 60 "$conformance" --gtest_brief=1 \
    --gtest_filter="*/${suite%.*}.*/$backend-$skipping"
done
run_step model 60 "$bert" --gtest_brief=1 --gtest_filter="*GoldenModel*cuda*:*MlperfReference*cuda*-$skipping"
# 96 samples of MLPerf's lengths, 253 tokens each, and the 3 that a GPU of a thousand would have; issued and launched.
options=(--config "$root/scripts/configs/bert-large.yaml" --set device.backend=cuda --set data.train=/tmp
  --set data.eval=/tmp --set model.vocab=none --set model.checkpoint=none --json)
graphs=(--set device.graphs=true --set batch.round_tokens=64)
step=("$strata" bench step "${options[@]}" --steps 20)
operations=("$strata" bench operations "${options[@]}" --tokens 24288)
run_step benchmark 90 "${step[@]}" --tokens 24288
run_step operations 90 "${operations[@]}"
run_step graphs 90 "${step[@]}" --tokens 24288 "${graphs[@]}"
run_step fp8 90 "${step[@]}" --tokens 24288 "${graphs[@]}" --set model.precision=fp8
run_step small 90 "${step[@]}" --tokens 768
run_step small_graphs 90 "${step[@]}" --tokens 768 "${graphs[@]}"
run_step operations_fp8 90 "${operations[@]}" --set model.precision=fp8 --set batch.round_tokens=64
for kernel in mma wgmma; do
  run_step "attention_$kernel" 60 "${operations[@]}" --only attention --set device.options.attention="$kernel"
done
# cuDNN's serves where nothing is dropped.
cat >"$work/no_dropout.json" <<'JSON'
{"vocab_size": 30522, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
 "intermediate_size": 4096, "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu_new",
 "attention_probs_dropout_prob": 0}
JSON
without=("${operations[@]}" --only attention --set model.config="$work/no_dropout.json")
[[ $capability == 9.* ]] && kernel=wgmma || kernel=mma
run_step attention_ours_no_dropout 60 "${without[@]}" --set device.options.attention="$kernel"
run_step attention_cudnn_no_dropout 60 "${without[@]}" --set device.options.attention=cudnn
run_step nccl 60 "$comm" --gtest_brief=1 --gtest_filter='Nccl.*'
# Last, as they take what time is left. Only our kernels: libraries' would take longer than all of them. What CUDA's
# functions refuse is no fault: cuBLASLt tries what a GPU may not have.
PATH=$PATH:/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer
if command -v compute-sanitizer >/dev/null; then
  help=$(timeout -k 10 60 compute-sanitizer --help 2>&1) || true
  ours=()
  if [[ $help == *--kernel-name* ]]; then
    ours=(--kernel-name kns=strata)
  elif [[ $help == *--kernel-regex* ]]; then
    ours=(--kernel-regex kns=strata)
  fi
  memory='*/Adam.*/cuda_*:*/Madgrad.*/cuda_*:*/AcClip.*/cuda_*:*/Lamb.*/cuda_*:*/Linear.*/cuda_*:*/Float8.*/cuda_*:*/Rows.*/cuda_*:*/Capture.*/cuda_*'
  run_step sanitizer 150 compute-sanitizer --report-api-errors no "${ours[@]}" --error-exitcode 1 "$conformance" \
    --gtest_brief=1 --gtest_filter="$memory-$skipping"
  shared='*/Attention.*/cuda_bf16_mma:*/Attention.*/cuda_bf16_wgmma:*/ResidualLayerNorm.*/cuda_*'
  shared+=':*/Classifier.*/cuda_bf16:*/Linear.W*/cuda_bf16:*/Float8.*/cuda_bf16'
  run_step races 150 compute-sanitizer --tool racecheck "${ours[@]}" --error-exitcode 1 "$conformance" \
    --gtest_brief=1 --gtest_filter="$shared-$skipping"
else
  echo "skipped: there is no compute-sanitizer" | tee "$work/sanitizer.verdict" >"$work/races.verdict"
fi
