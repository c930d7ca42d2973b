#!/usr/bin/env bash
# scripts/mpirun.sh and scripts/mpirun_nodes.sh with launchers that refuse options of others.
# Usage: tests/scripts/mpirun_test.sh
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source "$root/tests/scripts/expect.sh"

# launcher NAME VERSION OPTION...: makes a launcher that knows only the options and prints its command and some variables.
launcher() {
  local name=$1 version=$2
  shift 2
  cat >"$work/bin/$name" <<BASH
#!/bin/bash
if [[ \${1:-} == --version ]]; then printf '%s\n' '$version'; exit 0; fi
echo "$name pin=\${I_MPI_PIN:-} affinity=\${MV2_ENABLE_AFFINITY:-} \$*"
while [[ \${1:-} == -* ]]; do
  [[ " $* " == *" \$1 "* ]] || { echo "$name: unrecognized argument \$1" >&2; exit 255; }
  [[ \$1 == --oversubscribe || \$1 == --allow-run-as-root ]] || shift
  [[ \$1 != odls_base_sigkill_timeout ]] || shift
  shift
done
exec "\$@"
BASH
  chmod +x "$work/bin/$name"
}
openmpi=(-n --oversubscribe --allow-run-as-root --bind-to --mca --host --hostfile -x)
hydra=(-n -bind-to -hosts -genv -iface)
started() { PATH=$work/bin:/usr/bin:/bin "$root/scripts/mpirun.sh" -n 2 echo ranks run >"$work/out" 2>&1; }
said() { grep -qF -- "$1" "$work/out"; }

mkdir -p "$work/bin"
for version in 'mpirun (Open MPI) 4.1.4' 'mpirun (Open MPI) 5.0.7'; do
  launcher mpirun "$version" "${openmpi[@]}"
  expect "$version starts" started
  expect "$version runs the program" said 'ranks run'
  expect "$version gets its options" said '--oversubscribe --bind-to none --mca odls_base_sigkill_timeout 0 -n 2'
done
for version in $'HYDRA build details:\n    Version:                                 4.2.1' 'MVAPICH Version 3.0'; do
  launcher mpirun "$version" "${hydra[@]}"
  expect "$version starts" started
  expect "$version gets its options" said 'affinity=0 -bind-to none -n 2 echo ranks run'
done
launcher mpirun 'Intel(R) MPI Library for Linux* OS, Version 2021.11' -n
expect "Intel MPI starts" started
expect "Intel MPI is told by a variable" said 'pin=0 affinity= -n 2 echo'
launcher mpirun 'another launcher' -n
expect "an unknown launcher starts" started
expect "an unknown launcher gets no options" said 'affinity= -n 2 echo ranks run'

# The launcher of another MPI than the first in PATH.
launcher mpirun.mpich 'HYDRA build details:' "${hydra[@]}"
expect "STRATA_MPIRUN starts" env STRATA_MPIRUN="$work/bin/mpirun.mpich" "$root/scripts/mpirun.sh" -n 1 true
STRATA_MPIRUN=$work/none "$root/scripts/mpirun.sh" -n 1 true >"$work/out" 2>&1
expect "a missing launcher is an error" test $? -eq 2
expect "a missing launcher is named" said "there is no $work/none: install an MPI"

# On several machines.
printf '#!/bin/sh\n' >"$work/strata"
chmod +x "$work/strata"
touch "$work/run.yaml"
printf 'node1 slots=8\n\n# spare\nnode2 slots=4 max_slots=4\nnode3\n' >"$work/hosts"
nodes() { PATH=$work/bin:/usr/bin:/bin NCCL_DEBUG=INFO "$root/scripts/mpirun_nodes.sh" --dry-run --strata "$work/strata" "$@" "$work/run.yaml" >"$work/out" 2>&1; }
launcher mpirun 'mpirun (Open MPI) 4.1.4' "${openmpi[@]}"
expect "Open MPI on nodes" nodes --hosts node1:8,node2:4 --interface eth0
for words in '--host node1:8\,node2:4 --bind-to none' '-x NCCL_SOCKET_IFNAME=eth0' '-x NCCL_DEBUG' '--mca btl_tcp_if_include eth0'; do
  expect "Open MPI on nodes: $words" said "$words"
done
launcher mpirun 'HYDRA build details:' "${hydra[@]}"
expect "MPICH on nodes" nodes --hosts node1:8,node2 --interface eth0
for words in '-hosts node1:8\,node2:1 -n 9 -bind-to none' '-iface eth0' '-genv NCCL_SOCKET_IFNAME eth0' '-genv NCCL_DEBUG INFO'; do
  expect "MPICH on nodes: $words" said "$words"
done
for words in --mca --bind-to --allow-run-as-root ' -x '; do expect "MPICH on nodes: not $words" not said "$words"; done
expect "MPICH with a hostfile" nodes --hostfile "$work/hosts"
expect "MPICH with a hostfile: all slots" said '-hosts node1:8\,node2:4\,node3:1 -n 13'
launcher mpirun 'Intel(R) MPI Library for Linux* OS, Version 2021.11' -n
expect "Intel MPI on nodes" nodes --hosts node1:4,node2:4
expect "Intel MPI on nodes: its options" said '-hosts node1\,node2 -ppn 4 -n 8 -genv I_MPI_PIN 0'
expect "Intel MPI with unequal hosts is refused" not nodes --hosts node1:4,node2:2
launcher mpirun 'another launcher' -n
expect "an unknown launcher on nodes is refused" not nodes --hosts node1:8
expect "an unknown launcher on nodes: why" said 'is neither'
exit $((failures > 0))
