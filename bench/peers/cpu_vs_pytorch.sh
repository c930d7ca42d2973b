#!/usr/bin/env bash
# Whole training steps on this processor, Adam included, on MLPerf's lengths or on sequences of one length: `strata bench step`
# against PyTorch (transformers, SDPA, bf16 autocast, fused AdamW, its heads at masked positions alone; eager and torch.compile;
# sequences padded to 512, and sorted by length and padded to the longest of their batch), in turns over the same sequences with the
# same number of threads. Compares tokens a second, without padding: Strata's over its median step, PyTorch's over the sum of
# its steps, since batches sorted by length differ in time. The peak is the highest of both programs' square GEMMs and, if libxsmm
# is installed (Debian's libxsmm-dev), those of its batch-reduce kernels.
#   bench/peers/cpu_vs_pytorch.sh [--model MODEL] [--tokens N] [--length N] [--steps N] [--turns N] [--threads N]
#                                 [--precision bf16|fp32] [--isa portable|avx2|avx512] [--strata PROGRAM] [--venv DIR] [--output FILE]
# --model: bert-large (default), minilm (the quickstart's) or a model's config.json.
# Leaves out rows that need more memory than is available, and says so: bert-large takes 8 GB in Strata, 8 to 35 GB in PyTorch.
# --tokens: tokens of a step (2048). --length: tokens of every sequence, for example 512; default MLPerf's mix.
# --steps: measured steps of each process (8). --turns: processes of each row (3).
# --precision: precision of GEMMs and attention (bf16). --isa: holds all programs and their libraries to an instruction set, named as by
# STRATA_CPU_ISA; without it each uses what it finds. torch.compile, whose compiler takes what the processor has, is left out then.
# PyTorch's MKL cannot be held to less than AVX2 on AMD: with portable its GEMMs are no peak, and its steps have more instructions.
# --threads: default all processors. --strata: default build/release/cli/strata.
# --venv: where PyTorch and transformers are, or are installed from PyPI if they are absent (6 GB of disk);
# default ${XDG_CACHE_HOME:-~/.cache}/strata/pytorch. --output: also write the numbers there, as JSON.
set -euo pipefail
source "$(dirname "$0")/../../scripts/surroundings.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/bench/peers/venv.sh"
model=bert-large tokens=2048 steps=8 turns=3 threads=$(nproc) strata=$root/build/release/cli/strata output= length=
precision=bf16 isa=
venv=${XDG_CACHE_HOME:-$HOME/.cache}/strata/pytorch
give_up() { echo "$*" >&2; exit 2; }
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --model | --tokens | --length | --steps | --turns | --threads | --precision | --isa | --strata | --venv | --output)
      [[ $# -ge 2 ]] || give_up "$1 needs a value; see --help"
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    *) give_up "unknown option $1; see --help" ;;
  esac
done
for number in tokens steps turns threads ${length:+length}; do
  [[ ${!number} =~ ^[1-9][0-9]*$ ]] || give_up "--$number ${!number}: expected a number of at least 1"
done
[[ $precision == bf16 || $precision == fp32 ]] || give_up "--precision $precision: expected bf16 or fp32"
case $isa in  # names in ATen, oneDNN, MKL and libxsmm
  '') names=() ;;
  portable) names=(default SSE41 SSE4_2 wsm) ;;
  avx2) names=(avx2 AVX2 AVX2 hsw) ;;
  avx512) names=(avx512 AVX512_CORE AVX512 skx) ;;
  *) give_up "--isa $isa: expected portable, avx2 or avx512" ;;
esac
[[ -z $isa || $isa == avx512 || $precision == fp32 ]] || give_up "--isa $isa: has no bf16; use --precision fp32"
[[ $model == bert-large || $model == minilm || -f $model ]] || give_up "--model $model: expected bert-large, minilm or a file"
[[ -x $strata ]] || give_up "no $strata; build it first: cmake --preset release && cmake --build --preset release"
variants=(eager compiled)
if [[ -n $isa ]]; then
  variants=(eager)
  export STRATA_CPU_ISA=$isa ATEN_CPU_CAPABILITY=${names[0]} MKL_ENABLE_INSTRUCTIONS=${names[2]} LIBXSMM_TARGET=${names[3]}
  export DNNL_MAX_CPU_ISA=${names[1]} ONEDNN_MAX_CPU_ISA=${names[1]}  # oneDNN's older and newer
                                                                      # name
fi

make_venv "$venv" "torch, transformers" PyTorch torch numpy transformers

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pytorch_model=$model
if [[ $model == minilm ]]; then
  pytorch_model=$work/minilm.json
  echo '{"vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
         "intermediate_size": 1536, "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu",
         "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}' > "$pytorch_model"
