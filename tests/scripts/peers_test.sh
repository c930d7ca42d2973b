#!/usr/bin/env bash
# Tests what the scripts of bench/peers run, print and refuse. Scripts stand in for the programs, so that no PyTorch, GPU,
# official checker or published logs are needed.
# Usage: tests/scripts/peers_test.sh
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source "$root/tests/scripts/expect.sh"
said() { grep -qF -- "$1" "$work/out"; }
called() { grep -qF -- "$1" "$work/calls"; }
program() {  # PATH: of a script that writes down its arguments and what it is held to, then does what stdin says
  {
    printf '#!/usr/bin/env bash\n'
    printf 'echo "%s $* [$STRATA_CPU_ISA $ATEN_CPU_CAPABILITY $DNNL_MAX_CPU_ISA $ONEDNN_MAX_CPU_ISA' "$(basename "$1")"
    printf ' $MKL_ENABLE_INSTRUCTIONS $LIBXSMM_TARGET] ${GLIBC_TUNABLES:-}" >>"%s/calls"\n' "$work"
    cat
  } >"$1"
  chmod +x "$1"
}
unset STRATA_CPU_ISA ATEN_CPU_CAPABILITY DNNL_MAX_CPU_ISA ONEDNN_MAX_CPU_ISA MKL_ENABLE_INSTRUCTIONS LIBXSMM_TARGET GLIBC_TUNABLES

mkdir -p "$work/venv/bin"
program "$work/strata" <<'SH'
[[ $1 != train ]] || exec "$(dirname "$0")/strata_train" "$@"
echo '{"model_flops_per_step": 2e9, "tokens_per_step": 20, "tokens_per_second": 3000, "device": "cpu",
       "matrix_peak_flops_per_second": 4e11, "lengths": [[12, 8]], "sequences_per_step": 2, "sequences_per_second": 60,
       "model_flops_per_second": 1e11, "parameters": 100, "seconds": {"norm": 1e-3, "update": 3e-3, "norm_and_update": 4e-3},
       "operations": [{"operation": "attention_forward", "flops": 1, "bytes": 1, "seconds": 1e-3},
                      {"operation": "attention_backward", "flops": 1, "bytes": 1, "seconds": 2e-3}]}'
