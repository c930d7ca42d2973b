#!/usr/bin/env bash
# Everything that needs a GPU: operations and models against their oracles, bert-large's steps and operations timed,
# steps against PyTorch's, NCCL, compute-sanitizer. Prints a table and answers to questions 1 to 6 of docs/cuda.md.
# In two calls, which together fit into a quarter of an hour of GPU time:
#   scripts/gpu_check.sh --quick    at most 150 s: the suites most likely to fail, `bench step` in bf16, free memory
#   scripts/gpu_check.sh --rest     at most 480 s: all the others; the table has the results of --quick, too
# Usage: scripts/gpu_check.sh [--quick | --rest] [OPTION...]    default: both, one after the other
#   --only STEP,...   these steps alone, whatever else was measured stays in the table: what failed, mended
#   --skip STEP,...   all but these. A step's name, or its beginning up to a dot: conformance, conformance.Linear, pytorch
#   --list            print the names of the steps and end
#   --output FILE     default bench/results/gpu_check.json; written after every step, and beside it what the steps
#                     printed: gpu_check_logs.tgz
#   --ranks N         also steps of N ranks on N GPUs of this machine, by mpirun
#   --config FILE     default scripts/configs/bert-large.yaml
#   --tokens N        a micro-batch (24288: 96 sequences of MLPerf's lengths)
#   --few-tokens N    a small one (768: the 3 sequences that a GPU of a thousand has)
#   --steps N         that are measured, and rounds of operations (10)
#   --python PYTHON   one with torch and transformers (python3)
# Verdicts: passed; failed, which a step is, too, that hangs until its own time is over; not finished: compute-sanitizer,
# operations or PyTorch were stopped, or a step had less than its own time left; not run; skipped, with the reason.
# A suite that fails is run once more by itself with CUDA_LAUNCH_BLOCKING=1, so that a fault has its kernel's name.
# If an attention kernel fails, later steps use another.
# Takes the programs from build/release, or from $STRATA_BIN (see scripts/gpu/gpu_bundle.sh). Exits 1 if a step failed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source "$root/scripts/gpu/limited_steps.sh"
source "$root/scripts/gpu/cuda_libraries.sh"