fi
export OMP_NUM_THREADS=$threads
# run NAME COMMAND...: writes NAME.json, or prints the error.
run() {
  local name=$1
  shift
  "$@" > "$work/$name.json" 2> "$work/$name.err" || { cat "$work/$name.err" >&2; echo "$name failed" >&2; exit 1; }
}
libxsmm=$work/libxsmm_gemm
if ! ${CXX:-g++} -std=c++20 -O2 -fopenmp "$root/bench/peers/libxsmm_gemm.cc" -o "$libxsmm" -lxsmm -lxsmmnoblas -lpthread -ldl \
    2> "$work/libxsmm.err"; then
  echo "without libxsmm's peak: $(head -1 "$work/libxsmm.err")" >&2
  libxsmm=
fi
declare -A left_out
for ((turn = 1; turn <= turns; ++turn)); do
  echo "turn $turn of $turns" >&2
  most=${length:-512}
  has_memory strata strata-step "$pytorch_model" "$(((tokens + most - 1) / most))x$most" --precision "$precision" ||
    give_up "without Strata's step nothing can be compared; use fewer tokens (--tokens)"
  run "strata.$turn" "$strata" bench step --config "$root/scripts/configs/bert-large.yaml" --set model.config="$model" \
    --set model.vocab=none --set model.checkpoint=none --set data.train=/tmp --set data.eval=/tmp --set model.precision="$precision" \
    --tokens "$tokens" ${length:+--length "$length"} --steps "$steps" --json
  # Every process of every turn gets the same sequences.
  [[ -e $work/lengths ]] || "$venv/bin/python" -c 'import json, sys; json.dump(json.load(open(sys.argv[1]))["lengths"], sys.stdout)' \
    "$work/strata.1.json" > "$work/lengths"
  [[ -z $libxsmm ]] || run "libxsmm.$turn" "$libxsmm" "$precision"
  for variant in "${variants[@]}"; do
    for order in padded sorted; do
      options=()
      [[ $order == padded ]] || options=(--sorted)
      row="pytorch, $variant, $order"
      [[ -z ${left_out[$row]:-} ]] || continue
      has_memory "$row" pytorch-step "$pytorch_model" "$work/lengths" --variant "$variant" --precision "$precision" "${options[@]}" ||
        { left_out[$row]=yes; continue; }
      run "$row.$turn" "${pytorch_memory[@]}" "$venv/bin/python" "$root/bench/peers/pytorch/pytorch_step.py" \
        "$pytorch_model" "$work/lengths" "$variant" --device cpu --masked-only --precision "$precision" --steps "$steps" "${options[@]}"
    done
  done
done

"$venv/bin/python" - "$work" "$threads" "$precision" "$isa" "$output" << 'PY'
import json, pathlib, statistics, sys
work, threads, precision, isa, output = sys.argv[1:]
runs = {}
for path in sorted(pathlib.Path(work).glob("*.*.json")):
    runs.setdefault(path.stem.rsplit(".", 1)[0], []).append(json.load(open(path)))
median = lambda name, key: statistics.median(run[key] for run in runs[name])
strata = runs["strata"][0]
flops_per_token = strata["model_flops_per_step"] / strata["tokens_per_step"]
peaks = {}
for name in runs:
    library = name.split(",")[0]
    if library == "pytorch" and isa == "portable":
        continue
    peaks[library] = max(peaks.get(library, 0), median(name, "matrix_peak_flops_per_second"))
peak = max(peaks.values())
rates = {name: median(name, "tokens_per_second") for name in runs if name != "libxsmm"}
rivals = [name for name in rates if name != "strata"]
print(f"{precision}{', held to ' + isa if isa else ''}, {threads} threads, {strata['tokens_per_step']} tokens a step, medians of "
      f"{len(runs['strata'])} processes each; {strata['device']}; PyTorch {runs[rivals[0]][0]['torch'] if rivals else 'left out'}")
print(f"{'':<28}{'tokens/s':>10}{'GFLOP/s':>10}{'of peak':>9}{'strata over it':>16}")
for name, rate in sorted(rates.items(), key=lambda item: -item[1]):
    flops = rate * flops_per_token
    print(f"{name:<28}{rate:>10.0f}{flops / 1e9:>10.0f}{100 * flops / peak:>8.0f}%{rates['strata'] / rate:>16.2f}")
print("matrix peaks, GFLOP/s: " + ", ".join(f"{name} {value / 1e9:.0f}" for name, value in sorted(peaks.items(), key=lambda item: -item[1]))
      + (f"; Strata over the fastest of PyTorch's: {rates['strata'] / max(rates[n] for n in rivals):.2f}" if rivals else ""))
if isa == "portable":
    print("PyTorch's MKL may have used AVX2 all the same; its GEMMs count for no peak")
if output:
    json.dump({"threads": int(threads), "precision": precision, "isa": isa or None, "tokens_per_second": rates,
               "flops_per_token": flops_per_token, "matrix_peak_flops_per_second": peak, "matrix_peaks": peaks, "runs": runs},
              open(output, "w"), indent=2)
PY
