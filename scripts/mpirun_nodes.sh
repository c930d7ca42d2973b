#!/usr/bin/env bash
# Trains on several machines with the mpirun of Open MPI, MPICH or Intel MPI, one rank for every GPU (or as many as the hosts' slots say).
# Usage: scripts/mpirun_nodes.sh --hosts HOST[:SLOTS],... | --hostfile FILE [OPTION...] CONFIG [KEY=VALUE...]
#   --hosts LIST      machines and ranks on each: node1:8,node2:8; localhost:8 for this one
#   --hostfile FILE   the same as Open MPI's hostfile: 'node1 slots=8' a line
#   --interface NAME  network interface that the machines reach each other by (NCCL and MPI choose else)
#   --strata PROGRAM  default build/release/cli/strata, else the installed one; the same path on every machine
#   --dry-run         only print the command
#   --resume, --continue, --experiments N   as of 'strata train'; these may stand behind CONFIG, too
#   KEY=VALUE         configuration keys to override, as in 'strata train --set'
# Environment: STRATA_MPIRUN, the launcher if it is not mpirun
# Machines need ssh between them without a password, and the data under the same paths.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hosts=() options=() interface= strata=$root/build/release/cli/strata dry_run=
while [[ ${1:-} == -* ]]; do
  case $1 in
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    --dry-run) dry_run=1; shift ;;
    --resume | --continue) options+=("$1"); shift ;;
    --experiments=*) options+=("$1"); shift ;;
    --hosts | --hostfile | --interface | --strata | --experiments)
      [[ $# -ge 2 ]] || give_up "$1 needs a value; see --help"
      case $1 in
        --hosts) hosts=(--host "$2") ;;
        --hostfile) [[ -f $2 ]] || give_up "$2: no such hostfile"; hosts=(--hostfile "$2") ;;
        --interface) interface=$2 ;;
        --strata) strata=$2 ;;
        --experiments) options+=("$1" "$2") ;;
      esac
      shift 2 ;;
    *) give_up "unknown option $1; see --help" ;;
  esac
done
[[ ${#hosts[@]} -gt 0 ]] || give_up "name the machines with --hosts or --hostfile; see --help"
[[ $# -ge 1 ]] || give_up "name the run's configuration; see --help"
[[ -f $1 ]] || give_up "$1: no such configuration"
# An installed launcher starts the installed program.
[[ -x $strata || $strata != "$root/build/release/cli/strata" ]] || strata=$(command -v strata || printf %s "$strata")
[[ -x $strata ]] || give_up "$strata is missing: build the release preset, or give --strata"

# Prints hosts as "node1:8,node2:4" from --hosts' list or from a hostfile with lines such as "node1 slots=8" or "node1:8".
host_list() {
  if [[ ${hosts[0]} == --host ]]; then tr , '\n' <<<"${hosts[1]}"; else cat "${hosts[1]}"; fi |
    awk '{ sub(/#.*/, "") } NF {
      slots = 1
      host = $1
      if (split($1, part, ":") == 2) { host = part[1]; slots = part[2] }
      for (i = 2; i <= NF; ++i) if ($i ~ /^slots=/) slots = substr($i, 7)
      printf "%s%s:%d", (count++ ? "," : ""), host, slots
    }'
}

launcher=$("$root/scripts/mpirun.sh" --launcher) || exit 2
kind=${launcher%% *} launcher=${launcher#* }
# The environment that the ranks need.
variables=()
for name in $(compgen -e | grep -E '^(LD_LIBRARY_PATH$|CUDA_|NCCL_|OMP_|STRATA_|UCX_)' || true); do variables+=("$name"); done
case $kind in
  open-mpi)
    command=("$launcher" "${hosts[@]}" --bind-to none --mca odls_base_sigkill_timeout 0)
    [[ $(id -u) -ne 0 ]] || command+=(--allow-run-as-root)
    if [[ -n $interface ]]; then
      command+=(--mca btl_tcp_if_include "$interface" --mca oob_tcp_if_include "$interface" -x "NCCL_SOCKET_IFNAME=$interface")
    fi
    for name in "${variables[@]}"; do command+=(-x "$name"); done ;;
  mpich | intel)
    list=$(host_list)
    ranks=$(tr , '\n' <<<"$list" | awk -F: '{ ranks += $2 } END { print ranks }')
    if [[ $kind == mpich ]]; then
      command=("$launcher" -hosts "$list" -n "$ranks" -bind-to none)
    else
      # Intel's launcher takes no slots of single hosts.
      slots=$(tr , '\n' <<<"$list" | sed 's/.*://' | sort -u)
      [[ $slots =~ ^[0-9]+$ ]] || give_up "Intel MPI starts the same number of ranks on every host; give all hosts the same number"
      command=("$launcher" -hosts "$(sed 's/:[0-9]*//g' <<<"$list")" -ppn "$slots" -n "$ranks" -genv I_MPI_PIN 0)
    fi
    if [[ -n $interface ]]; then command+=(-iface "$interface" -genv NCCL_SOCKET_IFNAME "$interface"); fi
    for name in "${variables[@]}"; do command+=(-genv "$name" "${!name}"); done ;;
  *)
    give_up "$launcher is neither Open MPI's launcher nor that of MPICH or Intel MPI; name one in STRATA_MPIRUN" ;;
esac
refuse_path "the program" "$strata"  # mpirun and ssh pass these as text
refuse_path "the configuration" "$1"
command+=("$strata" train --config "$1")
shift
while [[ $# -gt 0 ]]; do
  case $1 in
    --resume | --continue | --experiments=*) options+=("$1") ;;
    --experiments)
      [[ $# -ge 2 ]] || give_up "$1 needs a value; see --help"
      options+=("$1" "$2")
      shift ;;
    -*) give_up "unknown option $1; see --help" ;;
    *=*) options+=(--set "$1") ;;
    *) give_up "$1: write KEY=VALUE" ;;
  esac
  shift
done
command+=("${options[@]}")
if [[ -n $dry_run ]]; then
  printf '%q ' "${command[@]}"
  printf '\n'
  exit 0
fi
exec "${command[@]}"