parts=() only= skip= list= ranks=1 output=$root/bench/results/gpu_check.json python=python3
config=$root/scripts/configs/bert-large.yaml tokens=24288 few_tokens=768 steps=10
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick | --rest) parts+=("${1#--}"); shift ;;
    --list) list=yes; shift ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    --only | --skip | --output | --ranks | --config | --tokens | --few-tokens | --steps | --python)
      [[ $# -ge 2 ]] || give_up "$1 needs a value; see --help"
      [[ $1 != --only || $2 == *[!\ ,]* ]] || give_up "--only needs names of steps; see --list"
      name=${1#--}
      printf -v "${name//-/_}" %s "$2"
      shift 2 ;;
    *) give_up "unknown option $1; see --help" ;;
  esac
done
for number in "$ranks" "$tokens" "$few_tokens" "$steps"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || give_up "expected a number, got $number; see --help"
done
[[ ${#parts[@]} -gt 0 ]] || parts=(quick rest)

# ---- The steps, most valuable first

quick_steps=(conformance.Linear conformance.Float8 conformance.Attention.cuda_bf16_{wgmma,mma}
  conformance.Attention.cuda_bf16 conformance.ResidualLayerNorm conformance.Embeddings benchmark
  conformance.Attention.cuda_{bf16_cudnn,bf16_plain,f32,f16})
rest_steps=(model graphs fp8 small small_graphs pytorch operations epilogues_never epilogues_always attention_{mma,wgmma}
  attention_{ours,cudnn}_no_dropout operations_fp8 conformance.{Classifier,Rows,Flat,Adam,Lamb,Madgrad,AcClip,Sgd,PreNorm}
  conformance.{Standardization,Memory,Capture,Concurrency} nccl ranks ranks_sharded ranks_graphs
  sanitizer.Attention.cuda_bf16_{wgmma,mma} sanitizer.{ResidualLayerNorm,Embeddings,Classifier,Linear,Float8}
  sanitizer.{Standardization,optimizers} sanitizer.Attention.cuda_bf16_plain
  races.Attention.cuda_bf16_{mma,wgmma} races.{ResidualLayerNorm,Classifier,Linear,Float8} profile)
if [[ -n $list ]]; then
  printf '%s\n' "--quick:" "${quick_steps[@]/#/  }" "--rest:" "${rest_steps[@]/#/  }"
  exit
fi
# chosen STEPS NAME: succeeds if a list of step names has this one, or its beginning.
chosen() {
  local each
  for each in ${1//,/ }; do
    [[ $2 != "$each" && $2 != "$each".* ]] || return 0
  done
  return 1
}
for each in ${only//,/ } ${skip//,/ }; do
  printf '%s\n' "${quick_steps[@]}" "${rest_steps[@]}" | grep -qE "^${each//./\\.}(\.|$)" ||
    give_up "there is no step $each; see --list"
done

# ---- The machine

programs=${STRATA_BIN:-}
strata=${programs:-$root/build/release/cli}/strata
conformance=${programs:-$root/build/release/tests/conformance}/test_conformance
bert=${programs:-$root/build/release/tests/bert}/test_bert
comm=${programs:-$root/build/release/tests/comm}/test_comm
for program in "$strata" "$conformance" "$bert" "$comm"; do
  [[ -x $program ]] || give_up "$program is missing: build the release preset, or set STRATA_BIN"
done
[[ -f $config ]] || give_up "$config: no such file"
command -v python3 >/dev/null || give_up "python3 is missing; it writes the table"
command -v nvidia-smi >/dev/null || give_up "there is no nvidia-smi: this machine has no NVIDIA driver"
gpus=$(timeout -k 5 20 nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>&1) ||
  give_up "nvidia-smi failed, or took 20 s: $gpus"
[[ -n $gpus && $gpus != *'No devices were found'* ]] || give_up "nvidia-smi found no GPU${gpus:+: $gpus}"
gpu_lines=$(grep -E ', [0-9]+\.[0-9]+[[:space:]]*$' <<<"$gpus") || give_up "nvidia-smi did not report a compute capability: $gpus"
gpus=$gpu_lines
gpu=${gpus%%$'\n'*}
capability=${gpu##*, }
gpu_count=$(wc -l <<<"$gpus")
# Tests run this script on an emulated GPU, which lacks other things than a machine with a real one.
# The machines of such tests may be slow or busy, so every step may take ten times as long.
left_out=skipped patience=1
if [[ $gpu == *mulated* ]]; then
  left_out="needs a GPU" patience=10
fi
add_cuda_libraries
PATH=$PATH:/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer
version=$(timeout -k 10 60 "$strata" --version 2>&1 | sed -n '1s/^strata //p;2s/^/, /p' | tr -d '\n') || true
[[ ! -f $root/VERSION ]] || version+=", $(head -n 1 "$root/VERSION")"
mkdir -p "$(dirname "$output")" || give_up "the folder of $output cannot be created"
if [[ -d $output ]] || ! : 2>/dev/null >"$output.unfinished"; then give_up "$output cannot be written"; fi
rm -f "$output.unfinished"
exec 9>"$output.lock"
flock -n 9 || give_up "another check writes $output; wait for it, or choose another --output"
logs=${output%.json}_logs.tgz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT  # until report_at_end
say "$gpu; strata $version"

# The results of earlier calls stay in the table, unless this is the first of two.
machine="$gpu; $(basename "$config"), $tokens and $few_tokens tokens"
if [[ -f $logs ]] && [[ -n $only || ${parts[0]} == rest ]]; then
  if ! tar -xzC "$work" <"$logs" || [[ $(cat "$work/machine.txt") != "$machine" ]]; then
    say "$logs is not used: it belongs to $(cat "$work/machine.txt" 2>/dev/null || echo "an unknown machine"); it is archived as $logs.old"
    cp -- "$logs" "$logs.old"
    rm -rf "${work:?}"/*
  fi
fi
echo "$machine" >"$work/machine.txt"
printf '%s\n' "${quick_steps[@]}" "${rest_steps[@]}" >"$work/order.txt"
timeout -k 5 20 nvidia-smi >"$work/nvidia-smi.txt" 2>&1 || true
timeout -k 5 20 nvidia-smi --query-gpu=memory.free,memory.total --format=csv,noheader,nounits 2>/dev/null |
  head -n 1 >"$work/memory.txt" || true

# ---- Running a step

# report: writes the results so far as JSON and prints them as a table. Fails if a step failed.
report() { python3 "$root/scripts/gpu/gpu_check_report.py" "$work" "$gpu" "$version" "$output"; }

# keep: saves the results, even if this script is killed in the next step.
keep() {
  local status=0
  report || status=$?
  if (cd "$work" && tar -czf - -- *) >"$logs.unfinished" || [[ $? -eq 1 ]]; then  # 1: a file grew meanwhile
    mv "$logs.unfinished" "$logs"
  else
    rm -f "$logs.unfinished"
    status=1
  fi
  return "$status"
}

# finish: runs in report_at_end.
finish() {
  local status=0
  keep || status=$?
  rm -f "$output.lock"
  echo "what the steps printed is in $logs"
  return "$status"
}
report_at_end finish

# wanted NAME: succeeds if this call runs the step. Notes it in the table if --skip excludes it.
wanted() {
  if [[ -n $only ]]; then
    chosen "$only" "$1"
  elif chosen "$skip" "$1"; then
    echo "skipped: by --skip" >"$work/$1.verdict"
    return 1
  elif [[ $part == quick ]]; then
    printf '%s\n' "${quick_steps[@]}" | grep -qxF -- "$1"
  else
    printf '%s\n' "${rest_steps[@]}" | grep -qxF -- "$1"
  fi
}

# leave_out NAME REASON: marks a step as unsuitable for this machine.
leave_out() {
  wanted "$1" || return 0
  ran=yes
  echo "$left_out: ${2//$'\n'/ }" >"$work/$1.verdict"
}

# verdict_of FILE STATUS SECONDS LIMIT OWN_LIMIT KIND: the verdict on a step that printed FILE and had LIMIT seconds.
# KIND is check, or open if the step's own limit is no promise.
verdict_of() {
  if grep -q '^=========.*Device not supported' "$1"; then
    echo "$left_out: compute-sanitizer does not support this machine"
  elif grep -q ERR_NVGPUCTRPERM "$1"; then
    echo "$left_out: the driver lets only administrators read the GPU's counters"
  elif [[ $2 -eq 124 || $2 -eq 137 ]]; then
    if (($3 < $4 - 1)); then
      echo "failed: exit status $2"
    elif [[ $6 == check && $4 -eq $5 ]]; then
      echo "failed: hangs, killed after $3 s"
    else
      echo "not finished: stopped after $3 s"
    fi
  elif [[ $2 -ne 0 ]]; then
    echo "failed: exit status $2"
  elif grep -q 'SKIPPED' "$1"; then
    # A skipped test could hide a missing feature.
    echo "failed: tests were skipped: $(grep -A 1 ': Skipped$' "$1" | sed -n 2p)"
  elif grep -q '^\[=*\] 0 tests from' "$1"; then
    echo "failed: there is no such test"
  else
    echo passed
  fi
}

# run_step NAME SECONDS KIND COMMAND...: keeps its output and its exit status.
run_step() {
  local name=$1 limit=$(($2 * patience)) kind=$3 left=$((deadline - SECONDS)) begin=$SECONDS status=0 verdict
  local own_limit=$limit
  shift 3
  wanted "$name" || return 0
  if ((left <= 5)); then
    # A result of an earlier call stays.
    [[ $(cat "$work/$name.verdict" 2>/dev/null) == passed ]] || echo "not run: no time was left" >"$work/$name.verdict"
    return 0
  fi
  ((left > limit)) || limit=$left
  ran=yes
  say "$name"
  rm -f "$work/$name".{blocking,cublaslt}.txt
  echo "not finished: the script was stopped" >"$work/$name.verdict"
  limited "$limit" "$@" >"$work/$name.txt" 2>&1 9>&- || status=$?
  echo $((SECONDS - begin)) >"$work/$name.seconds"
  verdict=$(verdict_of "$work/$name.txt" "$status" $((SECONDS - begin)) "$limit" "$own_limit" "$kind")
  echo "$verdict" >"$work/$name.verdict"
  if [[ $verdict == failed* ]]; then
    grep -E 'Failure|FAILED|=========|cuda:|NCCL|error' "$work/$name.txt" | head -n 40 | cut -c -1000 || true
    echo ...
  fi
  tail -n 15 "$work/$name.txt" | cut -c -1000
  echo "$verdict"
  keep >/dev/null || true
}

# run_check NAME SECONDS COMMAND...: runs a GoogleTest step. A failed one runs once more, call by call.
run_check() {
  local name=$1 status=0
  wanted "$name" || return 0
  run_step "$name" "$2" check "${@:3}"
  [[ $(cat "$work/$name.verdict") == failed:* ]] && ((deadline - SECONDS > 15)) || return 0
  say "$name, once more with CUDA_LAUNCH_BLOCKING=1"
  rm -f "$work/$name.cublaslt.txt"
  limited $((deadline - SECONDS < 60 ? deadline - SECONDS : 60)) env CUDA_LAUNCH_BLOCKING=1 CUBLASLT_LOG_LEVEL=1 \
    CUBLASLT_LOG_FILE="$work/$name.cublaslt.txt" "${@:3}" >"$work/$name.blocking.txt" 2>&1 9>&- || status=$?
  grep -E 'Failure|FAILED|cuda:|NCCL|error' "$work/$name.blocking.txt" | head -n 20 || true
  [[ ! -s $work/$name.cublaslt.txt ]] || head -n 10 "$work/$name.cublaslt.txt"
  echo "exit status $status"
}

# ---- Steps that this machine cannot run

# Tests that skip by design: separate compute weights are only for 16-bit types, FP8 only for bf16.
skipping='*ComputeWeightsAreTheNewWeightsRounded/cuda_f32:*Float8*cuda_f32*:*Float8*cuda_f16*'
major=${capability%%.*}
hopper_only="it takes compute capability 9.0, here is $capability"
if ((major < 9)); then
  skipping+=':*Float8*'
fi
[[ $major -eq 9 ]] || skipping+=':*cuda_bf16_wgmma:*cuda_bf16_cudnn'
cudnn_problem=$(python3 -I -c '
import ctypes
library = ctypes.CDLL("libcudnn.so.9")
library.cudnnGetVersion.restype = ctypes.c_size_t
version = library.cudnnGetVersion()
assert version >= 91801, f"cuDNN {version} is older than 9.18.1"' 2>&1 | tail -n 1) || true
[[ $major -eq 9 ]] || cudnn_problem=$hopper_only  # gradients must have the same bits every time
nccl_problem=$(python3 -I -c 'import ctypes; ctypes.CDLL("libnccl.so.2")' 2>&1 | tail -n 1) || true

# ---- The attention kernel of later steps

pinned=() pinned_test=()
# pin_attention: sets these if a kernel failed, in this call or an earlier one.
pin_attention() {
  local bad='' kernel
  for kernel in "" _wgmma _mma _cudnn; do
    ! grep -qs '^failed' "$work/conformance.Attention.cuda_bf16$kernel.verdict" || bad+=" cuda_bf16$kernel"
  done
  rm -f "$work/pinned.txt"
  pinned=() pinned_test=()
  [[ -n $bad ]] || return 0
  for kernel in wgmma mma plain; do
    [[ $(cat "$work/conformance.Attention.cuda_bf16_$kernel.verdict" 2>/dev/null) != passed ]] || break
  done
  echo "$kernel, because conformance of Attention failed for$bad" >"$work/pinned.txt"
  echo "attention of later steps: $(cat "$work/pinned.txt")"
  pinned=(--set device.options.attention="$kernel")
  pinned_test=(env STRATA_TEST_ATTENTION="$kernel")
}

# ---- The steps themselves

conformance_of() {  # SUITE, or SUITE.BACKEND
  local backend='cuda_*' pin=("${pinned_test[@]}")
  [[ $1 != *.* ]] || backend=${1#*.}
  [[ $1 != Attention* ]] || pin=()
  run_check "conformance.$1" 60 "${pin[@]}" "$conformance" --gtest_brief=1 --gtest_filter="*/${1%.*}.*/$backend-$skipping"
}

model_options=(--config "$config" --set device.backend=cuda --set model.precision=bf16 --set data.train=/tmp
  --set data.eval=/tmp --set model.vocab=none --set model.checkpoint=none --steps "$steps" --json)
graphs=(--set device.graphs=true --set batch.round_tokens=64)
bench_step() {  # NAME TOKENS [OPTION...]
  run_step "$1" 90 check "$strata" bench step "${model_options[@]}" "${pinned[@]}" --tokens "$2" "${@:3}"
}
bench_operations() {  # NAME [OPTION...]
  run_step "$1" 90 open "$strata" bench operations "${model_options[@]}" "${pinned[@]}" --tokens "$tokens" "${@:2}"
}
bench_attention() {  # NAME KERNEL [OPTION...]
  if grep -qs '^failed' "$work/conformance.Attention.cuda_bf16_$2.verdict"; then
    ! wanted "$1" || echo "skipped: conformance of this kernel failed" >"$work/$1.verdict"
  else
    run_step "$1" 60 open "$strata" bench operations "${model_options[@]}" --tokens "$tokens" --only attention \
      --set device.options.attention="$2" "${@:3}"
  fi
}

run_conformance() {  # a step of the lists
  local suite=${1#conformance.}
  case $suite in
    Float8)
      if ((major < 9)); then leave_out "$1" "$hopper_only"; return 0; fi ;;
    Attention.cuda_bf16_wgmma)
      if [[ $major -ne 9 ]]; then leave_out "$1" "$hopper_only"; return 0; fi ;;
    Attention.cuda_bf16_cudnn)
      if [[ -n $cudnn_problem ]]; then leave_out "$1" "$cudnn_problem"; return 0; fi ;;
  esac
  wanted "$1" || return 0
  conformance_of "$suite"
  [[ $suite != Attention* ]] || pin_attention
}

run_pytorch() {
  local model left=$((deadline - SECONDS)) found=$work/pytorch.json problem
  wanted pytorch || return 0
  model=$(sed -n '/^model:/,/^[^ ]/{s/^ *config: *\([^ #]*\).*/\1/p}' "$config")
  [[ $model != *.json || $model == /* ]] || model=$(dirname "$config")/$model
  [[ -n $model ]] || { leave_out pytorch "$config does not name a model.config"; return 0; }
  problem=$(LD_LIBRARY_PATH=$STRATA_OUTER_LIBRARY_PATH "$python" -c 'import torch, transformers' 2>&1 | tail -n 1) || true
  [[ -z $problem ]] || { leave_out pytorch "$python: $problem"; return 0; }
  ((left < 160 * patience)) || left=$((160 * patience))
  rm -f "$found"
  run_step pytorch "$((left + 10))" open "$root/bench/peers/gpu_vs_pytorch.sh" --short --seconds "$left" --config "$config" \
    --model "$model" --sequences $(((tokens + 252) / 253)) --steps "$steps" --python "$python" "${pinned[@]}" \
    --output "$found"
}

run_ranks() {  # NAME [OPTION...]
  local name=$1
  shift
  if ((ranks == 1)); then
    leave_out "$name" "several GPUs are checked with --ranks N"
  elif ((gpu_count < ranks)); then
    leave_out "$name" "--ranks $ranks, but nvidia-smi shows $gpu_count GPU(s)"
  elif ! command -v mpirun >/dev/null; then
    leave_out "$name" "there is no mpirun"
  elif [[ -n $nccl_problem ]]; then
    leave_out "$name" "$nccl_problem"
  else
    run_step "$name" 90 check "$root/scripts/mpirun.sh" -n "$ranks" "$strata" bench step "${model_options[@]}" \
      "${pinned[@]}" --tokens "$tokens" "$@"
  fi
}

# sanitized NAME TOOL FILTER: runs few and small shapes, and checks only our kernels, because libraries' take too long.
# Errors of CUDA functions are no fault: cuBLASLt tries features that a GPU may lack.
sanitizer_options=()
sanitized() {
  wanted "$1" || return 0
  command -v compute-sanitizer >/dev/null || { leave_out "$1" "there is no compute-sanitizer"; return 0; }
  if [[ $1 == *wgmma && $major -ne 9 ]]; then leave_out "$1" "$hopper_only"; return 0; fi
  if [[ $1 == *Float8 ]] && ((major < 9)); then leave_out "$1" "$hopper_only"; return 0; fi
  if [[ ${#sanitizer_options[@]} -eq 0 ]]; then
    local help
    help=$(timeout -k 10 60 compute-sanitizer --help 2>&1) || true
    sanitizer_options=(--error-exitcode 1)
    if [[ $help == *--kernel-name* ]]; then
      sanitizer_options+=(--kernel-name kns=strata)
    elif [[ $help == *--kernel-regex* ]]; then
      sanitizer_options+=(--kernel-regex kns=strata)
    fi
  fi
  local options=(--tool "$2" "${sanitizer_options[@]}")
  [[ $2 != memcheck ]] || options+=(--report-api-errors no)
  run_step "$1" 60 open env STRATA_CONFORMANCE_SHAPES=few compute-sanitizer "${options[@]}" "$conformance" --gtest_brief=1 \
    --gtest_filter="$3-$skipping"
}

run_sanitizer() {  # a step of the lists
  local suite=${1#*.} tool=memcheck filter
  [[ $1 == sanitizer.* ]] || tool=racecheck
  case $suite in
    Attention.*) filter="*/Attention.*/${suite#*.}" ;;
    ResidualLayerNorm) filter="*/ResidualLayerNorm.*/cuda_bf16:*/PreNorm.*/cuda_bf16" ;;
    Embeddings) filter="*/Embeddings.*/cuda_bf16:*/Rows.*/cuda_bf16" ;;
    optimizers) filter='*/Adam.*/cuda_bf16:*/Madgrad.*/cuda_bf16:*/AcClip.*/cuda_bf16:*/Sgd.*/cuda_bf16:*/Lamb.*/cuda_bf16:*/Capture.*/cuda_bf16' ;;
    Linear) [[ $tool == memcheck ]] && filter='*/Linear.*/cuda_bf16*' || filter='*/Linear.W*/cuda_bf16' ;;
    *) filter="*/$suite.*/cuda_bf16" ;;
  esac
  sanitized "$1" "$tool" "$filter"
}

# Finds the bottleneck of attention, from ncu's counters for a few of its kernels.
run_profile() {
  command -v ncu >/dev/null || { leave_out profile "there is no ncu"; return 0; }
  run_step profile 60 open ncu --csv --page details --section SpeedOfLight --section SchedulerStats --section WarpStateStats \
    --kernel-name regex:attention --launch-skip 4 --launch-count 4 "$strata" bench operations "${model_options[@]}" \
    "${pinned[@]}" --tokens "$tokens" --only attention
}

run_named() {
  case $1 in
    conformance.*) run_conformance "$1" ;;
    benchmark) bench_step "$1" "$tokens" ;;
    model)
      run_check model 60 "${pinned_test[@]}" "$bert" --gtest_brief=1 \
        --gtest_filter="*GoldenModel*cuda*:*MlperfReference*cuda*:*PreNormModel*cuda*:*StandardizedModel*cuda*-$skipping" ;;
    graphs) bench_step "$1" "$tokens" "${graphs[@]}" ;;
    small) bench_step "$1" "$few_tokens" ;;
    small_graphs) bench_step "$1" "$few_tokens" "${graphs[@]}" ;;
    epilogues_*) bench_step "$1" "$tokens" --set device.options.epilogues="${1#*_}" ;;
    fp8 | operations_fp8)
      if ((major < 9)); then
        leave_out "$1" "$hopper_only"
      elif [[ $1 == fp8 ]]; then
        bench_step "$1" "$tokens" "${graphs[@]}" --set model.precision=fp8
      else
        bench_operations "$1" --set model.precision=fp8 --set batch.round_tokens=64
      fi ;;
    operations) bench_operations "$1" ;;
    pytorch) run_pytorch ;;
    attention_mma) bench_attention "$1" mma ;;
    attention_wgmma)
      if [[ $major -eq 9 ]]; then bench_attention "$1" wgmma; else leave_out "$1" "$hopper_only"; fi ;;
    # cuDNN's attention needs a step without dropout.
    attention_ours_no_dropout)
      if [[ $major -eq 9 ]] && ! grep -qs '^failed' "$work/conformance.Attention.cuda_bf16_wgmma.verdict"; then
        bench_attention "$1" wgmma --set model.attention_dropout=0
      else
        bench_attention "$1" mma --set model.attention_dropout=0
      fi ;;
    attention_cudnn_no_dropout)
      if [[ -n $cudnn_problem ]]; then
        leave_out "$1" "$cudnn_problem"
      else
        bench_attention "$1" cudnn --set model.attention_dropout=0
      fi ;;
    nccl)
      if [[ -n $nccl_problem ]]; then
        leave_out nccl "$nccl_problem"
      else
        run_check nccl 60 "$comm" --gtest_brief=1 --gtest_filter='Nccl.*'
      fi ;;
    ranks) run_ranks "$1" ;;
    ranks_sharded) run_ranks "$1" --set optimizer.sharded=state ;;
    ranks_graphs) run_ranks "$1" "${graphs[@]}" ;;
    sanitizer.* | races.*) run_sanitizer "$1" ;;
    profile) run_profile ;;
  esac
}

pin_attention
ran=
part_begin=0  # the first part's time begins with the script
for part in "${parts[@]}"; do
  # Steps that still run at the deadline are ended, so that the table comes in time.
  [[ $part == quick ]] && seconds=138 || seconds=465
  deadline=$((part_begin + seconds * patience))
  [[ -z $only ]] || deadline=$((560 * patience))
  part_steps=("${rest_steps[@]}")
  [[ $part != quick ]] || part_steps=("${quick_steps[@]}")
  for name in "${part_steps[@]}"; do
    run_named "$name"
  done
  [[ $part != quick || ${#parts[@]} -eq 1 ]] || report || true
  part_begin=$SECONDS
done
[[ -z $only || -n $ran ]] || give_up "no step of --${parts[0]} is among --only $only; see --list"
