#!/usr/bin/env bash
# Starts a private Slurm on this machine (munge, a controller, a node daemon), runs scripts/slurm/train.sbatch and a search there,
# prints each check that held or failed, and exits with 1 if one failed.
# Usage: scripts/campaigns/slurm.sh [STRATA]     as root, on Debian or Ubuntu; default build/release/cli/strata
# Environment: KEEP=1 keeps the folder of logs
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

case ${1:-} in
  -h | --help) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
esac
strata=$(realpath -m -- "${1:-$root/build/release/cli/strata}")
[[ -x $strata ]] || give_up "$strata is missing; name the program"
[[ $(id -u) == 0 ]] || give_up "Slurm's daemons need root here"
install_packages slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge

wait_until() {  # SECONDS CONDITION...
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.3
  done
}

work=$(mktemp -d)
chmod 755 "$work"
daemons=() USER=$(id -un)
no_job_is_left() { [[ -z $(squeue --noheader 2>/dev/null) ]]; }
stop_all() {
  # Without its daemons a job would go on.
  scancel --user "$USER" 2>/dev/null || true
  wait_until 30 no_job_is_left || true
  for daemon in "${daemons[@]}"; do kill "$daemon" 2>/dev/null || true; done
  wait 2>/dev/null || true
  [[ -n ${KEEP:-} ]] || rm -rf "$work"
}
trap stop_all EXIT
cd "$work"
host=$(hostname -s)
mkdir munge
chown munge: munge
runuser -u munge -- munged --foreground --socket="$work/munge/socket" --pid-file="$work/munge/pid" --log-file="$work/munge/log" \
  --seed-file="$work/munge/seed" >munged.log 2>&1 &
daemons+=($!)
cat >slurm.conf <<CONF
ClusterName=strata
SlurmctldHost=$host
SlurmctldPort=26817
SlurmdPort=26818
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
SlurmUser=root
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
KillWait=5
ReturnToService=2
NodeName=$host CPUs=$(nproc) State=UNKNOWN
PartitionName=main Nodes=$host Default=YES State=UP
CONF
mkdir state spool
export SLURM_CONF=$work/slurm.conf
slurmctld -D -f "$SLURM_CONF" >slurmctld.log 2>&1 &
daemons+=($!)
slurmd -D -f "$SLURM_CONF" -N "$host" >slurmd.log 2>&1 &
daemons+=($!)
node_is_idle() { [[ $(sinfo --noheader --format %T 2>/dev/null) == idle ]]; }
wait_until 20 node_is_idle || { tail slurmctld.log slurmd.log >&2; give_up "Slurm's node did not come up"; }
say "$(sinfo --version), MPI: $(srun --mpi=list 2>&1 | paste -sd ' ')"

data=$root/tests/golden/reference/mlperf_reference.tfrecord
cat >tiny.yaml <<YAML
run: {organization: Acme, system: box, seed: 7, output: $work/runs}
model: {config: tiny, precision: fp32}
device: {threads: 1}
data: {train: $data, eval: $data}
batch: {micro_batch: 2}
optimizer: {lr: 1e-3}
lr_schedule: {warmup_steps: 5, training_steps: 20}
target: {masked_lm_accuracy: 0.0001, eval_interval_samples: 40, start_eval_at_sample: 40}
initialization: {clear_whole_cache: false, warmup_steps: 0}
YAML
# A run that does not end by itself.
endless=(run.output="$work/endless" target.masked_lm_accuracy=1 target.max_steps=100000000 lr_schedule.training_steps=100000000
  target.start_eval_at_sample=1000000000 target.eval_interval_samples=1000000000 checkpoint.every_seconds=2)
export STRATA=$strata OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
two_tasks=(--ntasks-per-node 2 --gpus-per-node 0 --output "$work/job-%A_%a.log")
train() {  # SBATCH_OPTION... -- ARGUMENT...: prints the job's number
  local options=()
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  sbatch --parsable "${two_tasks[@]}" "${options[@]}" "$root/scripts/slurm/train.sbatch" tiny.yaml "$@"
}

