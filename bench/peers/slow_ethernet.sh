#!/usr/bin/env bash
# Two ranks joined by a real, slow network: two network namespaces, a virtual Ethernet cable with a
# token-bucket limit at both ends, Open MPI over TCP. Needs root and a built strata.
# Prints, for every speed, the clip modes side by side (strata bench overlap), or with --measure
# schedule every schedule (strata bench schedule); then, at the first speed, a weak-scaling
# table: one rank against two, for gradient accumulation 1, 4 and 16 and for reduction in fp32 and
# bf16.
# Usage: bench/peers/slow_ethernet.sh [--config FILE] [--gbits LIST] [--accumulation LIST] [--steps N]
#                               [--tokens N] [--measure WHAT] [--only SECTIONS] [--sleep GFLOPS]
#                               [--strata PROGRAM] [-- KEY=VALUE...]
#   --config FILE        default scripts/configs/quickstart.yaml
#   --gbits LIST         speeds; default 1,10
#   --accumulation LIST  micro-batches a step in the weak-scaling table; default 1,4,16; '' leaves it out
#   --steps N            measured steps; default 7
#   --tokens N           tokens a micro-batch, in place of the configuration's sequences
#   --measure WHAT       overlap or schedule; default overlap
#   --only SECTIONS      of strata bench schedule: data_parallel, pipelines, sharding, modules
#   --sleep GFLOPS       of strata bench schedule: compute nothing, so that ranks need no core each
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"

config=$root/scripts/configs/quickstart.yaml
speeds=1,10
accumulations=1,4,16
steps=7
tokens=()
measure=overlap
of_schedule=()
strata=$root/build/release/cli/strata
overrides=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --config) config=$2; shift 2 ;;
    --gbits) speeds=$2; shift 2 ;;
    --accumulation) accumulations=$2; shift 2 ;;
    --steps) steps=$2; shift 2 ;;
    --tokens) tokens=(--tokens "$2"); shift 2 ;;
    --measure) measure=$2; shift 2 ;;
    --only | --sleep) of_schedule+=("$1" "$2"); shift 2 ;;
    --strata) strata=$2; shift 2 ;;
    --) shift; for override in "$@"; do overrides+=(--set "$override"); done; break ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) give_up "unknown option $1; see --help" ;;
  esac
done
case $measure in
  overlap) [[ ${#of_schedule[@]} -eq 0 ]] || give_up "${of_schedule[0]} needs --measure schedule" ;;
  schedule) ;;
  *) give_up "unknown measurement $measure; see --help" ;;
esac
[[ $(id -u) -eq 0 ]] || give_up "network namespaces need root; run this script as root"
[[ -x $strata ]] || give_up "$strata is missing: build it first (scripts/test.sh), or give --strata"
command -v ip tc >/dev/null || install_packages iproute2

first=strata-$$-1 second=strata-$$-2
network=10.77.0
work=$(mktemp -d)
clean_up() {
  ip netns del "$first" 2>/dev/null || true
  ip netns del "$second" 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT

ip netns add "$first"
ip netns add "$second"
ip link add link0 netns "$first" type veth peer name link0 netns "$second"
for side in 1 2; do
  name=strata-$$-$side
  ip -n "$name" address add $network.$side/24 dev link0
  ip -n "$name" link set lo up
  ip -n "$name" link set link0 up
done

# set_speed GBITS: limits both ends of the cable.
set_speed() {
  local burst
  burst=$(python3 -I -c "print(max(65536 * 2, int($1 * 1e9 / 8 / 1000)))")
  for name in "$first" "$second"; do
    tc -n "$name" qdisc replace dev link0 root tbf rate "${1}gbit" burst "$burst" latency 50ms
  done
}

# Open MPI starts its daemon on the other "machine" with this script instead of ssh. Each side has
# its own host name, or the daemons would take both for one machine.
cat >"$work/agent" <<EOF
#!/bin/sh
# Usage: agent ADDRESS COMMAND...
address=\$1
shift
exec ip netns exec "strata-$$-\${address##*.}" unshare --uts sh -c "hostname strata-\${address##*.}; \$*"
EOF
chmod +x "$work/agent"

# two_ranks COMMAND...: runs a rank on each side of the cable.
two_ranks() {
  "$work/agent" $network.1 "'$root/scripts/mpirun.sh' --host $network.1,$network.2 -n 2 \
    --mca plm_rsh_agent '$work/agent' --mca btl tcp,self --mca pml ob1 \
    --mca btl_tcp_if_include $network.0/24 --mca oob_tcp_if_include $network.0/24 \
    -x OMP_NUM_THREADS=1 $(printf "'%s' " "$@")"
}

# One or two ranks use one thread each: weak scaling.
bench=("$strata" bench)
settings=(--config "$config" --set device.threads=1 "${overrides[@]}" "${tokens[@]}")

for speed in ${speeds//,/ }; do
  say "two ranks over $speed Gbit/s"
  set_speed "$speed"
  two_ranks "${bench[@]}" "$measure" "${settings[@]}" "${of_schedule[@]}" --steps "$steps" --real-network
done

[[ -n $accumulations ]] || exit 0
speed=${speeds%%,*}
set_speed "$speed"
say "weak scaling over $speed Gbit/s: one rank against two, one thread each"
printf '%-14s%-8s%14s%14s%12s%14s\n' accumulation reduce 'one rank, s' 'two ranks, s' efficiency 'tokens/s of 2'
for accumulation in ${accumulations//,/ }; do
  for dtype in fp32 bf16; do
    step=(step "${settings[@]}" --set "batch.gradient_accumulation_steps=$accumulation"
      --set "reduce.dtype=$dtype" --steps "$steps" --json)
    OMP_NUM_THREADS=1 "${bench[@]}" "${step[@]}" >"$work/one.json" 2>/dev/null
    two_ranks "${bench[@]}" "${step[@]}" >"$work/two.json" 2>/dev/null
    python3 -I - "$work" "$accumulation" "$dtype" <<'EOF'
import json, sys
work, accumulation, dtype = sys.argv[1:]
one, two = (json.load(open(f"{work}/{name}.json")) for name in ("one", "two"))
# Compares the time per token and rank, since batches differ a little.
efficiency = two["tokens_per_second"] / (2 * one["tokens_per_second"])
print(f"{accumulation:<14}{dtype:<8}{one['seconds']['step']:14.3f}{two['seconds']['step']:14.3f}"
      f"{100 * efficiency:11.1f}%{two['tokens_per_second']:14.0f}")
EOF
  done
done