SH
program "$work/venv/bin/python" <<'SH'
case $1 in
  -c | -) [[ $2 == import* && $2 != *json* ]] || exec python3 "$@" ;;
  *pytorch_step.py) echo '{"torch": "9", "tokens_per_second": 1000, "matrix_peak_flops_per_second": 3e11,
                           "sequences_per_second": 20, "copy_peak_bytes_per_second": 1e11}' ;;
  *pytorch_attention.py) echo '[]' ;;
  *pytorch_update_cosines.py)
    kind='{"strata": 0.9848, "unfused": 0.8695, "fused": 0.1642}'
    echo '{"layers": [{"query": '"$kind"', "key": '"$kind"', "value": '"$kind"'}],
           "whole_update_error": {"strata": 0.2072, "unfused": 0.2803, "fused": 0.3681}}' ;;
  *pytorch_optimizer.py) echo '{"parameters": 100, "clip": 2e-3, "update": 5e-3, "copy": 1e-3, "total": 8e-3}' ;;
  *submissions.py) exec python3 "$@" ;;
  *pytorch_train.py)
    seed=$3
    while [[ $# -gt 1 ]]; do
      [[ $1 != --log ]] || echo log >"$2"
      shift
    done
    echo '{"torch": "9", "threads": 1, "seed": '"$seed"', "seconds": 90, "samples": 528, "accuracy": 0.34, "reached_target": true}' ;;
esac
SH
# A compiler whose program is libxsmm's.
program "$work/c++" <<SH
while [[ \$1 != -o ]]; do shift; done
printf '#!/bin/sh\necho "libxsmm \$* [\$LIBXSMM_TARGET]" >>"$work/calls"\necho "{\\\\"matrix_peak_flops_per_second\\\\": 6e11}"\n' >"\$2"
chmod +x "\$2"
SH

# memory GIGABYTES: so much is said to be there, without a control group.
export STRATA_MEMORY_ROOT=$work/machine
memory() {
  rm -rf "$STRATA_MEMORY_ROOT"
  mkdir -p "$STRATA_MEMORY_ROOT/proc/self"
  echo "MemAvailable: $(python3 -c "print(int($1 * 1e9 / 1024))") kB" >"$STRATA_MEMORY_ROOT/proc/meminfo"
}
# group FOLDER LIMIT USED [INACTIVE]: of a control group's version 2
group() {
  local folder=$STRATA_MEMORY_ROOT/sys/fs/cgroup/$1
  mkdir -p "$folder"
  echo "$2" >"$folder/memory.max"
  echo "$3" >"$folder/memory.current"
  printf 'anon 1\ninactive_file %s\n' "${4:-0}" >"$folder/memory.stat"
}
memory 1000

script=cpu_vs_pytorch.sh
peers() {
  rm -f "$work/calls"
  "$root/bench/peers/$script" "$@" >"$work/out" 2>&1
}
steps() { CXX=$work/c++ peers --strata "$work/strata" --venv "$work/venv" --threads 2 --turns 2 "$@"; }
refused() {  # TEXT OPTION...: with exit code 2 and these words, before anything is run
  local text=$1
  shift
  peers "$@"
  expect "$script: '$*' is refused" test $? -eq 2
  expect "$script: '$*' is refused with words" said "$text"
  expect "$script: '$*' is refused at once" test ! -e "$work/calls"
}

peers --help
expect "--help succeeds" test $? -eq 0
expect "--help explains --isa" said '--isa portable|avx2|avx512'

steps
expect "steps are compared" test $? -eq 0
expect "in bf16" said 'bf16, 2 threads'
expect "eager and compiled, padded and sorted, twice" test "$(grep -c 'pytorch_step.py' "$work/calls")" -eq 8
expect "heads at masked positions alone" called 'eager --device cpu --masked-only --precision bf16'
expect "held to nothing" called '[     ]'
expect "PyTorch keeps memory in huge pages" grep -q 'pytorch_step.py.*glibc.malloc.hugetlb=1' "$work/calls"
expect "the highest peak counts" said 'matrix peaks, GFLOP/s: libxsmm 600, strata 400, pytorch 300'
expect "of which Strata has half" grep -qE '^strata +3000 +300 +50%' "$work/out"
expect "Strata is thrice as fast" said "Strata over the fastest of PyTorch's: 3.00"

steps --precision fp32 --isa avx2 --output "$work/result.json"
expect "fp32 in AVX2 is compared" test $? -eq 0
expect "and said to be" said 'fp32, held to avx2, 2 threads'
expect "Strata and its library are held to it" called 'model.precision=fp32 --tokens 2048 --steps 8 --json [avx2 avx2 AVX2 AVX2 AVX2 hsw]'
expect "so is PyTorch" called '--precision fp32 --steps 8 [avx2 avx2 AVX2 AVX2 AVX2 hsw]'
expect "so is libxsmm" called 'libxsmm fp32 [hsw]'
expect "nothing is compiled for the processor" not called 'lengths compiled'
expect "the peaks are in the JSON" python3 -c "
import json, sys
found = json.load(open('$work/result.json'))
sys.exit(found['matrix_peaks'] != {'strata': 4e11, 'libxsmm': 6e11, 'pytorch': 3e11} or found['isa'] != 'avx2')"

steps --precision fp32 --isa portable
expect "portable programs are compared" test $? -eq 0
expect "PyTorch's GEMMs, which may not be held to that, are no peak" said 'matrix peaks, GFLOP/s: libxsmm 600, strata 400; Strata over'
expect "which is said" said 'may have used AVX2'

CXX=false peers --strata "$work/strata" --venv "$work/venv" --turns 1
expect "without libxsmm, too" test $? -eq 0
expect "which is said" said "without libxsmm's peak"
expect "with the peak of the others" said 'matrix peaks, GFLOP/s: strata 400, pytorch 300'

only_sorted() {  # WHERE: rows padded to 512 need 11 GB or more, sorted ones 8.3 at most
  steps
  expect "$1: the rows that fit are compared" test $? -eq 0
  expect "$1: padded ones are left out" test "$(grep -c 'padded is left out: needs about 1[1-4].[0-9] GB of memory, 9.0 GB are there' "$work/out")" -eq 2
  expect "$1: and not started" test "$(grep -c 'pytorch_step.py' "$work/calls")" -eq "$(grep -c -- '--sorted' "$work/calls")"
  expect "$1: sorted ones run in every turn" test "$(grep -c -- '--sorted' "$work/calls")" -eq 4
  expect "$1: and are in the table" grep -qE '^pytorch, eager, sorted +1000 ' "$work/out"
}
memory 9
only_sorted memory
memory 1000
echo 0::/service/job >"$STRATA_MEMORY_ROOT/proc/self/cgroup"
group service/job max 5000000000
group service 12000000000 5000000000 2000000000
only_sorted "group above"
memory 1000
printf '5:cpu,memory:/docker/x\n3:pids:/docker/x\n' >"$STRATA_MEMORY_ROOT/proc/self/cgroup"
mkdir -p "$STRATA_MEMORY_ROOT/sys/fs/cgroup/memory"
echo 9000000000 >"$STRATA_MEMORY_ROOT/sys/fs/cgroup/memory/memory.limit_in_bytes"
echo 0 >"$STRATA_MEMORY_ROOT/sys/fs/cgroup/memory/memory.usage_in_bytes"
only_sorted "group of version 1"
memory 6.8
steps --tokens 20
expect "Strata alone: is measured" test $? -eq 0
expect "Strata alone: is in the table" grep -qE '^strata +3000 ' "$work/out"
expect "Strata alone: all of PyTorch is left out" test "$(grep -c 'is left out' "$work/out")" -eq 4
memory 5
steps
expect "without memory for Strata nothing is compared" test $? -eq 2
expect "which is said" said 'strata is left out: needs about 8.0 GB of memory, 5.0 GB are there'
expect "and nothing is started" not called 'bench step'
memory 1000

refused 'expected bf16 or fp32' --precision fp8
refused 'expected portable, avx2 or avx512' --isa sse
refused 'has no bf16' --isa avx2
refused 'expected a number' --turns none
refused 'needs a value' --isa
refused 'unknown option --fast' --fast
refused 'build it first' --strata "$work/nothing"

script=quickstart_vs_pytorch.sh
mkdir -p "$work/data"/{minilm,quickstart}
echo '{"vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}' \
  >"$work/data/minilm/config.json"
touch "$work/data/minilm"/{vocab.txt,model.safetensors} "$work/data/quickstart"/{train,eval}.hdf5
# Two ranks run it; one of them writes.
cat >"$work/strata_train" <<'SH'
#!/usr/bin/env bash
[[ ${OMPI_COMM_WORLD_RANK:-0} == 0 ]] || exit 0
for argument; do [[ $argument != run.output=* ]] || output=${argument#*=}; done
results=$output/Strata/results/box_1rank/bert
mkdir -p "$results" "$output/Strata/systems" && touch "$results/result_0.yaml" && echo "$output" >"$results/result_0.txt"
echo '{"system_name": "box_1rank", "sw_notes": "2 ranks; text"}' >"$output/Strata/systems/box_1rank.json"
echo '{"experiments": [{"seed": 1, "seconds": 30, "samples": 528, "accuracy": 0.335, "reached_target": true}]}'
SH
chmod +x "$work/strata_train"
peers --help
expect "quickstart: --help succeeds" test $? -eq 0
expect "quickstart: --help explains --target" said '--target: masked-LM accuracy'
if command -v mpirun >/dev/null; then
  peers --strata "$work/strata" --python "$work/venv/bin/python" --data "$work/data" --ranks 1 --threads 1 --seeds 4,5
  expect "quickstart: succeeds" test $? -eq 0
  expect "quickstart: each seed is trained from" called 'run.seed=5'
  expect "quickstart: PyTorch has the same threads" called 'result_0.yaml 5 --threads 1 --ranks 1 --micro-batch 4 --variant compiled'
  expect "quickstart: the ratio of medians" said "PyTorch's time over Strata's, medians: 3.00"
  peers --strata "$work/strata" --python "$work/venv/bin/python" --data "$work/data" --ranks 1 --threads 1 --seeds 4,5 --logs "$work/logs"
  expect "quickstart: PyTorch writes a log" called "--log $work/logs.runs/pytorch.5/result_0.txt --organization PyTorch --platform box_1process"
  expect "quickstart: Strata's logs are a submission" grep -q 'strata\.5$' "$work/logs/Strata/results/box_1rank/bert/result_1.txt"
  expect "quickstart: so are PyTorch's" grep -q '"framework": "PyTorch 9"' "$work/logs/PyTorch/systems/box_1process.json"
  rm -rf "$work/logs"
  peers --strata "$work/strata" --python "$work/venv/bin/python" --data "$work/data" --ranks 1 --threads 1 --seeds 4,5 --logs "$work/logs"
  expect "quickstart: runs that have ended are kept" not called train
  peers --strata "$work/strata" --python "$work/venv/bin/python" --data "$work/data" --ranks 1 --threads 1 --seeds 4 --logs "$work/other"
  rm -rf "$work/other"
  peers --strata "$work/strata" --python "$work/venv/bin/python" --data "$work/data" --ranks 1 --threads 1 --seeds 5 --logs "$work/other"
  expect "quickstart: runs with other options are not mixed" said 'has runs with other options'
  peers --strata "$work/strata" --python "$work/venv/bin/python" --data "$work/data" --ranks 1 --threads 1 --logs "$work/logs"
  expect "quickstart: logs are not replaced" said 'exists already'
fi
memory 0.9
peers --strata "$work/strata" --python "$work/venv/bin/python" --data "$work/data" --threads 2
expect "quickstart: without memory is refused" test $? -eq 2
expect "quickstart: with both figures" said 'GB of memory, 0.9 GB are there'
expect "quickstart: before it trains" not called train
memory 1000
refused 'needs KEY=VALUE' --set seed
refused 'expected a number' --micro-batch 0
refused 'expected compiled or eager' --threads 2 --variant fast
refused 'expected a fraction' --threads 2 --target 2
refused 'not a multiple' --threads 3 --ranks 2
refused 'expected bf16 or fp32' --threads 2 --precision fp8
refused 'expected numbers' --threads 2 --seeds one

script=pytorch_follows_strata.sh
refused 'expected a number' --steps none
refused 'expected strata or transformers' --heads anew
refused 'prepare_quickstart_data.sh makes it' --data "$work/nothing" --strata "$work/strata"

script=gpu_vs_pytorch.sh
peers --help
expect "GPU: --help explains --device" said '[--device cuda|cpu]'
STRATA_BIN=$work peers --python "$work/venv/bin/python" --device cpu --turns 1 --steps 4 --output "$work/gpu.json"
expect "GPU: steps are compared" test $? -eq 0
for variant in eager compiled; do
  expect "GPU: $variant heads at masked positions alone" called "$variant --device cpu --masked-only --steps 4"
  expect "GPU: $variant with sequences sorted by length" called "$variant --device cpu --masked-only --steps 4 --sorted"
done
expect "GPU: nothing is missing" not said missing
expect "GPU: Strata is thrice as fast" said "Strata over the fastest of PyTorch's: 3.00"
expect "GPU: fp8 and operations are measured, too" called 'model.precision=fp8'
memory 9
STRATA_BIN=$work peers --python "$work/venv/bin/python" --device cpu --turns 1 --steps 4 --output "$work/gpu.json"
expect "GPU: on the processor, too, what fits is compared" test $? -eq 0
expect "GPU: padded steps are not started" test "$(grep -c 'pytorch_step.py' "$work/calls")" -eq 2
expect "GPU: which is said" said 'missing: pytorch.eager.1, needs about 14.'
memory 1000
cp "$work/data/minilm/config.json" "$work/own.json"
STRATA_BIN=$work peers --python "$work/venv/bin/python" --device cpu --short --seconds 60 --steps 2 --model "$work/own.json" \
  --config own.yaml --set device.options.attention=mma --output "$work/gpu.json"
expect "GPU: the short form compares steps" test $? -eq 0
expect "GPU: in the configuration that was given" called 'bench step --config own.yaml --set device.options.attention=mma'
expect "GPU: and nothing else" not grep -qE 'fp8|bench operations' "$work/calls"
expect "GPU: but PyTorch's attention" called "pytorch_attention.py $work/own.json"
expect "GPU: nothing is missing in the short form" not said missing
refused 'needs a value' --device
refused 'expected a number' --seconds soon
refused 'unknown option --fast' --fast

script=gpu_follows_cpu.sh
peers --help
expect "follows: --help says when it passes" said 'less than half of another seed'
# A tree of its own, with a text. Losses of the device differ by 0.1 from those of the processor, another seed's by LOSS - 5.
mkdir -p "$work/tree"/{bench/peers,scripts/gpu,data-cache/minilm,bin}
cp "$root/bench/peers/$script" "$work/tree/bench/peers"
cp "$root/scripts"/{common,surroundings}.sh "$work/tree/scripts"
cp "$root/scripts/gpu/limited_steps.sh" "$work/tree/scripts/gpu"
touch "$work/tree/data-cache"/{kjv.txt,minilm/vocab.txt}
cat >"$work/tree/bin/strata" <<'SH'
#!/usr/bin/env bash
[[ $1 == train ]] || exit 0
for argument; do [[ $argument != run.output=* ]] || output=${argument#*=}; done
mkdir -p "$output"
case ${output##*/} in cpu) loss=5 ;; device) loss=5.1 ;; *) loss=$LOSS ;; esac
echo "{\"masked_lm_loss\": $loss, \"next_sentence_loss\": 1}" >"$output/result_0.steps.jsonl"
echo ':::MLLOG {"key": "eval_accuracy", "value": 0.3}' >"$output/result_0.txt"
exit 1  # the target is out of reach
SH
chmod +x "$work/tree/bin/strata"
follows() {
  LOSS=$1 STRATA_BIN=$work/tree/bin "$work/tree/bench/peers/$script" --device cpu --output "$work/follows.json" >"$work/out" 2>&1
}
follows 6
expect "follows: passes where another seed differs more" test $? -eq 0
expect "follows: by how much the device differs" said "losses of cpu bf16 differ from cpu fp32's by 0.1000 in the mean, 0.1000 at most"
expect "follows: and another seed" said 'those of another seed by 1.0000 in the mean'
follows 5.15
expect "follows: does not where another seed differs hardly more" test $? -eq 1

script=update_cosines.sh
peers --help
expect "cosines: --help says what is compared" said "from float64's"
peers --strata "$work/strata" --venv "$work/venv" --layers 1 --set device.backend=cuda --json "$work/cosines.json"
expect "cosines: are printed" test $? -eq 0
expect "cosines: layer by layer" grep -qE '^ +0 +0.9848 +0.8695 +0.1642 +0.9848 +0.8695 +0.1642$' "$work/out"
expect "cosines: and the whole update's error" said 'Strata 0.2072, unfused 0.2803, fused 0.3681'
expect "cosines: options are passed on" grep -qE 'pytorch_update_cosines.py .*strata bert-large .* --layers 1 --set device.backend=cuda' "$work/calls"
expect "cosines: --json writes the figures" grep -q whole_update_error "$work/cosines.json"
memory 12
peers --strata "$work/strata" --venv "$work/venv"
expect "cosines: without memory is refused" test $? -eq 2
expect "cosines: with both figures" said 'the update is left out: needs about 14.1 GB of memory, 12.0 GB are there'
memory 1000
refused 'expected a number' --layers none
refused 'needs a value' --set
refused 'expected bert-large or a config.json' --model "$work/nothing"
refused 'build it first' --strata "$work/nothing"
refused 'unknown option --fast' --fast

script=optimizer_vs_pytorch.sh
mkdir "$work/modules"
echo '__version__ = "9"' >"$work/modules/torch.py"
memory 6
peers --strata "$work/strata" --venv "$work/venv" --threads 2 --turns 1
expect "optimizer: without memory is refused" test $? -eq 2
expect "optimizer: with both figures" said 'an update is left out: needs about 7.1 GB of memory, 6.0 GB are there'
memory 1000
PYTHONPATH=$work/modules peers --strata "$work/strata" --venv "$work/venv" --threads 2 --turns 1
expect "optimizer: succeeds" test $? -eq 0
expect "optimizer: Strata takes half the time" said "PyTorch's time over Strata's: 2.00; of the update alone, without either norm: 2.00"

script=compliance_vs_official.sh
peers --help
expect "compliance: --help succeeds" test $? -eq 0
expect "compliance: --help names the arguments" said '[STRATA [PYTHON]]'
refused "no $work/nothing" "$work/nothing"
refused 'unknown option --fast' --fast
if command -v xz >/dev/null; then
  # 500 logs of two rounds.
  mkdir -p "$work/published/data/published_logs" "$work/rounds"/{v1.1,v2.0}
  touch "$work/rounds"/{v1.1,v2.0}/log.txt
  for version in v1.1 v2.0; do
    tar -C "$work/rounds" -cJf "$work/published/data/published_logs/$version.tar.xz" "$version"
  done
  {
    printf 'log\truleset\n'
    for ((i = 0; i < 4500; ++i)); do printf 'v2.0/log.txt\t2.0.0\n'; done
  } >"$work/published/data/published_logs/expected_verdicts.tsv"
  program "$work/checker" <<'SH'
for argument; do [[ $argument != *log.txt ]] || echo "passed $argument"; done
SH
  program "$work/official" <<'SH'
[[ $1 == official.py ]] || { echo /package; exit; }
while read -r _; do echo "$OFFICIAL"; done
SH
  OFFICIAL='100 0 1800' STRATA_SHARED=$work/published peers "$work/checker" "$work/official"
  expect "compliance: passes where Strata is fast enough" test $? -eq 0
  expect "compliance: by the package's rules, on one thread" called 'check log --threads 1 --rules /package v2.0/log.txt'
  expect "compliance: which ratio it is" said "strata's logs a second over the official checker's: "
  OFFICIAL='100 1 1800' STRATA_SHARED=$work/published peers "$work/checker" "$work/official"
  expect "compliance: fails where the official checker fails another" test $? -eq 1
  OFFICIAL='99 0 1800' STRATA_SHARED=$work/published peers "$work/checker" "$work/official"
  expect "compliance: fails where it judges fewer" test $? -eq 1
fi

for script in mlperf_data_vs_reference.sh slow_ethernet.sh; do
  peers --help
  expect "$script: --help succeeds" test $? -eq 0
done
expect "ethernet: --help has the default of --steps" said 'measured steps; default 7'

[[ $failures -eq 0 ]] || { cat "$work/out"; exit 1; }