failures=0
expect() {  # WHAT CONDITION...
  local what=$1
  shift
  if "$@"; then
    echo "held    $what"
  else
    echo "FAILED  $what ($*)"
    failures=$((failures + 1))
  fi
}
state_of() { scontrol show job "$1" | sed -nE 's/.*JobState=([A-Z_]*).*/\1/p' | sort -u | paste -sd ' '; }
ends_within() { wait_until "$1" has_ended "$2" || echo "job $2 still runs after $1 s"; }  # SECONDS JOB
has_ended() { [[ ! $(state_of "$1") =~ PENDING|RUNNING|COMPLETING|CONFIGURING ]]; }
is_state() { [[ $(state_of "$1") == "$2" ]]; }
files() { compgen -G "$1" | wc -l; }
count_is() { [[ $(files "$1") -eq $2 ]]; }
exists() { compgen -G "$1" >/dev/null; }

result=Acme/results/box/bert
job=$(train --)
ends_within 120 "$job"
expect "a job of two tasks trains through PMIx" is_state "$job" COMPLETED
expect "on two ranks" grep -q '2 ranks' runs/Acme/systems/box.json
expect "its log passes" "$strata" check log --quiet "runs/$result/result_0.txt"

job=$(train --array 0-9%1 --)
ends_within 300 "$job"
expect "an array of ten jobs leaves ten results" count_is "runs/$result/result_?.txt" 10
expect "and no other" count_is "runs/$result/result_*.txt*" 10

# The limit is one minute, and the signal comes up to a minute before it: soon after the start.
job=$(train --time 1 --signal TERM@60 --requeue -- --resume "${endless[@]}")
expect "a running job saves checkpoints" wait_until 60 exists "endless/$result/result_0.checkpoints/step_*"
ends_within 120 "$job"
expect "the time limit ends it by SIGTERM" grep -q '"status": "aborted"' "endless/$result/result_0.txt"
expect "and the job fails" grep -qE 'FAILED|TIMEOUT' <(state_of "$job")

job=$(train --requeue -- --resume "${endless[@]}")
expect "the next job resumes it" wait_until 60 grep -q '"key": "resumed"' "endless/$result/result_0.txt"
scontrol requeue "$job"
# A requeued job would wait for two minutes.
wait_until 30 is_state "$job" PENDING && scontrol update "JobId=$job" StartTime=now
expect "a requeued job resumes it again" wait_until 90 exists "endless/$result/result_0.txt.interrupted.2"
wait_until 60 pgrep -P "$(pgrep -d , slurmstepd)" -x strata >/dev/null
kill -KILL "$(pgrep -P "$(pgrep -d , slurmstepd)" -x strata | tail -n 1)"  # a task, not a process that it forked
ends_within 60 "$job"
expect "a killed task ends the job" grep -qE 'FAILED' <(state_of "$job")
expect "and the log" grep -q '"status": "aborted"' "endless/$result/result_0.txt"

rm -f job-*.log
job=$(SRUN_MPI=none train -- run.output="$work/alone")
ends_within 60 "$job"
expect "without PMIx the job fails" is_state "$job" FAILED
expect "each task with one error that names PMIx" test "$(grep 'started 2 ranks' job-*.log | grep -c pmix)" -eq 2
expect "and no result" test ! -e "alone/$result/result_0.txt"

cat >space.yaml <<YAML
config: $work/tiny.yaml
ranks: 1
seed: 1
objective: samples
rungs: {trials: 4, eta: 2, samples: [40]}
evaluate_every_samples: 40
finals: {trials: 1, seeds: 2, samples: 40}
space:
  - {key: optimizer.lr, log_uniform: [1e-4, 1e-2]}
YAML
cat >search.sh <<BATCH
#!/bin/sh
exec "$strata" search --space space.yaml --out search --slots 2 \
  --launcher 'srun --mpi=pmix --exact --overlap --ntasks={ranks} --cpus-per-task=1 --gpus-per-task=0'
BATCH
job=$(sbatch --parsable --ntasks 2 --output "$work/search.log" search.sh)
ends_within 180 "$job"
expect "a search runs its trials by srun inside an allocation" is_state "$job" COMPLETED
[[ $failures -eq 0 ]] || { tail -n 20 job-*.log search.log >&2; exit 1; }
