#!/usr/bin/env bash
# What bench/peers/cpu_vs_pytorch.sh, quickstart_vs_pytorch.sh and pytorch_follows_strata.sh run, with which settings, what they
# print and refuse, beside programs that are scripts: no PyTorch is needed.
# Usage: tests/scripts/peers_test.sh
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source "$root/tests/scripts/expect.sh"
said() { grep -qF -- "$1" "$work/out"; }
called() { grep -qF -- "$1" "$work/calls"; }
not() { ! "$@"; }
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
       "matrix_peak_flops_per_second": 4e11, "lengths": [[12, 8]]}'
SH
program "$work/venv/bin/python" <<'SH'
case $1 in
  -c | -) [[ $2 == import* ]] || exec python3 "$@" ;;
  *pytorch_step.py) echo '{"torch": "9", "tokens_per_second": 1000, "matrix_peak_flops_per_second": 3e11}' ;;
  *pytorch_train.py) echo '{"torch": "9", "seed": '"$3"', "seconds": 90, "samples": 528, "accuracy": 0.34, "reached_target": true}' ;;
esac
SH
# A compiler whose program is libxsmm's.
program "$work/c++" <<SH
while [[ \$1 != -o ]]; do shift; done
printf '#!/bin/sh\necho "libxsmm \$* [\$LIBXSMM_TARGET]" >>"$work/calls"\necho "{\\\\"matrix_peak_flops_per_second\\\\": 6e11}"\n' >"\$2"
chmod +x "\$2"
SH

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
expect "Strata is thrice as fast" said "ratio to the fastest of PyTorch's: 3.00"

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
expect "PyTorch's GEMMs, which may not be held to that, are no peak" said 'matrix peaks, GFLOP/s: libxsmm 600, strata 400; ratio'
expect "which is said" said 'may have used AVX2'

CXX=false peers --strata "$work/strata" --venv "$work/venv" --turns 1
expect "without libxsmm, too" test $? -eq 0
expect "which is said" said "without libxsmm's peak"
expect "with the peak of the others" said 'matrix peaks, GFLOP/s: strata 400, pytorch 300'

refused 'expected bf16 or fp32' --precision fp8
refused 'expected portable, avx2 or avx512' --isa sse
refused 'has no bf16' --isa avx2
refused 'expected a number' --turns none
refused 'needs a value' --isa
refused 'unknown option --fast' --fast
refused 'build it first' --strata "$work/nothing"

script=quickstart_vs_pytorch.sh
mkdir -p "$work/data"/{minilm,quickstart}
touch "$work/data/minilm"/{config.json,vocab.txt,model.safetensors} "$work/data/quickstart"/{train,eval}.hdf5
# Two ranks run it; one of them writes.
cat >"$work/strata_train" <<'SH'
#!/usr/bin/env bash
[[ ${OMPI_COMM_WORLD_RANK:-0} == 0 ]] || exit 0
for argument; do [[ $argument != run.output=* ]] || output=${argument#*=}; done
mkdir -p "$output" && touch "$output/result_0.yaml"
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
fi
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

[[ $failures -eq 0 ]] || { cat "$work/out"; exit 1; }
