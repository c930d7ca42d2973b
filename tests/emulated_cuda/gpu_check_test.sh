#!/usr/bin/env bash
# Runs all of scripts/gpu_check.sh on an emulated GPU with a small model. Checks that no step fails, and the effects of
# a failure, a wrong kernel, an endless step and a second call.
# Usage: tests/emulated_cuda/gpu_check_test.sh PROGRAMS    (the emulated ones)
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
programs=$1
machine=$root/tests/emulated_cuda/machine
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source "$root/tests/scripts/expect.sh"
said() { grep -qF -- "$1" "$work/out"; }
not() { ! "$@"; }
export PATH=$machine:$PATH LD_LIBRARY_PATH=$programs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export STRATA_BIN=$programs STRATA_CONFORMANCE_SHAPES=few OMP_NUM_THREADS=1 CUDA_HOME=$work/none
check() {
  "$root/scripts/gpu_check.sh" --config "$machine/small.yaml" --tokens 128 --few-tokens 64 --steps 2 \
    --python "$machine/python" --output "${output:-$work/check.json}" "$@" >"$work/out" 2>&1
}
# of_check EXPRESSION: evaluates Python over `check`, the script's report.
of_check() {
  python3 -c "
import json, sys
check = json.load(open('$work/check.json'))
verdicts = {name: step['verdict'] for name, step in check['steps'].items()}
sys.exit(not ($1))"
}
verdict() { python3 -c "import json; print(json.load(open('$work/check.json'))['steps']['$1']['verdict'])"; }

# ---- Both calls

check --quick --ranks 2
expect "quick: succeeds" test $? -eq 0
expect "quick: free memory is told" of_check "check['memory_mib'] == {'free': 1000, 'total': 1024}"
expect "quick: steps are measured" of_check "check['bench_step']['tokens_per_step'] == 128"
expect "quick: the rest is to come" of_check "verdicts['model'] == 'not run'"
check --rest --ranks 2
expect "rest: succeeds" test $? -eq 0
expect "no step fails" of_check "all(v == 'passed' or v.startswith('needs a GPU: ') for v in verdicts.values())"
[[ $failures -eq 0 ]] || cat "$work/out"
expect "only what the emulation has not needs a GPU" of_check "
  {n for n, v in verdicts.items() if v != 'passed'} <= {'conformance.Attention.cuda_bf16_cudnn', 'attention_cudnn_no_dropout'}"
expect "the second call keeps what the first measured" of_check "check['bench_step']['tokens_per_step'] == 128"
expect "every suite of the programs that has a cuda test is a step" diff <(
  for program in conformance bert; do
    "$programs/test_$program" --gtest_list_tests | sed -n 's,^Backends/\(.*\)\.$,\1,p'
  done | sort) <(printf '%s\n' AcClip Adam Attention Capture Classifier Concurrency Embeddings Flat Float8 GoldenModel Lamb \
  Linear Madgrad Memory MlperfReference PreNorm PreNormModel ResidualLayerNorm Rows Sgd Standardization StandardizedModel | sort)
expect "operations say whether their rounds agree" of_check "
  {type(o['unsteady']) for name in ('bench_operations', 'bench_operations_fp8') for o in check[name]['operations']} == {bool}"
expect "every question is answered" of_check "
  not [a for q, a in check['answers'].items() if 'nothing measured' in a or 'not run' in a]"
for answer in '3 speed .*% of the matrix peak' '3 PyTorch .* times the fastest of PyTorch 9' \
  '3 memory-bound operations .*copy peak' '4 attention .*mma .*ms.*wgmma .*ms' \
  '4 attention, no dropout .*ours .*ms' '4 what bounds attention .*61.20 %' '4 epilogues .*never -> always: .*ms a step' \
  '5 graphs .*issued -> graphs: .*issued -> graphs: ' "5 warm-up .* s from the process's start" '5 memory of graphs' \
  '6 fp8 .*passed; bf16 -> fp8' '6 fp8 operations .*linear_weight_gradient' 'ranks .*sequences/s on 2'; do
  expect "answer: $answer" grep -qE "^$answer" "$work/out"
