#!/usr/bin/env bash
# Time to the quickstart's target on this processor: `strata train` and PyTorch (transformers, SDPA, torch.compile, bf16 autocast,
# fused AdamW, heads at masked positions alone, micro-batches sorted by length) in turns, from the same checkpoint and HDF5 files with
# the same schedule, batch, seeds, evaluations, number of threads and rule for weights that the checkpoint lacks. Strata clips buckets,
# PyTorch the global norm; Strata's batches are stratified by length.
#   bench/peers/quickstart_vs_pytorch.sh [--target ACCURACY] [--seeds N,N,...] [--ranks N] [--threads N] [--precision bf16|fp32]
#                                        [--micro-batch N] [--variant compiled|eager]
#                                        [--strata PROGRAM] [--python PROGRAM] [--data FOLDER] [--set KEY=VALUE]... [--logs FOLDER]
#                                        [--json] [--output FILE]
# --target: masked-LM accuracy that ends a run (0.33). --seeds: a run of each program for each seed (1).
# --ranks: Strata's ranks (2). --threads: threads of all ranks together, and of PyTorch (all processors). --precision: of both (bf16).
# --micro-batch: samples that PyTorch computes at once (4). --variant: whether PyTorch compiles, before the clock starts (compiled).
# --strata: default build/release/cli/strata. --data: folder that scripts/data/prepare_quickstart_data.sh made (data-cache).
# --python: a Python with torch, transformers, h5py and yaml; without it, a venv in ${XDG_CACHE_HOME:-~/.cache}/strata/pytorch is used,
# and made from PyPI if it is absent (6 GB of disk). --json: print the numbers as JSON. --output: write that JSON there, too.
# --set: another key of the configuration (docs/config.md), for both: `--target 0.12 --set target.start_eval_at_sample=48` ends early.
# --logs: keep the MLPerf logs in this folder, laid out as two submissions, Strata and PyTorch; `strata check package`, `score`, `compare`
# and `report` read them. MLCommons' mlperf_logging writes PyTorch's; --python must have it, too. FOLDER.runs keeps each run: after an
# interruption the same command continues.
# Exits 1 if a run ends without the target.
set -euo pipefail
source "$(dirname "$0")/../../scripts/surroundings.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/bench/peers/venv.sh"
target=0.33 seeds=1 ranks=2 threads=$(nproc) precision=bf16 micro_batch=4 variant=compiled
strata=$root/build/release/cli/strata python= data=$root/data-cache output= json=false logs= overrides=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --json) json=true; shift ;;
    --set)
      [[ $# -ge 2 && $2 == *=* ]] || { echo "--set needs KEY=VALUE; see --help" >&2; exit 2; }
      overrides+=(--set "$2")
      shift 2 ;;
    --target | --seeds | --ranks | --threads | --precision | --micro-batch | --variant | --strata | --python | --data | --output | --logs)
      [[ $# -ge 2 ]] || { echo "$1 needs a value; see --help" >&2; exit 2; }
      option=${1#--}
      printf -v "${option//-/_}" %s "$2"
      shift 2 ;;
    *) echo "unknown option $1; see --help" >&2; exit 2 ;;
  esac
done
give_up() { echo "$*" >&2; exit 2; }
[[ $micro_batch =~ ^[1-9][0-9]*$ ]] || give_up "--micro-batch $micro_batch: expected a number of at least 1"
for number in ranks threads; do
  [[ ${!number} =~ ^[1-9][0-9]*$ ]] || give_up "--$number ${!number}: expected a number of at least 1"
done
[[ $threads -ge $ranks ]] || give_up "--threads $threads: fewer than --ranks $ranks"
((threads % ranks == 0)) || give_up "--threads $threads: not a multiple of --ranks $ranks"
[[ $target =~ ^(0?\.[0-9]+|1(\.0*)?)$ ]] || give_up "--target $target: expected a fraction above 0, at most 1"
[[ $seeds =~ ^[0-9]+(,[0-9]+)*$ ]] || give_up "--seeds $seeds: expected numbers with commas between them, such as 1,2,3"
[[ $precision == bf16 || $precision == fp32 ]] || give_up "--precision $precision: expected bf16 or fp32"
[[ $variant == compiled || $variant == eager ]] || give_up "--variant $variant: expected compiled or eager"
[[ -x $strata ]] || give_up "no $strata; build it first: cmake --preset release && cmake --build --preset release"
strata=$(realpath "$strata")
for file in minilm/config.json minilm/vocab.txt minilm/model.safetensors quickstart/train.hdf5 quickstart/eval.hdf5; do
  [[ -f $data/$file ]] || give_up "no $data/$file; scripts/data/prepare_quickstart_data.sh makes it, --data names another folder"
done
data=$(realpath "$data")

needs='torch, transformers, h5py, yaml' packages=(torch numpy transformers h5py pyyaml)
if [[ -n $logs ]]; then
  [[ ! -e $logs ]] || give_up "--logs $logs: exists already"
  needs+=', mlperf_logging'
  packages+=(mlperf-logging)
  mkdir -p "$logs.runs" || give_up "--logs $logs.runs: cannot be made"
  logs=$(realpath -m "$logs")
fi
if [[ -n $python ]]; then
  reason=$("$python" -c "import $needs" 2>&1) || give_up "--python $python: ${reason##*$'\n'}"
else
  venv=${XDG_CACHE_HOME:-$HOME/.cache}/strata/pytorch
  python=$venv/bin/python
  make_venv "$venv" "$needs" PyTorch "${packages[@]}"
fi

if [[ -n $logs ]]; then
  work=$logs.runs
  asked="--seeds $seeds --ranks $ranks --threads $threads --precision $precision --micro-batch $micro_batch --variant $variant --target $target"
  asked+=" ${overrides[*]}"
  [[ ! -e $work/asked.txt || $(<"$work/asked.txt") == "$asked" ]] || give_up "$work has runs with other options; remove it, or name another folder with --logs"
  echo "$asked" > "$work/asked.txt"
else
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
# run NAME COMMAND...: runs the command, which prints NAME.json and may write into the folder NAME, unless an earlier call did. A run without the target exits with 1
# after printing its numbers.
run() {
  local name=$1 status=0
  shift
  [[ ! -e $work/$name.json ]] || return 0
  rm -rf "$work/$name"
  mkdir "$work/$name"
  "$@" > "$work/$name.part" 2> "$work/$name.err" || status=$?
  [[ $status -eq 0 || ($status -eq 1 && -s $work/$name.part) ]] || { cat "$work/$name.err" >&2; give_up "$name failed"; }
  mv "$work/$name.part" "$work/$name.json"
}
shape=("$data/minilm/config.json" "${micro_batch}x512" --precision "$precision")
has_memory Strata strata-step "${shape[@]}" --ranks "$ranks" && has_memory PyTorch pytorch-step "${shape[@]}" --variant "$variant" ||
  give_up "Strata and PyTorch must both run; use a smaller --micro-batch"
for seed in ${seeds//,/ }; do
  echo "seed $seed: Strata" >&2
  run "strata.$seed" env OMP_NUM_THREADS=$((threads / ranks)) "$root/scripts/mpirun.sh" -n "$ranks" "$strata" train \
    --config "$root/scripts/configs/quickstart.yaml" --set run.output="$work/strata.$seed" --set run.seed="$seed" \
    --set model.config="$data/minilm/config.json" --set model.vocab="$data/minilm/vocab.txt" \
    --set model.checkpoint="$data/minilm/model.safetensors" --set data.train="$data/quickstart/train.hdf5" \
    --set data.eval="$data/quickstart/eval.hdf5" --set model.precision="$precision" --set target.masked_lm_accuracy="$target" "${overrides[@]}" --json
  settings=$(find "$work/strata.$seed" -name 'result_0.yaml')
  [[ -n $settings ]] || { cat "$work/strata.$seed.err" >&2; give_up "strata train wrote no result_0.yaml; see its messages above"; }
  system=$(basename "$(dirname "$(dirname "$settings")")") log=()
  if [[ -n $logs ]]; then
    log=(--log "$work/pytorch.$seed/result_0.txt" --organization PyTorch --platform "${system%_*}_1process")
  fi
  echo "seed $seed: PyTorch" >&2
  run "pytorch.$seed" "${pytorch_memory[@]}" "$python" "$root/bench/peers/pytorch/pytorch_train.py" "$settings" "$seed" \
    --threads "$threads" --ranks "$ranks" --micro-batch "$micro_batch" --variant "$variant" "${log[@]}"
done

if [[ -n $logs ]]; then
  "$python" "$root/bench/peers/pytorch/submissions.py" "$work" "$logs.unfinished" "${seeds//,/ }" "$root"
  mv -T "$logs.unfinished" "$logs"
  echo "logs: $logs" >&2
fi
"$python" - "$work" "$seeds" "$threads" "$ranks" "$target" "$precision" "$variant" "$output" "$json" << 'PY'
import json, pathlib, statistics, sys
work, seeds, threads, ranks, target, precision, variant, output, as_json = sys.argv[1:]


def read(name, seed):
    text = pathlib.Path(work, f"{name}.{seed}.json").read_text()
    found = json.JSONDecoder().raw_decode(text[text.index("{"):])[0]
    return found["experiments"][0] if name == "strata" else found


keys = ("seed", "seconds", "samples", "accuracy", "reached_target")
runs = {name: [{key: read(name, seed)[key] for key in keys} for seed in seeds.split(",")] for name in ("strata", "pytorch")}
torch = read("pytorch", seeds.split(",")[0])["torch"]
median = {name: statistics.median(run["seconds"] for run in of) for name, of in runs.items()}
per_sample = {name: statistics.median(run["seconds"] / run["samples"] for run in of) for name, of in runs.items()}
reached = all(run["reached_target"] for of in runs.values() for run in of)
result = {"target": float(target), "precision": precision, "threads": int(threads), "ranks": int(ranks), "torch": torch,
          "variant": variant, "runs": runs, "median_seconds": median, "reached_target": reached,
          "ratio": median["pytorch"] / median["strata"] if reached else None,
          "ratio_per_sample": per_sample["pytorch"] / per_sample["strata"]}
if as_json == "true":
    print(json.dumps(result, indent=2))
else:
    print(f"target {target}, {precision}, {threads} threads; Strata on {ranks} ranks, PyTorch {torch}, {variant}")
    print(f"{'':<10}{'seed':>8}{'seconds':>10}{'samples':>9}{'accuracy':>10}")
    for name, of in runs.items():
        for run in of:
            print(f"{name:<10}{run['seed']:>8}{run['seconds']:>10.1f}{run['samples']:>9}{run['accuracy']:>10.4f}"
                  f"{'' if run['reached_target'] else '   target not reached'}")
    what = f"PyTorch's time over Strata's, medians: {result['ratio']:.2f}" if reached else "no ratio: a run ended without the target"
    print(f"{what}; per sample trained on: {result['ratio_per_sample']:.2f}")
if output:
    pathlib.Path(output).write_text(json.dumps(result, indent=2) + "\n")
sys.exit(0 if reached else 1)
PY
