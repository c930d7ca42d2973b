#!/usr/bin/env bash
# Makes a folder that is laid out as an MLPerf submission: trains all runs, fills in what this machine tells, checks, scores and
# reports them. Run again, it goes on where it was interrupted, and keeps runs that have ended.
# Usage: scripts/submission.sh [OPTION...] [KEY=VALUE...]     KEY=VALUE: see docs/config.md, e.g. run.organization=Acme
#   --config FILE       the runs' configuration; default scripts/configs/quickstart.yaml, whose data are made
#   --out FOLDER        where the submission goes; default runs/submission. The runs themselves lie in FOLDER.runs
#   --runs N            default 10, which is what BERT's rules ask for
#   --ranks N           ranks on this machine; default 2
#   --launcher COMMAND  starts the ranks in place of scripts/mpirun.sh -n N, such as 'srun --mpi=pmix'
#   --description FILE  JSON with fields of the system's description that only you know
#   --dry-run           says what is missing, and trains nothing
# Environment: STRATA, the program; default: the quickstart's, which is built.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

config=$root/scripts/configs/quickstart.yaml out=$root/runs/submission runs=10 ranks=2 launcher='' description='' dry_run=false
overrides=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --config | --out | --runs | --ranks | --launcher | --description)
      [[ $# -gt 1 ]] || give_up "$1 needs a value; see --help"
      declare "${1#--}=$2"
      shift ;;
    --dry-run) dry_run=true ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) give_up "unknown option $1; see --help" ;;
    *=*) overrides+=(--set "$1") ;;
    *) give_up "$1: expected KEY=VALUE; see --help" ;;
  esac
  shift
done
[[ $runs =~ ^[1-9][0-9]*$ ]] || give_up "--runs $runs: expected a number of at least 1"
[[ $ranks =~ ^[1-9][0-9]*$ ]] || give_up "--ranks $ranks: expected a number of at least 1"
[[ -f $config ]] || give_up "$config is missing; name the runs' configuration with --config"
[[ -z $description ]] || python3 -I -c 'import json, sys; assert isinstance(json.load(open(sys.argv[1])), dict)' "$description" 2>/dev/null ||
  give_up "$description is not a JSON object; see the fields in systems/*.json of any submission"
out=$(realpath -m -- "$out")
[[ ! -e $out || -f $out/made_by.txt ]] || give_up "$out exists already, and this script did not make it; name another folder with --out"

strata=${STRATA:-$root/build/quickstart/cli/strata}
if [[ -z ${STRATA:-} ]]; then
  install_packages "${build_packages[@]}" "${training_packages[@]}" "${data_packages[@]}"
  build quickstart strata
fi
[[ $config -ef $root/scripts/configs/quickstart.yaml ]] && "$root/scripts/data/prepare_quickstart_data.sh" "$strata"
read -ra launch <<<"$launcher"
[[ -n $launcher || $ranks -eq 1 ]] || launch=("$root/scripts/mpirun.sh" -n "$ranks")
train=("${launch[@]}" "$strata" train --config "$config" "${overrides[@]}" --set run.output="$out.runs" --experiments "$runs")

if $dry_run; then
  say "checking what the runs need"
  status=0
  "${train[@]}" --dry-run || status=$?
  begun=("$out.runs"/*/results/*/*/result_*.txt)
  [[ -e ${begun[0]} ]] || begun=()
  say "${#begun[@]} of $runs runs have begun in $out.runs"
  exit $status
fi

mkdir -p "$(dirname "$out")"
exec {lock}>"$out.lock"
flock --nonblock "$lock" || give_up "$out: another submission is being made there; wait for it"
say "training $runs runs into $out.runs; after an interruption, run the same command to continue"
status=0
"${train[@]}" --continue || status=$?
[[ $status -le 1 ]] || give_up "training failed (exit code $status); the runs that ended are kept in $out.runs"

say "laying out $out"
rm -rf "$out.unfinished"
python3 -I - "$out.runs" "$out.unfinished" "$runs" "$config" "$("$strata" --version | sed -n "1,2{s/, build type.*//;p}" | paste -sd , | sed 's/,/, /')" "$description" "$root/scripts/parts" <<'PYTHON'
import json
import pathlib
import sys

runs, out, count, config, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4]), sys.argv[5]
given = json.load(open(sys.argv[6], encoding="utf-8")) if sys.argv[6] else {}
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[7])
from submission_layout import write_submission

readme = f"""# Strata

{version}, made these runs. A checkout of it makes such runs again:

    scripts/submission.sh --config {config.name} --runs {count}

Data and weights: `docs/quickstart.md`, or `docs/mlperf.md` for MLPerf's.
"""
for description in sorted(runs.glob("*/systems/*.json")):
    organization, system = description.parts[-3], description.stem
    fields = json.loads(description.read_text(encoding="utf-8")) | given
    for benchmark in sorted((runs / organization / "results" / system).iterdir()):
        logs = [benchmark / f"result_{number}.txt" for number in range(count)]
        write_submission(out / organization, system, fields, benchmark.name, logs, "strata", config, readme)
(out / "made_by.txt").write_text("scripts/submission.sh\n")
PYTHON
if [[ -e $out ]]; then archive "$out" previous; fi
mv -T -- "$out.unfinished" "$out"

failed=()
official=${STRATA_ORACLE_PYTHON:-$root/.venv/bin/python}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for submission in "$out"/*/; do
  submission=${submission%/}
  say "checking $submission"
  "$strata" check package "$submission" | tee "$scratch/check.txt" || failed+=("strata check package")
  status=0
  "$root/scripts/parts/official_package_check.sh" "$official" "$submission" "$scratch/check.txt" || status=$?
  [[ $status -eq 0 || $status -eq 77 ]] || failed+=("the official package checker")
done
say "scoring"
"$strata" score "$out" || failed+=("strata score")
"$strata" report "$out" -o "$out.html" && say "report: $out.html"

say "you must still add"
for file in "$out"/*/systems/*.json; do
  printf '  %s: ' "${file#"$out"/}"
  sed -nE 's/^  "([^"]*)": "N\/A",?$/\1/p' "$file" | paste -sd ' '
done
cat <<TEXT
  names (run.organization, run.system), availability (run.status), code of others that you use, power logs
  --description FILE fills in fields of a system; docs/compliance.md says what else a submitter adds
TEXT
target=$(grep -hoE '"key": "quality_target", "value": [0-9.]+' "$out"/*/results/*/*/result_0.txt | grep -oE '[0-9.]+$' | sort -u)
[[ $target == 0.72 ]] ||
  say "this folder has the layout of a submission, but is not a valid one: its target is $target; MLPerf's BERT has 0.72 on Wikipedia (docs/mlperf.md)"
if [[ ${#failed[@]} -gt 0 ]]; then
  printf -v list '%s, ' "${failed[@]}"
  say "these checks failed, see above: ${list%, }"
  exit 1
fi
