#!/bin/sh
# Starts ranks as tests and the quickstart need it: ranks may outnumber cores, are bound to none (their threads would share one
# core), and may run as root, as in a container. When one rank ends with an error, the others are killed at once: Open MPI would
# wait for its grace period twice, and the log is ended all the same.
# Knows the launchers of Open MPI, MPICH, MVAPICH and Intel MPI by `mpirun --version`. Any other gets no options.
# Usage: scripts/mpirun.sh -n RANKS PROGRAM [ARGUMENT...]
#        scripts/mpirun.sh --launcher       only prints the launcher and its kind: open-mpi, intel, mpich or unknown
# Environment: STRATA_MPIRUN, the launcher (mpirun, else mpiexec). It must belong to the MPI that the program was built with
set -eu
export LC_ALL=C.UTF-8
launcher=${STRATA_MPIRUN:-}
for name in mpirun mpiexec; do
  if [ -z "$launcher" ] && command -v "$name" >/dev/null; then launcher=$name; fi
done
if ! command -v "${launcher:-mpirun}" >/dev/null; then
  echo "mpirun.sh: there is no ${launcher:-mpirun}: install an MPI (Debian: openmpi-bin or mpich), or name its launcher in STRATA_MPIRUN" >&2
  exit 2
fi
case $("$launcher" --version 2>&1 </dev/null || true) in
  *'Open MPI'* | *OpenRTE* | *PRRTE*) kind=open-mpi ;;
  *Intel*) kind=intel ;;
  *HYDRA* | *MPICH* | *MVAPICH*) kind=mpich ;;
  *) kind=unknown ;;
esac
if [ "${1:-}" = --launcher ]; then
  echo "$kind $launcher"
  exit
fi
case $kind in
  open-mpi)
    set -- --oversubscribe --bind-to none --mca odls_base_sigkill_timeout 0 "$@"
    if [ "$(id -u)" -eq 0 ]; then set -- --allow-run-as-root "$@"; fi ;;
  intel)
    export I_MPI_PIN=0 ;;
  mpich)
    export MV2_ENABLE_AFFINITY=0
    set -- -bind-to none "$@" ;;
esac
exec "$launcher" "$@"