done
expect "the logs are kept" sh -c "tar -tzf '$work/check_logs.tgz' benchmark.txt model.txt >/dev/null"

# ---- Faults

# A machine with a wrong wgmma kernel, a PyTorch that never ends, and no NCCL.
mkdir "$work/bin"
for program in "$programs"/{strata,test_bert,test_comm}; do ln -s "$program" "$work/bin"; done
cat >"$work/bin/test_conformance" <<SHELL
#!/usr/bin/env bash
echo "\${CUDA_LAUNCH_BLOCKING:-0} \${CUBLASLT_LOG_FILE:+to a file} \$*" >>"$work/calls"
[[ \$* == *cuda_bf16_wgmma* ]] || exit 0
echo "attention_test.cc:53: Failure"
exit 1
SHELL
chmod +x "$work/bin/test_conformance"
export STRATA_BIN=$work/bin
check --only conformance.Attention,benchmark,attention_wgmma
expect "a wrong kernel: fails" test $? -eq 1
expect "a wrong kernel: by name" of_check "verdicts['conformance.Attention.cuda_bf16_wgmma'] == 'failed: exit status 1'"
expect "a wrong kernel: is run once more, call by call" grep -q '^1 to a file .*cuda_bf16_wgmma' "$work/calls"
expect "a wrong kernel: whose output is kept" of_check "
  'attention_test.cc:53: Failure' in check['steps']['conformance.Attention.cuda_bf16_wgmma']['last_lines_with_launch_blocking']"
expect "others are not" test "$(grep -c '^1' "$work/calls")" -eq 1
expect "later steps use another" of_check "check['pinned_attention'].startswith('mma, ')"
expect "which is said" grep -q '^attention of later steps *mma, because conformance of Attention failed for cuda_bf16_wgmma' "$work/out"
expect "the wrong kernel is not timed" of_check "verdicts['attention_wgmma'] == 'skipped: conformance of this kernel failed'"
rm "$work/bin"/{strata,test_bert}  # these are links
cat >"$work/bin/test_bert" <<SHELL
#!/usr/bin/env bash
echo "model with \${STRATA_TEST_ATTENTION:-any}"
SHELL
cat >"$work/bin/strata" <<SHELL
#!/usr/bin/env bash
[[ \$1 == --version ]] && exec "$programs/strata" --version
echo "strata with \$*"
SHELL
chmod +x "$work/bin"/{test_bert,strata}
check --only model,small
expect "in the second call, too, steps are told" sh -c "tar -xzOf '$work/check_logs.tgz' small.txt | grep -q 'device.options.attention=mma'"
expect "tests are told" sh -c "tar -xzOf '$work/check_logs.tgz' model.txt | grep -q 'model with mma'"
expect "a step without its JSON fails" of_check "verdicts['small'] == 'failed: no JSON'"

# ---- Hostile surroundings

cat >"$work/bin/strata" <<SHELL
#!/usr/bin/env bash
[[ \$1 == --version ]] && exec "$programs/strata" --version
printf '{\n"x": 1}\n'
head -c 2000000 /dev/zero | tr '\0' x
SHELL
check --only small,model
expect "a step with another JSON fails" of_check "verdicts['small'] == 'failed: no JSON'"
expect "later ones are in the table" of_check "verdicts['model'] == 'passed'"
expect "endless lines are cut" test "$(stat -c %s "$work/check.json")" -lt 200000
check --rest --only benchmark
expect "a step of the other call is refused" test $? -eq 2
check --only ' ,'
expect "no step is refused" test $? -eq 2
(flock 8; check --only small) 8>"$work/check.json.lock"
expect "a second check at once is refused" said "another check writes"
mkdir "$work/a:b"
cp "$work"/check.json "$work"/check_logs.tgz "$work/a:b"
output=$work/a:b/check.json check --only small
expect "a colon in a path loses nothing" python3 -c "
import json, sys
sys.exit(json.load(open('$work/a:b/check.json'))['steps']['model']['verdict'] != 'passed')"

[[ $failures -eq 0 ]] || { cat "$work/out"; exit 1; }
